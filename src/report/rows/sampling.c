/* SPDX-License-Identifier: BSD-3-Clause */

/* --export sampling: recommended and executed changes of the sampling of exporters. */

#include "collect/exporters/collector_rows.h"
#include "collect/options.h"
#include "report/rows/rows.h"

COLUMN_PRINTER(print_exporter)
{
	const struct sampling_row *sampling = row->item;

	text_address(text, &sampling->address);
}

COLUMN_PRINTER(print_protocol)
{
	const struct sampling_row *sampling = row->item;

	text_str(text, flow_protocols[sampling->protocol]->name);
}

#define AT(member)    .at = offsetof(struct sampling_row, member)
#define KNOWN(member) .known = offsetof(struct sampling_row, member)

static const struct column columns[] = {
	EPOCH_NUMBER,
	{"time", COLUMN_TIME, AT(time)},
	{"exporter", COLUMN_TEXT, .print = print_exporter},
	{"protocol", COLUMN_TEXT, .print = print_protocol},
	{"name", COLUMN_CHARS, AT(name)},
	{"from", COLUMN_U32, AT(from)},
	{"to", COLUMN_U32, AT(to)},
	{"reason", COLUMN_STRING, AT(reason)},
	{"action", COLUMN_STRING, AT(action)},
	{"records", COLUMN_RATIO, AT(records)},
	{"error", COLUMN_RATIO, AT(error), KNOWN(error_known)},
	{"message", COLUMN_FOREIGN, AT(message)},
};

ITEMS(epoch->collected, samplings, nb_samplings)

const struct output output_sampling = {
	OUTPUT_PART(SAMPLING, "sampling", "sampling", COLLECT_OPTION,
		.inapplicable = sampling_target_inapplicable,
		.help = "Write every recommended or executed change of the sampling of an "
			"exporter, with its reason."),
	.collected = true,
	OUTPUT_COLUMNS(columns),
	.of_epoch = true,
	.items = items,
};
