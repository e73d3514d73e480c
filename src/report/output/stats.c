/* SPDX-License-Identifier: BSD-3-Clause */

/* --stats: the ledger of an epoch, a CSV row for every measurement. */

#include "report/output/csv.h"
#include "report/output/output.h"

static void stats_header(struct text *text, uint32_t fields)
{
	(void)fields;
	text_str(text, CSV_ROW_HEADER);
	for (uint32_t c = 0; c < LEDGER_COLUMNS; c++)
		csv_string(text, ledger_columns[c].name);
	text_str(text, ",distinct_keys,pps,bps,drop_rate,rx_ns,ppt_ns,free_ns,delay_ns"
		       ",design,sharing,sketch,workers\n");
}

static void add_ledger(struct text *text, const struct ledger *ledger)
{
	for (uint32_t c = 0; c < LEDGER_COLUMNS; c++)
		csv_u64(text, ledger_column(ledger, c));
}

/* pps, bps, drop_rate */
static void add_rates(
	struct text *text, const struct report_epoch *epoch, const struct ledger *ledger)
{
	uint64_t duration = report_duration(epoch);

	if (duration > 0) {
		csv_u64(text, report_per_second(ledger->measured, duration));
		csv_u64(text, report_per_second((unsigned __int128)ledger->bytes * 8, duration));
	} else {
		csv_empty(text);
		csv_empty(text);
	}
	if (ledger->offered > 0)
		csv_ratio(text, ledger_drop_rate(ledger));
	else
		csv_empty(text);
}

static void add_cost(struct text *text, uint64_t ns, uint64_t received)
{
	if (received > 0)
		text_printf(text, ",%.1f", (double)ns / (double)received);
	else
		csv_empty(text);
}

static void add_row(struct text *text, const struct report_epoch *epoch,
	const struct report_measurement *measurement)
{
	const struct ledger own = report_ledger(epoch, measurement), *ledger = &own;
	uint64_t delay_ns = ledger->rx_ns + ledger->ppt_ns + ledger->free_ns;

	csv_row_begin(text, epoch, measurement);
	add_ledger(text, ledger);
	csv_u64(text, measurement->distinct_keys);
	add_rates(text, epoch, ledger);
	add_cost(text, ledger->rx_ns, ledger->received);
	add_cost(text, ledger->ppt_ns, ledger->received);
	add_cost(text, ledger->free_ns, ledger->received);
	add_cost(text, delay_ns, ledger->received);
	csv_string(text, epoch->design);
	csv_string(text, epoch->sharing);
	csv_string(text, measurement->sketch);
	csv_u64(text, epoch->workers);
	csv_row_end(text);
}

static void stats_epoch(struct text *text, const struct report_epoch *epoch)
{
	for (uint32_t m = 0; m < epoch->nb_measurements; m++)
		add_row(text, epoch, &epoch->measurements[m]);
}

static uint64_t stats_rows(const struct report_epoch *epoch)
{
	return epoch->nb_measurements;
}

const struct output output_stats = {
	.option = "--stats",
	.header = stats_header,
	.epoch = stats_epoch,
	.rows = stats_rows,
};
