/* SPDX-License-Identifier: BSD-3-Clause */
#include "parallel/sources/kernel_take.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_cycles.h>

#include "base/assertion.h"
#include "base/clock.h"
#include "base/units.h"
#include "parallel/workers/worker.h"
#include "rx/packet/parse.h"
#include "rx/packet/unaligned.h"
#include "rx/port/clock.h"

/* ns for which the worker sleeps after a round without entries, if the program counts */
#define NAP_NS      1000000
/* ms; longest sleep of a worker, because the program does not wake it up if its rings fill up */
#define WAIT_MAX_MS 10

#define TCP           6
#define UDP           17
#define UDP_HEADER    8
#define TCP_LENGTH_AT 12 /* offset of the data offset field in the TCP header */

#define IPV6_HEADER   40
#define HOP_BY_HOP    0    /* next header value of a hop-by-hop options header */
#define JUMBO_PAYLOAD 0xc2 /* type of the jumbo payload option (RFC 2675) */
#define JUMBO_OPTION  8    /* bytes of a hop-by-hop options header with only this option */

/* Sizes of the packets on the wire that GSO or GRO merged into one. */
struct gso_segments {
	uint32_t packets;
	uint32_t headers; /* bytes in each packet */
	/* Payload bytes of each packet except the last. 0: all have the same share. */
	uint32_t segment;
	uint32_t payload; /* payload bytes of all packets */
};

/* `added`: bytes of headers that the kernel inserted when it merged the packets. */
static struct gso_segments joined_of(
	const struct kernel_entry *entry, uint32_t headers, uint32_t added)
{
	struct gso_segments segments = {.packets = entry->segments};

	segments.headers = segments.packets > 1 && headers < entry->length ? headers : 0;
	segments.payload = entry->length - segments.headers;
	if (segments.headers > added)
		segments.headers -= added;
	/* Inconsistent sizes: divide the payload evenly. */
	if ((uint64_t)entry->segment * (segments.packets - 1) < segments.payload &&
		(uint64_t)entry->segment * segments.packets >= segments.payload)
		segments.segment = entry->segment;
	return segments;
}

static uint32_t joined_length(const struct gso_segments *segments, uint32_t i)
{
	uint64_t payload = segments->payload;

	if (segments->packets == 1)
		return segments->payload;
	if (segments->segment == 0)
		return segments->headers + (uint32_t)(payload * (i + 1) / segments->packets -
						      payload * i / segments->packets);
	return segments->headers + (i + 1 < segments->packets
						   ? segments->segment
						   : segments->payload - segments->segment * i);
}

/* Bytes of all headers up to TCP or UDP, inclusive. */
static uint32_t headers_of(
	const uint8_t *data, uint32_t captured, const struct parsed *parsed, uint8_t proto)
{
	size_t at = parsed->transport_at;

	if (proto == UDP)
		return (uint32_t)at + UDP_HEADER;
	if (proto == TCP && at + TCP_LENGTH_AT < captured)
		return (uint32_t)at + (data[at + TCP_LENGTH_AT] >> 4) * 4u;
	return (uint32_t)at;
}

struct kernel_packet {
	enum parse_verdict verdict;
	struct key4 key4;
	struct key6 key6;
	struct key_extra extra;
	struct gso_segments segments;
	int64_t time;
};

static uint32_t in_port_of(const struct kernel_origin *origin, uint32_t index)
{
	uint32_t i = 0;

	while (i + 1 < origin->nb_interfaces && origin->interfaces[i] != index)
		i++;
	return i;
}

