/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Functions that the files of the planner share: plan.c, assign_cores.c, memory.c. */

#include <stdbool.h>
#include <stdint.h>

struct config;
struct measurement_config;
struct plan;
struct topology;

/* Returns the number of polling lcores: feeder, receivers, workers. */
uint32_t plan_nb_polling(const struct plan *plan);

__attribute__((format(printf, 2, 3))) void plan_warn(struct plan *plan, const char *format, ...);
/* Writes error[PLAN_TEXT_MAX], sets plan->machine, and returns false. */
__attribute__((format(printf, 3, 4))) bool plan_set_error(
	struct plan *plan, char *error, const char *format, ...);

/*
 * Sets the number of workers of each group to the cores of its node that other lcores do not need.
 * Returns the number of physical cores of the machine.
 */
uint32_t plan_count_workers(struct plan *plan, const struct topology *topology);
/* Assigns a CPU and a node to every lcore, and a node to the packets of every group. */
void plan_assign_cores(struct plan *plan, const struct topology *topology);
/* Assigns a CPU to lcore 0, the only lcore of a sender. */
void plan_assign_core(struct plan *plan, const struct topology *topology);

/* Plans the memory of each node. Returns false if the machine does not have enough memory. */
bool plan_memory(struct plan *plan, const struct config *config, const struct topology *topology,
	char *error);
/* The same for new sketches of a running instance, which has allocated everything else. */
bool plan_memory_beside(struct plan *plan, const struct topology *topology, char *error);
