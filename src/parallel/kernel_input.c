/* SPDX-License-Identifier: BSD-3-Clause */
#include "parallel/kernel_input.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_cycles.h>

#include "base/log.h"
#include "base/power_of_two.h"
#include "base/units.h"
#include "kernel/ring.h"
#include "rx/packet/parse.h"
#include "rx/port/clock.h"
#include "rx/port/device_counter.h"
#include "rx/port/interface.h"
#include "rx/port/kernel_interface.h"
#include "sketch/iblt.h"
#include "sketch/measurement.h"

/*
 * Entries of a ring where --ring-size does not say it: 1 MB for each CPU, which holds what comes in
 * 13 ms at 1.2 Mpps while nobody reads.
 */
#define ENTRIES_DEFAULT 16384

/*
 * Of each CPU's table of flows, at most: two generations take 5 MB for a CPU. Flows for which that
 * is too little go through the ring.
 */
#define BUCKETS_MAX 16384

/*
 * Of a row of each CPU's iblt, where --width does not say it: 29 MB in two generations, for 68 000
 * IPv4 flows and half as many of IPv6. What is more cannot be decoded.
 */
#define CELLS_DEFAULT 32768

/* Between looks, where the kernel counts: an epoch ends so late at most. */
#define NAP_NS 1000000

#define LOOK_EVERY_NS (SECOND_NS / 2)

#define TCP               6
#define UDP               17
#define UDP_HEADER        8
#define TCP_LENGTH_AT     12 /* bytes into the header */
#define FRAME_OVERHEAD    22 /* Ethernet's header and two tags */
#define VLAN_AND_IN_PORTS 2  /* bytes of each */

/* An interface, and what it counts. */
struct watched {
	struct kernel_place place;
	uint32_t index;
	uint32_t mtu;
	bool up, gone;
	struct device_counter missed, errors;
	uint64_t missed_told, errors_told;
};

/* A worker's side. */
struct kernel_taker {
	struct kernel_input *input;
	struct worker *worker;
	bool on_path; /* the program counts, and the rings have what it does not take there */
	uint32_t nb_readers;
	struct kernel_reader *readers; /* [nb_readers] */
	/* [nb_readers], as far as they are in an epoch. */
	uint64_t *ring_full;
	uint64_t (*filtered)[2];
	uint64_t taken;           /* packets, of all epochs; the worker's until it has ended */
	int64_t utc_of_monotonic; /* ns to add */
	int64_t compared;         /* monotonic ns, when the clocks were */
};

struct kernel_input {
	struct kernel_input_params params;
	struct kernel_program *program;
	uint32_t nb_watched;
	struct watched watched[OPTION_LIST_MAX];
	int64_t looked;           /* monotonic ns */
	enum kernel_times stamps; /* where times are asked for */
	uint32_t nb_takers;
	struct kernel_taker *takers; /* by worker */
};

static int64_t clock_now(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (int64_t)now.tv_sec * SECOND_NS + now.tv_nsec;
}

/* --- joined packets --- */

/* As they were on the wire, or will be. */
struct joined {
	uint32_t packets;
	uint32_t headers; /* bytes of each */
	uint32_t segment; /* bytes behind them of each but the last; 0: all alike */
	uint32_t payload; /* of all */
};

static struct joined joined_of(const struct kernel_entry *entry, uint32_t headers)
{
	struct joined joined = {.packets = entry->segments};

	joined.headers = joined.packets > 1 && headers < entry->length ? headers : 0;
	joined.payload = entry->length - joined.headers;
	/* Where it does not add up, they are as even as whole bytes allow. */
	if ((uint64_t)entry->segment * (joined.packets - 1) < joined.payload &&
		(uint64_t)entry->segment * joined.packets >= joined.payload)
		joined.segment = entry->segment;
	return joined;
}

