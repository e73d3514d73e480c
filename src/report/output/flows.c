/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * --flows: a CSV row for every record of a flow-table. They are written as they end, so the end of
 * their interval is not known yet; what --output says of a key is the sum of its rows here.
 */

#include "report/output/csv.h"
#include "report/output/output.h"

static const char *const flow_ends[] = {
	[FLOW_END_IDLE] = "idle",
	[FLOW_END_INTERVAL] = "interval",
	[FLOW_END_RUN] = "end",
};

static void flows_header(struct text *text, uint32_t fields)
{
	text_str(text, "epoch,measurement,start");
	csv_key_names(text);
	text_str(text, ",packets,bytes,first,last,tcp_flags,ended");
	csv_key_asked_names(text, fields);
	csv_row_end(text);
}

static void add_flow(struct text *text, const struct report_epoch *epoch,
	const struct report_measurement *measurement, const struct report_flow *flow)
{
	text_u64(text, epoch->number);
	csv_string(text, measurement->name);
	csv_time(text, epoch->start);
	csv_key(text, measurement->rule, &flow->key);
	csv_u64(text, flow->packets);
	csv_u64(text, flow->bytes);
	csv_time(text, flow->first);
	csv_time(text, flow->last);
	csv_u64(text, flow->tcp_flags);
	csv_string(text, flow_ends[flow->end]);
	csv_key_asked(text, report_key_fields(epoch), measurement->rule, &flow->key);
	csv_row_end(text);
}

static void flows_epoch(struct text *text, const struct report_epoch *epoch)
{
	for (uint32_t m = 0; m < epoch->nb_measurements; m++)
		for (size_t f = 0; f < epoch->measurements[m].nb_flows; f++)
			add_flow(text, epoch, &epoch->measurements[m],
				&epoch->measurements[m].flows[f]);
}

static uint64_t flows_rows(const struct report_epoch *epoch)
{
	uint64_t rows = 0;

	for (uint32_t m = 0; m < epoch->nb_measurements; m++)
		rows += epoch->measurements[m].nb_flows;
	return rows;
}

const struct output output_flows = {
	.option = "--flows",
	.header = flows_header,
	.epoch = flows_epoch,
	.rows = flows_rows,
};
