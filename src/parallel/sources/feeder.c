/* SPDX-License-Identifier: BSD-3-Clause */
#include "parallel/sources/feeder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>

#include "base/assertion.h"
#include "base/clock.h"
#include "key/key_burst.h"
#include "base/log.h"
#include "base/signals.h"
#include "parallel/workers/poll.h"
#include "parallel/workers/node_memory.h"
#include "rx/packet/meta.h"
#include "parallel/sources/pacer.h"
#include "rx/packet/parse.h"
#include "rx/packet/rss_hash.h"
#include "base/units.h"

/* The first 100 bytes determine nearly every key, so most mbufs are small and stay in the cache. */
#define LONG_MBUFS 64
#define LONG_ROOM  ((uint32_t)UINT16_MAX)

#define FETCH_AHEAD 8 /* prefetch distance, packets */

/* Readings of the clock per second, between which the TSC gives the time. */
#define CLOCK_READINGS 1000

/* s; the feeder warns if it must wait longer until a packet is due */
#define HOUR_S 3600

/* Packets that the feeder collects for a queue before it puts them on the ring. */
#define STAGE_MAX BURST_MAX

struct stage {
	uint32_t n;
	struct rte_mbuf *pkts[STAGE_MAX];
};

struct feeder {
	struct feeder_params params;
	uint16_t port;
	struct rte_ring *rings[FEEDER_QUEUES_MAX];
	struct rte_mempool *pool, *long_pool;
	uint32_t reach; /* number of bytes of a packet that filters read */
	uint8_t reta[RSS_RETA_SIZE];
	struct stage stages[FEEDER_QUEUES_MAX];
	uint32_t nb_spare;
	struct rte_mbuf *spare[BURST_MAX];

	/* The open epoch, or all 0 before the first packet. */
	bool started;
	uint64_t epoch;
	struct epoch_info info;
	int64_t first_time; /* first packet, ns since 1970 */
	int64_t last_time;  /* latest packet, ns since 1970 */
	struct pacer pacer;
	bool broken_off; /* --packets has ended the run */
	bool over;       /* --duration has ended the run */
	bool damaged;
	int64_t opened; /* ns of CLOCK_MONOTONIC */

	/* Packets are generated with --pace. Their times do not follow changes of the clock. */
	bool live;
	int64_t clock_offset;    /* CLOCK_REALTIME minus CLOCK_MONOTONIC at the start, ns */
	int64_t read_at;         /* last reading of the clock, ns since 1970-01-01 UTC */
	int64_t now;             /* last result of live_time() */
	uint64_t read_tsc;       /* TSC at the last reading */
	uint64_t read_cycles;    /* minimum TSC cycles between two readings */
	uint64_t ns_per_cycle32; /* ns per TSC cycle, times 2^32 */

	/* Written by the feeder, read by any thread. */
	_Atomic uint64_t packets, bytes;
	_Atomic bool finished;
	/* Written by any thread, read by the feeder. */
	_Atomic bool stop;
};

static bool stopped(const struct feeder *feeder)
{
	return atomic_load_explicit(&feeder->stop, memory_order_relaxed);
}

/* With --pace, drops packets that do not fit on the ring. Otherwise waits for room. */
static void flush_queue(struct feeder *feeder, uint32_t queue)
{
	struct stage *stage = &feeder->stages[queue];
	uint32_t done = 0;

	ASSERT(stage->n, <=, STAGE_MAX);
	while (done < stage->n) {
		done += rte_ring_sp_enqueue_burst(feeder->rings[queue],
			(void *const *)&stage->pkts[done], stage->n - done, NULL);
		if (done == stage->n)
			break;
		if (feeder->params.pace != PACE_UNPACED && !feeder->params.lossless) {
			feeder->info.dropped += stage->n - done;
			rte_pktmbuf_free_bulk(&stage->pkts[done], stage->n - done);
			break;
		}
		poll_idle(feeder->params.idle);
	}
	stage->n = 0;
}

static void flush_all(struct feeder *feeder)
{
	for (uint32_t q = 0; q < feeder->params.nb_queues; q++)
		flush_queue(feeder, q);
}

