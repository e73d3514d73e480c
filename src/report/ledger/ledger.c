/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/ledger/ledger.h"

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_ether.h>

#include "base/log.h"
#include "base/units.h"
#include "parallel/shed/shed_options.h"
#include "report/ledger/collector_report.h"

static uint64_t cycles_to_ns(uint64_t cycles)
{
	return (uint64_t)((__uint128_t)cycles * SECOND_NS / rte_get_tsc_hz());
}

void ledger_start(struct ledger_state *state, const struct run *run)
{
	*state = (struct ledger_state){.run = run};
	for (uint32_t p = 0; p < run->nb_ports; p++)
		port_meter_start(&state->meters[p], &run->ports[p], state->meters, p);
}

static void read_devices(struct ledger_state *state)
{
	for (uint32_t p = 0; p < state->run->nb_ports; p++)
		port_meter_read(&state->meters[p]);
}

void ledger_sample(struct ledger_state *state, int64_t now)
{
	if (now - state->sampled < SECOND_NS)
		return;
	state->sampled = now;
	read_devices(state);
}

uint64_t ledger_devices_received(const struct ledger_state *state)
{
	const struct run *run = state->run;
	uint64_t received = run->ops->received != NULL ? run->ops->received(run->source) : 0;

	for (uint32_t p = 0; p < state->run->nb_ports; p++) {
		const struct port *port = &state->run->ports[p];
		struct rte_eth_stats stats;
		uint64_t of_sockets, lost;

		if (port->sockets != NULL) {
			if (socket_queues_count(port->sockets, &of_sockets, &lost))
				received += of_sockets;
		} else if (rte_eth_stats_get(port->id, &stats) == 0) {
			received += stats.ipackets;
		}
	}
	return received;
}

/* Returns the increase of a device counter since the last epoch, summed over all ports. */
static uint64_t told_since(struct ledger_state *state, enum port_column column)
{
	uint64_t before = state->told[column], now = 0;

	for (uint32_t p = 0; p < state->run->nb_ports; p++)
		now += port_meter_count(&state->meters[p], column);
	state->told[column] = now;
	return now - before;
}

static void add_device_losses(struct ledger_state *state, struct ledger *ledger)
{
	read_devices(state);
	ledger->nic_missed += told_since(state, PORT_MISSED);
	ledger->nic_errors += told_since(state, PORT_ERRORS);
	ledger->no_mbuf += told_since(state, PORT_NO_MBUF);
	ledger->doubtful += told_since(state, PORT_DOUBTFUL);
	for (uint32_t p = 0; p < state->run->nb_ports; p++) {
		struct port_meter *meter = &state->meters[p];

		if (!meter->complete || meter->lost_gap)
			ledger->losses_unknown = true;
		meter->lost_gap = false;
		if (meter->port->largest_frame > ledger->largest_frame)
			ledger->largest_frame = meter->port->largest_frame;
	}
}

static void add_source_losses(const struct run *run, struct ledger *ledger)
{
	struct source_losses losses = {0};

	if (run->ops->losses != NULL)
		losses = run->ops->losses(run->source);
	ledger->nic_missed += losses.missed;
	ledger->nic_errors += losses.errors;
	if (losses.largest_frame > ledger->largest_frame)
		ledger->largest_frame = losses.largest_frame;
}

/* Some drivers update their counters up to late_ms late. */
static void wait_for_late_counters(const struct ledger_state *state)
{
	uint16_t longest = 0;

	for (uint32_t p = 0; p < state->run->nb_ports; p++) {
		const struct port_driver *driver = state->run->ports[p].driver;

		if (driver->late_ms > longest)
			longest = driver->late_ms;
	}
	if (longest > 0)
		rte_delay_us_sleep(longest * 1000U);
}

static uint64_t polled_from(const struct poller *poller, uint16_t port)
{
	uint64_t received = 0;

	for (uint32_t q = 0; q < poller->nb_queues; q++)
		if (poller->queues[q].port == port)
			received += poller->queues[q].received;
	return received;
}

static uint64_t received_from(const struct run *run, uint16_t port)
{
	uint64_t received = 0;

	for (uint32_t r = 0; r < run->nb_rx_cores; r++)
		received += polled_from(&run->rx_cores[r]->poller, port);
	for (uint32_t w = 0; w < run->nb_workers; w++)
		received += polled_from(&run->workers[w]->poller, port);
	return received;
}

/* Valid only if all queues are empty, since a device may count packets at their arrival. */
static uint64_t port_difference(const struct ledger_state *state, uint32_t p)
{
	const struct port *port = &state->run->ports[p];
	uint64_t device = port_meter_count(&state->meters[p], PORT_RECEIVED);
	uint64_t received = received_from(state->run, port->id);

	if (!port->driver->polled && !port->silenced) {
		log_info("%s: the link stays up after the run: the ledger is not checked against "
			 "the count of received packets",
			port->name);
		return 0;
	}
	if (device == UINT64_MAX) {
		log_info("%s: the device has no complete count of received packets: the ledger is "
			 "not checked against it",
			port->name);
		return 0;
	}
	return device > received ? device - received : received - device;
}

static uint64_t device_differences(const struct ledger_state *state)
{
	uint64_t sum = 0;

	for (uint32_t p = 0; p < state->run->nb_ports; p++)
		sum += port_difference(state, p);
	return sum;
}