/* Bytes on the wire of number i. */
static uint32_t joined_length(const struct joined *joined, uint32_t i)
{
	uint64_t payload = joined->payload;

	if (joined->packets == 1)
		return joined->payload;
	if (joined->segment == 0)
		return joined->headers + (uint32_t)(payload * (i + 1) / joined->packets -
						    payload * i / joined->packets);
	return joined->headers +
	       (i + 1 < joined->packets ? joined->segment : joined->payload - joined->segment * i);
}

/* Bytes of headers of a packet that was parsed here: those of what it carries are not known. */
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

/* --- a worker: from entries to a burst --- */

/* What an entry says, ready to be counted. */
struct told {
	enum parse_verdict verdict;
	struct key4 key4; /* where that is PARSE_IPV4 */
	struct key6 key6; /* where that is PARSE_IPV6 */
	struct key_extra extra;
	struct joined joined;
	int64_t time;
};

static void put16(uint8_t to[VLAN_AND_IN_PORTS], uint32_t number)
{
	to[0] = (uint8_t)(number >> 8);
	to[1] = (uint8_t)number;
}

/* The number of its --kernel. */
static uint32_t in_port_of(const struct kernel_input *input, uint32_t index)
{
	uint32_t i = 0;

	while (i + 1 < input->nb_watched && input->watched[i].index != index)
		i++;
	return i;
}

static void read_key(const struct kernel_entry *entry, struct told *told)
{
	if (entry->kind == KERNEL_ENTRY_IPV4) {
		told->verdict = PARSE_IPV4;
		told->key4 = (struct key4){0};
		memcpy(&told->key4, entry->key, KERNEL_KEY4_BYTES);
	} else {
		told->verdict = PARSE_IPV6;
		told->key6 = (struct key6){0};
		memcpy(&told->key6, entry->key, KERNEL_KEY6_BYTES);
	}
	told->extra = (struct key_extra){0};
	told->extra.tcp_flags[0] = entry->tcp_flags;
	told->extra.dscp[0] = entry->dscp;
	put16(told->extra.vlan, entry->vlan);
	told->joined = joined_of(entry, entry->headers);
}

static void read_headers(const struct kernel_entry *entry, struct told *told)
{
	const uint8_t *data = (const uint8_t *)(entry + 1);
	struct parsed parsed;
	uint32_t headers = 0;

	told->verdict = parse_packet(data, entry->headers, LINK_ETHERNET, &parsed);
	told->extra = parsed.extra;
	if (told->verdict == PARSE_IPV4) {
		told->key4 = parsed.key4;
		headers = headers_of(data, entry->headers, &parsed, parsed.key4.proto);
	} else if (told->verdict == PARSE_IPV6) {
		told->key6 = parsed.key6;
		headers = headers_of(data, entry->headers, &parsed, parsed.key6.proto);
	}
	told->joined = joined_of(entry, headers);
}

static void empty_burst(struct generation *generation)
{
	struct key_burst *burst = &generation->counting->bursts[0];

	burst->n = 0;
	burst->v6 = 0;
}

static void count_and_empty(struct generation *generation)
{
	worker_count_read(generation);
	empty_burst(generation);
}

/* Leaves what matches a rule of the epoch. */
static void match_weights(struct generation *generation, struct monitor_hits *hits)
{
	struct monitor_left_out left_out;

	monitor_match_weights(
		generation->monitor, &generation->counting->bursts[0], hits, &left_out);
	generation->filtered += left_out.packets;
	generation->measured -= left_out.packets;
	generation->counts.bytes -= left_out.bytes;
}

/* The same of what stands for many packets. */
static void count_weights(struct generation *generation)
{
	struct counting *counting = generation->counting;
	struct monitor_hits hits;

	if (generation->monitor != NULL)
		match_weights(generation, &hits);
	count_weighted_keys(counting, generation->sketch, generation->distinct);
	/* It has its hashes now, and waits. */
	if (generation->monitor != NULL)
		monitor_credit_weights(
			generation->monitor, &counting->waiting[0], &hits, generation->rules);
	empty_burst(generation);
}

