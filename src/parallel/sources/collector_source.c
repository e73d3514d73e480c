/* SPDX-License-Identifier: BSD-3-Clause */
#include "parallel/sources/collector_source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_ring.h>
#include <rte_ring_elem.h>

#include "base/assertion.h"
#include "base/log.h"
#include "base/units.h"
#include "collect/collectors.h"
#include "collect/dedup/neighbours.h"
#include "collect/fragments.h"
#include "collect/listen.h"
#include "collect/options.h"
#include "collect/record_filter.h"
#include "parallel/plan/design.h"
#include "parallel/sources/role_snapshot.h"
#include "parallel/sources/sources.h"
#include "parallel/workers/node_memory.h"
#include "parallel/workers/poll.h"
#include "parallel/workers/rx_core.h"
#include "rx/filter/filter.h"
#include "rx/packet/meta.h"

/* records; about 500 KB */
#define RING_RECORDS 4096

/* bytes; a packet of a capture can be larger than one mbuf segment */
#define DATAGRAM_MAX (65536 * 2)

/* Largest IP packet in most networks, bytes. */
#define PACKET_EXPECTED 1500
/* Largest IP packet that flow records report, bytes. */
#define PACKET_MAX      (65535 + 40)

/* Most bytes of datagrams that --export datagrams keeps until the end of the interval. */
#define EXPORTED_MAX (UINT64_C(1) << 30)

static const struct fragments_limits fragments_limits = {
	.datagrams = 256,
	.bytes = (size_t)32 << 20,
	.age = INT64_C(30) * 1000000000,
};

struct counter {
	struct collector_source *collect;
	struct worker *worker;
	struct dedup *dedup;
	struct rte_ring *ring; /* records from the decoder; NULL: the worker is the decoder */
	struct collector_source_counts generations[2];
	int64_t now; /* latest record time of the last epoch that has records */
	bool begins;
};

/* A ring entry whose `exporter` is MARK is not a record. Its `flags` are an enum mark_kind. */
#define MARK EXPORTER_NONE

enum mark_kind {
	MARK_EPOCH,  /* later records belong to epoch `time` */
	MARK_END,    /* the run ends at epoch `time` */
	MARK_FORGET, /* another exporter uses the slot `next` from now on */
};

struct collector_source {
	struct source_params params;
	struct collector *collector;
	struct exporter_rule rules[OPTION_LIST_MAX];
	struct collector_source_generation generations[2];
	uint32_t exporters_max;
	uint32_t nb_counters;
	struct counter *counters;    /* [nb_counters], indexed by worker */
	struct rx_core *rx_core;     /* the decoder; NULL: worker 0 is the decoder */
	struct role_snapshot *roles; /* NULL: roles are neither exported nor saved */

	/* Owned by the decoder. */
	uint64_t epoch;
	int64_t exporter_life; /* ns without datagrams after which an exporter counts as dead */
	const struct filter *filter; /* NULL: all records are counted */
	bool tags;
	bool joins;                     /* --collectors */
	bool exports;                   /* --export datagrams */
	int64_t exported_at;            /* time of the last row of --export datagrams */
	struct listener *listener;      /* NULL: datagrams come from the feeder */
	struct fragments *fragments;    /* NULL: datagrams come from sockets */
	struct fragments_counts unread; /* counts that the collector has already got */
	uint32_t nb_sockets;
	uint64_t dropped[OPTION_LIST_MAX]; /* drops of each socket that are already counted */
	/*
	 * In this epoch, records with totals were dropped because a ring was full, or datagrams of
	 * other collectors are missing.
	 */
	bool losses_unknown;
	uint64_t seed;   /* secret seed of hash_of() */
	uint8_t *linear; /* [DATAGRAM_MAX]: copy of a packet in several mbuf segments */

	/* Written by the decoder, read by any thread. */
	_Atomic uint64_t datagrams;

	/* Owned by the reporter. */
	uint32_t largest_frame;        /* largest of the run, bytes */
	struct neighbours *neighbours; /* NULL: not exported */
};

_Static_assert(sizeof(struct observation) % 4 == 0, "rte_ring_create_elem() requires this");

/* Returns the first of n new items. Returns NULL and sets no_memory if out of memory. */
static void *add_rows(struct collector_source_rows *rows, size_t size, uint64_t n)
{
	if (rows->n + n > rows->room) {
		uint64_t room = rows->room + rows->room / 2 + n + 64;
		void *items = realloc(rows->items, room * size);

		if (items == NULL) {
			rows->no_memory = true;
			return NULL;
		}
		rows->items = items;
		rows->room = room;
	}
	rows->n += n;
	return (char *)rows->items + (rows->n - n) * size;
}

static void add_exporter(void *arg, const struct exporter_row *row)
{
	struct collector_source_generation *generation = arg;
	struct exporter_row *place = add_rows(&generation->exporters, sizeof(*row), 1);

	if (place != NULL)
		*place = *row;
}

static void add_link(void *arg, const struct link_row *row)
{
	struct collector_source_generation *generation = arg;
	struct link_row *place = add_rows(&generation->links, sizeof(*row), 1);

	if (place != NULL)
		*place = *row;
}

static void add_path(void *arg, const struct path_row *row)
{
	struct collector_source_counts *counts = arg;
	uint64_t bytes = path_row_bytes(row->nb_hops);
	void *place = add_rows(&counts->paths, 1, bytes);

	if (place == NULL)
		return;
	memcpy(place, row, bytes);
	counts->nb_paths++;
}

static void add_role(void *arg, const struct interface_role_row *row)
{
	struct collector_source_counts *counts = arg;
	struct interface_role_row *place = add_rows(&counts->roles, sizeof(*row), 1);

	if (place != NULL)
		*place = *row;
}

static void add_datagram(struct collector_source *source, const struct datagram_row *row)
{
	struct collector_source_generation *generation = &source->generations[source->epoch & 1];
	struct datagram_row *place = add_rows(&generation->datagrams, sizeof(*row), 1);

	if (place == NULL)
		return;
	*place = *row;
	place->row = generation->datagrams.n + generation->left_out;
	source->exported_at = row->time;
}

