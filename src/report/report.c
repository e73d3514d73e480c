/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdlib.h>

#include "report/report.h"

#define COLUMN(field)                                                                              \
	{                                                                                          \
#field, offsetof(struct ledger, field)                                             \
	}

const struct ledger_column ledger_columns[LEDGER_COLUMNS] = {
	COLUMN(offered),
	COLUMN(received),
	COLUMN(measured),
	COLUMN(filtered),
	COLUMN(non_ip),
	COLUMN(malformed),
	COLUMN(nic_missed),
	COLUMN(nic_errors),
	COLUMN(no_mbuf),
	COLUMN(ring_full),
	COLUMN(shed),
	COLUMN(unaccounted),
	COLUMN(bytes),
};

void ledger_add(struct ledger *sum, const struct ledger *ledger)
{
	for (uint32_t c = 0; c < LEDGER_COLUMNS; c++)
		*(uint64_t *)((char *)sum + ledger_columns[c].offset) += ledger_column(ledger, c);
	sum->rx_ns += ledger->rx_ns;
	sum->ppt_ns += ledger->ppt_ns;
	sum->free_ns += ledger->free_ns;
	sum->doubtful += ledger->doubtful;
	sum->losses_unknown |= ledger->losses_unknown;
}

struct report_epoch *report_epoch_alloc(uint32_t nb_measurements, uint32_t workers)
{
	struct report_epoch *epoch = calloc(
		1, sizeof(*epoch) + (size_t)nb_measurements * sizeof(epoch->measurements[0]));

	if (epoch == NULL)
		return NULL;
	epoch->nb_measurements = nb_measurements;
	epoch->workers = workers;
	atomic_init(&epoch->references, 1);
	epoch->loads = calloc(workers, sizeof(epoch->loads[0]));
	if (epoch->loads == NULL) {
		free(epoch);
		return NULL;
	}
	return epoch;
}

struct report_epoch *report_epoch_share(struct report_epoch *epoch)
{
	atomic_fetch_add_explicit(&epoch->references, 1, memory_order_relaxed);
	return epoch;
}

void report_epoch_free(struct report_epoch *epoch)
{
	/* Pairs with itself: all reading happens before the last reference is given back. */
	if (epoch == NULL ||
		atomic_fetch_sub_explicit(&epoch->references, 1, memory_order_acq_rel) > 1)
		return;
	for (uint32_t m = 0; m < epoch->nb_measurements; m++) {
		free(epoch->measurements[m].rows);
		free(epoch->measurements[m].flows);
	}
	free(epoch->rules);
	free(epoch->loads);
	free(epoch);
}

struct ledger report_ledger(
	const struct report_epoch *epoch, const struct report_measurement *measurement)
{
	struct ledger ledger = epoch->ledger;

	ledger.shed += measurement->shed_packets;
	ledger.measured -= measurement->shed_packets;
	ledger.bytes -= measurement->shed_bytes;
	return ledger;
}

uint64_t report_duration(const struct report_epoch *epoch)
{
	return epoch->end > epoch->start ? (uint64_t)epoch->end - (uint64_t)epoch->start : 0;
}

uint64_t report_per_second(unsigned __int128 amount, uint64_t duration_ns)
{
	unsigned __int128 rate = (amount * 1000000000 + duration_ns / 2) / duration_ns;

	return rate < UINT64_MAX ? (uint64_t)rate : UINT64_MAX;
}
