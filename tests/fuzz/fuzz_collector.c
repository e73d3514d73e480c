/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Any datagrams in succession, from a few addresses, with times, losses and ends of epochs between
 * them, through a collector and a small deduplication table. Each datagram is in a row of its
 * epoch; each record was counted, is a duplicate or is unusable; nothing counts twice. The input is
 * a byte for the set-up, then steps: a byte for the action and, for a datagram, one byte for its
 * address, one for the time since the last one, two for its length, and its bytes.
 */

#include <arpa/inet.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "collect/collector.h"
#include "collect/dedup/dedup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define EXPORTERS 4
#define ADDRESSES 8
#define FLOWS     64
#define PORTS     3 /* source ports of an address */
#define SOCKETS   3
#define EPOCHS    16 /* limit of closed epochs per input, because closing is slow */

enum step {
	STEP_END_EPOCH,
	STEP_DROPPED,
	STEP_UNREAD,
	STEP_COUNT, /* the rest are datagrams */
};

/*
 * Bits of a datagram step: which header fields are corrected, so that more of the datagram is
 * decoded.
 */
enum {
	FIT_LENGTH = 0x40, /* IPFIX message length = datagram length */
	FIT_CLOCK = 0x80,  /* v5, v9, IPFIX: the exporter's clock is right */
};

static struct {
	struct collector *collector;
	struct dedup *dedup;
	struct key_burst burst;
	struct key_weights weights;
	struct dedup_counts counts;
	struct record_counts by_exporter[EXPORTERS];
	struct record_counts of_others; /* records of exporters that lost their slot */
	uint64_t measured, bytes;       /* sums of the bursts */
	uint64_t taken, unread, dropped;
	uint64_t observed;
	/* Sums over rows. */
	uint64_t datagrams, records, unusable, lost_socket;
	bool others_came;
	uint32_t epochs;
	int64_t now;
} t;

static void require(bool holds)
{
	if (!holds)
		abort();
}

/* The weights of a burst must add up to its counts. */
static void count_burst(const struct dedup_counts *counts)
{
	for (uint32_t i = 0; i < t.burst.n; i++) {
		require(t.weights.packets[i] > 0 || t.weights.bytes[i] == 0);
		require(!__builtin_add_overflow(t.measured, t.weights.packets[i], &t.measured));
		require(!__builtin_add_overflow(t.bytes, t.weights.bytes[i], &t.bytes));
	}
	t.counts.measured += counts->measured;
	t.counts.bytes += counts->bytes;
}

static void on_observe(void *arg, const struct observation *observations, uint32_t n)
{
	struct dedup_counts counts = {0};

	(void)arg;
	require(n > 0 && n <= BURST_MAX);
	for (uint32_t i = 0; i < n; i++) {
		const struct observation *observation = &observations[i];

		require(observation->exporter < EXPORTERS && observation->sampling > 0);
		require(observation->next < EXPORTERS || observation->next == EXPORTER_NONE);
		require(observation->packets > 0);
		require(observation->family == KEY_IPV4 || observation->family == KEY_IPV6);
	}
	dedup_burst(t.dedup, observations, n, &t.burst, &counts, t.by_exporter);
	require(t.burst.n == n && counts.measured <= counts.received);
	t.observed += n;
	count_burst(&counts);
}

/* Settles deferred flows. */
static void settle(void)
{
	struct dedup_counts counts = {0};

	while (dedup_settle(t.dedup, &t.burst, &counts) > 0) {
		count_burst(&counts);
		counts = (struct dedup_counts){0};
	}
}

static void on_forget(void *arg, uint32_t exporter)
{
	struct record_counts *counts = &t.by_exporter[exporter];

	(void)arg;
	require(exporter < EXPORTERS);
	t.of_others.counted += counts->counted;
	t.of_others.duplicate += counts->duplicate;
	t.of_others.edge_only += counts->edge_only;
	*counts = (struct record_counts){0};
	dedup_forget_exporter(t.dedup, exporter);
}

