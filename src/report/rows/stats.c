/* SPDX-License-Identifier: BSD-3-Clause */

/* --stats: a row for each measurement, with its packet counts. */

#include "report/rows/rows.h"

static struct ledger ledger_of(const struct output_row *row)
{
	return report_ledger(row->epoch, row->measurement);
}

COLUMN_PRINTER(print_count)
{
	const struct ledger ledger = ledger_of(row);

	if (ledger_column_known(&ledger, column->index))
		text_u64(text, ledger_column(&ledger, column->index));
}

static void add_counts(struct columns *columns, enum ledger_when when)
{
	for (uint32_t c = 0; c < LEDGER_COLUMNS; c++)
		if (ledger_columns[c].when == when)
			columns_add(columns, &(struct column){
						     .name = ledger_columns[c].name,
						     .type = COLUMN_NUMBER,
						     .index = c,
						     .print = print_count,
					     });
}

static void add_ledger(struct columns *columns, const struct column *column)
{
	(void)column;
	add_counts(columns, LEDGER_ALWAYS);
}

static void add_collected(struct columns *columns, const struct column *column)
{
	(void)column;
	add_counts(columns, LEDGER_COLLECTED);
}

static void add_kept_up(struct columns *columns, const struct column *column)
{
	(void)column;
	add_counts(columns, LEDGER_KEPT_UP);
}

/* If bursts were skipped, distinct_keys covers only the packets looked at. */
COLUMN_PRINTER(print_distinct_of)
{
	const struct ledger ledger = ledger_of(row);

	text_str(text, ledger.skipped > ledger.left_out.packets ? "looked-at" : "all");
}

COLUMN_PRINTER(print_pps)
{
	uint64_t duration = report_duration(row->epoch);

	if (duration > 0)
		text_u64(text, report_per_second(ledger_of(row).measured, duration));
}

COLUMN_PRINTER(print_bps)
{
	uint64_t duration = report_duration(row->epoch);
	const struct ledger ledger = ledger_of(row);

	if (duration > 0 && ledger.missing_bytes == 0)
		text_u64(text, report_per_second((unsigned __int128)ledger.bytes * 8, duration));
}

COLUMN_PRINTER(print_drop_rate)
{
	const struct ledger ledger = ledger_of(row);

	if (ledger.offered > 0)
		text_printf(text, "%.6f", ledger_drop_rate(&ledger));
}

static void print_per_packet(struct text *text, uint64_t ns, uint64_t received)
{
	if (received > 0)
		text_printf(text, "%.1f", (double)ns / (double)received);
}

/* column->at is the offset of a time in struct ledger. */
COLUMN_PRINTER(print_cost)
{
	const struct ledger ledger = ledger_of(row);

	print_per_packet(
		text, *(const uint64_t *)((const char *)&ledger + column->at), ledger.received);
}

COLUMN_PRINTER(print_delay)
{
	const struct ledger ledger = ledger_of(row);

	print_per_packet(text, ledger.rx_ns + ledger.ppt_ns + ledger.free_ns, ledger.received);
}

#define UNLISTED(name, member)                                                                     \
	{                                                                                          \
		name, COLUMN_U64, COLUMN_OF_MEASUREMENT,                                           \
			.at = offsetof(struct report_measurement, member.high),                    \
			.known = offsetof(struct report_measurement, member.high_known),           \
			.when = COLUMN_NO_FILE                                                     \
	}
#define COST(member) .at = offsetof(struct ledger, member), .print = print_cost

static const struct column columns[] = {
	EPOCH_NUMBER,
	MEASUREMENT_NAME,
	EPOCH_START,
	EPOCH_END,
	{.expand = add_ledger},
	MEASUREMENT_COLUMN("distinct_keys", COLUMN_U64, distinct_keys),
	{"pps", COLUMN_NUMBER, .print = print_pps},
	{"bps", COLUMN_NUMBER, .print = print_bps},
	{"drop_rate", COLUMN_FRACTION, .print = print_drop_rate},
	{"rx_ns", COLUMN_FRACTION, COST(rx_ns)},
	{"ppt_ns", COLUMN_FRACTION, COST(ppt_ns)},
	{"free_ns", COLUMN_FRACTION, COST(free_ns)},
	{"delay_ns", COLUMN_FRACTION, .print = print_delay},
	EPOCH_COLUMN("design", COLUMN_STRING, design),
	EPOCH_COLUMN("sharing", COLUMN_STRING, sharing),
	MEASUREMENT_COLUMN("sketch", COLUMN_STRING, sketch),
	EPOCH_COLUMN("workers", COLUMN_U32, workers),
	{.expand = add_collected, .when = COLUMN_COLLECTED},
	{.expand = add_kept_up, .when = COLUMN_KEPT_UP},
	{"distinct_of", COLUMN_TEXT, .print = print_distinct_of, .when = COLUMN_KEPT_UP},
	UNLISTED("unlisted_packets_high", unlisted_packets),
	UNLISTED("unlisted_bytes_high", unlisted_bytes),
	{"confidence", COLUMN_EXACT, COLUMN_OF_MEASUREMENT,
		.at = offsetof(struct report_measurement, confidence),
		.known = offsetof(struct report_measurement, confidence_known),
		.when = COLUMN_NO_FILE},
};

static struct output_items items(
	const struct report_epoch *epoch, const struct report_measurement *measurement)
{
	(void)epoch;
	return (struct output_items){measurement, 1, sizeof(*measurement)};
}

const struct output output_stats = {
	OUTPUT_OPTION(STATS, "stats", "stats", .default_note = "not written",
		.help = "Write the packet ledger of each interval to FILE or URL, as CSV. Each "
			"packet is in one column, and the columns add up. Repeatable."),
	OUTPUT_COLUMNS(columns),
	.items = items,
};
