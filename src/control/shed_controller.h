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

struct governor;

/* What it takes in a run: nothing where nobody decides. */
struct plan_keep_up governor_memory(const struct config *config);

/*
 * Of a run whose workers have valves (run_keeps_up()); NULL where there is no memory. The profile is
 * for what no burst was timed of yet; it outlives the governor.
 */
struct governor *governor_create(const struct run *run, const struct profile *profile);
void governor_destroy(struct governor *governor); /* NULL is allowed */

/* Call often. `open`: the newest epoch. NULL is allowed, here and below. */
void governor_look(struct governor *governor, int64_t monotonic, uint64_t open);

/*
 * Whatever was given up since the last epoch, into the report of a closed one, whose loads and
 * measurements are there. Returns false where there is no memory.
 */
bool governor_close(struct governor *governor, uint64_t epoch, struct report_epoch *report);

/* What workers have given up now, or are about to. */
struct governor_present {
	enum keep_up how;
	uint32_t nb_workers, nb_measurements;
	struct burst_level level; /* of the valves, the highest */
	struct governor_measurement {
		char name[64];
		uint32_t whole;            /* workers that give up nothing of it */
		char least[STEP_WORD_MAX]; /* what the worker does that gives up most */
	} measurements[CONFIG_MEASUREMENTS_MAX];
};

/* Any thread. worker: UINT32_MAX for all of them. False where there is no such worker. */
bool governor_tell(struct governor *governor, uint32_t worker, struct governor_present *present);

/* Any thread: from the next window on it decides so. */
void governor_ask(struct governor *governor, enum keep_up how);
