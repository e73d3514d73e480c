/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Collects rows of --export overload during an epoch: changes of detail and their reasons. */

#include <stdbool.h>
#include <stdint.h>

#include "parallel/shed/queue_shedding.h"
#include "parallel/shed/steps.h"
#include "report/rows/report.h"
#include "sketch/flow_states.h"

/* Limit of rows per interval. Further changes are only counted. */
#define SHED_LOG_ROWS_MAX 2048

struct shed_log {
	struct report_state *rows; /* [SHED_LOG_ROWS_MAX]; NULL: disabled */
	uint32_t n;
	uint64_t missing; /* changes of this interval without a row */
};

/* Reason of a change. */
struct shed_reason {
	int64_t time; /* ns since 1970-01-01 UTC */
	const char *reason;
	uint64_t backlog; /* packets in the queues */
	double rate;      /* packets per second received in the last window */
	double cost_ns;   /* measured ns per packet; 0: unknown */
	double target_ns; /* ns per packet that the worker can afford at this rate */
	double share;
};

/* Returns false if out of memory. */
bool shed_log_init(struct shed_log *log);
void shed_log_fini(struct shed_log *log);

/* Logs a change of the number of steps. packet: count of the worker's packets at the change. */
void shed_log_step(struct shed_log *log, uint32_t worker, uint64_t packet, const char *measurement,
	const struct steps *steps, uint32_t from, uint32_t to, const struct shed_reason *why);

/* Logs a change of flow detail. Adds no row if both are equal. */
void shed_log_flows(struct shed_log *log, uint32_t worker, uint64_t packet, const char *measurement,
	const struct flow_states *from, const struct flow_states *to,
	const struct shed_reason *why);

/* Logs a change of the queue shedding level of a worker. */
void shed_log_level(struct shed_log *log, uint32_t worker, uint64_t packet,
	struct burst_shed_level from, struct burst_shed_level to, const struct shed_reason *why);

/*
 * Moves the rows, and one final row per measurement, to the report. Returns false if out of memory.
 */
bool shed_log_close(struct shed_log *log, struct report_epoch *report);
