/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Controller of load shedding (--overload). Every 10 ms it decides what each worker sheds, from the
 * worker's packet rate and time per packet, and publishes the decision
 * (parallel/shed/shed_setting.h). The reporter calls it. While the reporter merges an epoch, only
 * workers react, to the fill level of their queues ("queue shedding"). See docs/ADAPTIVE.md.
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

/*
 * Creates the controller of a run for which run_sheds_load() is true. Returns NULL if out of
 * memory. profile: packet costs until bursts have been timed; must outlive the controller.
 */
struct shed_controller *shed_controller_create(
	const struct run *run, const struct profile *profile);
void shed_controller_destroy(struct shed_controller *controller); /* NULL allowed */

/*
 * Decides again if 10 ms have passed. Call often. open: newest epoch. The controller may be NULL,
 * here and in the next function.
 */
void shed_controller_look(struct shed_controller *controller, int64_t monotonic, uint64_t open);

/*
 * Adds rows of --export overload to the report of a closed epoch. Call after its members `loads`
 * and `measurements` were filled. Returns false if out of memory.
 */
bool shed_controller_close(
	struct shed_controller *controller, uint64_t epoch, struct report_epoch *report);

/* Published shedding of a worker, or of all. The workers may not have accepted it yet. */
struct shed_status {
	enum shed_policy how;
	uint32_t nb_workers, nb_measurements;
	struct burst_shed_level level; /* highest level of queue shedding */
	struct shed_status_measurement {
		char name[64];
		uint32_t whole;            /* number of workers that measure it at full detail */
		char least[STEP_WORD_MAX]; /* step of the worker that sheds most */
	} measurements[CONFIG_MEASUREMENTS_MAX];
};

/*
 * Returns the status of a worker, or of all (UINT32_MAX). Returns false if the worker does not
 * exist. Any thread.
 */
bool shed_controller_tell(
	struct shed_controller *controller, uint32_t worker, struct shed_status *present);

/* Selects the policy from the next window on. Any thread. */
void shed_controller_ask(struct shed_controller *controller, enum shed_policy how);