static void read_key(const struct kernel_entry *entry, struct kernel_packet *packet)
{
	if (entry->kind == KERNEL_ENTRY_IPV4) {
		packet->verdict = PARSE_IPV4;
		packet->key4 = (struct key4){0};
		memcpy(&packet->key4, entry->key, KERNEL_KEY4_BYTES);
	} else {
		packet->verdict = PARSE_IPV6;
		packet->key6 = (struct key6){0};
		memcpy(&packet->key6, entry->key, KERNEL_KEY6_BYTES);
	}
	packet->extra = (struct key_extra){0};
	packet->extra.tcp_flags[0] = entry->tcp_flags;
	key_extra_set_tos(&packet->extra, entry->tos);
	put_be16(packet->extra.vlan, entry->vlan);
	packet->segments = joined_of(entry, entry->headers, 0);
}

/*
 * Bytes of the hop-by-hop header that the kernel inserts if it merges over 64 KB of IPv6 packets.
 */
static uint32_t jumbo_option(const uint8_t *data, uint32_t captured, size_t ip_at)
{
	const uint8_t *ip = data + ip_at, *option = ip + IPV6_HEADER;

	return ip_at + IPV6_HEADER + JUMBO_OPTION <= captured && ip[4] == 0 && ip[5] == 0 &&
			       ip[6] == HOP_BY_HOP && option[1] == 0 && option[2] == JUMBO_PAYLOAD
		       ? JUMBO_OPTION
		       : 0;
}

static void read_headers(const struct kernel_entry *entry, struct kernel_packet *packet)
{
	const uint8_t *data = (const uint8_t *)(entry + 1);
	struct parsed parsed;
	uint32_t headers = 0;

	packet->verdict =
		parse_captured(data, entry->headers, entry->length, LINK_ETHERNET, &parsed);
	/* The headers are truncated, so the key may be wrong. */
	if (parsed.cut && entry->headers < entry->length &&
		parse_verdicts[packet->verdict].class == PARSE_CLASS_KEY)
		packet->verdict = PARSE_LONG_EXTENSION;
	packet->extra = parsed.extra;
	if (packet->verdict == PARSE_IPV4) {
		packet->key4 = parsed.key4;
		headers = headers_of(data, entry->headers, &parsed, parsed.key4.proto);
	} else if (packet->verdict == PARSE_IPV6) {
		packet->key6 = parsed.key6;
		headers = headers_of(data, entry->headers, &parsed, parsed.key6.proto);
	}
	packet->segments = joined_of(entry, headers,
		packet->verdict == PARSE_IPV6 ? jumbo_option(data, entry->headers, parsed.ip_at)
					      : 0);
}

static void empty_burst(struct generation *generation)
{
	struct key_burst *burst = &generation->counting->bursts[0];

	burst->n = 0;
	burst->v6 = 0;
}

/* Exchanges bursts[0] if another burst waits to be counted. */
static void count_and_empty(struct worker *worker, struct generation *generation)
{
	if (worker->shed != NULL) {
		generation->measured += generation->counting->bursts[0].n;
		worker_count_entries(worker, false, rte_rdtsc());
	} else {
		worker_count_read(generation);
	}
	empty_burst(generation);
}

static void match_weights(struct generation *generation, struct prefix_matches *hits)
{
	struct prefix_unmatched left_out;

	prefix_match_weights(
		generation->monitor, &generation->counting->bursts[0], hits, &left_out);
	generation->filtered += left_out.packets;
	generation->measured -= left_out.packets;
	generation->counts.bytes -= left_out.bytes;
}

static void count_weights(struct generation *generation)
{
	struct counting *counting = generation->counting;
	struct prefix_matches hits;

	if (generation->monitor != NULL)
		match_weights(generation, &hits);
	count_weighted_keys(counting, generation->sketch, generation->distinct);
	/* count_weighted_keys() has moved the burst to waiting[0]. */
	if (generation->monitor != NULL)
		prefix_credit_weights(
			generation->monitor, &counting->waiting[0], &hits, generation->rules);
	empty_burst(generation);
}

/* `monotonic` 0: the eBPF program recorded no time, so the time of reading the ring is used. */
static int64_t utc_of(const struct kernel_taker *taker, uint64_t monotonic)
{
	return monotonic > 0 ? (int64_t)monotonic + taker->utc_of_monotonic
			     : taker->worker->reader.times.polled;
}

