/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/ledger/forwarded.h"

#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>

#include "base/log.h"
#include "base/text.h"
#include "base/units.h"
#include "parallel/workers/forward.h"
#include "rx/port/port.h"

static bool forwards(const struct forwarded *forwarded)
{
	return forwarded->run->plan->forward != FORWARD_OFF;
}

void forwarded_start(struct forwarded *forwarded, const struct run *run)
{
	*forwarded = (struct forwarded){.run = run};
	for (uint32_t p = 0; forwards(forwarded) && p < run->nb_ports; p++)
		port_sent_start(&forwarded->out[p].sent, &run->ports[p]);
}

void forwarded_look(struct forwarded *forwarded, int64_t now, const bool *up)
{
	const struct run *run = forwarded->run;
	bool thorough = now - forwarded->looked >= SECOND_NS;

	if (!forwards(forwarded))
		return;
	for (uint32_t p = 0; p < run->nb_ports; p++) {
		port_send_link(&run->ports[p].send, up[p]);
		if (!thorough)
			continue;
		port_sending_look(&run->ports[p]);
		port_sent_read(&forwarded->out[p].sent);
	}
	if (thorough)
		forwarded->looked = now;
}

static void add_ways(
	struct forward_counts *sum, const struct forward *forward, uint32_t in, uint64_t epoch)
{
	for (uint32_t w = 0; forward != NULL && w < forward->nb_ways; w++) {
		const struct forward_counts *counts = &forward->ways[w].counts[epoch & 1];

		if (forward->ways[w].in != in)
			continue;
		sum->received += counts->received;
		sum->taken += counts->taken;
		sum->bytes += counts->bytes;
		sum->tx_full += counts->tx_full;
		sum->too_long += counts->too_long;
		sum->no_link += counts->no_link;
		histogram_merge(&sum->times, &counts->times);
	}
}

static uint64_t quantile_ns(const struct histogram *times, double share)
{
	return (uint64_t)((__uint128_t)histogram_quantile(times, share) * SECOND_NS /
			  rte_get_tsc_hz());
}

/* Returns at most `taken` packets that the device failed to send. Later epochs get the rest. */
static uint64_t take_unsent(struct forwarded_port *out, uint64_t taken)
{
	uint64_t unsent;

	port_sent_read(&out->sent);
	out->taken += taken;
	unsent = out->sent.unsent - out->unsent;
	if (unsent > taken)
		unsent = taken;
	out->unsent += unsent;
	return unsent;
}

#define ADD(fate) sum->fate += counts->fate;
static void sum_up(struct forwarded_counts *sum, const struct forwarded_counts *counts)
{
	sum->received += counts->received;
	FORWARDED_FATES(ADD)
	sum->bytes += counts->bytes;
}

static struct report_forwarded row_of(struct forwarded *forwarded, uint32_t in, uint64_t epoch)
{
	const struct run *run = forwarded->run;
	uint32_t out = run->plan->ports[in].out;
	struct forward_counts sum = {0};
	struct report_forwarded row;

	for (uint32_t w = 0; w < run->nb_workers; w++)
		add_ways(&sum, run->workers[w]->forward, in, epoch);
	for (uint32_t r = 0; r < run->nb_rx_cores; r++)
		add_ways(&sum, run->rx_cores[r]->forward, in, epoch);
	row = (struct report_forwarded){
		.in = run->ports[in].name,
		.out = run->ports[out].name,
		.counts =
			{
				.received = sum.received,
				.tx_full = sum.tx_full,
				.too_long = sum.too_long,
				.no_link = sum.no_link,
				.bytes = sum.bytes,
			},
		.timed = sum.times.n > 0,
		.p50_ns = quantile_ns(&sum.times, 0.5),
		.p99_ns = quantile_ns(&sum.times, 0.99),
		.p999_ns = quantile_ns(&sum.times, 0.999),
		.max_ns = quantile_ns(&sum.times, 1),
	};
	row.counts.tx_errors = take_unsent(&forwarded->out[out], sum.taken);
	row.counts.forwarded = sum.taken - row.counts.tx_errors;
	sum_up(&forwarded->so_far[in], &row.counts);
	row.so_far = forwarded->so_far[in];
	return row;
}

static void warn_too_long(struct forwarded *forwarded, uint32_t in, uint64_t number)
{
	const struct run *run = forwarded->run;
	const struct port *out = &run->ports[run->plan->ports[in].out];
	struct forwarded_port *port = &forwarded->out[run->plan->ports[in].out];

	if (port->too_long_warned)
		return;
	port->too_long_warned = true;
	log_warning(
		"interval %llu: frames from %s of more than %u bytes are too long for %s, and are "
		"dropped (too_long); raise its MTU, or disable offloads that join packets "
		"(ethtool -K INTERFACE gro off lro off; at the sender tso off gso off)",
		(unsigned long long)number, run->ports[in].name,
		atomic_load_explicit(&out->send.longest, memory_order_relaxed), out->name);
}

/* Returns by how many packets the counters of the devices differ from the accepted packets. */
static uint64_t differences(const struct forwarded *forwarded)
{
	uint64_t sum = 0;

	for (uint32_t p = 0; p < forwarded->run->nb_ports; p++) {
		const struct forwarded_port *out = &forwarded->out[p];
		uint64_t told = out->sent.sent + out->sent.unsent;

		if (!port_sent_is_exact(&out->sent)) {
			log_info("%s: the device does not count sent packets exactly: its count is "
				 "not checked",
				forwarded->run->ports[p].name);
			continue;
		}
		sum += told > out->taken ? told - out->taken : out->taken - told;
	}
	return sum;
}

bool forwarded_close(struct forwarded *forwarded, uint64_t epoch, uint64_t number, bool last,
	struct report_epoch *report)
{
	uint32_t nb_ports = forwarded->run->nb_ports;

	if (!forwards(forwarded))
		return true;
	if (report != NULL)
		report->forwarded = calloc(nb_ports, sizeof(report->forwarded[0]));
	for (uint32_t p = 0; p < nb_ports; p++) {
		struct report_forwarded row = row_of(forwarded, p, epoch);

		sum_up(&forwarded->sum.of_all, &row.counts);
		if (row.counts.too_long > 0)
			warn_too_long(forwarded, p, number);
		if (report != NULL && report->forwarded != NULL)
			report->forwarded[report->nb_forwarded++] = row;
	}
	if (last)
		forwarded->sum.unaccounted = differences(forwarded);
	return report == NULL || report->forwarded != NULL;
}

#define REASON(fate) {#fate, sum->of_all.fate},
void forwarded_sentence(struct text *text, const struct forwarded_sum *sum)
{
	const struct {
		const char *name;
		uint64_t count;
	} reasons[] = {FORWARDED_REASONS(REASON)};
	const char *separator = " (";

	text_printf(text, "%llu of %llu packets forwarded",
		(unsigned long long)sum->of_all.forwarded,
		(unsigned long long)sum->of_all.received);
	if (forwarded_unsent(&sum->of_all) == 0)
		return;
	text_printf(text, ", %llu not sent", (unsigned long long)forwarded_unsent(&sum->of_all));
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
		if (reasons[i].count == 0)
			continue;
		text_printf(text, "%s%llu %s", separator, (unsigned long long)reasons[i].count,
			reasons[i].name);
		separator = ", ";
	}
	text_char(text, ')');
}