/* Where nobody asked for it when the packet came, it has the time at which it was taken. */
static int64_t utc_of(const struct kernel_taker *taker, uint64_t monotonic)
{
	return monotonic > 0 ? (int64_t)monotonic + taker->utc_of_monotonic
			     : taker->worker->reader.times.polled;
}

/* Every packet of it is an entry of the burst, or of the next. */
static void add_packets(struct generation *generation, const struct told *told)
{
	struct key_burst *burst = &generation->counting->bursts[0];
	struct parse_counts *counts = &generation->counts;

	for (uint32_t i = 0; i < told->joined.packets; i++) {
		uint32_t length = joined_length(&told->joined, i), m = burst->n++;

		if (told->verdict == PARSE_IPV6) {
			burst->key6[m] = told->key6;
			burst->v6 |= UINT64_C(1) << m;
		} else {
			burst->key4[m] = told->key4;
		}
		burst->wire_len[m] = length;
		burst->time[m] = told->time;
		burst->tcp_flags[m] = told->extra.tcp_flags[0];
		burst->extra[m] = told->extra;
		counts->bytes += length;
		if (length < counts->smallest_frame)
			counts->smallest_frame = length;
		if (burst->n == BURST_MAX)
			count_and_empty(generation);
	}
}

static void note_largest(struct parse_counts *counts, const struct joined *joined)
{
	uint32_t first = joined_length(joined, 0);
	uint32_t last = joined_length(joined, joined->packets - 1);
	uint32_t largest = first > last ? first : last;

	if (largest > counts->largest_frame)
		counts->largest_frame = largest;
}

/* A filter looks at the first of joined packets. */
static bool is_filtered(
	const struct worker *worker, const struct kernel_entry *entry, const struct joined *joined)
{
	return worker->reader.filter != NULL && entry->kind == KERNEL_ENTRY_HEADERS &&
	       !filter_match(worker->reader.filter, (const uint8_t *)(entry + 1), entry->headers,
		       joined_length(joined, 0));
}

static void take_entry(
	struct kernel_taker *taker, struct generation *generation, const struct kernel_entry *entry)
{
	struct told told;

	if (entry->kind == KERNEL_ENTRY_HEADERS)
		read_headers(entry, &told);
	else
		read_key(entry, &told);
	taker->taken += told.joined.packets;
	generation->received += told.joined.packets;
	generation->counted += told.joined.packets;
	if (is_filtered(taker->worker, entry, &told.joined)) {
		generation->filtered += told.joined.packets;
		return;
	}
	generation->counts.verdicts[told.verdict] += told.joined.packets;
	note_largest(&generation->counts, &told.joined);
	if (parse_verdicts[told.verdict].class != PARSE_CLASS_KEY)
		return;
	told.time = utc_of(taker, entry->time);
	put16(told.extra.in_port, in_port_of(taker->input, entry->interface));
	add_packets(generation, &told);
}

/* --- a worker: its rings --- */

static void take_ring_full(struct kernel_taker *taker, uint32_t r, struct generation *generation)
{
	uint64_t ring_full = kernel_ring_full(taker->readers[r].ring);
	uint64_t more = ring_full - taker->ring_full[r];

	taker->ring_full[r] = ring_full;
	taker->taken += more;
	generation->received += more;
	generation->ring_full += more;
}

/* What the program left out by the rules of a generation that the worker's epoch has, too. */
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

/* Up to a burst of entries. Returns how many there were. */
static uint32_t take_from_ring(
	struct kernel_taker *taker, uint32_t r, struct generation *generation)
{
	struct kernel_reader *reader = &taker->readers[r];
	const struct kernel_entry *entry;
	uint32_t n = 0;

