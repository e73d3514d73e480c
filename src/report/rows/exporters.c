/* SPDX-License-Identifier: BSD-3-Clause */

/* --exporters: a row for each observation domain of each exporter. */

#include "collect/exporters/collector_rows.h"
#include "collect/options.h"
#include "report/rows/rows.h"

COLUMN_PRINTER(print_exporter)
{
	const struct exporter_row *exporter = row->item;

	if (exporter->others)
		text_str(text, "others");
	else
		text_address(text, &exporter->address);
}

COLUMN_PRINTER(print_domain)
{
	const struct exporter_row *exporter = row->item;

	if (!exporter->others && !exporter->sender)
		text_u64(text, exporter->domain);
}

COLUMN_PRINTER(print_protocol)
{
	const struct exporter_row *exporter = row->item;

	if (!exporter->others && !exporter->sender)
		text_str(text, flow_protocols[exporter->protocol]->name);
}

COLUMN_PRINTER(print_sampling)
{
	const struct exporter_row *exporter = row->item;

	print_known(text, exporter->sampling);
}

COLUMN_PRINTER(print_source)
{
	const struct exporter_row *exporter = row->item;

	if (exporter->sampling > 0)
		text_str(text, sampling_source_words[exporter->sampling_source]);
}

#define COUNT(name, member)                                                                        \
	{                                                                                          \
		name, COLUMN_U64, .at = offsetof(struct exporter_row, member)                      \
	}

static const struct column columns[] = {
	EPOCH_NUMBER,
	EPOCH_START,
	EPOCH_END,
	{"exporter", COLUMN_TEXT, .print = print_exporter},
	{"domain", COLUMN_NUMBER, .print = print_domain},
	{"protocol", COLUMN_TEXT, .print = print_protocol},
	{"name", COLUMN_CHARS, .at = offsetof(struct exporter_row, name)},
	COUNT("datagrams", datagrams),
	COUNT("bytes", bytes),
	COUNT("records", records),
	COUNT("counted", counts.counted),
	COUNT("duplicate", counts.duplicate),
	COUNT("edge_only", counts.edge_only),
	COUNT("waiting", waiting),
	COUNT("unknown_template", unknown_template),
	COUNT("unusable", unusable),
	COUNT("malformed", malformed),
	COUNT("refused", refused),
	COUNT("shed", shed),
	COUNT("lost_network", lost_network),
	COUNT("lost_socket", lost_socket),
	COUNT("reordered", reordered),
	COUNT("repeated", repeated),
	COUNT("restarts", restarts),
	{"templates", COLUMN_U32, .at = offsetof(struct exporter_row, templates)},
	{"sampling", COLUMN_NUMBER, .print = print_sampling},
	{"sampling_source", COLUMN_TEXT, .print = print_source},
	COUNT("lost_agent", lost_agent),
};

ITEMS(epoch->collected, exporters, nb_exporters)

const struct output output_exporters = {
	OUTPUT_OPTION(EXPORTERS, "exporters", "exporters", .default_note = "not written",
		COLLECT_OPTION,
		.help = "Write counts of each exporter to FILE or URL, as CSV: datagrams and "
			"records that were counted, lost, waiting or not readable. Repeatable."),
	.collected = true,
	OUTPUT_COLUMNS(columns),
	.of_epoch = true,
	.items = items,
};