static void export_datagram(struct collector_source *source, const struct datagram *datagram)
{
	struct collector_source_generation *generation = &source->generations[source->epoch & 1];
	void *payload;

	if (datagram->len == 0 || collector_refuses(source->collector, datagram))
		return;
	if (generation->payloads.n + datagram->len > EXPORTED_MAX) {
		generation->left_out++;
		return;
	}
	payload = add_rows(&generation->payloads, 1, datagram->len);
	if (payload == NULL)
		return;
	memcpy(payload, datagram->data, datagram->len);
	add_datagram(source, &(struct datagram_row){
				     .src = datagram->src,
				     .dst = datagram->dst,
				     .src_port = datagram->src_port,
				     .dst_port = datagram->dst_port,
				     .addressed = true,
				     .time = datagram->time,
				     .at = generation->payloads.n - datagram->len,
				     .len = datagram->len,
				     .socket = datagram->socket,
			     });
}

static void export_drops(struct collector_source *source, uint32_t socket, uint64_t dropped)
{
	if (source->exports && dropped > 0)
		add_datagram(source, &(struct datagram_row){
					     .time = source->exported_at,
					     .socket = socket,
					     .dropped = dropped,
				     });
}

static void clear_rows(struct collector_source_rows *rows)
{
	rows->n = 0;
	rows->no_memory = false;
}

static struct collector_source_counts *counts_of(struct counter *counter, uint64_t epoch)
{
	return &counter->generations[epoch & 1];
}

static void set_overhead(const struct counter *counter, struct key_burst *burst)
{
	uint32_t overhead = collect_options(counter->collect->params.config)->link_overhead;

	for (uint32_t i = 0; i < burst->n; i++)
		burst->overhead[i] = (uint16_t)overhead;
}

static void count_doubt(struct collector_source_counts *counts, const struct dedup_counts *more)
{
	counts->counts.duplicate_packets += more->duplicate_packets;
	counts->counts.duplicate_bytes += more->duplicate_bytes;
	counts->counts.new_packets += more->new_packets;
	counts->counts.new_bytes += more->new_bytes;
	if (more->sampling > counts->counts.sampling)
		counts->counts.sampling = more->sampling;
	counts->counts.unknown |= more->unknown;
	counts->counts.late |= more->late;
	if (more->observers > counts->counts.observers)
		counts->counts.observers = more->observers;
}

/* start: TSC when the records of the burst were taken. */
static void count_burst(
	struct counter *counter, const struct dedup_counts *of_burst, uint64_t start)
{
	struct worker *worker = counter->worker;
	struct generation *generation = worker_generation(worker, worker->epoch);
	struct collector_source_counts *counts = counts_of(counter, worker->epoch);

	generation->received += of_burst->received;
	generation->measured += of_burst->measured;
	/*
	 * Use the sums of the epoch: packets may be received in one burst and measured in a later
	 * one.
	 */
	generation->duplicate = generation->received - generation->filtered - generation->measured -
				generation->kept.skipped;
	generation->counts.bytes += of_burst->bytes;
	if (of_burst->largest_frame > generation->counts.largest_frame)
		generation->counts.largest_frame = of_burst->largest_frame;
	if (of_burst->smallest_frame < generation->counts.smallest_frame)
		generation->counts.smallest_frame = of_burst->smallest_frame;
	count_doubt(counts, of_burst);
	counts->counts.bytes_unknown |= of_burst->bytes_unknown;
	if (generation->counting->overhead)
		set_overhead(counter, &generation->counting->bursts[0]);
	if (worker->shed != NULL)
		worker_count_entries(worker, true, start);
	else
		count_weighted_keys(generation->counting, generation->sketch, generation->distinct);
}

static void count_records(
	struct counter *counter, const struct observation *observations, uint32_t n)
{
	struct worker *worker = counter->worker;
	struct generation *generation = worker_generation(worker, worker->epoch);
	struct dedup_counts of_burst = {.smallest_frame = UINT32_MAX};
	uint64_t start = rte_rdtsc();

	ASSERT(n, >, 0);
	ASSERT(n, <=, BURST_MAX);
	dedup_burst(counter->dedup, observations, n, &generation->counting->bursts[0], &of_burst,
		counts_of(counter, worker->epoch)->by_exporter);
	generation->counted += n;
	count_burst(counter, &of_burst, start);
	/* Times can decrease: a record that waited for its template has its time of arrival. */
	if (counter->begins || observations[n - 1].time > counter->now)
		counter->now = observations[n - 1].time;
	counter->begins = false;
	generation->ppt_cycles += rte_rdtsc() - start;
}

static void count_held_flows(struct counter *counter)
{
	struct worker *worker = counter->worker;
	struct generation *generation = worker_generation(worker, worker->epoch);
	uint64_t start = rte_rdtsc();

	for (;;) {
		struct dedup_counts of_burst = {.smallest_frame = UINT32_MAX};

		if (dedup_settle(counter->dedup, &generation->counting->bursts[0], &of_burst) ==
			0) {
			count_doubt(counts_of(counter, worker->epoch), &of_burst);
			break;
		}
		count_burst(counter, &of_burst, rte_rdtsc());
	}
	generation->ppt_cycles += rte_rdtsc() - start;
}

static void count_waiting(struct counter *counter)
{
	struct worker *worker = counter->worker;
	struct generation *generation = worker_generation(worker, worker->epoch);

	count_waiting_keys(generation->counting, generation->sketch, generation->distinct);
}

/* Exporters that have sent datagrams without records are also alive. */
static void hear_others(struct counter *counter)
{
	const struct collector_source_rows *rows =
		&counter->collect->generations[counter->worker->epoch & 1].exporters;
	const struct exporter_row *exporters = rows->items;

	for (uint64_t i = 0; i < rows->n; i++)
		if (!exporters[i].sender && !exporters[i].others && exporters[i].records == 0 &&
			exporters[i].datagrams > 0)
			dedup_hear(counter->dedup, exporters[i].slot, counter->now);
}

static void learn(struct counter *counter, bool last)
{
	struct dedup_counts counts = {0};

	hear_others(counter);
	dedup_learn(counter->dedup, counter->now, last, &counts);
	count_doubt(counts_of(counter, counter->worker->epoch), &counts);
	if (counter->collect->roles != NULL)
		dedup_emit_roles(
			counter->dedup, add_role, counts_of(counter, counter->worker->epoch));
}

/* Must be called before worker_leave() and worker_enter_epoch(), which hand over the counters. */
static void end_counting(struct counter *counter, bool last)
{
	learn(counter, last);
	count_held_flows(counter);
	count_waiting(counter);
	dedup_end_epoch(
		counter->dedup, counter->now, add_path, counts_of(counter, counter->worker->epoch));
	counter->begins = true;
}

