/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Fixed schedule of load shedding, read from a file (states-from). */

#include <stdbool.h>
#include <stdint.h>

#include "parallel/shed/queue_shedding.h"
#include "parallel/shed/steps.h"

#define SHED_SCHEDULE_ALL UINT8_MAX

/* Setting from a packet of a worker on. */
struct shed_schedule_entry {
	uint64_t packet; /* packet number of the worker, from 0 */
	/* measurement that takes its first `steps` steps; SHED_SCHEDULE_ALL: all */
	uint8_t measurement;
	uint8_t steps;
	bool of_flows; /* sampling of flows instead of steps */
	struct flow_states flows;
	struct burst_shed_level level; /* level of all measurements */
};

/* Schedule of all workers. */
struct shed_schedule {
	uint32_t nb_workers;
	struct shed_schedule_list {
		/* ordered by packet; the last entry has UINT64_MAX */
		struct shed_schedule_entry *decisions;
		uint32_t n;
	} * of; /* [nb_workers] */
};

/* Properties of the run that a file must match. */
struct shed_schedule_plan {
	uint32_t nb_workers, nb_measurements;
	const char *const *names;  /* names of the measurements */
	const struct steps *steps; /* steps of the measurements */
	uint32_t deep;             /* measurements with flow detail, one bit each */
};

#define SHED_SCHEDULE_ERROR_MAX 512

/*
 * Reads a CSV file with the columns worker, packet, to and optionally measurement; others are
 * ignored. Returns NULL with one line in error[SHED_SCHEDULE_ERROR_MAX]; *mistake: the cause is the
 * text of the file.
 */
struct shed_schedule *shed_schedule_read(
	const char *path, const struct shed_schedule_plan *plan, bool *mistake, char *error);
void shed_schedule_free(struct shed_schedule *schedule); /* NULL is allowed */
