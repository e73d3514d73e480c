/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Decides every 10 ms what each worker gives up, by how much came to it and how long its packets
 * took, and tells it by its line (parallel/shed/shed_setting.h). Of the reporter: while that merges
 * an epoch nothing is decided, and the workers' valves alone keep up. docs/ADAPTIVE.md says by
 * which rules.
 */

#include <stdbool.h>
#include <stdint.h>

#include "adapt/profile.h"
#include "parallel/run/run.h"
#include "parallel/shed/shed_options.h"
#include "report/rows/report.h"

struct shed_controller;

/* What it takes in a run: nothing where nobody decides. */
struct plan_keep_up shed_controller_memory(const struct config *config);

/*
 * Of a run whose workers have valves (run_keeps_up()); NULL where there is no memory. The profile is
 * for what no burst was timed of yet; it outlives the governor.
 */
struct shed_controller *shed_controller_create(
	const struct run *run, const struct profile *profile);
void shed_controller_destroy(struct shed_controller *governor); /* NULL is allowed */

/* Call often. `open`: the newest epoch. NULL is allowed, here and below. */
void shed_controller_look(struct shed_controller *governor, int64_t monotonic, uint64_t open);

/*
 * Whatever was given up since the last epoch, into the report of a closed one, whose loads and
 * measurements are there. Returns false where there is no memory.
 */
bool shed_controller_close(
	struct shed_controller *governor, uint64_t epoch, struct report_epoch *report);

/* What workers have given up now, or are about to. */
struct shed_status {
	enum shed_policy how;
	uint32_t nb_workers, nb_measurements;
	struct burst_shed_level level; /* of the valves, the highest */
	struct governor_measurement {
		char name[64];
		uint32_t whole;            /* workers that give up nothing of it */
		char least[STEP_WORD_MAX]; /* what the worker does that gives up most */
	} measurements[CONFIG_MEASUREMENTS_MAX];
};

/* Any thread. worker: UINT32_MAX for all of them. False where there is no such worker. */
bool shed_controller_tell(
	struct shed_controller *governor, uint32_t worker, struct shed_status *present);

/* Any thread: from the next window on it decides so. */
void shed_controller_ask(struct shed_controller *governor, enum shed_policy how);