static void add_packets(
	struct worker *worker, struct generation *generation, const struct kernel_packet *packet)
{
	struct parse_counts *counts = &generation->counts;

	for (uint32_t i = 0; i < packet->segments.packets; i++) {
		struct key_burst *burst = &generation->counting->bursts[0];
		uint32_t length = joined_length(&packet->segments, i), m = burst->n++;

		if (packet->verdict == PARSE_IPV6) {
			burst->key6[m] = packet->key6;
			burst->v6 |= UINT64_C(1) << m;
		} else {
			burst->key4[m] = packet->key4;
		}
		burst->wire_len[m] = length;
		burst->time[m] = packet->time;
		burst->tcp_flags[m] = packet->extra.tcp_flags[0];
		burst->extra[m] = packet->extra;
		counts->bytes += length;
		if (length < counts->smallest_frame)
			counts->smallest_frame = length;
		if (burst->n == BURST_MAX)
			count_and_empty(worker, generation);
	}
}

static void note_largest(struct parse_counts *counts, const struct gso_segments *segments)
{
	uint32_t first = joined_length(segments, 0);
	uint32_t last = joined_length(segments, segments->packets - 1);
	uint32_t largest = first > last ? first : last;

	if (largest > counts->largest_frame)
		counts->largest_frame = largest;
}

static bool is_filtered(const struct worker *worker, const struct kernel_entry *entry,
	const struct gso_segments *segments)
{
	return worker->reader.filter != NULL && entry->kind == KERNEL_ENTRY_HEADERS &&
	       !filter_match(worker->reader.filter, (const uint8_t *)(entry + 1), entry->headers,
		       joined_length(segments, 0));
}

static void take_entry(
	struct kernel_taker *taker, struct generation *generation, const struct kernel_entry *entry)
{
	struct kernel_packet packet;

	if (entry->kind == KERNEL_ENTRY_HEADERS)
		read_headers(entry, &packet);
	else
		read_key(entry, &packet);
	taker->taken += packet.segments.packets;
	generation->received += packet.segments.packets;
	generation->counted += packet.segments.packets;
	if (is_filtered(taker->worker, entry, &packet.segments)) {
		generation->filtered += packet.segments.packets;
		return;
	}
	generation->counts.verdicts[packet.verdict] += packet.segments.packets;
	note_largest(&generation->counts, &packet.segments);
	if (parse_verdicts[packet.verdict].class != PARSE_CLASS_KEY)
		return;
	packet.time = utc_of(taker, entry->time);
	put_be16(packet.extra.in_port, in_port_of(taker->origin, entry->interface));
	add_packets(taker->worker, generation, &packet);
}

static void take_ring_full(struct kernel_taker *taker, uint32_t r, struct generation *generation)
{
	uint64_t ring_full = kernel_ring_full(taker->readers[r].ring);
	uint64_t more = ring_full - taker->ring_full[r];

	taker->ring_full[r] = ring_full;
	taker->taken += more;
	generation->received += more;
	generation->ring_full += more;
}

/*
 * Counts the packets of ring r that the program filtered by the rules of `epoch` since the last
 * call. The worker's present epoch must have the same rules.
 */
static void take_filtered(struct kernel_taker *taker, uint32_t r, uint64_t epoch)
{
	struct generation *generation = worker_generation(taker->worker, taker->worker->epoch);
	uint64_t *taken = &taker->filtered[r][epoch & 1];
	uint64_t more = kernel_ring_filtered(taker->readers[r].ring, epoch) - *taken;

	*taken += more;
	taker->taken += more;
	generation->received += more;
	generation->counted += more;
	generation->filtered += more;
}