	take_ring_full(taker, r, generation);
	take_filtered(taker, r, taker->worker->epoch);
	/* Where programs of the epoch before were late it has the same rules. */
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

/* A round over the rings. Returns the entries that were taken. */
static uint32_t take_round(struct kernel_taker *taker)
{
	struct worker *worker = taker->worker;
	struct generation *generation = worker_generation(worker, worker->epoch);
	struct key_burst *burst = &generation->counting->bursts[0];
	uint64_t start = rte_rdtsc();
	uint32_t n = 0;

	if (generation->counting->details)
		worker->reader.times.polled = packet_clock_now(&worker->reader.clock);
	empty_burst(generation);
	for (uint32_t r = 0; r < taker->nb_readers; r++)
		n += take_from_ring(taker, r, generation);
	if (n == 0)
		return 0;
	if (burst->n > 0)
		count_and_empty(generation);
	generation->ppt_cycles += rte_rdtsc() - start;
	return n;
}

/* Once a second, so that they do not drift apart. */
static void compare_clocks(struct kernel_taker *taker)
{
	int64_t monotonic = clock_now(CLOCK_MONOTONIC);

	if (taker->compared != 0 && monotonic - taker->compared < SECOND_NS)
		return;
	taker->compared = monotonic;
	taker->utc_of_monotonic = clock_now(CLOCK_REALTIME) - monotonic;
}

/* --- a worker: tables --- */

/* An entry that stands for packets, at the end of the burst. */
static void add_weight(struct generation *generation, const struct key *key, int64_t time,
	uint8_t tcp_flags, uint64_t packets, uint64_t bytes)
{
	struct counting *counting = generation->counting;
	struct key_burst *burst = &counting->bursts[0];
	uint32_t m = burst->n++;

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

/* A record lasts from its first packet to its last: these are entries of their own. */
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

static void take_decoded(const struct sketch_candidate *flow, void *arg)
{
	struct kernel_taker *taker = arg;
	struct worker *worker = taker->worker;

	/* Of others nothing is sure: their packets are among the undecoded. */
	if (flow->packets > 0)
		add_weight(worker_generation(worker, worker->epoch), &flow->key,
			worker->reader.times.polled, 0, flow->packets, flow->bytes);
}

/* All that the program counted is measured, also where nobody can say whose it is. */
static struct kernel_tally take_cells(
	struct kernel_taker *taker, const struct kernel_cells *cells, uint32_t which)
{
	struct generation *generation = worker_generation(taker->worker, taker->worker->epoch);
	struct kernel_tally tally =
		kernel_cells_take(cells, which, take_decoded, taker, &generation->undecoded);

	count_taken(taker, PARSE_IPV4, tally.packets4);
	count_taken(taker, PARSE_IPV6, tally.packets6);
	generation->counts.bytes += tally.bytes;
	return tally;
}

/* What the program counted in the worker's epoch, which it counts in no more. */
static void take_tables(struct kernel_taker *taker)
{
	struct worker *worker = taker->worker;
	struct generation *generation = worker_generation(worker, worker->epoch);
	struct parse_counts *counts = &generation->counts;
	const struct kernel_tables *tables = kernel_program_tables(taker->input->program);
	const struct kernel_cells *cells = kernel_program_cells(taker->input->program);
	uint64_t start = rte_rdtsc();
	struct kernel_tally tally;

	worker->reader.times.polled = packet_clock_now(&worker->reader.clock);
	empty_burst(generation);
	tally = cells != NULL ? take_cells(taker, cells, worker->epoch & 1)
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

	/* The reporter opens an epoch whose generation is clean, so its rules are there. */
	const bool other_rules = worker_generation(worker, epoch)->monitor !=
				 worker_generation(worker, worker->epoch)->monitor;

	for (uint32_t r = 0; r < taker->nb_readers; r++) {
		take_filtered(taker, r, epoch); /* of programs that were late, by older rules */
		kernel_reader_turn(&taker->readers[r], epoch);
	}
	if (taker->on_path || other_rules)
		kernel_program_wait(taker->input->program);
	/*
	 * What a program left out counts in an epoch that has its rules. Entries of a ring are of
	 * the epoch in which they are taken, and are matched there again.
	 */
	for (uint32_t r = 0; r < taker->nb_readers; r++)
		take_filtered(taker, r, worker->epoch);
	if (taker->on_path)
		take_tables(taker);
	worker_enter_epoch(worker, epoch);
	/* Measurements may have changed. */
	kernel_program_stamp(taker->input->program,
		worker_generation(worker, epoch)->counting->details ? taker->input->stamps
								    : KERNEL_TIMES_NONE);
}

/* What poll_until_end() is for devices. */
static void take_until_end(struct worker *worker, uint32_t nb_workers)
{
	static const struct timespec nap = {.tv_nsec = NAP_NS};
	struct kernel_taker *taker = worker->taker;

	(void)nb_workers;
	for (;;) {
		/*
		 * Read before the rings: at the end the program has written all before. Pairs with
		 * the release in epochs_open().
		 */
		uint64_t open = atomic_load_explicit(&worker->epochs->open, memory_order_acquire);
		bool ended = epochs_is_end(worker->epochs, open);
		uint32_t n;

		if (!ended && open > worker->epoch)
			enter(taker, open);
		if (worker_generation(worker, worker->epoch)->counting->details)
			compare_clocks(taker);
		n = take_round(taker);
		if (n > 0)
			continue;
		if (ended) {
			if (taker->on_path)
				take_tables(taker);
			worker_leave(worker, open);
			return;
		}
		if (taker->on_path)
			nanosleep(&nap, NULL);
		else
			worker_rest(worker);
	}
}

static const struct design_ops design_kernel_rss = {
	.name = "rss",
	.suits = "the kernel counts, on the core that a packet comes to",
	.work = take_until_end,
	.done = worker_free,
};

static const struct design_ops design_kernel_async = {
	.name = "async",
	.suits = "the kernel tells of packets, other cores count",
	.work = take_until_end,
	.done = worker_free,
};

/* --- putting it together --- */

static bool create_taker(struct kernel_input *input, uint32_t w, char *error)
{
	struct kernel_taker *taker = &input->takers[w];
	uint32_t rings = kernel_program_rings(input->program);

	taker->input = input;
	taker->worker = input->params.workers[w];
	taker->worker->taker = taker;
	taker->on_path = input->params.plan->kernel.on_path;
	taker->readers = calloc(rings, sizeof(taker->readers[0]));
	taker->ring_full = calloc(rings, sizeof(taker->ring_full[0]));
	taker->filtered = calloc(rings, sizeof(taker->filtered[0]));
	if (taker->readers == NULL || taker->ring_full == NULL || taker->filtered == NULL) {
		snprintf(error, KERNEL_ERROR_MAX, "--kernel: no memory for its rings");
		return false;
	}
	for (uint32_t cpu = w; cpu < rings; cpu += input->nb_takers)
		kernel_reader_start(&taker->readers[taker->nb_readers++],
			kernel_program_ring(input->program, cpu),
			input->params.plan->kernel.entries);
	return true;
}

static bool create_takers(struct kernel_input *input, char *error)
{
	uint32_t rings = kernel_program_rings(input->program);

	if (input->params.nb_workers > rings) {
		snprintf(error, KERNEL_ERROR_MAX,
			"--workers %u: with --kernel there is a ring for each CPU, and this "
			"machine has %u: give %u or fewer",
			input->params.nb_workers, rings, rings);
		return false;
	}
	input->takers = calloc(input->params.nb_workers, sizeof(input->takers[0]));
	if (input->takers == NULL) {
		snprintf(error, KERNEL_ERROR_MAX, "--kernel: no memory for its workers");
		return false;
	}
	input->nb_takers = input->params.nb_workers;
	for (uint32_t w = 0; w < input->nb_takers; w++)
		if (!create_taker(input, w, error))
			return false;
	return true;
}

static void watch(struct watched *watched)
{
	struct kernel_interface counters = {0};
	struct port_interface facts;

	if (port_interface_read(watched->place.interface, &facts))
		watched->mtu = facts.mtu;
	watched->up =
		kernel_interface_read(watched->index, &counters) == KERNEL_THERE && counters.up;
	device_counter_start(&watched->missed, 64, false, counters.rx_missed_errors);
	device_counter_start(&watched->errors, 64, false, counters.rx_errors);
	if (!watched->up)
		log_warning("%s: its link is down: nothing comes until it is up",
			watched->place.interface);
}

static bool attach(struct kernel_input *input, char *error)
{
	const struct option_list *places = &kernel_options(input->params.config)->places;
	char why[OPTION_WHY_MAX];

	for (uint32_t i = 0; i < places->n; i++) {
		struct watched *watched = &input->watched[i];

		kernel_place_parse(places->texts[i], &watched->place, why); /* it was checked */
		if (!kernel_program_attach(input->program, &watched->place, &watched->index, error))
			return false;
		input->nb_watched++;
		watch(watched);
	}
	return true;
}

static void say(const char *line)
{
	log_info("--kernel: %s", line);
}

static enum kernel_times stamps_of(const struct config *config)
{
	switch (clock_options(config)->timestamps) {
	case TIMESTAMPS_AUTO: return KERNEL_TIMES_EXACT;
	case TIMESTAMPS_POLL: return KERNEL_TIMES_NONE;
	case TIMESTAMPS_COARSE: break;
	}
	return KERNEL_TIMES_COARSE;
}

/* 0 without --monitor. */
static uint32_t monitor_of(const struct config *config)
{
	static const uint32_t bits[] = {
		[MONITOR_DST] = KERNEL_MONITOR_DST,
		[MONITOR_SRC] = KERNEL_MONITOR_SRC,
		[MONITOR_EITHER] = KERNEL_MONITOR_DST | KERNEL_MONITOR_SRC,
	};
	const struct monitor_options *options = monitor_options(config);

	return options->file != NULL ? bits[options->side] : 0;
}

struct kernel_input *kernel_input_create(const struct kernel_input_params *params, char *error)
{
	struct kernel_input *input = calloc(1, sizeof(*input));
	const struct kernel_program_params program = {
		.slots = params->plan->kernel.entries,
		.buckets = params->plan->kernel.buckets,
		.all_share = params->plan->kernel.all_share,
		.cells = params->plan->kernel.cells,
		.seed = seed_options(params->config)->seed,
		.headers_only = filter_options(params->config)->expression != NULL,
		.monitor = monitor_of(params->config),
		.say = say,
	};

	if (input == NULL) {
		snprintf(error, KERNEL_ERROR_MAX, "--kernel: no memory");
		return NULL;
	}
	input->params = *params;
	input->stamps = stamps_of(params->config);
	input->program = kernel_program_load(&program, error);
	if (input->program != NULL && create_takers(input, error) && attach(input, error))
		return input;
	kernel_input_destroy(input);
	return NULL;
}

void kernel_input_destroy(struct kernel_input *input)
{
	if (input == NULL)
		return;
	kernel_program_close(input->program);
	for (uint32_t w = 0; w < input->nb_takers; w++) {
		free(input->takers[w].readers);
		free(input->takers[w].ring_full);
		free(input->takers[w].filtered);
	}
	free(input->takers);
	free(input);
}

const struct kernel_program *kernel_input_program(const struct kernel_input *input)
{
	return input->program;
}

void kernel_input_start(struct kernel_input *input)
{
	if (measurements_any(input->params.config, SKETCH_DETAILS))
		kernel_program_stamp(input->program, input->stamps);
	kernel_program_measure(input->program, true);
}

void kernel_input_stop(struct kernel_input *input)
{
	kernel_program_measure(input->program, false);
}

uint64_t kernel_input_received(const struct kernel_input *input)
{
	uint64_t received = 0;

	for (uint32_t cpu = 0; cpu < kernel_program_rings(input->program); cpu++)
		received += kernel_ring_received(kernel_program_ring(input->program, cpu));
	return received;
}

uint64_t kernel_input_difference(const struct kernel_input *input)
{
	uint64_t received = kernel_input_received(input), taken = 0;

	for (uint32_t w = 0; w < input->nb_takers; w++)
		taken += input->takers[w].taken;
	return received > taken ? received - taken : taken - received;
}

/* --- the interfaces --- */

/* What is received does not come where only what is sent is looked at. */
static void read_counters(struct watched *watched, struct kernel_losses *losses)
{
	struct kernel_interface counters;

	if (watched->gone || (watched->place.directions & KERNEL_IN) == 0 ||
		kernel_interface_read(watched->index, &counters) != KERNEL_THERE)
		return;
	device_counter_read(&watched->missed, counters.rx_missed_errors);
	device_counter_read(&watched->errors, counters.rx_errors);
	losses->missed += watched->missed.total - watched->missed_told;
	losses->errors += watched->errors.total - watched->errors_told;
	watched->missed_told = watched->missed.total;
	watched->errors_told = watched->errors.total;
}

struct kernel_losses kernel_input_losses(struct kernel_input *input)
{
	struct kernel_losses losses = {0};

	for (uint32_t i = 0; i < input->nb_watched; i++) {
		struct watched *watched = &input->watched[i];

		read_counters(watched, &losses);
		if (watched->mtu + FRAME_OVERHEAD > losses.largest_frame)
			losses.largest_frame = watched->mtu + FRAME_OVERHEAD;
	}
	return losses;
}

static void say_link(const struct watched *watched, bool up, uint64_t epoch)
{
	if (up)
		log_notice("epoch %llu: %s: link up", (unsigned long long)epoch,
			watched->place.interface);
	else
		log_warning("epoch %llu: %s: link down", (unsigned long long)epoch,
			watched->place.interface);
}

/* Returns false where the interface is gone. */
static bool look_at(struct watched *watched, uint64_t epoch)
{
	struct kernel_interface counters;

	switch (kernel_interface_read(watched->index, &counters)) {
	case KERNEL_UNSAID: break;
	case KERNEL_GONE:
		watched->gone = true;
		log_error("--kernel %s: the interface is gone, in epoch %llu: the run ends",
			watched->place.interface, (unsigned long long)epoch);
		return false;
	case KERNEL_THERE:
		if (counters.up != watched->up)
			say_link(watched, counters.up, epoch);
		watched->up = counters.up;
	}
	return true;
}

bool kernel_input_look(struct kernel_input *input, int64_t now, uint64_t epoch)
{
	bool all_there = true;

	if (now - input->looked < LOOK_EVERY_NS)
		return true;
	input->looked = now;
	for (uint32_t i = 0; i < input->nb_watched; i++)
		if (!input->watched[i].gone)
			all_there &= look_at(&input->watched[i], epoch);
	return all_there;
}

/* Only iblts: then the program counts in such, too. They know no times, and no TCP flags. */
static bool all_iblt(const struct config *config)
{
	for (uint32_t m = 0; m < config->nb_measurements; m++)
		if (measurement_sketch(&config->measurements[m]) != &iblt_ops)
			return false;
	return true;
}

bool kernel_input_takes(const struct kernel_input *input, const struct config *config, char *error)
{
	if (input->params.plan->kernel.cells == 0 || all_iblt(config))
		return true;
	snprintf(error, OPTION_WHY_MAX,
		"the kernel counts in iblts since the start, and another sketch needs to know "
		"more: start again");
	return false;
}

/* --- options --- */

static bool is_on_path(const struct config *config)
{
	return designs[design_options(config)->design] == &design_rss;
}

/* As wide as the widest is asked to be. */
static uint32_t cells_of(const struct config *config)
{
	uint64_t most = 0;

	for (uint32_t m = 0; m < config->nb_measurements; m++) {
		uint64_t width = measurement_options(&config->measurements[m])->width;

		if (width > most)
			most = width;
	}
	return most > 0 ? (uint32_t)most : CELLS_DEFAULT;
}

/* As many as the measurements' tables have, within reason. */
static uint32_t buckets_of(const struct config *config)
{
	uint64_t most = 1;

	for (uint32_t m = 0; m < config->nb_measurements; m++) {
		const struct measurement_config *measurement = &config->measurements[m];
		uint64_t width = measurement_params(measurement).width;

		/* Not known yet, or --memory's: what finds no room here goes through the ring. */
		if (width == 0)
			width = measurement_sketch(measurement)->default_width;
		if (width > most)
			most = width;
	}
	return most < BUCKETS_MAX ? (uint32_t)power_of_two_at_least(most) : BUCKETS_MAX;
}

struct plan_kernel kernel_input_plan(const struct config *config)
{
	bool on_path = is_on_path(config);
	uint32_t workers = plan_options(config)->workers;
	/* The design of papers: one table for all CPUs. */
	bool all_share = on_path && plan_options(config)->sharing == SHARING_SHARED;
	uint32_t cells = on_path && !all_share && all_iblt(config) ? cells_of(config) : 0;
	uint32_t buckets = on_path && cells == 0 ? buckets_of(config) : 0;
	uint32_t entries = config_asks(config, NULL, "ring-size") ? async_options(config)->ring_size
								  : ENTRIES_DEFAULT;

	return (struct plan_kernel){
		.design = on_path ? &design_kernel_rss : &design_kernel_async,
		.workers = workers > 0 ? workers : 1,
		.interfaces = kernel_options(config)->places.n,
		.entries = entries,
		.on_path = on_path,
		.buckets = buckets,
		.all_share = all_share,
		.cells = cells,
		.bytes = kernel_program_bytes(&(struct kernel_program_params){
			.slots = entries,
			.buckets = buckets,
			.all_share = all_share,
			.cells = cells,
		}),
	};
}

/* What the kernel does not count; NULL: it counts this. */
static const char *not_on_path(const struct measurement_config *measurement)
{
	struct sketch_params params = measurement_params(measurement);

	/* To the others an entry for many packets would do as well; nobody has compared that. */
	if ((measurement_sketch(measurement)->caps & SKETCH_EXACT) == 0)
		return "the kernel counts exactly, for flow-table and iblt";
	if (params.key->extra)
		return "the kernel counts 5-tuples, and what follows from them";
	if (params.idle_timeout > 0)
		return "the kernel counts by epochs, and knows no --idle-timeout";
	return NULL;
}

static bool check_on_path(const struct config *config, struct option_fault *fault)
{
	const char *why = NULL;

	for (uint32_t m = 0; m < config->nb_measurements; m++) {
		const struct measurement_config *measurement = &config->measurements[m];

		why = not_on_path(measurement);
		if (why != NULL)
			return option_fault(fault, "kernel", NULL,
				"--design rss: measurement %.60s: %s; --design async takes any",
				measurement->name, why);
	}
	if (filter_options(config)->expression != NULL)
		why = "a filter looks at packets, which the kernel counts";
	else if (plan_options(config)->workers > 1)
		why = "the kernel counts, and one worker adds that up";
	return why == NULL || option_fault(fault, "kernel", NULL,
				      "--design rss: %s; --design async takes it", why);
}

bool kernel_input_check(const struct config *config, const struct measurement_config *measurement,
	struct option_fault *fault)
{
	const struct design_ops *design = designs[design_options(config)->design];

	if (!kernel_given(config) || design == &design_async)
		return true;
	if (design == &design_rss)
		return check_on_path(config, fault);
	return option_fault(fault, "kernel", measurement,
		"does not go with --design %s: give rss, where the kernel counts, or async, where "
		"workers do",
		design->name);
}
