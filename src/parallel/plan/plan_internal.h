/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Shared by the parts of the planner (plan.c, assign_cores.c, memory.c). */

#include <stdbool.h>
#include <stdint.h>

struct config;
struct measurement_config;
struct plan;
struct topology;

/* Polling lcores: feeder, receivers, workers. */
uint32_t plan_nb_polling(const struct plan *plan);

__attribute__((format(printf, 2, 3))) void plan_warn(struct plan *plan, const char *format, ...);
/* Always false. */
__attribute__((format(printf, 3, 4))) bool plan_set_error(
	struct plan *plan, char *error, const char *format, ...);

/*
 * Stores the number of workers that fit in each group in groups[].nb_workers. Returns the number of
 * physical cores.
 */
uint32_t plan_count_workers(struct plan *plan, const struct topology *topology);
/* Gives every lcore a CPU and a node, every group a node for its packets; warns. */
void plan_assign_cores(struct plan *plan, const struct topology *topology);
/* Places a single lcore, of group 0, that polls. */
void plan_assign_core(struct plan *plan, const struct topology *topology);

/* As option_row.lacks, of options of pools of mbufs: sources that have none. */
const char *plan_inapplicable_without_mbufs(
	const struct config *config, const struct measurement_config *measurement);

/* Sizes pools, sums the memory of each node, and compares it with the available memory. */
bool plan_memory(struct plan *plan, const struct config *config, const struct topology *topology,
	char *error);
/* The same for sketches only: pools are already allocated. */
bool plan_memory_beside(struct plan *plan, const struct topology *topology, char *error);