/* The mbuf is in the cache of the core of the worker that freed it. */
static void fetch_mbuf(struct rte_mbuf *mbuf)
{
	__builtin_prefetch(mbuf, 1);
	__builtin_prefetch((uint8_t *)mbuf + RTE_CACHE_LINE_SIZE, 1);
	__builtin_prefetch(mbuf + 1, 1); /* the data begins after the header */
}

/* Waits until workers free an mbuf if there is none. */
static struct rte_mbuf *take_mbuf(struct feeder *feeder)
{
	struct rte_mbuf *mbuf;

	while (feeder->nb_spare == 0) {
		if (rte_mempool_get_bulk(feeder->pool, (void **)feeder->spare, BURST_MAX) == 0) {
			feeder->nb_spare = BURST_MAX;
			for (uint32_t i = 1; i <= FETCH_AHEAD; i++)
				fetch_mbuf(feeder->spare[BURST_MAX - i]);
			break;
		}
		flush_all(feeder);
		poll_idle(feeder->params.idle);
	}
	mbuf = feeder->spare[--feeder->nb_spare];
	if (feeder->nb_spare >= FETCH_AHEAD)
		fetch_mbuf(feeder->spare[feeder->nb_spare - FETCH_AHEAD]);
	rte_pktmbuf_reset(mbuf);
	return mbuf;
}

static struct rte_mbuf *take_long_mbuf(struct feeder *feeder)
{
	struct rte_mbuf *mbuf;

	while ((mbuf = rte_pktmbuf_alloc(feeder->long_pool)) == NULL) {
		flush_all(feeder);
		poll_idle(feeder->params.idle);
	}
	return mbuf;
}

static void fill_mbuf(struct rte_mbuf *mbuf, const uint8_t *data, uint32_t len)
{
	mbuf->data_off = 0;
	mbuf->data_len = (uint16_t)len;
	mbuf->pkt_len = len;
	memcpy(mbuf->buf_addr, data, len);
}

static struct rte_mbuf *copy_packet(struct feeder *feeder, const uint8_t *data, uint32_t len)
{
	struct rte_mbuf *mbuf;

	if (len <= feeder->params.mbuf_room) {
		mbuf = take_mbuf(feeder);
		fill_mbuf(mbuf, data, len);
		return mbuf;
	}
	mbuf = take_long_mbuf(feeder);
	fill_mbuf(mbuf, data, RTE_MIN(len, LONG_ROOM));
	for (uint32_t done = LONG_ROOM; done < len; done += LONG_ROOM) {
		struct rte_mbuf *more = take_long_mbuf(feeder);

		fill_mbuf(more, data + done, RTE_MIN(len - done, LONG_ROOM));
		rte_pktmbuf_chain(mbuf, more);
	}
	return mbuf;
}

_Static_assert(INT64_MAX - SOURCE_TIME_MAX >= EPOCH_INTERVAL_MAX,
	"the end of any interval fits in int64_t");

static int64_t floor_to(int64_t time, int64_t interval)
{
	int64_t rest = time % interval;

	return time - (rest < 0 ? rest + interval : rest);
}

static void start_clock(struct feeder *feeder)
{
	uint64_t hz = rte_get_tsc_hz();

	feeder->clock_offset = clock_now(CLOCK_REALTIME) - clock_now(CLOCK_MONOTONIC);
	feeder->read_cycles = hz / CLOCK_READINGS;
	feeder->ns_per_cycle32 = ((uint64_t)SECOND_NS << 32) / hz;
	feeder->read_tsc = rte_rdtsc() - feeder->read_cycles;
	feeder->now = 0;
}

static int64_t live_time(struct feeder *feeder)
{
	uint64_t passed = rte_rdtsc() - feeder->read_tsc;
	int64_t now;

	if (passed >= feeder->read_cycles) {
		feeder->read_at = clock_now(CLOCK_MONOTONIC) + feeder->clock_offset;
		feeder->read_tsc = rte_rdtsc();
		passed = 0;
	}
	now = feeder->read_at + (int64_t)(passed * feeder->ns_per_cycle32 >> 32);
	feeder->now = RTE_MAX(feeder->now, now);
	return feeder->now;
}

/* Must be called before a packet of the epoch is in a ring. */
static void publish_start(struct feeder *feeder)
{
	struct epoch_info *info = epochs_info(feeder->params.epochs, feeder->epoch);

	feeder->opened = clock_now(CLOCK_MONOTONIC);
	info->number = feeder->info.number;
	info->start = feeder->info.start;
}