/* Returns the number of entries, at most BURST_MAX. */
static uint32_t take_from_ring(
	struct kernel_taker *taker, uint32_t r, struct generation *generation)
{
	struct kernel_reader *reader = &taker->readers[r];
	const struct kernel_entry *entry;
	uint32_t n = 0;

	take_ring_full(taker, r, generation);
	take_filtered(taker, r, taker->worker->epoch);
	/* A program that started in the previous epoch can still filter a packet. */
	take_filtered(taker, r, taker->worker->epoch + 1);
	if (!kernel_reader_look(reader))
		return 0;
	while (n < BURST_MAX && (entry = kernel_reader_next(reader)) != NULL) {
		take_entry(taker, generation, entry);
		n++;
	}
	kernel_reader_release(reader);
	return n;
}

/* The fullest ring is the queue of the worker. */
static void look_at_rings(struct kernel_taker *taker)
{
	uint64_t most = 0;

	for (uint32_t r = 0; r < taker->nb_readers; r++)
		most = RTE_MAX(most, kernel_reader_waiting(&taker->readers[r]));
	worker_look(taker->worker, (uint32_t)most, taker->origin->entries);
}

static uint32_t take_round(struct kernel_taker *taker)
{
	struct worker *worker = taker->worker;
	struct generation *generation = worker_generation(worker, worker->epoch);
	uint64_t start = rte_rdtsc();
	uint32_t n = 0;

	if (generation->counting->details)
		worker->reader.times.polled = packet_clock_now(&worker->reader.clock);
	empty_burst(generation);
	for (uint32_t r = 0; r < taker->nb_readers; r++)
		n += take_from_ring(taker, r, generation);
	if (worker->shed != NULL)
		look_at_rings(taker);
	if (n == 0)
		return 0;
	if (generation->counting->bursts[0].n > 0)
		count_and_empty(worker, generation);
	generation->ppt_cycles += rte_rdtsc() - start;
	return n;
}

static void compare_clocks(struct kernel_taker *taker)
{
	int64_t monotonic = clock_now(CLOCK_MONOTONIC);

	if (taker->compared != 0 && monotonic - taker->compared < SECOND_NS)
		return;
	taker->compared = monotonic;
	taker->utc_of_monotonic = clock_now(CLOCK_REALTIME) - monotonic;
}

static void add_weight(struct generation *generation, const struct key *key, int64_t time,
	uint8_t tcp_flags, uint64_t packets, uint64_t bytes)
{
	struct counting *counting = generation->counting;
	struct key_burst *burst = &counting->bursts[0];
	uint32_t m = burst->n++;

	ASSERT(m, <, BURST_MAX);
	if (key->family == KEY_IPV4) {
		burst->key4[m] = key->v4;
	} else {
		burst->key6[m] = key->v6;
		burst->v6 |= UINT64_C(1) << m;
	}
	burst->weights->packets[m] = packets;
	burst->weights->bytes[m] = bytes;
	burst->time[m] = time;
	burst->tcp_flags[m] = tcp_flags;
	burst->extra[m] = (struct key_extra){.tcp_flags = {tcp_flags}};
	if (burst->n == BURST_MAX)
		count_weights(generation);
}

static void count_taken(struct kernel_taker *taker, enum parse_verdict verdict, uint64_t packets)
{
	struct generation *generation = worker_generation(taker->worker, taker->worker->epoch);

	taker->taken += packets;
	generation->received += packets;
	generation->counted += packets;
	generation->measured += packets;
	generation->counts.verdicts[verdict] += packets;
}

