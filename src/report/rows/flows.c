/* SPDX-License-Identifier: BSD-3-Clause */

/* --flows: a row for each record of a flow table. A record may end before the interval. */

#include "report/rows/rows.h"
#include "sketch/measurement.h"

COLUMN_PRINTER(print_end)
{
	static const char *const flow_ends[] = {
		[FLOW_END_IDLE] = "idle",
		[FLOW_END_INTERVAL] = "interval",
		[FLOW_END_RUN] = "end",
	};
	const struct report_flow *flow = row->item;

	text_str(text, flow_ends[flow->end]);
}

COLUMN_PRINTER(print_deep)
{
	const struct report_measurement *measurement = row->measurement;
	const struct report_flow *flow = row->item;

	if (measurement->deep)
		deep_print(text, column, &measurement->figures[flow - measurement->flows]);
}

COLUMN_PRINTER(print_record)
{
	const struct report_measurement *measurement = row->measurement;
	const struct report_flow *flow = row->item;

	text_u64(text, measurement->first_record + (uint64_t)(flow - measurement->flows));
}

#define AT(member) .at = offsetof(struct report_flow, member)

static const struct column columns[] = {
	EPOCH_NUMBER,
	MEASUREMENT_NAME,
	EPOCH_START,
	KEY_COLUMNS(report_flow, key),
	{"packets", COLUMN_U64, AT(packets)},
	{"bytes", COLUMN_U64, AT(bytes)},
	{"first", COLUMN_TIME, AT(first)},
	{"last", COLUMN_TIME, AT(last)},
	{"tcp_flags", COLUMN_U8, AT(tcp_flags)},
	{"ended", COLUMN_WORD, .print = print_end},
	ASKED_KEY_COLUMNS(report_flow, key),
	DEEP_COLUMNS(print_deep),
	{"record", COLUMN_NUMBER, .print = print_record, .when = COLUMN_SINK},
};

ITEMS(measurement, flows, nb_flows)

static const char *inapplicable_without_records(
	const struct config *config, const struct measurement_config *measurement)
{
	(void)measurement;
	return measurements_any(config, SKETCH_RECORDS) ? NULL : "without --sketch flow-table";
}

const struct output output_flows = {
	OUTPUT_OPTION(FLOWS, "flows", "flows", .default_note = "not written", .rare = true,
		.inapplicable = inapplicable_without_records,
		.help = "Write the records of every flow table to FILE or URL, as CSV. A record "
			"ends after --idle-timeout or with its interval, and is written a few "
			"seconds later. Repeatable."),
	OUTPUT_COLUMNS(columns),
	.goflow2 = &goflow2_flows,
	.items = items,
};
