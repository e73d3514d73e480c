/* SPDX-License-Identifier: BSD-3-Clause */

/* --export deliveries: a row for each destination and kind of rows. */

#include "report/rows/rows.h"

#define AT(member)    .at = offsetof(struct report_delivery, member)
#define KNOWN(member) .known = offsetof(struct report_delivery, member)

static const struct column columns[] = {
	EPOCH_NUMBER,
	EPOCH_START,
	EPOCH_END,
	{"export", COLUMN_STRING, AT(name)},
	{"kind", COLUMN_STRING, AT(kind)},
	{"rows", COLUMN_U64, AT(rows)},
	{"delivered", COLUMN_U64, AT(delivered)},
	{"acknowledged", COLUMN_U64, AT(acknowledged)},
	{"failed", COLUMN_U64, AT(failed)},
	{"unknown", COLUMN_U64, AT(unknown)},
	{"dropped", COLUMN_U64, AT(dropped)},
	{"spooled", COLUMN_U64, AT(spooled)},
	{"waiting", COLUMN_U64, AT(waiting)},
	{"oldest", COLUMN_TIME, AT(oldest), KNOWN(waits)},
	{"retries", COLUMN_U64, AT(retries)},
	{"reconnects", COLUMN_U64, AT(reconnects)},
	{"bytes", COLUMN_U64, AT(bytes)},
};

ITEMS(epoch, deliveries, nb_deliveries)

const struct output output_deliveries = {
	OUTPUT_PART(DELIVERIES, "deliveries", "deliveries",
		.help = "Write delivery counts of each export: delivered, failed, dropped, "
			"waiting."),
	OUTPUT_COLUMNS(columns),
	.of_epoch = true,
	.items = items,
};
