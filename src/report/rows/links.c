/* SPDX-License-Identifier: BSD-3-Clause */

/* --export links: load of interfaces, a row for each direction. */

#include "base/units.h"
#include "collect/exporters/collector_rows.h"
#include "report/rows/rows.h"

static void print_direction(
	struct text *text, const struct column *column, const struct output_row *row)
{
	const struct link_row *link = row->item;

	(void)column;
	if (link->direction != LINK_NEITHER)
		text_str(text, link->direction == LINK_IN ? "in" : "out");
}

static void print_name_or_address(
	struct text *text, const char *name, const struct in6_addr *address)
{
	if (name[0] != '\0')
		text_str(text, name);
	else
		text_address(text, address);
}

static void print_exporter(
	struct text *text, const struct column *column, const struct output_row *row)
{
	const struct link_row *link = row->item;

	(void)column;
	print_name_or_address(text, link->exporter, &link->address);
}

static void print_role(struct text *text, const struct column *column, const struct output_row *row)
{
	const struct link_row *link = row->item;

	(void)column;
	if (link->role != ROLE_OPEN)
		text_str(text, link->role == ROLE_EDGE ? "edge" : "fed");
}

static void print_fed_by(
	struct text *text, const struct column *column, const struct output_row *row)
{
	const struct link_row *link = row->item;

	(void)column;
	if (link->fed_by != NULL)
		print_name_or_address(text, link->fed_by->name, &link->fed_by->address);
}

/* Computes the load from records. Returns false if the epoch has no duration. */
static bool by_records(const struct output_row *row, double *bps)
{
	const struct link_row *link = row->item;
	uint64_t duration = report_duration(row->epoch);

	if (duration == 0)
		return false;
	*bps = (double)link->bytes * 8 * SECOND_NS / (double)duration;
	return true;
}

/* Computes the load from counters of the interface. Returns false without two readings. */
static bool by_counters(const struct output_row *row, double *bps)
{
	const struct link_row *link = row->item;

	if (link->counted_ns == 0)
		return false;
	*bps = (double)link->counter_bytes * 8 * SECOND_NS / (double)link->counted_ns;
	return true;
}

static bool rate_of(const struct output_row *row, double *bps)
{
	return by_counters(row, bps) || by_records(row, bps);
}

static void print_bps(struct text *text, const struct column *column, const struct output_row *row)
{
	double bps;

	(void)column;
	if (rate_of(row, &bps))
		text_printf(text, "%.0f", bps);
}

static void print_speed(
	struct text *text, const struct column *column, const struct output_row *row)
{
	const struct link_row *link = row->item;

	(void)column;
	if (link->speed > 0)
		text_u64(text, link->speed);
}

static void print_utilization(
	struct text *text, const struct column *column, const struct output_row *row)
{
	const struct link_row *link = row->item;
	double bps;

	(void)column;
	if (link->speed > 0 && rate_of(row, &bps))
		text_printf(text, "%.6f", bps / (double)link->speed);
}

static void print_source(
	struct text *text, const struct column *column, const struct output_row *row)
{
	double bps;

	(void)column;
	if (rate_of(row, &bps))
		text_str(text, by_counters(row, &bps) ? "counters" : "records");
}

/* Prints the difference of records from counters, as a share of the counters. */
static void print_difference(
	struct text *text, const struct column *column, const struct output_row *row)
{
	double records, counters;

	(void)column;
	if (by_records(row, &records) && by_counters(row, &counters) && counters > 0)
		text_printf(text, "%.6f", (records - counters) / counters);
}

#define AT(member) .at = offsetof(struct link_row, member)

static const struct column columns[] = {
	EPOCH_NUMBER,
	EPOCH_START,
	EPOCH_END,
	{"exporter", COLUMN_TEXT, .print = print_exporter},
	{"interface", COLUMN_U32, AT(interface), .known = offsetof(struct link_row, has_interface)},
	{"name", COLUMN_FOREIGN, AT(name)},
	{"direction", COLUMN_TEXT, .print = print_direction},
	{"packets", COLUMN_U64, AT(packets)},
	{"bytes", COLUMN_U64, AT(bytes)},
	{"bps", COLUMN_NUMBER, .print = print_bps},
	{"speed", COLUMN_NUMBER, .print = print_speed},
	{"utilization", COLUMN_FRACTION, .print = print_utilization},
	{"source", COLUMN_TEXT, .print = print_source},
	{"difference", COLUMN_FRACTION, .print = print_difference},
	{"role", COLUMN_TEXT, .print = print_role},
	{"fed_by", COLUMN_TEXT, .print = print_fed_by},
};

static struct output_items items(
	const struct report_epoch *epoch, const struct report_measurement *measurement)
{
	const struct report_collected *collected = epoch->collected;

	(void)measurement;
	if (collected == NULL)
		return (struct output_items){0};
	return (struct output_items){
		collected->links, collected->nb_links, sizeof(collected->links[0])};
}

const struct output output_links = {
	.option = "--export links",
	.word = "links",
	OUTPUT_COLUMNS(columns),
	.of_epoch = true,
	.items = items,
};