/* The exporter's slot becomes free. Its counts move to the sum of other exporters. */
static void forget(struct counter *counter, uint32_t exporter)
{
	struct collector_source_counts *counts = counts_of(counter, counter->worker->epoch);
	struct record_counts *of = &counts->by_exporter[exporter];

	dedup_forget_exporter(counter->dedup, exporter);
	counts->others.counted += of->counted;
	counts->others.duplicate += of->duplicate;
	counts->others.edge_only += of->edge_only;
	*of = (struct record_counts){0};
}

static void count_here(void *arg, const struct observation *observations, uint32_t n)
{
	struct collector_source *source = arg;

	count_records(&source->counters[0], observations, n);
}

static void forget_here(void *arg, uint32_t exporter)
{
	struct collector_source *source = arg;

	forget(&source->counters[0], exporter);
	if (source->roles != NULL)
		role_snapshot_forget(source->roles, exporter, source->epoch);
}

/* The seed is secret and has no other use, so that senders cannot overload one worker. */
static uint64_t hash_of(
	const struct collector_source *source, const struct observation *observation)
{
	const size_t words =
		(observation->family == KEY_IPV4 ? sizeof(struct key4) : sizeof(struct key6)) / 8;
	uint64_t hash = source->seed;

	for (size_t i = 0; i < words; i++) {
		uint64_t word;

		memcpy(&word, (const char *)&observation->key4 + 8 * i, sizeof(word));
		hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
		hash ^= hash >> 32;
	}
	return hash;
}

static struct counter *counter_of(
	struct collector_source *source, const struct observation *observation)
{
	uint64_t hash = hash_of(source, observation);

	return &source->counters[(uint32_t)(((hash & UINT32_MAX) * source->nb_counters) >> 32)];
}

static void put_all(struct collector_source *source, struct rte_ring *ring,
	const struct observation *observations, uint32_t n)
{
	uint32_t done = 0;

	while (done < n) {
		done += rte_ring_sp_enqueue_burst_elem(
			ring, &observations[done], sizeof(*observations), n - done, NULL);
		if (done < n)
			poll_idle(source->params.plan->idle);
	}
}

/*
 * Entries of a ring that only marks use. The decoder drops records if a ring is full, never marks.
 */
#define MARK_SLOTS 64

/* Returns 0 if the record has totals since the start of its flow. */
static uint64_t reported_packets(const struct observation *observation)
{
	return observation->flags & OBSERVATION_SINCE_START
		       ? 0
		       : observation->packets * observation->sampling;
}

/* Counts the packets of a record that does not match as filtered. */
static bool matches(void *arg, const struct observation *observation)
{
	struct collector_source *source = arg;
	uint8_t frame[RECORD_FRAME_MAX];
	uint32_t len = record_frame_make(observation, source->tags, frame);
	uint64_t packets = reported_packets(observation);

	if (filter_match(source->filter, frame, len, len))
		return true;
	if (source->rx_core != NULL) {
		struct rx_core_generation *generation =
			rx_core_generation(source->rx_core, source->epoch);

		generation->received += packets;
		generation->filtered += packets;
	} else {
		struct worker *worker = source->counters[0].worker;
		struct generation *generation = worker_generation(worker, worker->epoch);

		generation->received += packets;
		generation->filtered += packets;
	}
	return false;
}

static void put_records(struct collector_source *source, struct counter *counter,
	const struct observation *observations, uint32_t n)
{
	struct rx_core_generation *generation = rx_core_generation(source->rx_core, source->epoch);
	uint32_t room, put;

	if (source->listener == NULL) {
		put_all(source, counter->ring, observations, n);
		return;
	}
	rte_ring_sp_enqueue_burst_elem(
		counter->ring, observations, sizeof(*observations), 0, &room);
	room = room > MARK_SLOTS ? room - MARK_SLOTS : 0;
	put = n < room ? n : room;
	put_all(source, counter->ring, observations, put);
	for (uint32_t i = put; i < n; i++) {
		uint64_t packets = reported_packets(&observations[i]);

		generation->ring_full[counter - source->counters] += packets;
		generation->received += packets;
		/* The total tells only how many packets came since the start of the flow. */
		source->losses_unknown |= (observations[i].flags & OBSERVATION_SINCE_START) != 0;
	}
}

static void deal(void *arg, const struct observation *observations, uint32_t n)
{
	struct collector_source *source = arg;

	for (uint32_t begin = 0, end; begin < n; begin = end) {
		struct counter *counter = counter_of(source, &observations[begin]);

		for (end = begin + 1; end < n && counter_of(source, &observations[end]) == counter;
			end++)
			;
		put_records(source, counter, &observations[begin], end - begin);
	}
}

static void put_marks(
	struct collector_source *source, enum mark_kind kind, uint64_t epoch, uint32_t slot)
{
	const struct observation mark = {
		.exporter = MARK,
		.flags = (uint16_t)kind,
		.time = (int64_t)epoch,
		.next = slot,
	};

	for (uint32_t w = 0; w < source->nb_counters; w++)
		put_all(source, source->counters[w].ring, &mark, 1);
}

static void forget_there(void *arg, uint32_t exporter)
{
	struct collector_source *source = arg;

	put_marks(source, MARK_FORGET, 0, exporter);
	if (source->roles != NULL)
		role_snapshot_forget(source->roles, exporter, source->epoch);
}

/* Returns false if the mark ends the run. */
static bool obey_mark(struct counter *counter, const struct observation *mark)
{
	struct worker *worker = counter->worker;

	if (mark->flags == MARK_FORGET) {
		forget(counter, mark->next);
		return true;
	}
	end_counting(counter, mark->flags == MARK_END);
	if (mark->flags == MARK_END) {
		worker_leave(worker, (uint64_t)mark->time);
		return false;
	}
	worker_enter_epoch(worker, (uint64_t)mark->time);
	return true;
}

static void count_dealt(struct worker *worker, uint32_t nb_workers)
{
	struct counter *counter =
		&((struct collector_source *)worker->source)->counters[worker->id];
	struct observation records[BURST_MAX];

	(void)nb_workers;
	for (;;) {
		uint32_t n = rte_ring_sc_dequeue_burst_elem(
			counter->ring, records, sizeof(records[0]), BURST_MAX, NULL);

		if (worker->shed != NULL)
			worker_look(worker, rte_ring_count(counter->ring), RING_RECORDS);
		if (n == 0) {
			count_waiting(counter);
			worker_rest(worker);
		}
		for (uint32_t begin = 0, end; begin < n; begin = end) {
			for (end = begin; end < n && records[end].exporter != MARK; end++)
				;
			if (end > begin)
				count_records(counter, &records[begin], end - begin);
			if (end < n && !obey_mark(counter, &records[end++]))
				return;
		}
	}
}

