/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct config;
struct measurement_config;
struct plan;
struct topology;

/* Feeder, receivers and workers. */
uint32_t plan_nb_polling(const struct plan *plan);

__attribute__((format(printf, 2, 3))) void plan_warn(struct plan *plan, const char *format, ...);
/* Sets plan->machine and returns false. */
__attribute__((format(printf, 3, 4))) bool plan_set_error(
	struct plan *plan, char *error, const char *format, ...);

/* Gives each group as many workers as its node has cores left. Returns the number of all cores. */
uint32_t plan_count_workers(struct plan *plan, const struct topology *topology);
void plan_assign_cores(struct plan *plan, const struct topology *topology);
/* Only for a sender, whose only lcore is lcore 0. */
void plan_assign_core(struct plan *plan, const struct topology *topology);

/* Returns false if the machine does not have enough memory. */
bool plan_memory(struct plan *plan, const struct config *config, const struct topology *topology,
	char *error);
/* Plans only the new sketches of a running instance. */
bool plan_memory_beside(struct plan *plan, const struct topology *topology, char *error);