/* A flow becomes two burst entries, because sketches need its first and its last time. */
static void take_flow(void *arg, const struct kernel_flow *flow)
{
	struct kernel_taker *taker = arg;
	struct worker *worker = taker->worker;
	struct generation *generation = worker_generation(worker, worker->epoch);
	uint64_t before = flow->packets - 1, bytes = flow->bytes * before / flow->packets;
	const uint8_t tcp_flags = (uint8_t)flow->tcp_flags;
	const bool ipv4 = flow->kind == KERNEL_ENTRY_IPV4;
	struct key key = {.family = ipv4 ? KEY_IPV4 : KEY_IPV6};

	if (ipv4)
		memcpy(&key.v4, flow->key, KERNEL_KEY4_BYTES);
	else
		memcpy(&key.v6, flow->key, KERNEL_KEY6_BYTES);
	count_taken(taker, ipv4 ? PARSE_IPV4 : PARSE_IPV6, flow->packets);
	generation->counts.bytes += flow->bytes;
	if (before > 0)
		add_weight(generation, &key, utc_of(taker, flow->first), tcp_flags, before, bytes);
	add_weight(generation, &key, utc_of(taker, flow->last), tcp_flags, 1, flow->bytes - bytes);
}

/* Removes the TCP flags, which follow the 5-tuple if the program counts by 6-tuple; otherwise 0. */
static uint8_t take_tcp_flags(struct key *key)
{
	uint8_t *at = key->family == KEY_IPV4 ? &key->v4.spare[0] : &key->v6.spare[0];
	uint8_t flags = *at;

	*at = 0;
	return flags;
}

static void take_decoded(const struct sketch_candidate *flow, void *arg)
{
	struct kernel_taker *taker = arg;
	struct worker *worker = taker->worker;
	struct key key = flow->key;
	uint8_t tcp_flags = take_tcp_flags(&key);

	/* A flow without packets was not decoded completely. */
	if (flow->packets > 0)
		add_weight(worker_generation(worker, worker->epoch), &key,
			worker->reader.times.polled, tcp_flags, flow->packets, flow->bytes);
}

/* All packets of the sketch are measured, even those of undecoded flows. */
static struct kernel_tally take_sketch(
	struct kernel_taker *taker, const struct kernel_sketch *sketch, uint32_t which)
{
	struct generation *generation = worker_generation(taker->worker, taker->worker->epoch);
	struct kernel_tally tally =
		kernel_sketch_take(sketch, which, take_decoded, taker, &generation->undecoded);

	count_taken(taker, PARSE_IPV4, tally.packets[0]);
	count_taken(taker, PARSE_IPV6, tally.packets[1]);
	generation->counts.bytes += tally.bytes;
	return tally;
}

/* The program must no longer write to the tables. */
static void take_tables(struct kernel_taker *taker)
{
	struct worker *worker = taker->worker;
	struct generation *generation = worker_generation(worker, worker->epoch);
	struct parse_counts *counts = &generation->counts;
	const struct kernel_tables *tables = kernel_program_tables(taker->origin->program);
	const struct kernel_sketch *sketch = kernel_program_sketch(taker->origin->program);
	uint64_t start = rte_rdtsc();
	struct kernel_tally tally;

	worker->reader.times.polled = packet_clock_now(&worker->reader.clock);
	empty_burst(generation);
	tally = sketch != NULL ? take_sketch(taker, sketch, worker->epoch & 1)
			       : kernel_tables_take(tables, worker->epoch & 1, take_flow, taker);
	if (generation->counting->bursts[0].n > 0)
		count_weights(generation);
	count_waiting_keys(generation->counting, generation->sketch, generation->distinct);
	if (tally.largest > counts->largest_frame)
		counts->largest_frame = tally.largest;
	if (tally.smallest > 0 && tally.smallest < counts->smallest_frame)
		counts->smallest_frame = tally.smallest;
	generation->ppt_cycles += rte_rdtsc() - start;
}

