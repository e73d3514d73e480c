/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/ledger/prefix_report.h"

#include <stdlib.h>
#include <string.h>

#include "base/assertion.h"

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

bool prefix_rows_report(struct run *run, uint64_t epoch, struct report_epoch *report)
{
	struct prefix_filter *table = run->monitor.of[epoch & 1];
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
		row->packets = sum.packets;
		row->bytes = sum.bytes;
		row->flows = prefix_flows(sum.registers);
		/* prefix_flows() is an estimate. */
		if (row->flows > sum.packets)
			row->flows = sum.packets;
		report->nb_rules++;
	}
	return true;
}
