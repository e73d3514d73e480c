/* SPDX-License-Identifier: BSD-3-Clause */

/* --export queries: a row for each [query NAME] and each flow table of 5-tuples. */

#include "report/rows/rows.h"
#include "sketch/queries.h"

#define AT(member)    .at = offsetof(struct report_query, member)
#define KNOWN(member) .known = offsetof(struct report_query, member)

COLUMN_PRINTER(print_state)
{
	const struct report_query *query = row->item;

	text_str(text, flow_depth_word(query->state));
}

static const struct column columns[] = {
	EPOCH_NUMBER,
	MEASUREMENT_NAME,
	EPOCH_START,
	EPOCH_END,
	{"query", COLUMN_CHARS, AT(name)},
	{"rank", COLUMN_U8, AT(rank)},
	{"state", COLUMN_WORD, .print = print_state},
	{"on", COLUMN_RATIO, AT(on)},
	{"packets", COLUMN_U64, AT(packets.value), KNOWN(known)},
	{"packets_low", COLUMN_U64, AT(packets.low), KNOWN(known)},
	{"packets_high", COLUMN_U64, AT(packets.high), KNOWN(packets.high_known)},
	{"bytes", COLUMN_U64, AT(bytes.value), KNOWN(known)},
	{"bytes_low", COLUMN_U64, AT(bytes.low), KNOWN(known)},
	{"bytes_high", COLUMN_U64, AT(bytes.high), KNOWN(bytes.high_known)},
	{"flows", COLUMN_U64, AT(flows.value), KNOWN(known)},
	{"flows_high", COLUMN_U64, AT(flows.high), KNOWN(flows.high_known)},
	{"deep_packets", COLUMN_U64, AT(deep_packets), KNOWN(known)},
};

ITEMS(measurement, queries, nb_queries)

const struct output output_queries = {
	OUTPUT_PART(QUERIES, "query-rows", "queries", .inapplicable = queries_inapplicable,
		.help = "Write packets, bytes and flows of each [query NAME] of the configuration."),
	OUTPUT_COLUMNS(columns),
	.items = items,
};
