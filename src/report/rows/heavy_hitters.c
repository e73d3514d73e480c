/* SPDX-License-Identifier: BSD-3-Clause */

/* --output: a row for each reported key of each measurement. */

#include "report/rows/rows.h"

COLUMN_PRINTER(print_flags)
{
	const struct report_row *hitter = row->item;
	const struct key_rule *rule = row->measurement->key_rule;
	uint32_t field = key_fields_of(rule->fields, KEY_COLUMN_RECORD);

	if (hitter->record.known)
		text_u64(text, hitter->record.tcp_flags);
	else if (field != 0)
		print_key_text(text, rule, &hitter->key, (enum key_field_id)__builtin_ctz(field));
}

COLUMN_PRINTER(print_pps)
{
	uint64_t pps;

	if (report_pps(row->epoch, row->item, &pps))
		text_u64(text, pps);
}

COLUMN_PRINTER(print_bps)
{
	uint64_t bps;

	if (report_bps(row->epoch, row->item, &bps))
		text_u64(text, bps);
}

COLUMN_PRINTER(print_deep)
{
	const struct report_row *hitter = row->item;

	if (row->measurement->deep)
		deep_print(text, column, &hitter->figures);
}

#define AT(member)     .at = offsetof(struct report_row, member)
#define IF(member)     .known = offsetof(struct report_row, member)
#define RECORD(member) AT(record.member), IF(record.known), .when = COLUMN_RECORDS

static const struct column columns[] = {
	EPOCH_NUMBER,
	MEASUREMENT_NAME,
	EPOCH_START,
	EPOCH_END,
	{"rank", COLUMN_U32, AT(rank)},
	KEY_COLUMNS(report_row, key),
	{"packets", COLUMN_U64, AT(packets.value), IF(packets.known)},
	{"bytes", COLUMN_U64, AT(bytes.value), IF(bytes.known)},
	{"packets_low", COLUMN_U64, AT(packets.low), IF(packets.known)},
	{"packets_high", COLUMN_U64, AT(packets.high), IF(packets.high_known)},
	{"bytes_low", COLUMN_U64, AT(bytes.low), IF(bytes.known)},
	{"bytes_high", COLUMN_U64, AT(bytes.high), IF(bytes.high_known)},
	{"confidence", COLUMN_EXACT, COLUMN_OF_MEASUREMENT,
		.at = offsetof(struct report_measurement, confidence),
		.known = offsetof(struct report_measurement, confidence_known)},
	{"share", COLUMN_RATIO, AT(share)},
	{"pps", COLUMN_NUMBER, .print = print_pps, .when = COLUMN_NAMED},
	{"bps", COLUMN_NUMBER, .print = print_bps, .when = COLUMN_NAMED},
	{"first", COLUMN_TIME, RECORD(first)},
	{"last", COLUMN_TIME, RECORD(last)},
	{"tcp_flags", COLUMN_NUMBER, .print = print_flags, .when = COLUMN_RECORDS},
	ASKED_KEY_COLUMNS(report_row, key),
	{"looked_at", COLUMN_RATIO, COLUMN_OF_MEASUREMENT,
		.at = offsetof(struct report_measurement, looked_at), .when = COLUMN_KEPT_UP},
	{"weight", COLUMN_U64, COLUMN_OF_MEASUREMENT,
		.at = offsetof(struct report_measurement, weight), .when = COLUMN_KEPT_UP},
	DEEP_COLUMNS(print_deep),
};

ITEMS(measurement, rows, nb_rows)

const struct output output_heavy_hitters = {
	OUTPUT_OPTION(HEAVY_HITTERS, "output", "heavy-hitters", .default_text = "-",
		.help = "Write heavy hitters to FILE or URL. - is standard output. json:FILE: JSON "
			"lines instead of CSV; ./json:FILE is a file of that name. --export lists "
			"the URLs. Repeatable.",
		.man = "A socket receives the same text as a file. Kafka and ClickHouse receive "
		       "JSON. IPFIX collectors receive IPFIX records, also of --flows."),
	OUTPUT_COLUMNS(columns),
	.items = items,
};