static void add_verdicts(struct ledger *ledger, const struct parse_counts *counts)
{
	for (uint32_t v = 0; v < PARSE_VERDICT_COUNT; v++)
		if (parse_verdicts[v].class == PARSE_CLASS_NON_IP)
			ledger->non_ip += counts->verdicts[v];
		else if (parse_verdicts[v].class == PARSE_CLASS_MALFORMED)
			ledger->malformed += counts->verdicts[v];
}

/* These counts are 0 unless a receiving core parses packets for its workers. */
static void add_off_path(struct ledger *ledger, const struct rx_core_generation *generation)
{
	ledger->filtered += generation->filtered;
	add_verdicts(ledger, &generation->counts);
	ledger->ppt_ns += cycles_to_ns(generation->ppt_cycles);
	ledger->free_ns += cycles_to_ns(generation->free_cycles);
}

static void add_shed(struct ledger *ledger, const struct shed_counts *shed_counts)
{
	ledger->skipped += shed_counts->skipped;
	ledger->skipped_bytes += shed_counts->skipped_bytes;
	ledger->unseen += shed_counts->unseen;
	ledger->unseen_bytes += shed_counts->unseen_bytes;
	ledger->added += shed_counts->added;
	ledger->added_bytes += shed_counts->added_bytes;
}

/* The device may have dropped longer frames than it received. */
static void add_largest_lost(const struct ledger_state *state, struct ledger *ledger)
{
	if (ledger_lost(ledger) + ledger->doubtful == 0 && !ledger->losses_unknown)
		return;
	for (uint32_t p = 0; p < state->run->nb_ports; p++)
		if (state->run->ports[p].largest_lost > ledger->largest_frame)
			ledger->largest_frame = state->run->ports[p].largest_lost;
}

struct ledger ledger_epoch(
	struct ledger_state *state, uint64_t epoch, const struct epoch_info *info, bool last)
{
	const struct run *run = state->run;
	const bool records = source_is(run->config, SOURCE_RECORDS);
	uint32_t longest_received = 0;
	struct ledger ledger = {
		.nic_missed = info->dropped,
		.largest_frame = records ? 0 : info->largest_frame,
		.missing_bytes = records ? 0 : info->missing_bytes,
		.smallest_frame = UINT32_MAX,
	};

	for (uint32_t w = 0; w < run->nb_workers; w++) {
		const struct generation *generation = worker_generation(run->workers[w], epoch);
		const struct parse_counts *counts = &generation->counts;

		ledger.received += generation->received;
		ledger.measured += generation->measured;
		ledger.filtered += generation->filtered;
		add_verdicts(&ledger, counts);
		ledger.ring_full += generation->ring_full;
		ledger.bytes += counts->bytes;
		ledger.kept_up |= run->workers[w]->shed != NULL;
		add_shed(&ledger, &generation->kept);
		if (counts->largest_frame > longest_received)
			longest_received = counts->largest_frame;
		if (counts->smallest_frame < ledger.smallest_frame)
			ledger.smallest_frame = counts->smallest_frame;
		ledger.rx_ns += cycles_to_ns(generation->rx_cycles);
		ledger.ppt_ns += cycles_to_ns(generation->ppt_cycles);
		ledger.free_ns += cycles_to_ns(generation->free_cycles);
	}
	for (uint32_t r = 0; r < run->nb_rx_cores; r++) {
		const struct rx_core_generation *generation =
			rx_core_generation(run->rx_cores[r], epoch);

		ledger.received += generation->received;
		for (uint32_t w = 0; w < run->rx_cores[r]->nb_workers; w++)
			ledger.ring_full += generation->ring_full[w];
		ledger.rx_ns += cycles_to_ns(generation->rx_cycles);
		add_off_path(&ledger, generation);
		if (generation->counts.largest_frame > longest_received)
			longest_received = generation->counts.largest_frame;
	}
	ledger.longest_frame = longest_received;
	if (longest_received > ledger.largest_frame)
		ledger.largest_frame = longest_received;
	if (last)
		wait_for_late_counters(state);
	add_device_losses(state, &ledger);
	add_source_losses(run, &ledger);
	add_largest_lost(state, &ledger);
	ledger.offered = ledger.received + ledger.nic_missed + ledger.nic_errors + ledger.no_mbuf;
	if (records)
		collector_report_account(run, epoch, info->fed, &ledger);
	else if (!run_is_live(run))
		ledger.unaccounted = info->fed > ledger.offered ? info->fed - ledger.offered
								: ledger.offered - info->fed;
	else if (last)
		ledger.unaccounted = run->ops->difference != NULL
					     ? run->ops->difference(run->source)
					     : device_differences(state);
	return ledger;
}

static const struct option_row ledger_rows[] = {
	{
		.name = "max-loss",
		.rare = true,
		.placeholder = "FRACTION",
		.group = OPTION_GROUP_REPORT,
		.type = OPTION_FRACTION,
		OPTION_FIELD(ledger_options, max_loss),
		.zero = true,
		.one = true,
		.default_text = "1",
		.help = "Exit with status 1 if the run lost a larger share of its packets. All "
			"outputs are still complete.",
	},
	{
		.name = "max-skip",
		.rare = true,
		.placeholder = "FRACTION",
		.group = OPTION_GROUP_REPORT,
		.type = OPTION_FRACTION,
		.inapplicable = shed_policy_given_inapplicable,
		OPTION_FIELD(ledger_options, max_skip),
		.zero = true,
		.one = true,
		.default_text = "1",
		.config_only = true,
		.help = "Exit with status 1 if the run skipped a larger share of its packets "
			"under overload. All outputs are still complete.",
	},
	{0},
};

const struct option_owner ledger_owner = {
	.rows = ledger_rows,
	.size = sizeof(struct ledger_options),
};
