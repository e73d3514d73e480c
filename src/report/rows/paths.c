/* SPDX-License-Identifier: BSD-3-Clause */

/* --export paths: a row for each reported flow, with the exporters that it passed. */

#include "collect/exporters/collector_rows.h"
#include "collect/options.h"
#include "report/rows/rows.h"

static const struct path_row *path_of(const struct output_row *row)
{
	return *(const struct path_row *const *)row->item;
}

COLUMN_PRINTER(print_key)
{
	print_key_text(text, &key_rules[0], &path_of(row)->key, (enum key_field_id)column->index);
}

static void add_key(struct columns *columns, const struct column *column)
{
	(void)column;
	for (uint32_t id = KEY_SRC_IP; id <= KEY_PROTO; id++)
		columns_add(columns, &(struct column){
					     .name = key_fields[id].name,
					     .type = key_column_type(id),
					     .index = id,
					     .print = print_key,
				     });
}

/*
 * Prints each hop as EXPORTER:INPUT>OUTPUT, such as "r1:3>7 r4:1>2". INPUT and OUTPUT are interface
 * indexes; an unknown one is empty.
 */
COLUMN_PRINTER(print_path)
{
	const struct path_row *path = path_of(row);

	for (uint32_t h = 0; h < path->nb_hops; h++) {
		text_str(text, h > 0 ? " " : "");
		print_router(text, path->hops[h].exporter);
		text_char(text, ':');
		print_known(text, path->hops[h].input);
		text_char(text, '>');
		print_known(text, path->hops[h].output);
	}
}

COLUMN_PRINTER(print_ingress)
{
	const struct path_row *path = path_of(row);

	if (path->nb_hops > 0)
		print_router(text, path->hops[0].exporter);
}

COLUMN_PRINTER(print_egress)
{
	const struct path_row *path = path_of(row);

	if (path->nb_hops > 0)
		print_router(text, path->hops[path->nb_hops - 1].exporter);
}

#define COUNT(function, member)                                                                    \
	COLUMN_PRINTER(function)                                                                   \
	{                                                                                          \
		text_u64(text, path_of(row)->member);                                              \
	}

COUNT(print_observers, observers)
COUNT(print_packets, packets)
COUNT(print_bytes, bytes)
COUNT(print_changed, changed)
COUNT(print_ordered, ordered)

static const struct column columns[] = {
	EPOCH_NUMBER,
	EPOCH_START,
	EPOCH_END,
	{.expand = add_key},
	{"path", COLUMN_TEXT, .print = print_path},
	{"ingress", COLUMN_TEXT, .print = print_ingress},
	{"egress", COLUMN_TEXT, .print = print_egress},
	{"observers", COLUMN_NUMBER, .print = print_observers},
	{"packets", COLUMN_NUMBER, .print = print_packets},
	{"bytes", COLUMN_NUMBER, .print = print_bytes},
	{"changed", COLUMN_NUMBER, .print = print_changed},
	{"ordered", COLUMN_NUMBER, .print = print_ordered},
};

ITEMS(epoch->collected, paths, nb_paths)

const struct output output_paths = {
	OUTPUT_PART(PATHS, "paths", "paths", COLLECT_OPTION,
		.help = "Write the path of each flow through the exporters."),
	.collected = true,
	OUTPUT_COLUMNS(columns),
	.of_epoch = true,
	.items = items,
};
