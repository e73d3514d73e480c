/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Every 10 ms the controller decides what each worker sheds, from its packet rate and time per
 * packet (docs/ADAPTIVE.md). The reporter calls it. While the reporter merges an epoch, workers
 * react only to the fill level of their queues ("queue shedding").
 */

#include <stdbool.h>
#include <stdint.h>

#include "adapt/profile.h"
#include "parallel/run/run.h"
#include "parallel/shed/shed_options.h"
#include "report/rows/report.h"

struct shed_controller;

/* Returns the bytes that load shedding will allocate; 0 without --overload. */
struct plan_shedding shed_controller_memory(const struct config *config);

/* run_sheds_load() must be true. `profile` must outlive the result. NULL: out of memory. */
struct shed_controller *shed_controller_create(
	const struct run *run, const struct profile *profile);
void shed_controller_destroy(struct shed_controller *controller); /* NULL is allowed */

/* Decides again if 10 ms have passed. `open` is the newest epoch. The controller may be NULL. */
void shed_controller_look(struct shed_controller *controller, int64_t monotonic, uint64_t open);

/* Returns true if packets arrived in the last window. The controller may be NULL. */
bool shed_controller_is_busy(const struct shed_controller *controller);

/*
 * Adds rows of --export overload to the report of a closed epoch, whose `loads` and `measurements`
 * must be set. The controller may be NULL. Returns false if out of memory.
 */
bool shed_controller_close(
	struct shed_controller *controller, uint64_t epoch, struct report_epoch *report);

/* Published shedding of a worker, or of all. Workers may not have accepted it yet. */
struct shed_status {
	enum shed_policy how;
	uint32_t nb_workers, nb_measurements;
	struct burst_shed_level level;
	struct shed_status_measurement {
		char name[64];
		uint32_t whole;            /* workers that measure it at full detail */
		char least[STEP_WORD_MAX]; /* detail at the worker that sheds most */
	} measurements[CONFIG_MEASUREMENTS_MAX];
};

/* worker: UINT32_MAX: all. Returns false if it does not exist. Any thread may call it. */
bool shed_controller_tell(
	struct shed_controller *controller, uint32_t worker, struct shed_status *present);

/* Selects the policy from the next window on. Any thread may call it. */
void shed_controller_ask(struct shed_controller *controller, enum shed_policy how);