static void enter(struct kernel_taker *taker, uint64_t epoch)
{
	struct worker *worker = taker->worker;

	const bool other_rules = worker_generation(worker, epoch)->monitor !=
				 worker_generation(worker, worker->epoch)->monitor;

	for (uint32_t r = 0; r < taker->nb_readers; r++) {
		take_filtered(taker, r, epoch);
		kernel_reader_turn(&taker->readers[r], epoch);
	}
	if (taker->origin->on_path || other_rules)
		kernel_program_wait(taker->origin->program);
	/* Filtered packets must count in an epoch with the rules that filtered them. */
	for (uint32_t r = 0; r < taker->nb_readers; r++)
		take_filtered(taker, r, worker->epoch);
	if (taker->origin->on_path)
		take_tables(taker);
	worker_enter_epoch(worker, epoch);
	/* Measurements can change with the epoch, and may then need other timestamps. */
	kernel_program_stamp(taker->origin->program,
		worker_generation(worker, epoch)->counting->details ? taker->origin->stamps
								    : KERNEL_TIMES_NONE);
}

/* If the program counts, only packets of flows that do not fit in its tables are in the rings. */
static void rest_on_path(struct kernel_taker *taker)
{
	static const struct timespec nap = {.tv_nsec = NAP_NS};
	struct worker *worker = taker->worker;

	if (taker->empty_rounds > 1)
		wakeup_wait(&worker->wakeup, RTE_MIN(worker->wait_ms, (uint32_t)WAIT_MAX_MS));
	else
		nanosleep(&nap, NULL);
}

static void take_until_end(struct worker *worker, uint32_t nb_workers)
{
	struct kernel_taker *taker = worker->source;

	(void)nb_workers;
	for (;;) {
		/*
		 * Pairs with the release in epochs_open(). `open` is loaded before the rings are
		 * read: if the run has ended, the program has already written all its entries.
		 */
		uint64_t open = atomic_load_explicit(&worker->epochs->open, memory_order_acquire);
		bool ended = epochs_is_end(worker->epochs, open);
		uint32_t n;

		if (!ended && open > worker->epoch)
			enter(taker, open);
		if (worker_generation(worker, worker->epoch)->counting->details)
			compare_clocks(taker);
		n = take_round(taker);
		taker->empty_rounds = n > 0 ? 0 : taker->empty_rounds + 1;
		if (n > 0)
			continue;
		if (ended) {
			if (taker->origin->on_path)
				take_tables(taker);
			worker_leave(worker, open);
			return;
		}
		if (taker->origin->on_path) {
			rest_on_path(taker);
		} else if (worker->idle == IDLE_SLEEP) {
			worker_look_for_idle_keys(worker);
			poll_nap(poll_nap_ns(taker->origin->entries));
		} else {
			worker_rest(worker);
		}
	}
}

const struct design_ops design_kernel_rss = {
	.name = "rss",
	.suits = "the kernel counts packets, on the CPU that receives them",
	.work = take_until_end,
	.done = worker_free,
};

const struct design_ops design_kernel_async = {
	.name = "async",
	.suits = "the kernel writes packet records to rings, and workers count them",
	.work = take_until_end,
	.done = worker_free,
};

bool kernel_taker_start(struct kernel_taker *taker, const struct kernel_origin *origin,
	struct worker *worker, uint32_t nb_workers)
{
	uint32_t rings = kernel_program_rings(origin->program);

	taker->origin = origin;
	taker->worker = worker;
	worker->source = taker;
	worker->blocks = origin->on_path;
	taker->readers = calloc(rings, sizeof(taker->readers[0]));
	taker->ring_full = calloc(rings, sizeof(taker->ring_full[0]));
	taker->filtered = calloc(rings, sizeof(taker->filtered[0]));
	if (taker->readers == NULL || taker->ring_full == NULL || taker->filtered == NULL)
		return false;
	for (uint32_t cpu = worker->id; cpu < rings; cpu += nb_workers)
		kernel_reader_start(&taker->readers[taker->nb_readers++],
			kernel_program_ring(origin->program, cpu), origin->entries);
	return true;
}

void kernel_taker_free(struct kernel_taker *taker)
{
	free(taker->readers);
	free(taker->ring_full);
	free(taker->filtered);
}
