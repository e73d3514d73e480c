/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Controller of load shedding: decides every 10 ms what each worker sheds, from its packet rate and
 * time per packet, and publishes it (parallel/shed/shed_setting.h). Called by the reporter; while
 * that merges an epoch, only the queue shedding of the workers reacts. docs/ADAPTIVE.md describes
 * the rules.
 */

#include <stdbool.h>
#include <stdint.h>

#include "adapt/profile.h"
#include "parallel/run/run.h"
#include "parallel/shed/shed_options.h"
#include "report/rows/report.h"

struct shed_controller;

/* Returns the memory of the controller; 0 without one. */
struct plan_shedding shed_controller_memory(const struct config *config);

/*
 * Creates the controller of a run whose workers shed load (run_sheds_load()). Returns NULL if out of
 * memory. The profile provides costs until bursts have been timed; it must outlive the controller.
 */
struct shed_controller *shed_controller_create(
	const struct run *run, const struct profile *profile);
void shed_controller_destroy(struct shed_controller *controller); /* NULL allowed */

/* Updates the decisions. Call often. open: newest epoch. NULL is allowed, here and below. */
void shed_controller_look(struct shed_controller *controller, int64_t monotonic, uint64_t open);

/*
 * Adds the shedding since the last epoch to the report of a closed one, which must have its loads
 * and measurements. Returns false if out of memory.
 */
bool shed_controller_close(
	struct shed_controller *controller, uint64_t epoch, struct report_epoch *report);

/* Current or pending shedding of workers. */
struct shed_status {
	enum shed_policy how;
	uint32_t nb_workers, nb_measurements;
	struct burst_shed_level level; /* highest level of the workers */
	struct shed_status_measurement {
		char name[64];
		uint32_t whole;            /* number of workers that shed nothing of it */
		char least[STEP_WORD_MAX]; /* setting of the worker that sheds most */
	} measurements[CONFIG_MEASUREMENTS_MAX];
};

/*
 * Returns the status of a worker, or of all (UINT32_MAX). Any thread. Returns false for an unknown
 * worker.
 */
bool shed_controller_tell(
	struct shed_controller *controller, uint32_t worker, struct shed_status *present);

/* Selects the policy from the next window on. Any thread. */
void shed_controller_ask(struct shed_controller *controller, enum shed_policy how);