static void publish_end(struct feeder *feeder)
{
	struct epoch_info *info = epochs_info(feeder->params.epochs, feeder->epoch);

	info->end = feeder->info.end;
	info->fed = feeder->info.fed;
	info->dropped = feeder->info.dropped;
	info->largest_frame = feeder->info.largest_frame;
	info->missing_bytes = feeder->info.missing_bytes;
	info->took = (uint64_t)(clock_now(CLOCK_MONOTONIC) - feeder->opened);
}

static void start_epochs(struct feeder *feeder, int64_t stamp)
{
	int64_t interval = (int64_t)feeder->params.interval, time = stamp;

	feeder->started = true;
	pacer_start(&feeder->pacer, feeder->params.pace, feeder->params.pace_rate, stamp);
	if (feeder->live) {
		start_clock(feeder);
		time = live_time(feeder);
	}
	feeder->first_time = feeder->last_time = time;
	feeder->info = (struct epoch_info){.start = time, .end = time};
	if (interval > 0) {
		feeder->info.end = floor_to(time, interval) + interval;
		feeder->info.start = feeder->live ? time : floor_to(time, interval);
	}
	publish_start(feeder);
}

static void next_epoch(struct feeder *feeder, int64_t time)
{
	int64_t interval = (int64_t)feeder->params.interval;
	int64_t start = floor_to(time, interval);
	uint64_t skipped =
		(uint64_t)(start - floor_to(feeder->info.start, interval)) / (uint64_t)interval;

	VERIFY(time, >=, feeder->info.end);
	flush_all(feeder);
	publish_end(feeder);
	feeder->info = (struct epoch_info){
		.number = feeder->info.number + skipped, .start = start, .end = start + interval};
	feeder->epoch++;
	while (!epochs_may_open(feeder->params.epochs, feeder->epoch))
		poll_idle(feeder->params.idle);
	publish_start(feeder);
	epochs_open(feeder->params.epochs, feeder->epoch);
}

static int64_t last_end(struct feeder *feeder)
{
	if (feeder->live && !feeder->over) {
		int64_t now = live_time(feeder);

		return feeder->params.interval == 0 ? now : RTE_MIN(now, feeder->info.end);
	}
	if (feeder->over && feeder->params.interval == 0 && feeder->live)
		return feeder->first_time + (int64_t)feeder->params.duration;
	/* Without intervals, or after an early stop, the epoch ends with its last packet. */
	if (feeder->params.interval == 0 || feeder->broken_off || stopped(feeder))
		return RTE_MAX(feeder->last_time, feeder->info.start);
	if (feeder->over)
		return RTE_MIN(
			feeder->info.end, feeder->first_time + (int64_t)feeder->params.duration);
	return feeder->info.end;
}

static void end_epochs(struct feeder *feeder)
{
	flush_all(feeder);
	if (!feeder->started) {
		epochs_end(feeder->params.epochs, 0);
		return;
	}
	feeder->info.end = last_end(feeder);
	publish_end(feeder);
	epochs_end(feeder->params.epochs, feeder->epoch + 1);
}

/* A wrong timestamp may be years in the future. */
static void warn_long_wait(uint64_t cycles)
{
	const uint64_t hour = HOUR_S * rte_get_tsc_hz();

	if (cycles >= hour)
		log_warning("the next packet is due in %.1f hours by its timestamp; --pace "
			    "recorded waits for it",
			(double)cycles / (double)hour);
}

static bool beyond_duration(const struct feeder *feeder, int64_t time)
{
	uint64_t duration = feeder->params.duration;

	return duration > 0 && feeder->started && time > feeder->first_time &&
	       (uint64_t)(time - feeder->first_time) >= duration;
}

/*
 * `cycles`: TSC cycles until the next packet. Returns those until it or the next end of an epoch.
 */
static uint64_t pass_time(struct feeder *feeder, uint64_t cycles)
{
	const struct feeder_params *params = &feeder->params;
	int64_t now = live_time(feeder), next = INT64_MAX;

	feeder->over = beyond_duration(feeder, now);
	if (feeder->over)
		return 0;
	if (params->interval > 0 && now >= feeder->info.end)
		next_epoch(feeder, now);
	if (params->interval > 0)
		next = feeder->info.end;
	if (params->duration > 0)
		next = RTE_MIN(next, feeder->first_time + (int64_t)params->duration);
	if (next - now > SECOND_NS) /* the caller sleeps for less than a second, then calls again */
		return cycles;
	return RTE_MIN(cycles, (uint64_t)(next - now) * rte_get_tsc_hz() / SECOND_NS + 1);
}