static void on_say(void *arg, bool warning, const char *line)
{
	(void)arg;
	(void)warning;
	for (; *line != '\0'; line++)
		require(*line >= ' ' && *line <= '~');
}

static void on_exporter(void *arg, const struct exporter_row *row)
{
	const struct record_counts *counts = &t.of_others;

	(void)arg;
	if (row->sender) {
		require(row->records == 0 && row->malformed == row->datagrams);
		t.datagrams += row->datagrams;
		return;
	}
	if (!row->others) {
		require(row->slot < EXPORTERS);
		counts = &t.by_exporter[row->slot];
		require(row->repeated + row->refused + row->shed <= row->datagrams);
	}
	t.others_came |= row->others;
	require(row->records == counts->counted + counts->duplicate + row->unusable);
	require(counts->edge_only <= counts->counted + counts->duplicate);
	t.datagrams += row->datagrams;
	t.records += row->records;
	t.unusable += row->unusable;
	t.lost_socket += row->lost_socket;
}

static void on_link(void *arg, const struct link_row *row)
{
	(void)arg;
	require(memchr(row->name, '\0', sizeof(row->name)) != NULL);
	require(memchr(row->exporter, '\0', sizeof(row->exporter)) != NULL);
}

static void on_path(void *arg, const struct path_row *row)
{
	(void)arg;
	require(row->nb_hops <= PATH_HOPS_MAX);
	for (uint32_t i = 0; i < row->nb_hops; i++)
		require(row->hops[i].exporter < EXPORTERS);
}

static void end_epoch(void)
{
	struct collector_epoch epoch;

	settle();
	dedup_end_epoch(t.dedup, t.now, on_path, NULL);
	t.datagrams = t.records = t.unusable = t.lost_socket = 0;
	t.others_came = false;
	epoch = collector_end_epoch(t.collector, 0, on_exporter, on_link, NULL);
	require(epoch.datagrams == t.taken && epoch.dropped == t.dropped);
	require(t.datagrams == t.taken + t.unread);
	require(t.records == t.observed + t.unusable);
	require(t.lost_socket == t.dropped);
	require(t.measured == t.counts.measured && t.bytes == t.counts.bytes);
	require(t.others_came || t.of_others.counted + t.of_others.duplicate == 0);
	t.taken = t.unread = t.dropped = t.observed = t.measured = t.bytes = 0;
	t.counts = (struct dedup_counts){0};
	t.of_others = (struct record_counts){0};
	memset(t.by_exporter, 0, sizeof(t.by_exporter));
}

static void put_u16(uint8_t *to, uint32_t number)
{
	to[0] = (uint8_t)(number >> 8);
	to[1] = (uint8_t)number;
}

static void put_seconds(uint8_t *to, int64_t time)
{
	put_u16(to, (uint32_t)(time / SECOND_NS >> 16 & 0xffff));
	put_u16(to + 2, (uint32_t)(time / SECOND_NS & 0xffff));
}

static void make_fit(uint8_t *bytes, uint32_t len, uint8_t step)
{
	bool ipfix = len >= 16 && bytes[0] == 0 && bytes[1] == 10;

	if (ipfix && step & FIT_LENGTH)
		put_u16(bytes + 2, len);
	if (step & FIT_CLOCK && len >= 16 && bytes[0] == 0 && bytes[1] != 0)
		put_seconds(bytes + (ipfix ? 4 : 8), t.now);
}

