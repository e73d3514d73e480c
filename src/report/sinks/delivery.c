/* SPDX-License-Identifier: BSD-3-Clause */

#include "report/sinks/delivery.h"
#include "report/formats/table.h"

bool delivery_concerns(const struct delivery *delivery, const struct report_epoch *epoch)
{
	if (epoch->flows_only)
		return delivery->output == &output_flows;
	return (delivery->output == &output_deliveries) == epoch->deliveries_only;
}

uint64_t delivery_rows(const struct delivery *delivery, const struct report_epoch *epoch)
{
	if (!delivery_concerns(delivery, epoch))
		return 0;
	return delivery->output != NULL ? output_rows(delivery->output, epoch) : table_rows(epoch);
}

static uint64_t read_count(const _Atomic uint64_t *count)
{
	return atomic_load_explicit(count, memory_order_relaxed);
}

struct report_delivery delivery_totals(const struct delivery *delivery)
{
	struct report_delivery all = {
		.name = delivery->name,
		.kind = output_word_of(
			delivery->output != NULL ? delivery->output : &output_heavy_hitters),
		.rows = delivery->rows,
		.dropped = read_count(&delivery->dropped),
		.delivered = read_count(&delivery->delivered),
		.acknowledged = read_count(&delivery->acknowledged),
		.failed = read_count(&delivery->failed),
		.unknown = read_count(&delivery->unknown),
		.retries = read_count(&delivery->retries),
		.reconnects = read_count(&delivery->reconnects),
		.bytes = read_count(&delivery->bytes),
		.spool_bytes = read_count(&delivery->spool_bytes),
		.spool_size = delivery->spool_size,
	};

	all.spooled = read_count(&delivery->spooled);
	all.waiting = all.rows - all.dropped - all.delivered - all.acknowledged - all.failed -
		      all.unknown;
	if (all.spooled > all.waiting)
		all.spooled = all.waiting; /* fates are counted before `spooled` is updated */
	return all;
}

struct report_delivery delivery_look(struct delivery *delivery)
{
	const struct report_delivery before = delivery->told;
	struct report_delivery since = delivery_totals(delivery);

	delivery->told = since;
	since.rows -= before.rows;
	since.dropped -= before.dropped;
	since.delivered -= before.delivered;
	since.acknowledged -= before.acknowledged;
	since.failed -= before.failed;
	since.unknown -= before.unknown;
	since.retries -= before.retries;
	since.reconnects -= before.reconnects;
	since.bytes -= before.bytes;
	return since;
}

uint64_t delivery_lost(const struct delivery *delivery)
{
	return atomic_load_explicit(&delivery->failed, memory_order_relaxed) +
	       atomic_load_explicit(&delivery->unknown, memory_order_relaxed);
}
