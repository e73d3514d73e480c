/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/shed_log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adapt/estimate.h"

bool shed_log_init(struct shed_log *log)
{
	*log = (struct shed_log){.rows = calloc(SHED_LOG_ROWS_MAX, sizeof(log->rows[0]))};
	return log->rows != NULL;
}

void shed_log_fini(struct shed_log *log)
{
	free(log->rows);
}

/* Returns NULL if the log is full or disabled. */
static struct report_state *add_row(
	struct shed_log *log, uint32_t worker, uint64_t packet, const struct shed_reason *why)
{
	struct report_state *row;

	if (log->rows == NULL)
		return NULL;
	row = &log->rows[log->n];
	if (log->n == SHED_LOG_ROWS_MAX) {
		log->missing++;
		return NULL;
	}
	log->n++;
	*row = (struct report_state){
		.time = why->time,
		.changed = true,
		.worker = worker,
		.packet = packet,
		.reason = why->reason,
		.backlog = why->backlog,
		.rate = why->rate,
		.cost_known = why->cost_ns > 0,
		.cost_ns = why->cost_ns,
		.target_known = why->target_ns > 0 &&
				why->target_ns < 1e9, /* a larger target means almost no packets */
		.target_ns = why->target_ns,
		.share = why->share,
	};
	for (uint32_t e = 0; e < ESTIMATORS; e++) {
		row->predicted[e] = row->cost_known && why->prediction[e] > 0;
		row->prediction[e] = why->prediction[e];
	}
	return row;
}

void shed_log_step(struct shed_log *log, uint32_t worker, uint64_t packet, const char *measurement,
	const struct steps *steps, uint32_t from, uint32_t to, const struct shed_reason *why)
{
	struct report_state *row = add_row(log, worker, packet, why);
	struct detail detail = steps_detail(steps, to);

	if (row == NULL)
		return;
	snprintf(row->measurement, sizeof(row->measurement), "%s", measurement);
	snprintf(row->from, sizeof(row->from), "%s", steps_word(steps, from));
	snprintf(row->to, sizeof(row->to), "%s", steps_word(steps, to));
	row->share = detail.off ? 0 : 1.0 / (1U << (detail.shift + detail.keys));
}

void shed_log_flows(struct shed_log *log, uint32_t worker, uint64_t packet, const char *measurement,
	const struct flow_states *from, const struct flow_states *to, const struct shed_reason *why)
{
	struct report_state *row;

	if (memcmp(from, to, sizeof(*to)) == 0)
		return;
	row = add_row(log, worker, packet, why);
	if (row == NULL)
		return;
	snprintf(row->measurement, sizeof(row->measurement), "%s", measurement);
	steps_flows_word(from, row->from);
	steps_flows_word(to, row->to);
	row->share = (double)to->share / ((double)UINT32_MAX + 1);
}

void shed_log_level(struct shed_log *log, uint32_t worker, uint64_t packet,
	struct burst_shed_level from, struct burst_shed_level to, const struct shed_reason *why)
{
	struct report_state *row = add_row(log, worker, packet, why);

	if (row == NULL)
		return;
	row->reason = "queue";
	steps_level_word(from, row->from);
	steps_level_word(to, row->to);
}

static void put_measurement(struct report_state *row, const struct report_epoch *report, uint32_t m,
	const struct estimate_errors *errors)
{
	const struct report_measurement *measurement = &report->measurements[m];
	double seconds = (double)(report->end - report->start) / 1e9;

	*row = (struct report_state){
		.time = report->end,
		.reason = "interval",
		.rate = seconds > 0 ? (double)report->ledger.offered / seconds : 0,
		.share = measurement->looked_at,
	};
	snprintf(row->measurement, sizeof(row->measurement), "%s", measurement->name);
	for (uint32_t e = 0; e < ESTIMATORS; e++) {
		row->compared[e] = errors->windows[e] > 0;
		if (row->compared[e])
			row->error[e] = errors->sum[e] / (double)errors->windows[e];
	}
}

bool shed_log_close(
	struct shed_log *log, struct report_epoch *report, const struct estimate_errors *errors)
{
	uint32_t n = log->n + report->nb_measurements;

	if (log->rows == NULL)
		return true;
	report->states = calloc(n > 0 ? n : 1, sizeof(report->states[0]));
	if (report->states == NULL)
		return false;
	memcpy(report->states, log->rows, log->n * sizeof(log->rows[0]));
	for (uint32_t m = 0; m < report->nb_measurements; m++)
		put_measurement(&report->states[log->n + m], report, m, errors);
	report->nb_states = n;
	log->n = 0;
	log->missing = 0;
	return true;
}