/* Returns the number of input bytes consumed. */
static size_t take_datagram(const uint8_t *data, size_t size, uint8_t step)
{
	struct datagram datagram = {.src.s6_addr = {[10] = 0xff, [11] = 0xff, [12] = 192}};
	uint32_t len;
	uint8_t *copy;

	if (size < 4)
		return size;
	len = (uint32_t)data[2] << 8 | data[3];
	len = len < size - 4 ? len : (uint32_t)(size - 4);
	t.now += (int64_t)data[1] * data[1] * data[1] * 1000000;
	datagram.src.s6_addr[15] = data[0] % ADDRESSES;
	datagram.socket = data[0] / ADDRESSES % SOCKETS;
	datagram.src_port = data[0] / (ADDRESSES * SOCKETS) % PORTS;
	datagram.dst.s6_addr[15] = data[0] / (ADDRESSES * SOCKETS * PORTS);
	datagram.time = t.now;
	datagram.len = len;
	/* Copies the datagram to a buffer of its exact length, so that ASan detects an overread. */
	copy = malloc(len > 0 ? len : 1);
	require(copy != NULL);
	memcpy(copy, data + 4, len);
	make_fit(copy, len, step);
	datagram.data = copy;
	collector_take(t.collector, &datagram);
	if (len % 4 == 0) /* else records wait for the next datagram */
		collector_flush(t.collector);
	free(copy);
	t.taken++;
	return 4 + len;
}

/* An unknown port, an export port, and another one. */
static void unread(uint8_t n)
{
	static uint32_t ports[65536];
	const struct collector_lost lost = {
		.counts = {[COLLECTOR_LOST_CUT] = 3 * n}, .ports = ports};

	ports[0] = ports[2055] = ports[53] = n;
	collector_unread(t.collector, &lost);
	t.unread += 2 * n;
}

static size_t take_step(const uint8_t *data, size_t size)
{
	uint8_t step = data[0];

	if (step >= STEP_COUNT)
		return 1 + take_datagram(data + 1, size - 1, step);
	if (step == STEP_END_EPOCH) {
		if (t.epochs++ < EPOCHS)
			end_epoch();
		return 1;
	}
	if (size < 2)
		return size;
	if (step == STEP_DROPPED) {
		collector_dropped(t.collector, data[1] % SOCKETS, data[1]);
		t.dropped += data[1];
	} else {
		unread(data[1]);
	}
	return 2;
}

/*
 * setup: the --dedup method, whether there is an allow list, whether sets may wait and whether flow
 * paths are kept.
 */
static void start(uint8_t setup, struct exporter_rule *rules)
{
	struct collector_params collector = {
		.rules = rules,
		.exporters_max = EXPORTERS,
		.template_bytes = EXPORTERS * 4096,
		.waiting_bytes = setup & 0x10 ? 4096 : 0,
		.link_overhead = 14,
		.links = setup & 0x20,
		.observe = on_observe,
		.forget = on_forget,
		.log = on_say,
	};
	struct dedup_params dedup = {
		.method = (enum dedup_method)(setup % DEDUP_METHOD_COUNT),
		.flows = FLOWS,
		.exporters = EXPORTERS,
		.timeout = 10 * SECOND_NS,
		.paths = setup & 0x40,
		.routes = setup & 0x40,
		.seed = 1,
		.allocator = sketch_allocator_malloc,
	};
	char why[OPTION_WHY_MAX];

	memset(&t, 0, sizeof(t));
	t.now = INT64_C(1700000000) * SECOND_NS;
	t.burst.weights = &t.weights;
	if (setup & 0x80) {
		collector.nb_rules = 2;
		require(exporter_rule_parse("192.0.0.0/30=core,sampling=10", &rules[0], why));
		require(exporter_rule_parse("192.0.0.1=edge,edge=1+3-5", &rules[1], why));
	}
	t.collector = collector_create(&collector, why);
	t.dedup = dedup_create(&dedup);
	require(t.collector != NULL && t.dedup != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct exporter_rule rules[2];

	if (size == 0)
		return 0;
	start(data[0], rules);
	for (size_t at = 1; at < size;)
		at += take_step(data + at, size - at);
	end_epoch();
	end_epoch();
	require(collector_finish(t.collector));
	collector_destroy(t.collector);
	dedup_destroy(t.dedup);
	return 0;
}
