/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Rows of --export overload during an epoch: changes of detail and their reasons. */

#include <stdbool.h>
#include <stdint.h>

#include "parallel/shed/queue_shedding.h"
#include "parallel/shed/steps.h"
#include "report/rows/report.h"
#include "sketch/flow_states.h"

/* Further changes of the interval are only counted. */
#define SHED_LOG_ROWS_MAX 2048

struct shed_log {
	struct report_state *rows; /* [SHED_LOG_ROWS_MAX]; NULL: disabled */
	uint32_t n;
	uint64_t missing; /* changes of this interval without a row */
};

struct shed_reason {
	int64_t time; /* ns since 1970-01-01 UTC */
	const char *reason;
	uint64_t backlog;
	double rate;      /* received packets per second in the last window */
	double cost_ns;   /* measured, per packet; 0: unknown */
	double target_ns; /* affordable time per packet at this rate */
	double share;
	/* predictions of cost_ns, by enum estimator; 0: unknown */
	double prediction[ESTIMATORS];
};

struct estimate_errors;

bool shed_log_init(struct shed_log *log);
void shed_log_fini(struct shed_log *log);

/* Logs a change of the number of steps. packet: count of the worker's packets at the change. */
void shed_log_step(struct shed_log *log, uint32_t worker, uint64_t packet, const char *measurement,
	const struct steps *steps, uint32_t from, uint32_t to, const struct shed_reason *why);

/* Adds no row if both details are equal. */
void shed_log_flows(struct shed_log *log, uint32_t worker, uint64_t packet, const char *measurement,
	const struct flow_states *from, const struct flow_states *to,
	const struct shed_reason *why);

/* Logs a change of the queue shedding level of a worker. */
void shed_log_level(struct shed_log *log, uint32_t worker, uint64_t packet,
	struct burst_shed_level from, struct burst_shed_level to, const struct shed_reason *why);

/*
 * Moves the rows, and a final one per measurement, to the report. Returns false if out of memory.
 */
bool shed_log_close(
	struct shed_log *log, struct report_epoch *report, const struct estimate_errors *errors);