static const uint8_t *linear(struct collector_source *source, const struct rte_mbuf *mbuf)
{
	uint32_t len = mbuf->pkt_len < DATAGRAM_MAX ? mbuf->pkt_len : DATAGRAM_MAX;

	if (mbuf->nb_segs == 1)
		return rte_pktmbuf_mtod(mbuf, const uint8_t *);
	return rte_pktmbuf_read(mbuf, 0, len, source->linear);
}

static void take_datagram(struct collector_source *source, const struct datagram *datagram)
{
	if (source->exports)
		export_datagram(source, datagram);
	collector_take(source->collector, datagram);
}

static void take_event(
	struct collector_source *source, const uint8_t *data, const struct packet_meta *meta)
{
	struct collectors_event event;

	if (meta->link != LINK_UNKNOWN) /* a datagram that was refused */
		return;
	memcpy(&event, data, sizeof(event));
	source->losses_unknown |= event.kind == COLLECTORS_MISSING;
	if (event.kind != COLLECTORS_DROPPED)
		return;
	collector_dropped(source->collector, meta->in_port, event.dropped);
	export_drops(source, meta->in_port, event.dropped);
}

static void take_packets(struct collector_source *source, struct rte_mbuf **pkts, uint32_t n)
{
	struct collector_source_generation *generation = &source->generations[source->epoch & 1];
	struct datagram datagram;

	for (uint32_t i = 0; i < n; i++) {
		const struct packet_meta *meta = packet_meta(pkts[i]);
		const uint8_t *data = linear(source, pkts[i]);

		generation->taken++;
		if (fragments_add(source->fragments, data, RTE_MIN(pkts[i]->pkt_len, DATAGRAM_MAX),
			    meta->wire_len, (enum link_type)meta->link, meta->time, &datagram)) {
			datagram.socket = source->joins ? meta->in_port : 0;
			take_datagram(source, &datagram);
		} else if (source->joins)
			take_event(source, data, meta);
		else if (datagram.proto != 0)
			collector_take_stream(source->collector, &datagram);
	}
	collector_flush(source->collector);
	rte_pktmbuf_free_bulk(pkts, n);
}

static void count_drops(struct collector_source *source, uint32_t socket)
{
	uint64_t dropped = listener_dropped(source->listener, socket);

	collector_dropped(source->collector, socket, dropped - source->dropped[socket]);
	export_drops(source, socket, dropped - source->dropped[socket]);
	source->dropped[socket] = dropped;
}

/* Without a ring, the fullest socket is the queue of the worker. */
static void look_at_sockets(struct collector_source *source)
{
	struct worker *worker = source->counters[0].worker;
	struct listener_fill most = {.room = 1};

	if (worker->shed == NULL || source->rx_core != NULL)
		return;
	for (uint32_t s = 0; s < source->nb_sockets; s++) {
		struct listener_fill fill = listener_fill(source->listener, s);

		if ((uint64_t)fill.used * most.room > (uint64_t)most.used * fill.room)
			most = fill;
	}
	worker_look(worker, most.used, most.room);
}

static uint32_t take_datagrams(struct collector_source *source)
{
	struct datagram datagrams[LISTEN_BATCH];
	uint32_t n = listener_receive(source->listener, datagrams, LISTEN_BATCH);

	for (uint32_t i = 0; i < n; i++) {
		if (i == 0 || datagrams[i].socket != datagrams[i - 1].socket)
			count_drops(source, datagrams[i].socket);
		take_datagram(source, &datagrams[i]);
	}
	collector_flush(source->collector);
	look_at_sockets(source);
	atomic_fetch_add_explicit(&source->datagrams, n, memory_order_relaxed);
	return n;
}

static void count_unread(struct collector_source *source, bool last)
{
	const struct fragments_counts *now = fragments_counted(source->fragments);
	struct fragments_counts *before = &source->unread;
	uint32_t *ports = fragments_lost_ports(source->fragments);
	struct collector_lost lost = {.ports = ports};

	if (last) /* the missing fragments will not arrive */
		fragments_give_up(source->fragments);
	lost.counts[COLLECTOR_LOST_CUT] = now->cut - before->cut;
	lost.counts[COLLECTOR_LOST_BAD_HEADERS] = now->bad - before->bad;
	lost.counts[COLLECTOR_LOST_OVERLAPPING] = now->overlapping - before->overlapping;
	lost.counts[COLLECTOR_LOST_FRAGMENTS] = now->given_up - before->given_up;
	if (now->cut + now->bad + now->overlapping + now->given_up ==
		before->cut + before->bad + before->overlapping + before->given_up)
		return;
	*before = *now;
	collector_unread(source->collector, &lost);
	memset(ports, 0, FRAGMENTS_PORTS * sizeof(ports[0]));
}

static int64_t alive_since(const struct collector_source *source)
{
	struct epochs *epochs = source->params.workers[0]->epochs;

	return epochs_info(epochs, source->epoch)->start - source->exporter_life;
}

/* Must be called before worker_leave() and worker_enter_epoch(), which hand over the counters. */
static void end_decoding(struct collector_source *source, bool last)
{
	struct collector_source_generation *generation = &source->generations[source->epoch & 1];

	for (uint32_t s = 0; s < source->nb_sockets; s++)
		count_drops(source, s);
	if (source->fragments != NULL)
		count_unread(source, last);
	if (source->exports)
		add_datagram(
			source, &(struct datagram_row){.time = source->exported_at, .last = last});
	generation->epoch = collector_end_epoch(
		source->collector, alive_since(source), add_exporter, add_link, generation);
	generation->epoch.losses_unknown |= source->losses_unknown;
	source->losses_unknown = false;
}

static void enter_here(void *arg, uint64_t epoch)
{
	struct worker *worker = arg;
	struct collector_source *source = worker->source;

	end_decoding(source, false);
	end_counting(&source->counters[0], false);
	source->epoch = epoch;
	worker_enter_epoch(worker, epoch);
}

static void end_here(void *arg, uint64_t epoch)
{
	struct worker *worker = arg;
	struct collector_source *source = worker->source;

	end_decoding(source, true);
	end_counting(&source->counters[0], true);
	worker_leave(worker, epoch);
}

