/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* A file that lists at which packets the load shedding of workers changes (states-from). */

#include <stdbool.h>
#include <stdint.h>

#include "parallel/shed/queue_shedding.h"
#include "parallel/shed/steps.h"

#define SHED_SCHEDULE_ALL UINT8_MAX

/* From `packet` on, sets the level of the worker, or the steps or flow states of a measurement. */
struct shed_schedule_entry {
	uint64_t packet;     /* number of the packet in the worker, from 0 */
	uint8_t measurement; /* SHED_SCHEDULE_ALL: the entry sets `level` */
	uint8_t steps;
	bool of_flows; /* the entry sets `flows`, otherwise `steps` */
	struct flow_states flows;
	struct burst_shed_level level;
};

struct shed_schedule {
	uint32_t nb_workers;
	struct shed_schedule_list {
		/* Sorted by packet. The last entry has UINT64_MAX. */
		struct shed_schedule_entry *decisions;
		uint32_t n;
	} * of; /* [nb_workers] */
};

struct shed_schedule_plan {
	uint32_t nb_workers, nb_measurements;
	const char *const *names;
	const struct steps *steps;
	uint32_t deep; /* bit m: measurement m has --flow-detail */
};

#define SHED_SCHEDULE_ERROR_MAX 512

/*
 * Reads a CSV file with the columns worker, packet, to and optionally measurement. On error,
 * returns NULL with one line in error[SHED_SCHEDULE_ERROR_MAX]. *mistake: the file's contents are
 * wrong.
 */
struct shed_schedule *shed_schedule_read(
	const char *path, const struct shed_schedule_plan *plan, bool *mistake, char *error);
void shed_schedule_free(struct shed_schedule *schedule); /* NULL is allowed */
