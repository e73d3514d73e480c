/* SPDX-License-Identifier: BSD-3-Clause */

/* --export queues: packets of each worker. */

#include "report/rows/balance.h"
#include "report/rows/rows.h"

static void print_worker(
	struct text *text, const struct column *column, const struct output_row *row)
{
	const struct report_load *load = row->item;

	(void)column;
	text_u64(text, (uint64_t)(load - row->epoch->loads));
}

/* Prints an int, or nothing if it is negative: unknown. */
static void print_int(struct text *text, const struct column *column, const struct output_row *row)
{
	int value = *(const int *)column_at(column, row);

	if (value >= 0)
		text_u64(text, (uint64_t)value);
}

static void print_share(
	struct text *text, const struct column *column, const struct output_row *row)
{
	(void)column;
	text_printf(text, "%.6f", balance_share(row->epoch, row->item));
}

static void print_busy(struct text *text, const struct column *column, const struct output_row *row)
{
	double busy = balance_busy(row->epoch, row->item);

	(void)column;
	if (busy >= 0)
		text_printf(text, "%.6f", busy);
}

static void print_imbalance(
	struct text *text, const struct column *column, const struct output_row *row)
{
	double imbalance = balance_ratio(row->epoch);

	(void)column;
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

static struct output_items items(
	const struct report_epoch *epoch, const struct report_measurement *measurement)
{
	(void)measurement;
	return (struct output_items){epoch->loads, epoch->workers, sizeof(epoch->loads[0])};
}

const struct output output_queues = {
	.option = "--export queues",
	.word = "queues",
	OUTPUT_COLUMNS(columns),
	.of_epoch = true,
	.items = items,
};