static void take_here(void *arg, struct rte_mbuf **pkts, uint32_t n, uint64_t rx_cycles)
{
	struct worker *worker = arg;

	worker_generation(worker, worker->epoch)->rx_cycles += rx_cycles;
	take_packets(worker->source, pkts, n);
}

static void rest_here(void *arg)
{
	struct worker *worker = arg;

	count_waiting(&((struct collector_source *)worker->source)->counters[0]);
	worker_rest(worker);
}

static void enter_there(void *arg, uint64_t epoch)
{
	struct rx_core *rx_core = arg;
	struct collector_source *source = rx_core->source;

	end_decoding(source, false);
	/*
	 * Leave the old epoch before waiting for a full ring. The worker of that ring may wait for
	 * an empty generation, which the reporter provides only after this lcore has left.
	 */
	rx_core_leave(rx_core, epoch);
	put_marks(source, MARK_EPOCH, epoch, 0);
	source->epoch = epoch;
	rx_core_wait(rx_core);
}

static void end_there(void *arg, uint64_t epoch)
{
	struct rx_core *rx_core = arg;

	end_decoding(rx_core->source, true);
	rx_core_leave(rx_core, epoch);
	put_marks(rx_core->source, MARK_END, epoch, 0);
}

static void take_there(void *arg, struct rte_mbuf **pkts, uint32_t n, uint64_t rx_cycles)
{
	struct rx_core *rx_core = arg;

	rx_core_generation(rx_core, rx_core->epoch)->rx_cycles += rx_cycles;
	take_packets(rx_core->source, pkts, n);
}

static void rest(struct collector_source *source, struct poller *poller, uint32_t received)
{
	collector_save_templates(source->collector);
	if (received == 0 && poller->rest != NULL)
		poller->rest(poller->arg);
	else if (source->rx_core == NULL)
		count_waiting(&source->counters[0]);
	if (poller->idle == IDLE_SLEEP)
		listener_rest(source->listener, received);
}

static void listen_until_end(struct collector_source *source, struct poller *poller)
{
	struct poll_drain drain = {0};

	for (;;) {
		/* Pairs with the release in epochs_open(). */
		uint64_t open = atomic_load_explicit(&poller->epochs->open, memory_order_acquire);
		bool ended = epochs_is_end(poller->epochs, open);
		uint32_t received;

		if (!ended && open > poller->epoch) {
			poller->epoch = open;
			poller->enter(poller->arg, open);
		}
		received = take_datagrams(source);
		if (ended && (received == 0 || poll_drain_is_over(&drain))) {
			poller->end(poller->arg, open);
			return;
		}
		if (received < LISTEN_BATCH)
			rest(source, poller, received);
	}
}

static void work_until_end(struct collector_source *source, struct poller *poller)
{
	if (source->listener != NULL)
		listen_until_end(source, poller);
	else
		poll_until_end(poller);
}

static void collect_work(struct worker *worker, uint32_t nb_workers)
{
	(void)nb_workers;
	worker->poller.arg = worker;
	worker->poller.enter = enter_here;
	worker->poller.take = take_here;
	worker->poller.rest = rest_here;
	worker->poller.end = end_here;
	work_until_end(worker->source, &worker->poller);
}

static void deal_connect(struct rx_core *rx_core)
{
	rx_core->poller.arg = rx_core;
	rx_core->poller.enter = enter_there;
	rx_core->poller.take = take_there;
	rx_core->poller.end = end_there;
}

static void deal_receive(struct rx_core *rx_core)
{
	work_until_end(rx_core->source, &rx_core->poller);
}

static const struct design_ops design_collect = {
	.name = "collect",
	.suits = "one core receives, decodes and counts",
	.work = collect_work,
	.done = worker_free,
};

static const struct design_ops design_collect_dealt = {
	.name = "collect",
	.suits = "one core receives and decodes, the others count",
	.rx_core = true,
	.connect = deal_connect,
	.receive = deal_receive,
	.work = count_dealt,
	.done = worker_free,
};

static void log_collector(void *arg, bool warning, const char *line)
{
	(void)arg;
	if (warning)
		log_warning("%s", line);
	else
		log_notice("%s", line);
}

static bool set_error(char *error, const char *why)
{
	snprintf(error, OPTION_WHY_MAX, "%s", why);
	return false;
}

static bool open_sockets(struct collector_source *source, char *error)
{
	const struct collect_options *options = collect_options(source->params.config);
	struct listen_address addresses[OPTION_LIST_MAX];
	uint32_t wanted = (uint32_t)options->receive_buffer, buffer;
	const char *open, *missing;
	char why[OPTION_WHY_MAX];
	int failure;

	missing = collect_missing_program(source->params.config, &failure);
	if (missing != NULL) {
		snprintf(why, sizeof(why), "%.150s: cannot execute: %s; give a program in PATH",
			missing, strerror(failure));
		return set_error(error, why);
	}
	for (uint32_t i = 0; i < options->listen.n; i++)
		if (!listen_parse(options->listen.texts[i], &addresses[i], why))
			/* check_listen() has already parsed the address */
			return set_error(error, why);
	source->listener = listener_open(addresses, options->listen.n, wanted, error);
	source->nb_sockets = options->listen.n;
	if (source->listener == NULL)
		return false;
	open = collect_open_address(source->params.config);
	if (open != NULL)
		log_warning("--listen %s: any host can send records: its address is public; limit "
			    "senders with --exporter PREFIX",
			open);
	buffer = listener_buffer(source->listener, 0);
	if (buffer < wanted)
		log_warning("receive buffers are %llu KB instead of %llu KB: bursts may be lost; "
			    "raise net.core.rmem_max, or run with CAP_NET_ADMIN",
			(unsigned long long)buffer >> 10, (unsigned long long)wanted >> 10);
	return true;
}

static bool create_source(struct collector_source *source, char *error)
{
	if (collect_options(source->params.config)->listen.n > 0)
		return open_sockets(source, error);
	source->fragments = fragments_create(&fragments_limits);
	source->linear = malloc(DATAGRAM_MAX);
	if (source->fragments != NULL && source->linear != NULL)
		return true;
	return set_error(error, "out of memory for datagrams of a capture");
}

static struct rte_ring *create_ring(const struct plan *plan, uint32_t worker)
{
	static unsigned int serial; /* makes ring names unique in the process */
	char name[RTE_RING_NAMESIZE];

	snprintf(name, sizeof(name), "records%u_%u", worker, serial++);
	return rte_ring_create_elem(name, sizeof(struct observation), RING_RECORDS,
		pool_node(plan->groups[0].memory_node), RING_F_SP_ENQ | RING_F_SC_DEQ);
}

