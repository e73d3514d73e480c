/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/assertion.h"
#include "report/merge/records.h"

#include <stdlib.h>

#include "report/merge/measurement_report.h"
#include "sketch/flow_table/flow_table.h"
#include "report/sinks/writer.h"

#define FIRST_FLOWS 1024

/* end: end reason of flows that were not idle. */
struct record_drain {
	struct records *records;
	const struct measurements *measurements;
	uint32_t measurement;
	enum flow_end end;
};

void records_init(struct records *records, struct run *run, void (*hand_over)(void *arg), void *arg)
{
	*records = (struct records){
		.run = run,
		.hand_over = hand_over,
		.arg = arg,
	};
}

void records_fini(struct records *records)
{
	for (uint32_t m = 0; m < CONFIG_MEASUREMENTS_MAX; m++) {
		free(records->lists[m].flows);
		free(records->lists[m].figures);
	}
}

static bool grow(struct records_list *list, bool deep)
{
	size_t max = list->max == 0 ? FIRST_FLOWS : 2 * list->max;
	struct report_flow *flows = reallocarray(list->flows, max, sizeof(*flows));

	if (flows == NULL)
		return false;
	list->flows = flows;
	if (deep) {
		struct flow_figures *figures = reallocarray(list->figures, max, sizeof(*figures));

		if (figures == NULL)
			return false;
		list->figures = figures;
	}
	list->max = max;
	return true;
}

static bool is_deep(const struct measurements *measurements, uint32_t m)
{
	return measurements->plan.measurements[m].params.deep.deepest != FLOW_COUNT;
}

static void append_record(
	const struct record_drain *drain, const struct sketch_candidate *candidate)
{
	struct records *records = drain->records;
	struct records_list *list = &records->lists[drain->measurement];
	bool deep = is_deep(drain->measurements, drain->measurement);

	if (list->n == list->max && !grow(list, deep)) {
		records->no_memory = true;
		return;
	}
	ASSERT(list->n, <, list->max);
	if (deep)
		list->figures[list->n] = candidate->figures;
	list->flows[list->n++] = (struct report_flow){
		.key = candidate->key,
		.packets = candidate->packets,
		.bytes = candidate->bytes,
		.ip_bytes = candidate->ip_bytes,
		.first = candidate->first,
		.last = candidate->last,
		.tcp_flags = candidate->tcp_flags,
		.end = (uint8_t)(candidate->idle ? FLOW_END_IDLE : drain->end),
	};
	if (++records->waiting >= RECORDS_ENOUGH)
		records->hand_over(records->arg);
}

static void take_expired(const struct sketch_candidate *candidate, void *arg)
{
	const struct record_drain *drain = arg;
	struct records *records = drain->records;
	const struct plan *plan = &drain->measurements->plan;

	merger_add_expired(measurement_report_merger(drain->measurements, drain->measurement),
		candidate,
		flow_table_options(plan->measurements[drain->measurement].config)->expired_keys);
	records->expired++;
	if (sink_config_any(records->run->config, ROWS_FLOWS))
		append_record(drain, candidate);
}

static void take_held(const struct sketch_candidate *candidate, void *arg)
{
	append_record(arg, candidate);
}

void records_take(struct records *records, uint64_t epoch)
{
	const struct measurements *measurements = run_measurements(records->run, epoch);
	const struct plan *plan = &measurements->plan;

	for (uint32_t m = 0; m < plan->nb_measurements; m++) {
		struct record_drain drain = {records, measurements, m, FLOW_END_IDLE};

		if (plan->measurements[m].params.idle_timeout == 0)
			continue;
		for (uint32_t i = 0; i < plan->nb_instances; i++) {
			struct sketch *sketch = measurements->sketches[epoch & 1][i][m];

			sketch->ops->expired(sketch, take_expired, &drain);
		}
	}
}

static bool is_used(const struct run *run, uint64_t epoch, uint32_t instance)
{
	for (uint32_t w = 0; w < run->nb_workers; w++)
		if (plan_instance(run->plan, w) == instance &&
			worker_generation(run->workers[w], epoch)->counted > 0)
			return true;
	return false;
}

void records_take_rest(struct records *records, uint64_t epoch, bool last)
{
	const struct run *run = records->run;
	const struct measurements *measurements = run_measurements(run, epoch);
	const struct plan *plan = &measurements->plan;

	if (!sink_config_any(run->config, ROWS_FLOWS))
		return;
	for (uint32_t m = 0; m < plan->nb_measurements; m++) {
		struct record_drain drain = {
			records, measurements, m, last ? FLOW_END_RUN : FLOW_END_INTERVAL};

		if ((plan->measurements[m].ops->caps & SKETCH_RECORDS) == 0)
			continue;
		for (uint32_t i = 0; i < plan->nb_instances; i++) {
			const struct sketch *sketch = measurements->sketches[epoch & 1][i][m];

			if (is_used(run, epoch, i))
				sketch->ops->candidates(sketch, take_held, &drain);
		}
	}
}

uint64_t records_held_at_most(const struct plan *plan)
{
	uint64_t most = 0;

	for (uint32_t m = 0; m < plan->nb_measurements; m++)
		if ((plan->measurements[m].ops->caps & SKETCH_RECORDS) != 0)
			most += plan->nb_instances * flow_nb_entries(&plan->measurements[m].params);
	return most;
}

static struct report_epoch *forget(struct records *records)
{
	for (uint32_t m = 0; m < CONFIG_MEASUREMENTS_MAX; m++)
		records->lists[m].n = 0;
	records->waiting = 0;
	records->no_memory = true;
	return NULL;
}

struct report_epoch *records_report(
	struct records *records, uint64_t epoch, uint64_t number, int64_t start, int64_t end)
{
	const struct measurements *measurements = run_measurements(records->run, epoch);
	const struct plan *plan = &measurements->plan;
	struct report_epoch *report = report_epoch_alloc(plan->nb_measurements, plan->nb_workers);

	if (report == NULL)
		return forget(records);
	report->flows_only = true;
	report->number = number;
	report->start = start;
	report->end = end;
	for (uint32_t m = 0; m < plan->nb_measurements; m++) {
		const struct plan_measurement *planned = &plan->measurements[m];
		struct report_measurement *measurement = &report->measurements[m];
		struct records_list *list = &records->lists[m];

		if (!report_measurement_ask(measurement, planned->config->name,
			    measurements_key(measurements, m, epoch), planned->ops->name)) {
			report_epoch_free(report);
			return forget(records);
		}
		measurement->flows = list->flows;
		measurement->figures = list->figures;
		measurement->deep = is_deep(run_measurements(records->run, epoch), m);
		measurement->nb_flows = list->n;
		measurement->ip_bytes =
			run_measurements(records->run, epoch)->plan.measurements[m].params.ip_bytes;
		measurement->first_record = records->nb_told;
		records->nb_told += list->n;
		*list = (struct records_list){0};
	}
	records->waiting = 0;
	return report;
}

bool records_next_epoch(struct records *records)
{
	bool lost = records->no_memory;

	VERIFY(records->waiting, ==, 0U);
	records->no_memory = false;
	records->expired = 0;
	return lost;
}
