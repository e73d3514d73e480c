/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/ledger/prefix_report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/assertion.h"
#include "sketch/counter.h"
#include "sketch/measurement.h"
#include "sketch/sampling_bound.h"

static void add_count(struct prefix_counts *sum, const struct prefix_counts *count)
{
	sum->packets += count->packets;
	sum->bytes += count->bytes;
	for (uint32_t r = 0; r < PREFIX_REGISTERS; r++)
		if (count->registers[r] > sum->registers[r])
			sum->registers[r] = count->registers[r];
}

static struct prefix_counts sum_of(
	const struct run *run, struct prefix_filter *table, uint64_t epoch, uint32_t rule)
{
	struct prefix_counts sum = {0};

	for (uint32_t w = 0; w < run->nb_workers; w++) {
		const struct prefix_counts *count = &prefix_filter_counts(table, epoch, w)[rule];

		if (count->packets > 0)
			add_count(&sum, count);
	}
	return sum;
}

static bool saw_packets(
	const struct run *run, struct prefix_filter *table, uint64_t epoch, uint32_t rule)
{
	for (uint32_t w = 0; w < run->nb_workers; w++)
		if (prefix_filter_counts(table, epoch, w)[rule].packets > 0)
			return true;
	return false;
}

static struct prefix_shed shed_of(const struct run *run, uint64_t epoch)
{
	struct prefix_shed sum = {.weight = 1};

	for (uint32_t w = 0; w < run->nb_workers; w++) {
		const struct prefix_shed *shed =
			&worker_generation(run->workers[w], epoch)->kept.rules;

		sum.weight = shed->weight > sum.weight ? shed->weight : sum.weight;
		sum.skipped += shed->skipped;
		sum.skipped_bytes += shed->skipped_bytes;
		sum.unseen += shed->unseen;
		sum.unseen_bytes += shed->unseen_bytes;
		sum.added += shed->added;
		sum.added_bytes += shed->added_bytes;
	}
	return sum;
}

/* Weights exceed the true amount by at most `added`, and miss at most `skipped` and `lost` of it. */
static void bound(struct report_figure *figure, const struct sampling_bound *sampling,
	uint64_t added, uint64_t skipped, uint64_t lost)
{
	uint64_t low = sampling_low(sampling, figure->value);
	uint64_t high = sampling_high(sampling, figure->value);
	uint64_t all = counter64_sum(figure->value, skipped);

	figure->low =
		figure->value > added && figure->value - added > low ? figure->value - added : low;
	figure->high = counter64_sum(high < all ? high : all, lost);
}

static void bound_rule(struct report_rule *row, const struct prefix_shed *shed,
	const struct ledger *ledger, double log_inverse)
{
	uint64_t lost = ledger_lost_at_most(ledger), lost_bytes;
	struct sampling_bound sampling = {
		.weight = shed->weight,
		.unit = 1,
		.whole = (double)ledger->offered,
		.log_inverse = log_inverse,
	};

	if (__builtin_mul_overflow(lost, ledger->largest_frame, &lost_bytes))
		lost_bytes = UINT64_MAX;
	row->packets.high_known = row->bytes.high_known = !ledger->losses_unknown;
	bound(&row->packets, &sampling, shed->added, shed->skipped,
		counter64_sum(lost, shed->unseen));
	sampling.unit = ledger->longest_frame > 0 ? ledger->longest_frame : 1;
	sampling.whole *= ledger->largest_frame > sampling.unit ? ledger->largest_frame
								: (double)sampling.unit;
	bound(&row->bytes, &sampling, shed->added_bytes, shed->skipped_bytes,
		counter64_sum(
			counter64_sum(lost_bytes, shed->unseen_bytes), ledger->missing_bytes));
}

/*
 * Minus the logarithm of the risk of one bound. The risk is shared by four bounds, and by the rules
 * that can match one packet: 129 lengths of a prefix, for two addresses.
 */
#define RISKS (4 * 2 * 129)

static double log_inverse_of(const struct run *run, uint64_t epoch)
{
	const struct plan *plan = &run_measurements(run, epoch)->plan;
	double risk = 1;

	for (uint32_t m = 0; m < plan->nb_measurements; m++)
		risk = fmin(
			risk, 1 - measurement_options(plan->measurements[m].config)->confidence);
	return -log(risk / RISKS);
}

bool prefix_rows_report(struct run *run, uint64_t epoch, struct report_epoch *report)
{
	struct prefix_filter *table = run->monitor.of[epoch & 1];
	const struct prefix_shed shed = shed_of(run, epoch);
	const double log_inverse = log_inverse_of(run, epoch);
	const struct prefix_list *rules;
	uint32_t n = 0;

	if (table == NULL)
		return true;
	rules = prefix_filter_entries(table);
	for (uint32_t i = 0; i < rules->n; i++)
		n += saw_packets(run, table, epoch, i);
	report->rules = calloc(n + 1, sizeof(report->rules[0]));
	if (report->rules == NULL)
		return false;
	for (uint32_t i = 0; i < rules->n; i++) {
		struct report_rule *row = &report->rules[report->nb_rules];
		struct prefix_counts sum;

		if (!saw_packets(run, table, epoch, i))
			continue;
		VERIFY(report->nb_rules, <, n);
		sum = sum_of(run, table, epoch, i);
		memcpy(row->prefix, rules->rules[i].prefix, sizeof(row->prefix));
		memcpy(row->name, rules->rules[i].name, sizeof(row->name));
		row->packets = (struct report_figure){.value = sum.packets};
		row->bytes = (struct report_figure){.value = sum.bytes};
		bound_rule(row, &shed, &report->ledger, log_inverse);
		row->flows = prefix_flows(sum.registers);
		/* prefix_flows() is an estimate. */
		if (row->flows > sum.packets)
			row->flows = sum.packets;
		report->nb_rules++;
	}
	return true;
}