static bool create_counter(struct collector_source *source, uint32_t w)
{
	struct counter *counter = &source->counters[w];
	struct dedup_params params = collect_dedup_params(source->params.config);

	params.flows = (params.flows + source->nb_counters - 1) / source->nb_counters;
	params.seed = seed_options(source->params.config)->seed;
	params.allocator = node_memory_on_node(source->params.plan->groups[0].memory_node);
	counter->collect = source;
	counter->worker = source->params.workers[w];
	counter->dedup = dedup_create(&params);
	for (uint32_t g = 0; g < 2; g++)
		counter->generations[g].by_exporter =
			calloc(params.exporters, sizeof(struct record_counts));
	if (source->rx_core != NULL)
		counter->ring = create_ring(source->params.plan, w);
	return counter->dedup != NULL && counter->generations[0].by_exporter != NULL &&
	       counter->generations[1].by_exporter != NULL &&
	       (source->rx_core == NULL || counter->ring != NULL);
}

static bool create_counters(struct collector_source *source, char *error)
{
	source->nb_counters = source->params.nb_workers;
	source->counters = calloc(source->nb_counters, sizeof(source->counters[0]));
	for (uint32_t w = 0; source->counters != NULL && w < source->nb_counters; w++)
		if (!create_counter(source, w)) {
			snprintf(error, OPTION_WHY_MAX,
				"out of memory for %llu observed flows: lower --flow-cache-size",
				(unsigned long long)collect_options(source->params.config)
					->observed_flows);
			return false;
		}
	return source->counters != NULL || set_error(error, "out of memory for the collector");
}

static void restore_role(void *arg, const struct interface_role_row *row, int64_t saved_at)
{
	struct collector_source *source = arg;

	for (uint32_t w = 0; w < source->nb_counters; w++)
		dedup_restore_role(source->counters[w].dedup, row, saved_at);
	role_snapshot_restore(source->roles, row, saved_at);
}

static bool roles_changed(void *arg)
{
	const struct collector_source *source = arg;

	return role_snapshot_changed(source->roles);
}

static bool emit_roles(void *arg,
	void (*emit)(void *emit_arg, const struct interface_role_row *row), void *emit_arg)
{
	struct collector_source *source = arg;

	return role_snapshot_emit(source->roles, emit, emit_arg);
}

static bool create_roles(struct collector_source *source, struct collector_params *params)
{
	if (!params->links && params->template_file == NULL)
		return true;
	source->roles = role_snapshot_create(params->exporters_max);
	params->restore_role = restore_role;
	params->roles_changed = roles_changed;
	params->emit_roles = emit_roles;
	return source->roles != NULL;
}

static bool create_collector(struct collector_source *source, char *error)
{
	bool dealt = source->rx_core != NULL;
	struct collector_params params =
		collect_collector_params(source->params.config, source->rules);
	char why[OPTION_WHY_MAX];

	params.seed = seed_options(source->params.config)->seed;
	params.observe = dealt ? deal : count_here;
	params.forget = dealt ? forget_there : forget_here;
	params.matches = filter_options(source->params.config)->expression != NULL ? matches : NULL;
	params.log = log_collector;
	params.arg = source;
	source->exporters_max = params.exporters_max;
	if (!create_roles(source, &params))
		return set_error(error, "out of memory for the collector");
	source->collector = collector_create(&params, why);
	if (source->collector != NULL)
		return true;
	snprintf(error, OPTION_WHY_MAX, "%s", why);
	return false;
}

static void destroy_counter(struct counter *counter)
{
	dedup_destroy(counter->dedup);
	rte_ring_free(counter->ring);
	for (uint32_t g = 0; g < 2; g++) {
		free(counter->generations[g].by_exporter);
		free(counter->generations[g].paths.items);
		free(counter->generations[g].roles.items);
	}
}

static void collector_source_destroy(void *arg)
{
	struct collector_source *source = arg;

	for (uint32_t w = 0; source->counters != NULL && w < source->nb_counters; w++)
		destroy_counter(&source->counters[w]);
	free(source->counters);
	collector_destroy(source->collector);
	role_snapshot_destroy(source->roles);
	neighbours_destroy(source->neighbours);
	listener_close(source->listener);
	fragments_destroy(source->fragments);
	free(source->linear);
	for (uint32_t g = 0; g < 2; g++) {
		free(source->generations[g].exporters.items);
		free(source->generations[g].links.items);
		free(source->generations[g].datagrams.items);
		free(source->generations[g].payloads.items);
	}
	free(source);
}

static bool create_neighbours(struct collector_source *source, char *error)
{
	if (!config_exports(source->params.config, "neighbours"))
		return true;
	source->neighbours = neighbours_create(source->seed);
	return source->neighbours != NULL || set_error(error, "out of memory for the collector");
}

static void *collector_source_create(const struct source_params *params, char *error)
{
	struct collector_source *source = calloc(1, sizeof(*source));

	if (source == NULL) {
		snprintf(error, OPTION_WHY_MAX, "out of memory for the collector");
		return NULL;
	}
	source->params = *params;
	source->joins = collect_options(params->config)->collectors != NULL;
	source->exports = config_exports(params->config, "datagrams");
	source->rx_core = params->rx_core;
	source->seed = seed_options(params->config)->seed;
	source->exporter_life = (int64_t)epoch_options(params->config)->interval;
	if (source->exporter_life < EXPORTER_LIFE_NS)
		source->exporter_life = EXPORTER_LIFE_NS;
	if (params->rx_core != NULL)
		params->rx_core->source = source;
	for (uint32_t w = 0; w < params->nb_workers; w++)
		params->workers[w]->source = source;
	if (create_counters(source, error) && create_collector(source, error) &&
		create_source(source, error) && create_neighbours(source, error))
		return source;
	collector_source_destroy(source);
	return NULL;
}

static void collector_source_set_filter(void *arg, const struct filter *filter)
{
	struct collector_source *source = arg;

	source->filter = filter;
	source->tags = record_filter_has_tags(filter_options(source->params.config)->expression);
}

static void log_no_datagram(const struct fragments_counts *counts)
{
	if (counts->whole + counts->fragments > 0 ||
		counts->not_udp + counts->cut + counts->bad == 0)
		return;
	log_warning("no UDP datagram in the capture: %llu packets are not IP, %llu are IP and not "
		    "UDP, %llu are truncated, %llu are malformed",
		(unsigned long long)counts->not_ip,
		(unsigned long long)(counts->not_udp - counts->not_ip),
		(unsigned long long)counts->cut, (unsigned long long)counts->bad);
}