/* Flushes collected packets before it waits. */
static void wait_until_due(struct feeder *feeder, int64_t time)
{
	uint64_t index = atomic_load_explicit(&feeder->packets, memory_order_relaxed);
	uint64_t cycles = pacer_wait(&feeder->pacer, index, time);

	if (cycles > 0)
		flush_all(feeder);
	if (cycles > 0 && feeder->params.pace == PACE_RECORDED)
		warn_long_wait(cycles);
	while (cycles > 0 && !stopped(feeder)) {
		if (feeder->live)
			cycles = pass_time(feeder, cycles);
		if (feeder->over)
			return;
		if (!pacer_nap(cycles))
			poll_idle(feeder->params.idle);
		cycles = pacer_wait(&feeder->pacer, index, time);
	}
}

static void add_missing(
	struct feeder *feeder, const struct source_packet *packet, const struct parsed *parsed)
{
	uint32_t missing = parse_missing_bytes(
		packet->data, packet->captured, packet->wire_len, packet->snaplen, parsed);

	if (missing == PARSE_MISSING_UNKNOWN)
		feeder->info.missing_bytes = UINT64_MAX;
	else if (feeder->info.missing_bytes != UINT64_MAX)
		feeder->info.missing_bytes += missing;
}

static void feed(struct feeder *feeder, const struct source_packet *packet)
{
	struct parsed parsed;
	enum parse_verdict verdict = parse_captured(
		packet->data, packet->captured, packet->wire_len, packet->link, &parsed);
	uint32_t hash = rss_hash(verdict, &parsed);
	uint32_t queue = feeder->reta[hash % RSS_RETA_SIZE];
	/* Measurements that need the TCP header can be added during the run. */
	uint32_t copied =
		RTE_MIN(RTE_MAX(parsed.need + PARSE_TCP_BEYOND, feeder->reach), packet->captured);
	struct stage *stage = &feeder->stages[queue];
	struct rte_mbuf *mbuf = copy_packet(feeder, packet->data, copied);
	struct packet_meta *meta = packet_meta(mbuf);

	mbuf->port = feeder->port;
	mbuf->hash.rss = hash;
	mbuf->ol_flags = RTE_MBUF_F_RX_RSS_HASH;
	meta->time = packet->time;
	meta->wire_len = packet->wire_len;
	meta->epoch = (uint32_t)feeder->epoch;
	meta->link = (uint16_t)packet->link;
	meta->in_port = packet->in_port;
	meta->filter = packet->filter;

	stage->pkts[stage->n++] = mbuf;
	if (stage->n == STAGE_MAX)
		flush_queue(feeder, queue);
	if (parse_verdicts[verdict].class == PARSE_CLASS_KEY)
		add_missing(feeder, packet, &parsed);
}

/* Returns the result of the source, or 0 after the last packet of --packets. */
static int next_packet(struct feeder *feeder, struct source_packet *packet)
{
	struct source *source = feeder->params.source;
	uint64_t most = feeder->params.packets;

	feeder->broken_off =
		most > 0 && atomic_load_explicit(&feeder->packets, memory_order_relaxed) >= most;
	if (feeder->broken_off)
		return 0;
	return source->next(source, packet);
}

static void account(struct feeder *feeder, const struct source_packet *packet)
{
	/* Only the feeder writes these counters, so atomic additions are not necessary. */
	uint64_t packets = atomic_load_explicit(&feeder->packets, memory_order_relaxed);
	uint64_t bytes = atomic_load_explicit(&feeder->bytes, memory_order_relaxed);

	atomic_store_explicit(&feeder->packets, packets + 1, memory_order_relaxed);
	atomic_store_explicit(&feeder->bytes, bytes + packet->wire_len, memory_order_relaxed);
	feeder->info.fed++;
	if (packet->wire_len > feeder->info.largest_frame)
		feeder->info.largest_frame = packet->wire_len;
	if (packet->time > feeder->last_time)
		feeder->last_time = packet->time;
}

