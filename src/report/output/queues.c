/* SPDX-License-Identifier: BSD-3-Clause */

/* --queues: how an epoch's packets were spread, a CSV row for every worker. */

#include "report/output/balance.h"
#include "report/output/csv.h"
#include "report/output/output.h"

static void queues_header(struct text *text, uint32_t fields)
{
	(void)fields;
	text_str(text, CSV_EPOCH_HEADER
		",worker,lcore,cpu,ports,queue,received,measured,ring_full,bytes,share,busy"
		",imbalance\n");
}

static void add_load(
	struct text *text, const struct report_epoch *epoch, const struct report_load *load)
{
	double busy = balance_busy(epoch, load), imbalance = balance_ratio(epoch);

	csv_epoch_begin(text, epoch);
	csv_u64(text, (uint64_t)(load - epoch->loads));
	csv_u64(text, load->lcore);
	csv_u64_if(text, load->cpu >= 0, (uint64_t)load->cpu);
	csv_string(text, load->ports);
	csv_u64_if(text, load->queue >= 0, (uint64_t)load->queue);
	csv_u64(text, load->received);
	csv_u64(text, load->measured);
	csv_u64(text, load->ring_full);
	csv_u64(text, load->bytes);
	csv_ratio(text, balance_share(epoch, load));
	if (busy >= 0)
		csv_ratio(text, busy);
	else
		csv_empty(text);
	if (imbalance > 0)
		csv_ratio(text, imbalance);
	else
		csv_empty(text);
	csv_row_end(text);
}

static void queues_epoch(struct text *text, const struct report_epoch *epoch)
{
	for (uint32_t w = 0; w < epoch->workers; w++)
		add_load(text, epoch, &epoch->loads[w]);
}

static uint64_t queues_rows(const struct report_epoch *epoch)
{
	return epoch->workers;
}

const struct output output_queues = {
	.option = "--queues",
	.header = queues_header,
	.epoch = queues_epoch,
	.rows = queues_rows,
};