static bool collector_source_finish(void *arg)
{
	struct collector_source *source = arg;
	bool saved = collector_finish(source->collector);

	if (source->fragments != NULL)
		log_no_datagram(fragments_counted(source->fragments));
	return saved;
}

void collector_source_expect_sampling(
	struct collector_source *source, uint32_t slot, uint32_t interval, bool mixed)
{
	collector_expect_sampling(source->collector, slot, interval, mixed);
}

void collector_source_scale_sampling(
	struct collector_source *source, uint32_t rule, uint32_t interval)
{
	collector_scale_sampling(source->collector, rule, interval);
}

uint32_t collector_source_exporters_max(const struct collector_source *source)
{
	return source->exporters_max;
}

bool collector_source_exports_datagrams(const struct collector_source *source)
{
	return source->exports;
}

struct neighbours *collector_source_neighbours(struct collector_source *source)
{
	return source->neighbours;
}

static uint64_t collector_source_received(const void *arg)
{
	const struct collector_source *source = arg;

	return atomic_load_explicit(&source->datagrams, memory_order_relaxed);
}

struct collector_source_generation *collector_source_generation(
	struct collector_source *source, uint64_t epoch)
{
	return &source->generations[epoch & 1];
}

const struct interface_role_row *collector_source_roles(
	struct collector_source *source, uint64_t epoch, int64_t end, uint32_t *n)
{
	struct interface_role_row *rows;
	uint64_t nb = 0, done = 0;

	*n = 0;
	if (source->roles == NULL)
		return NULL;
	for (uint32_t w = 0; w < source->nb_counters; w++)
		nb += collector_source_counts(source, w, epoch)->roles.n;
	rows = malloc((nb + 1) * sizeof(rows[0]));
	if (rows == NULL)
		return NULL;
	for (uint32_t w = 0; w < source->nb_counters; w++) {
		const struct collector_source_rows *roles =
			&collector_source_counts(source, w, epoch)->roles;

		if (roles->n > 0)
			memcpy(&rows[done], roles->items, roles->n * sizeof(rows[0]));
		done += roles->n;
	}
	role_snapshot_set(source->roles, rows, (uint32_t)nb, epoch, end);
	return role_snapshot_rows(source->roles, n);
}

uint32_t collector_source_largest_frame(struct collector_source *source, uint32_t seen)
{
	uint32_t overhead = collect_options(source->params.config)->link_overhead;
	uint32_t expected = PACKET_EXPECTED + overhead, limit = PACKET_MAX + overhead;

	if (seen > limit)
		seen = limit;
	if (seen > source->largest_frame)
		source->largest_frame = seen;
	return source->largest_frame > expected ? source->largest_frame : expected;
}

struct collector_source_counts *collector_source_counts(
	struct collector_source *source, uint32_t worker, uint64_t epoch)
{
	return counts_of(&source->counters[worker], epoch);
}

static void collector_source_recycle(void *arg, uint64_t epoch)
{
	struct collector_source *source = arg;
	struct collector_source_generation *generation = collector_source_generation(source, epoch);

	clear_rows(&generation->exporters);
	clear_rows(&generation->links);
	clear_rows(&generation->datagrams);
	clear_rows(&generation->payloads);
	generation->left_out = 0;
	generation->epoch = (struct collector_epoch){0};
	generation->taken = 0;
	for (uint32_t w = 0; w < source->nb_counters; w++) {
		struct collector_source_counts *counts = collector_source_counts(source, w, epoch);

		clear_rows(&counts->paths);
		clear_rows(&counts->roles);
		counts->nb_paths = 0;
		counts->counts = (struct dedup_counts){0};
		counts->others = (struct record_counts){0};
		memset(counts->by_exporter, 0,
			source->exporters_max * sizeof(counts->by_exporter[0]));
	}
}

static void describe_collector(
	const struct plan *plan, const struct plan_lcore *lcore, char *text, size_t size)
{
	char from[64] = "a capture";
	int used;

	if (plan->source.joins)
		snprintf(from, sizeof(from), "other collectors");
	else if (plan->source.inputs > 0)
		snprintf(from, sizeof(from), "%u socket%s", plan->source.inputs,
			plan->source.inputs == 1 ? "" : "s");
	if (lcore->role == PLAN_WORKER && plan->design->rx_core) {
		snprintf(text, size, "takes records from ring %u, updates sketch %u", lcore->worker,
			plan_instance(plan, lcore->worker));
		return;
	}
	used = snprintf(text, size, "takes datagrams of %s, decodes them, ", from);
	if (lcore->role == PLAN_RECEIVER)
		snprintf(text + used, size - (size_t)used, "distributes records to %u rings",
			plan->nb_workers);
	else
		snprintf(text + used, size - (size_t)used, "updates sketch 0");
}

static void plan_collectors(const struct config *config, struct plan_source *plan)
{
	const struct collect_options *options = collect_options(config);
	struct collectors_address address;
	char why[OPTION_WHY_MAX];

	/* check_collectors() has already parsed the address. */
	collectors_parse(options->collectors, &address, why);
	plan->waiting_bytes =
		collectors_bytes(address.collectors, (size_t)options->collectors_memory);
	plan->bytes += plan->waiting_bytes;
	plan->user = "exporters, their flows and datagrams of collectors";
	plan->less = "--flow-cache-size or collectors-memory";
	snprintf(plan->waiting, sizeof(plan->waiting), "datagrams of %u collector%s",
		address.collectors, address.collectors == 1 ? "" : "s");
}

static void collector_source_plan(const struct config *config, struct plan_source *plan)
{
	uint32_t sockets = collect_options(config)->listen.n;
	uint32_t workers = plan_options(config)->workers;

	if (workers == 0)
		workers = 1;
	*plan = (struct plan_source){
		.design = workers == 1 ? &design_collect : &design_collect_dealt,
		.workers = workers,
		.inputs = sockets,
		.joins = collect_options(config)->collectors != NULL,
		.weights = true,
		.mbuf_room = PLAN_PORT_MBUF_BYTES, /* enough for nearly all datagrams */
		.bytes = collect_memory(config, workers) +
			 (sockets > 0 ? 0 : fragments_memory(&fragments_limits)) +
			 (size_t)workers * 2 * collect_options(config)->exporters_max *
				 sizeof(struct record_counts),
		.ring_bytes = workers > 1 ? workers * RING_RECORDS * sizeof(struct observation) : 0,
		.describe = describe_collector,
		.queues = "sockets",
		.no_packets = "sockets have their own buffers",
		.user = "exporters and their flows",
		.less = "--flow-cache-size",
		.memory = "exporters, their templates and their flows",
	};
	if (plan->joins)
		plan_collectors(config, plan);
}