int feeder_work(void *arg)
{
	struct feeder *feeder = arg;
	struct source_packet packet;
	int result = 0;

	while (!stopped(feeder) && (result = next_packet(feeder, &packet)) > 0) {
		if (!feeder->live)
			feeder->over = beyond_duration(feeder, packet.time);
		if (feeder->over)
			break;
		if (!feeder->started)
			start_epochs(feeder, packet.time);
		if (feeder->params.pace != PACE_UNPACED) {
			wait_until_due(feeder, packet.time);
			if (stopped(feeder) || feeder->over)
				break;
		}
		if (feeder->live) {
			packet.time = live_time(feeder);
			feeder->over = beyond_duration(feeder, packet.time);
			if (feeder->over)
				break;
		}
		if (feeder->params.interval > 0 && packet.time >= feeder->info.end)
			next_epoch(feeder, packet.time);
		account(feeder, &packet);
		source_take(&packet);
		feed(feeder, &packet);
	}
	/* A stop can interrupt a read. The source is then not damaged. */
	feeder->damaged = result < 0 && !stopped(feeder) && !signals_stop_requested();
	end_epochs(feeder);
	rte_mempool_put_bulk(feeder->pool, (void *const *)feeder->spare, feeder->nb_spare);
	feeder->nb_spare = 0;
	/* Pairs with the acquire in feeder_finished(), after which feeder->damaged is valid. */
	atomic_store_explicit(&feeder->finished, true, memory_order_release);
	return 0;
}

static bool create_rings(struct feeder *feeder)
{
	static unsigned int serial; /* makes names unique in the process */
	const struct feeder_params *params = &feeder->params;
	struct rte_eth_conf conf = {0};
	char name[RTE_RING_NAMESIZE];
	int port;

	serial++;
	for (uint32_t q = 0; q < params->nb_queues; q++) {
		snprintf(name, sizeof(name), "feed%u_%u", serial, q);
		feeder->rings[q] = rte_ring_create(name, params->descriptors,
			pool_node(params->node), RING_F_SP_ENQ | RING_F_SC_DEQ);
		if (feeder->rings[q] == NULL)
			return false;
	}
	snprintf(name, sizeof(name), "pkts%u", serial);
	feeder->pool = pool_create(
		name, params->mbufs, params->mbuf_cache, params->mbuf_room, params->node);
	snprintf(name, sizeof(name), "long%u", serial);
	feeder->long_pool = pool_create(name, LONG_MBUFS, 0, LONG_ROOM, params->node);
	if (feeder->pool == NULL || feeder->long_pool == NULL)
		return false;

	/* rte_eth_from_rings() requires send queues. Nothing uses them. */
	snprintf(name, sizeof(name), "feed%u", serial);
	port = rte_eth_from_rings(name, feeder->rings, params->nb_queues, feeder->rings, 1,
		params->node < 0 ? 0 : (unsigned int)params->node);
	if (port < 0)
		return false;
	feeder->port = (uint16_t)port;
	if (rte_eth_dev_configure(feeder->port, (uint16_t)params->nb_queues, 0, &conf) < 0)
		return false;
	for (uint16_t q = 0; q < params->nb_queues; q++)
		if (rte_eth_rx_queue_setup(feeder->port, q, (uint16_t)params->descriptors,
			    SOCKET_ID_ANY, NULL, feeder->pool) < 0)
			return false;
	return rte_eth_dev_start(feeder->port) == 0;
}

struct feeder *feeder_create(const struct feeder_params *params, char *error)
{
	struct feeder *feeder = aligned_alloc(64, RTE_ALIGN(sizeof(*feeder), 64));

	if (feeder == NULL) {
		snprintf(error, SOURCE_ERROR_MAX, "out of memory for the feeder");
		return NULL;
	}
	memset(feeder, 0, sizeof(*feeder));
	feeder->params = *params;
	feeder->port = RTE_MAX_ETHPORTS;
	feeder->live = params->source->generated && params->pace != PACE_UNPACED;
	for (uint32_t i = 0; i < RSS_RETA_SIZE; i++)
		feeder->reta[i] = (uint8_t)(i % params->nb_queues);
	if (packet_meta_register() < 0 || !create_rings(feeder)) {
		snprintf(error, SOURCE_ERROR_MAX,
			"out of memory for %u mbufs and %u rings of %u: %s; lower mbufs or "
			"descriptors",
			params->mbufs, params->nb_queues, params->descriptors,
			rte_strerror(rte_errno));
		feeder_destroy(feeder);
		return NULL;
	}
	return feeder;
}

