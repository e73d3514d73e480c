/* SPDX-License-Identifier: BSD-3-Clause */

/* --export neighbours: a row for each direction of a link between two exporters. */

#include "collect/exporters/collector_rows.h"
#include "collect/options.h"
#include "report/rows/rows.h"

COLUMN_PRINTER(print_from)
{
	const struct neighbour_row *neighbour = row->item;

	print_router(text, neighbour->from);
}

COLUMN_PRINTER(print_to)
{
	const struct neighbour_row *neighbour = row->item;

	print_router(text, neighbour->to);
}

COLUMN_PRINTER(print_from_interface)
{
	const struct neighbour_row *neighbour = row->item;

	print_known(text, neighbour->from_interface);
}

COLUMN_PRINTER(print_to_interface)
{
	const struct neighbour_row *neighbour = row->item;

	print_known(text, neighbour->to_interface);
}

COLUMN_PRINTER(print_distance)
{
	const struct neighbour_row *neighbour = row->item;

	print_known(text, neighbour->distance);
}

#define AT(member) .at = offsetof(struct neighbour_row, member)

static const struct column columns[] = {
	EPOCH_NUMBER,
	EPOCH_START,
	EPOCH_END,
	{"from", COLUMN_TEXT, .print = print_from},
	{"from_interface", COLUMN_NUMBER, .print = print_from_interface},
	{"to", COLUMN_TEXT, .print = print_to},
	{"to_interface", COLUMN_NUMBER, .print = print_to_interface},
	{"flows", COLUMN_U64, AT(flows)},
	{"packets", COLUMN_U64, AT(packets)},
	{"bytes", COLUMN_U64, AT(bytes)},
	{"match", COLUMN_RATIO, AT(match)},
	{"order", COLUMN_RATIO, AT(order)},
	{"sure", COLUMN_RATIO, AT(sure)},
	{"distance", COLUMN_NUMBER, .print = print_distance},
};

ITEMS(epoch->collected, neighbours, nb_neighbours)

const struct output output_neighbours = {
	OUTPUT_PART(NEIGHBOURS, "neighbours", "neighbours", COLLECT_OPTION,
		.help = "Write which exporters are neighbours, through which interfaces, with the "
			"traffic between them."),
	.collected = true,
	OUTPUT_COLUMNS(columns),
	.of_epoch = true,
	.items = items,
};
