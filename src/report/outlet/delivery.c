/* SPDX-License-Identifier: BSD-3-Clause */

#include "report/outlet/delivery.h"
#include "report/output/table.h"

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

struct report_delivery delivery_look(struct delivery *delivery)
{
	const struct report_delivery *before = &delivery->told;
	const struct report_delivery all = {
		.rows = delivery->rows,
		.dropped = delivery->dropped,
		.delivered = read_count(&delivery->delivered),
		.acknowledged = read_count(&delivery->acknowledged),
		.failed = read_count(&delivery->failed),
		.unknown = read_count(&delivery->unknown),
		.retries = read_count(&delivery->retries),
		.reconnects = read_count(&delivery->reconnects),
		.bytes = read_count(&delivery->bytes),
	};
	const struct report_delivery since = {
		.name = delivery->name,
		.kind = delivery->output != NULL && delivery->output != &output_heavy_hitters
				? delivery->output->option + 2
				: "heavy-hitters",
		.rows = all.rows - before->rows,
		.dropped = all.dropped - before->dropped,
		.delivered = all.delivered - before->delivered,
		.acknowledged = all.acknowledged - before->acknowledged,
		.failed = all.failed - before->failed,
		.unknown = all.unknown - before->unknown,
		.retries = all.retries - before->retries,
		.reconnects = all.reconnects - before->reconnects,
		.bytes = all.bytes - before->bytes,
		.waiting = all.rows - all.dropped - all.delivered - all.acknowledged - all.failed -
			   all.unknown,
	};

	delivery->told = all;
	return since;
}

uint64_t delivery_lost(const struct delivery *delivery)
{
	return atomic_load_explicit(&delivery->failed, memory_order_relaxed) +
	       atomic_load_explicit(&delivery->unknown, memory_order_relaxed);
}