static const struct source_ops collector_ops = {
	.create = collector_source_create,
	.destroy = collector_source_destroy,
	.set_filter = collector_source_set_filter,
	.received = collector_source_received,
	.recycle = collector_source_recycle,
	.finish = collector_source_finish,
	.takes = collect_takes,
};

static const char *collectors_inapplicable(
	const struct config *config, const struct measurement_config *measurement)
{
	(void)measurement;
	return collect_options(config)->collectors != NULL ? NULL : "without --collectors";
}

static bool check_listen(const struct config *config, const struct measurement_config *measurement,
	struct option_fault *fault)
{
	const struct option_list *list = &collect_options(config)->listen;
	struct listen_address address;
	char why[OPTION_WHY_MAX];

	(void)measurement;
	for (uint32_t i = 0; i < list->n; i++) {
		if (!listen_parse(list->texts[i], &address, why))
			return option_fault(
				fault, "listen", NULL, "'%.100s': %s", list->texts[i], why);
		for (uint32_t j = 0; j < i; j++)
			if (strcmp(list->texts[i], list->texts[j]) == 0)
				return option_fault(fault, "listen", NULL,
					"'%.100s' is given twice; omit one", list->texts[i]);
	}
	return true;
}

static const struct source_traits source_listen, source_datagrams;

static const struct option_row listen_rows[] = {
	{
		.name = "listen",
		.placeholder = "ADDRESS:PORT",
		.type = OPTION_LIST,
		OPTION_FIELD(collect_options, listen),
		SOURCE_OPTION(source_listen),
		.help = "Receive NetFlow v5 and v9, IPFIX and sFlow v5 on a UDP address. :PORT: "
			"all addresses of this host. [ADDRESS]:PORT: an IPv6 address. Each port "
			"accepts all protocols. Repeatable.",
	},
	{0},
};

const struct option_owner listen_owner = {
	.rows = listen_rows,
	.fills = &collect_owner,
	.check = check_listen,
};

static const struct option_row datagrams_rows[] = {
	{REPLAY_OPTION, SOURCE_OPTION(source_datagrams)},
	{0},
};

const struct option_owner datagrams_owner = {
	.rows = datagrams_rows,
	.fills = &replay_owner,
	.check = replay_check,
};

static const struct source_traits source_collectors;

static const struct option_row collectors_rows[] = {
	{
		.name = "collectors",
		.placeholder = "ADDRESS:PORT[,N]",
		.type = OPTION_STRING,
		OPTION_FIELD(collect_options, collectors),
		SOURCE_OPTION(source_collectors),
		.help = "Count what the exporters of N other collectors report, which run with "
			"--export datagrams=tcp://ADDRESS:PORT. Default: 1.",
	},
	{
		.name = "collectors-wait",
		COLLECT_OPTION,
		.rare = true,
		.config_only = true,
		.placeholder = "TIME",
		.group = OPTION_GROUP_SOURCE,
		.type = OPTION_TIME,
		OPTION_FIELD(collect_options, collectors_wait),
		.min = 1000000,
		.max = OPTION_CENTURY,
		.default_text = "1m",
		.inapplicable = collectors_inapplicable,
		.help = "End intervals without a collector that is silent for TIME.",
	},
	{
		.name = "collectors-memory",
		COLLECT_OPTION,
		.rare = true,
		.config_only = true,
		.placeholder = "SIZE",
		.group = OPTION_GROUP_SOURCE,
		.type = OPTION_SIZE,
		OPTION_FIELD(collect_options, collectors_memory),
		.min = UINT64_C(1) << 20,
		.max = UINT64_C(1) << 40,
		.default_text = "256MB",
		.inapplicable = collectors_inapplicable,
		.help = "Hold at most SIZE of the datagrams of each collector while another one is "
			"late.",
	},
	{0},
};

static bool check_collectors(const struct config *config,
	const struct measurement_config *measurement, struct option_fault *fault)
{
	const char *text = collect_options(config)->collectors;
	struct collectors_address address;
	char why[OPTION_WHY_MAX];

	(void)measurement;
	return text == NULL || collectors_parse(text, &address, why) ||
	       option_fault(fault, "collectors", NULL, "'%.100s': %s", text, why);
}

const struct option_owner collectors_owner = {
	.rows = collectors_rows,
	.fills = &collect_owner,
	.check = check_collectors,
};

static int open_collectors(const struct config *config, struct source **source, char *error)
{
	struct collectors_params params = {
		.interval = (int64_t)epoch_options(config)->interval,
		.wait = (int64_t)collect_options(config)->collectors_wait,
		.memory = (size_t)collect_options(config)->collectors_memory,
		.log = log_collector,
	};
	char why[OPTION_WHY_MAX];

	/* check_collectors() has already parsed the address. */
	collectors_parse(collect_options(config)->collectors, &params.address, why);
	*source = collectors_open(&params, error);
	if (*source != NULL && listen_is_public(&params.address.listen))
		log_warning("--collectors %s: any host can send datagrams: its address is public; "
			    "use an address of a private network, or a firewall",
			collect_options(config)->collectors);
	return *source != NULL ? 0 : 1;
}

#define COLLECTOR_TRAITS                                                                           \
	.no_packets = "needs packets, and exporters send flow records; omit it",                   \
	.plan = collector_source_plan, .ops = &collector_ops

static const struct source_traits source_listen = {
	.selected.is = SOURCE_OF_ITSELF | SOURCE_RECORDS,
	.pacer = "exporters set the pace",
	.host = HOST_SOCKETS,
	COLLECTOR_TRAITS,
};

static const struct source_traits source_datagrams = {
	.selected.is = SOURCE_OF_FEEDER | SOURCE_RECORDS,
	.host = HOST_REPLAY,
	.open = replay_open_options,
	COLLECTOR_TRAITS,
};

static const struct source_traits source_collectors = {
	.selected.is = SOURCE_OF_FEEDER | SOURCE_RECORDS,
	.pacer = "collectors set the pace",
	.host = HOST_SOCKETS,
	.open = open_collectors,
	COLLECTOR_TRAITS,
};
