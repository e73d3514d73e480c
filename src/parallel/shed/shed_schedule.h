/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Schedule of load shedding: settings at certain packets, read from a file (states-from). */

#include <stdbool.h>
#include <stdint.h>

#include "parallel/shed/queue_shedding.h"
#include "parallel/shed/steps.h"

#define SHED_SCHEDULE_ALL UINT8_MAX

/*
 * A change that applies from a packet of a worker on. It has one of three kinds: the level of the
 * worker, the steps of a measurement, or the flow states of a measurement.
 */
struct shed_schedule_entry {
	uint64_t packet;               /* packet number of the worker, from 0 */
	uint8_t measurement;           /* SHED_SCHEDULE_ALL: the entry sets `level` */
	uint8_t steps;                 /* number of steps to apply */
	bool of_flows;                 /* true: the entry sets `flows`; false: `steps` */
	struct flow_states flows;      /* flow states */
	struct burst_shed_level level; /* level of the worker */
};

/* Schedule of all workers. */
struct shed_schedule {
	uint32_t nb_workers;
	struct shed_schedule_list {
		/* Sorted by packet. The last entry has the packet UINT64_MAX. */
		struct shed_schedule_entry *decisions;
		uint32_t n;
	} * of; /* [nb_workers] */
};

/* Properties of a run that its schedule must match. */
struct shed_schedule_plan {
	uint32_t nb_workers, nb_measurements;
	const char *const *names;  /* names of the measurements */
	const struct steps *steps; /* steps of the measurements */
	uint32_t deep;             /* bit m: measurement m has --flow-detail */
};

#define SHED_SCHEDULE_ERROR_MAX 512

/*
 * Reads a CSV file with the columns worker, packet, to and optionally measurement. Ignores other
 * columns. Returns NULL on error, with one line in error[SHED_SCHEDULE_ERROR_MAX]. Then *mistake is
 * true if the contents of the file are wrong, and false for other errors.
 */
struct shed_schedule *shed_schedule_read(
	const char *path, const struct shed_schedule_plan *plan, bool *mistake, char *error);
void shed_schedule_free(struct shed_schedule *schedule); /* NULL is allowed */
