/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/ledger.h"

#include <rte_cycles.h>

#define SECOND_NS 1000000000ULL

static uint64_t cycles_to_ns(uint64_t cycles)
{
	return (uint64_t)((__uint128_t)cycles * SECOND_NS / rte_get_tsc_hz());
}

void account_start(struct account *account, const struct run *run)
{
	*account = (struct account){.run = run};
	for (uint32_t p = 0; p < run->nb_ports; p++)
		if (!port_losses(&run->ports[p], &account->last[p]))
			account->last[p] = (struct port_losses){0}; /* never to be compared */
}

uint64_t account_devices_received(const struct account *account)
{
	uint64_t received = 0;

	for (uint32_t p = 0; p < account->run->nb_ports; p++) {
		struct port_losses losses;

		if (port_losses(&account->run->ports[p], &losses))
			received += losses.received;
	}
	return received;
}

/* A device whose peer went away or whose link was reset may begin to count anew. */
static uint64_t counted_since(uint64_t now, uint64_t last)
{
	return now >= last ? now - last : now;
}

static void add_device_losses(struct account *account, struct ledger *ledger)
{
	for (uint32_t p = 0; p < account->run->nb_ports; p++) {
		const struct port *port = &account->run->ports[p];
		struct port_losses now, *last = &account->last[p];

		if (!port_losses(port, &now)) {
			last->received_known = false;
			continue;
		}
		ledger->nic_missed += counted_since(now.missed, last->missed);
		ledger->nic_errors += counted_since(now.errors, last->errors);
		ledger->no_mbuf += counted_since(now.no_mbuf, last->no_mbuf);
		/* What it counted before it began anew is nowhere to be read any more. */
		now.received_known &= last->received_known && now.received >= last->received;
		*last = now;
		if (port->largest_frame > ledger->largest_frame)
			ledger->largest_frame = port->largest_frame;
	}
}

/* What the devices say they gave us, against what we took, when all queues are empty. */
static uint64_t device_difference(const struct account *account)
{
	uint64_t device = 0;

	for (uint32_t p = 0; p < account->run->nb_ports; p++) {
		if (!account->last[p].received_known)
			return 0;
		device += account->last[p].received;
	}
	return device > account->received ? device - account->received : account->received - device;
}

struct ledger account_epoch(
	struct account *account, uint64_t epoch, const struct epoch_info *info, bool last)
{
	const struct run *run = account->run;
	struct ledger ledger = {
		.nic_missed = info->dropped,
		.largest_frame = info->largest_frame,
		.smallest_frame = UINT32_MAX,
	};

	for (uint32_t w = 0; w < run->nb_workers; w++) {
		const struct generation *generation = worker_generation(run->workers[w], epoch);
		const struct parse_counts *counts = &generation->counts;

		ledger.received += generation->received;
		ledger.measured += generation->measured;
		for (uint32_t v = 0; v < PARSE_VERDICT_COUNT; v++)
			if (parse_verdicts[v].class == PARSE_CLASS_NON_IP)
				ledger.non_ip += counts->verdicts[v];
			else if (parse_verdicts[v].class == PARSE_CLASS_MALFORMED)
				ledger.malformed += counts->verdicts[v];
		ledger.bytes += counts->bytes;
		if (counts->largest_frame > ledger.largest_frame)
			ledger.largest_frame = counts->largest_frame;
		if (counts->smallest_frame < ledger.smallest_frame)
			ledger.smallest_frame = counts->smallest_frame;
		ledger.rx_ns += cycles_to_ns(generation->rx_cycles);
		ledger.ppt_ns += cycles_to_ns(generation->ppt_cycles);
		ledger.free_ns += cycles_to_ns(generation->free_cycles);
	}
	if (run->receiver != NULL) {
		const struct receiver_generation *generation =
			receiver_generation(run->receiver, epoch);

		ledger.received += generation->received;
		ledger.ring_full += generation->ring_full;
		ledger.rx_ns += cycles_to_ns(generation->rx_cycles);
	}
	add_device_losses(account, &ledger);
	account->received += ledger.received;
	ledger.offered = ledger.received + ledger.nic_missed + ledger.nic_errors + ledger.no_mbuf;
	if (run->feeder != NULL)
		ledger.unaccounted = info->fed > ledger.offered ? info->fed - ledger.offered
								: ledger.offered - info->fed;
	else if (last)
		ledger.unaccounted = device_difference(account);
	return ledger;
}

bool account_losses_known(const struct run *run)
{
	for (uint32_t p = 0; p < run->nb_ports; p++)
		if (!run->ports[p].driver->counts_losses)
			return false;
	return true;
}
