/* SPDX-License-Identifier: BSD-3-Clause */

/* --export queues: a row for each worker. */

#include "report/rows/balance.h"
#include "report/rows/rows.h"

COLUMN_PRINTER(print_worker)
{
	const struct report_load *load = row->item;

	text_u64(text, (uint64_t)(load - row->epoch->loads));
}

/* Prints an int. A negative number is an unknown value. */
COLUMN_PRINTER(print_int)
{
	int value = *(const int *)column_at(column, row);

	if (value >= 0)
		text_u64(text, (uint64_t)value);
}

COLUMN_PRINTER(print_share)
{
	text_printf(text, "%.6f", balance_share(row->epoch, row->item));
}

COLUMN_PRINTER(print_busy)
{
	double busy = balance_busy(row->epoch, row->item);

	if (busy >= 0)
		text_printf(text, "%.6f", busy);
}

COLUMN_PRINTER(print_imbalance)
{
	double imbalance = balance_ratio(row->epoch);

	if (imbalance > 0)
		text_printf(text, "%.6f", imbalance);
}

#define AT(member) .at = offsetof(struct report_load, member)

static const struct column columns[] = {
	EPOCH_NUMBER,
	EPOCH_START,
	EPOCH_END,
	{"worker", COLUMN_NUMBER, .print = print_worker},
	{"lcore", COLUMN_U32, AT(lcore)},
	{"cpu", COLUMN_NUMBER, AT(cpu), .print = print_int},
	{"ports", COLUMN_STRING, AT(ports)},
	{"queue", COLUMN_NUMBER, AT(queue), .print = print_int},
	{"received", COLUMN_U64, AT(received)},
	{"measured", COLUMN_U64, AT(measured)},
	{"ring_full", COLUMN_U64, AT(ring_full)},
	{"bytes", COLUMN_U64, AT(bytes)},
	{"share", COLUMN_FRACTION, .print = print_share},
	{"busy", COLUMN_FRACTION, .print = print_busy},
	{"imbalance", COLUMN_FRACTION, .print = print_imbalance},
	{"backlog_max", COLUMN_U64, AT(backlog_max), .when = COLUMN_KEPT_UP},
	{"level_max", COLUMN_U64, AT(level_max), .when = COLUMN_KEPT_UP},
	{"skipped", COLUMN_U64, AT(skipped), .when = COLUMN_KEPT_UP},
};

ITEMS(epoch, loads, workers)

const struct output output_queues = {
	OUTPUT_PART(QUEUES, "queues", "queues",
		.help = "Write packets and losses of each worker and queue."),
	OUTPUT_COLUMNS(columns),
	.of_epoch = true,
	.items = items,
};
