/* SPDX-License-Identifier: BSD-3-Clause */
#include "parallel/workers/reader.h"

#include "base/prefetch.h"
#include "parallel/workers/stage_timer.h"
#include "rx/packet/meta.h"

static void parse(struct reader *reader, const struct counting *counting,
	struct rte_mbuf *const *pkts, uint32_t n, struct key_burst *burst,
	struct parse_counts *counts)
{
	const enum parse_level level = counting->tcp       ? PARSE_TCP
				       : counting->extra   ? PARSE_EXTRA
				       : counting->details ? PARSE_DETAILS
							   : PARSE_KEYS;

	if (!reader->replay && level > PARSE_KEYS) {
		reader->times.polled = packet_clock_now(&reader->clock);
		packet_times_follow(&reader->times);
	}
	if (reader->replay)
		parse_burst_replay(pkts, n, burst, counts, level, counting->overhead);
	else
		parse_burst_port(pkts, n, burst, counts, level, counting->overhead, &reader->times,
			reader->in_ports);
}

static uint32_t filter(
	const struct reader *reader, struct rte_mbuf **pkts, uint32_t n, uint64_t *filtered)
{
	uint32_t kept = reader->filter == NULL ? n : filter_burst(reader->filter, pkts, n);

	*filtered += n - kept;
	return kept;
}

void reader_read(struct reader *reader, const struct counting *counting, struct rte_mbuf **pkts,
	uint32_t n, struct key_burst *burst, struct parse_counts *counts, uint64_t *filtered)
{
	n = filter(reader, pkts, n, filtered);
	parse(reader, counting, pkts, n, burst, counts);
}

void reader_read_timed(struct reader *reader, const struct counting *counting,
	struct rte_mbuf **pkts, uint32_t n, struct key_burst *burst, struct parse_counts *counts,
	uint64_t *filtered, struct stage_timer *timer)
{
	n = filter(reader, pkts, n, filtered);
	if (reader->filter != NULL)
		STAGE_TIMER_END(timer, filter);
	parse(reader, counting, pkts, n, burst, counts);
	STAGE_TIMER_END(timer, parse);
}

uint64_t reader_skip(const struct reader *reader, struct rte_mbuf *const *pkts, uint32_t n,
	struct parse_counts *counts)
{
	uint32_t largest = counts->largest_frame;
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t wire_len;

		if (i + MBUF_AHEAD < n)
			prefetch_mbuf(pkts[i + MBUF_AHEAD]);
		wire_len = reader->replay ? packet_meta(pkts[i])->wire_len : pkts[i]->pkt_len;
		bytes += wire_len;
		largest = RTE_MAX(largest, wire_len);
	}
	counts->largest_frame = largest;
	return bytes;
}

void reader_read_ahead(struct reader *reader, const struct counting *counting,
	struct rte_mbuf *const *pkts, uint32_t n, struct key_burst *burst,
	struct parse_counts *counts, uint64_t *filtered)
{
	struct rte_mbuf *matching[BURST_MAX];
	uint32_t kept;

	if (reader->filter == NULL) {
		parse(reader, counting, pkts, n, burst, counts);
		return;
	}
	kept = filter_pick(reader->filter, pkts, n, matching);
	*filtered += n - kept;
	parse(reader, counting, matching, kept, burst, counts);
}

uint64_t reader_came(struct reader *reader, struct rte_mbuf *mbuf, uint64_t polled)
{
	int64_t waited;

	if (reader->times.stamped == 0)
		return polled;
	reader->times.polled = packet_clock_now(&reader->clock);
	packet_times_follow(&reader->times);
	waited = reader->times.polled - packet_time(&reader->times, mbuf);
	if (waited ==
		0) /* without a usable timestamp, packet_time() returns the time of the poll */
		return polled;
	return rte_rdtsc() - (uint64_t)((double)waited / reader->clock.ns_of_tsc);
}
