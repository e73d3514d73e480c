/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Shared by the parts of the planner (plan.c, assign_cores.c, memory.c). */

#include <stdbool.h>
#include <stdint.h>

struct config;
struct measurement_config;
struct plan;
struct topology;

/* Returns the number of polling lcores: feeder, receivers, workers. */
uint32_t plan_nb_polling(const struct plan *plan);

__attribute__((format(printf, 2, 3))) void plan_warn(struct plan *plan, const char *format, ...);
/* Formats error[PLAN_TEXT_MAX], sets plan->machine, and returns false. */
__attribute__((format(printf, 3, 4))) bool plan_set_error(
	struct plan *plan, char *error, const char *format, ...);

/*
 * Stores the number of workers that fit in each group in groups[].nb_workers. Returns the number of
 * physical cores.
 */
uint32_t plan_count_workers(struct plan *plan, const struct topology *topology);
/*
 * Assigns a CPU and a node to every lcore, and a node to the packets of every group. May add
 * warnings.
 */
void plan_assign_cores(struct plan *plan, const struct topology *topology);
/* Assigns a CPU to a single polling lcore of group 0. */
void plan_assign_core(struct plan *plan, const struct topology *topology);

/* Sizes pools, sums the memory of each node, and compares it with the available memory. */
bool plan_memory(struct plan *plan, const struct config *config, const struct topology *topology,
	char *error);
/* The same for sketches only: pools are already allocated. */
bool plan_memory_beside(struct plan *plan, const struct topology *topology, char *error);