void feeder_destroy(struct feeder *feeder)
{
	if (feeder->port != RTE_MAX_ETHPORTS) {
		rte_eth_dev_stop(feeder->port);
		rte_eth_dev_close(feeder->port);
	}
	for (uint32_t q = 0; q < feeder->params.nb_queues; q++)
		rte_ring_free(feeder->rings[q]);
	rte_mempool_free(feeder->pool);
	rte_mempool_free(feeder->long_pool);
	free(feeder);
}

bool feeder_time_is_generated(const struct feeder *feeder)
{
	return feeder->params.source->generated && !feeder->live;
}

uint16_t feeder_port(const struct feeder *feeder)
{
	return feeder->port;
}

struct rte_ring *feeder_ring(const struct feeder *feeder, uint32_t w)
{
	return feeder->rings[w];
}

void feeder_set_reach(struct feeder *feeder, uint32_t reach)
{
	feeder->reach = reach;
}

void feeder_stop(struct feeder *feeder)
{
	atomic_store_explicit(&feeder->stop, true, memory_order_relaxed);
}

bool feeder_finished(const struct feeder *feeder)
{
	/* Pairs with the release in feeder_work(). */
	return atomic_load_explicit(&feeder->finished, memory_order_acquire);
}

struct feeder_progress feeder_progress(const struct feeder *feeder)
{
	return (struct feeder_progress){
		.packets = atomic_load_explicit(&feeder->packets, memory_order_relaxed),
		.bytes = atomic_load_explicit(&feeder->bytes, memory_order_relaxed),
		.share = feeder->params.source->progress(feeder->params.source),
	};
}

bool feeder_warning(const struct feeder *feeder, unsigned int i, char *text)
{
	return source_warning(feeder->params.source, i, text);
}

const char *feeder_damage(const struct feeder *feeder)
{
	return feeder->damaged ? feeder->params.source->error : NULL;
}

bool feeder_read_pace(const struct option_text *text)
{
	struct feeder_options *options =
		(struct feeder_options *)((char *)text->field -
					  offsetof(struct feeder_options, pace));
	uint64_t rate = 0;

	if (strcmp(text->text, "recorded") != 0 &&
		(units_rate(text->text, &rate) != NULL || rate == 0))
		return option_set_error(text, "not a pace; examples: recorded, 2Mpps, 500kpps");
	options->pace = rate > 0 ? PACE_RATE : PACE_RECORDED;
	options->pace_rate = rate;
	return true;
}

static const struct option_row feeder_rows[] = {
	{
		.name = "pace",
		.placeholder = "RATE|recorded",
		.group = OPTION_GROUP_SOURCE,
		.type = OPTION_OWN,
		.read = feeder_read_pace,
		OPTION_FIELD(feeder_options, pace),
		.default_note = "as fast as possible without loss",
		.rare = true,
		.help = "Replay or generate packets at RATE. recorded: replay packets at the pace "
			"of their timestamps. If a ring is full, packets are dropped, as by a NIC.",
		.man = "The source never waits for outputs. Packets generated at a rate have the "
		       "time of the clock.",
	},
	{
		.name = "duration",
		.placeholder = "TIME",
		.group = OPTION_GROUP_SOURCE,
		.type = OPTION_TIME,
		OPTION_FIELD(feeder_options, duration),
		.min = 1,
		.max = OPTION_CENTURY,
		.default_note = "no limit",
		.help = "Stop after TIME. Captures: by the timestamps of packets. Else: by the clock.",
	},
	{
		.name = "packets",
		.letter = 'c',
		.placeholder = "N",
		.group = OPTION_GROUP_SOURCE,
		.type = OPTION_COUNT,
		OPTION_FIELD(feeder_options, packets),
		.min = 1,
		.max = UINT64_MAX,
		.default_note = "no limit",
		.rare = true,
		.help = "Stop after N packets.",
	},
	{0},
};

const struct option_owner feeder_owner = {
	.rows = feeder_rows,
	.size = sizeof(struct feeder_options),
};
