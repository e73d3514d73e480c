/* SPDX-License-Identifier: BSD-3-Clause */

/* --export links: a row for each direction of an interface of an exporter. */

#include "base/units.h"
#include "collect/exporters/collector_rows.h"
#include "collect/options.h"
#include "report/rows/rows.h"

COLUMN_PRINTER(print_direction)
{
	const struct link_row *link = row->item;

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

COLUMN_PRINTER(print_exporter)
{
	const struct link_row *link = row->item;

	print_name_or_address(text, link->exporter, &link->address);
}

COLUMN_PRINTER(print_role)
{
	const struct link_row *link = row->item;

	if (link->role != ROLE_OPEN)
		text_str(text, link->role == ROLE_EDGE ? "edge" : "fed");
}

COLUMN_PRINTER(print_fed_by)
{
	const struct link_row *link = row->item;

	if (link->fed_by != NULL)
		print_name_or_address(text, link->fed_by->name, &link->fed_by->address);
}

/* Returns the load in bit/s. */
static bool by_records(const struct output_row *row, double *bps)
{
	const struct link_row *link = row->item;
	uint64_t duration = report_duration(row->epoch);

	if (duration == 0)
		return false;
	*bps = (double)link->bytes * 8 * SECOND_NS / (double)duration;
	return true;
}

/* Returns the load in bit/s. Returns false unless the counters were read twice. */
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

COLUMN_PRINTER(print_bps)
{
	double bps;

	if (rate_of(row, &bps))
		text_printf(text, "%.0f", bps);
}

COLUMN_PRINTER(print_speed)
{
	const struct link_row *link = row->item;

	print_known(text, link->speed);
}

COLUMN_PRINTER(print_utilization)
{
	const struct link_row *link = row->item;
	double bps;

	if (link->speed > 0 && rate_of(row, &bps))
		text_printf(text, "%.6f", bps / (double)link->speed);
}

COLUMN_PRINTER(print_source)
{
	double bps;

	if (rate_of(row, &bps))
		text_str(text, by_counters(row, &bps) ? "counters" : "records");
}

COLUMN_PRINTER(print_difference)
{
	double records, counters;

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

ITEMS(epoch->collected, links, nb_links)

const struct output output_links = {
	OUTPUT_PART(LINKS, "links", "links", COLLECT_OPTION,
		.help = "Write the load of each interface of the exporters, from records and from "
			"interface counters."),
	.collected = true,
	OUTPUT_COLUMNS(columns),
	.of_epoch = true,
	.items = items,
};
