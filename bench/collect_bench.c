/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/collect_bench.h"

#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "collect/collector.h"
#include "collect/dedup/dedup.h"
#include "flow_protocols/netflow/template.h"
#include "parallel/plan/plan.h"
#include "parallel/workers/count.h"
#include "parallel/workers/node_memory.h"
#include "sketch/measurement.h"

/* As collect's options are where nobody gives others (collect/options.c). */
#define EXPORTERS_MAX  10000
#define TEMPLATE_BYTES ((size_t)64 << 20)
#define WAITING_BYTES  ((size_t)16 << 20)
#define LINK_OVERHEAD  14
#define TIMEOUT_NS     (120 * SECOND_NS)

struct collect_bench {
	enum collect_bench_depth depth;
	struct collect_bench_counts counts;

	/* Of records alone. */
	struct record_handler sink;
	struct flow_record batch[DECODE_BATCH];
	struct templates *templates[COLLECT_BENCH_ROUTERS_MAX + 1]; /* by domain */

	/* Of more. */
	struct collector *collector;
	struct dedup *dedup;
	struct record_counts *by_exporter;
	struct hash_key hash_key;
	struct counting counting;
	struct key_weights weights[2];
	struct key_burst bursts[2];
	struct sketch *sketch;
	struct hyperloglog *distinct;
};

/* --- records alone --- */

static void add_records(void *arg, uint32_t n)
{
	struct collect_bench *collecting = arg;

	for (uint32_t i = 0; i < n; i++) {
		collecting->counts.packets += collecting->batch[i].packets;
		collecting->counts.bytes += collecting->batch[i].bytes;
	}
	collecting->counts.records += n;
}

static void ignore_option(void *arg, const struct option_record *option)
{
	(void)arg;
	(void)option;
}

static void ignore_set(void *arg, uint16_t id, const uint8_t *set, uint32_t len)
{
	(void)arg;
	(void)id;
	(void)set;
	(void)len;
}

static void ignore_template(void *arg, uint16_t id)
{
	(void)arg;
	(void)id;
}

static void ignore_counters(void *arg, const struct interface_counters *counters)
{
	(void)arg;
	(void)counters;
}

static void ignore_sampler(void *arg, const struct sampler_state *sampler)
{
	(void)arg;
	(void)sampler;
}

static void decode(struct collect_bench *collecting, const struct datagram *datagram)
{
	struct templates **templates;
	struct datagram_header header;

	if (flow_protocol_read_header(datagram->data, datagram->len, &header) != DECODE_FINE)
		return;
	templates = &collecting->templates[header.domain % (COLLECT_BENCH_ROUTERS_MAX + 1)];
	if (*templates == NULL)
		*templates = templates_create(TEMPLATE_BYTES);
	flow_protocol_decode(&header, *templates, datagram->data, datagram->len, &collecting->sink);
}

/* --- more --- */

static void count(struct collect_bench *collecting, const struct observation *observations, uint32_t n)
{
	struct dedup_counts counts = {.smallest_frame = UINT32_MAX};

	dedup_burst(collecting->dedup, observations, n, collecting->counting.bursts, &counts,
		collecting->by_exporter);
	collecting->counts.records += n;
	collecting->counts.packets += counts.received;
	collecting->counts.measured += counts.measured;
	if (collecting->depth == COLLECT_BENCH_COUNTED)
		count_weighted_keys(
			&collecting->counting, &collecting->sketch, &collecting->distinct);
}

static void observe(void *arg, const struct observation *observations, uint32_t n)
{
	struct collect_bench *collecting = arg;

	if (collecting->depth >= COLLECT_BENCH_BEST) {
		count(collecting, observations, n);
		return;
	}
	for (uint32_t i = 0; i < n; i++)
		collecting->counts.packets += observations[i].packets * observations[i].sampling;
	collecting->counts.records += n;
}

static void forget(void *arg, uint32_t exporter)
{
	struct collect_bench *collecting = arg;

	if (collecting->dedup != NULL)
		dedup_forget_exporter(collecting->dedup, exporter);
}

static void discard_line(void *arg, bool warning, const char *line)
{
	(void)arg;
	(void)warning;
	(void)line;
}

static bool create_collector(struct collect_bench *collecting)
{
	const struct collector_params params = {
		.exporters_max = EXPORTERS_MAX,
		.template_bytes = TEMPLATE_BYTES,
		.waiting_bytes = WAITING_BYTES,
		.link_overhead = LINK_OVERHEAD,
		.observe = observe,
		.forget = forget,
		.say = discard_line,
		.arg = collecting,
	};
	char error[OPTION_WHY_MAX];

	collecting->collector = collector_create(&params, error);
	return collecting->collector != NULL;
}

static bool create_dedup(struct collect_bench *collecting, uint64_t flows, uint64_t seed)
{
	const struct dedup_params params = {
		.method = DEDUP_BEST,
		.flows = flows,
		.exporters = EXPORTERS_MAX,
		.timeout = TIMEOUT_NS,
		.seed = seed,
		.allocator = node_memory_on_node(PLAN_NODE_ANY),
	};

	collecting->by_exporter = calloc(EXPORTERS_MAX, sizeof(struct record_counts));
	collecting->dedup = dedup_create(&params);
	for (uint32_t b = 0; b < 2; b++)
		collecting->bursts[b].weights = &collecting->weights[b];
	collecting->counting.bursts = collecting->bursts;
	return collecting->by_exporter != NULL && collecting->dedup != NULL;
}

static bool create_sketch(struct collect_bench *collecting, uint64_t seed)
{
	const struct sketch_ops *ops = sketch_find("count-min");
	struct sketch_params params = {
		.candidates = 100, .seed = seed, .allocator = node_memory_on_node(PLAN_NODE_ANY)};

	hash_key_init(&collecting->hash_key, seed);
	collecting->counting = (struct counting){
		.hash_key = &collecting->hash_key,
		.nb_measurements = 1,
		.nb_key_rules = 1,
		.key_rules = {&key_rules[0]},
		.bursts = &collecting->bursts[0],
		.waiting = &collecting->bursts[1],
		.weights = collecting->weights,
		.fetch = {ops->fetch},
		.update_weighted = {ops->update_weighted[SHARING_SEPARATE]},
	};
	collecting->distinct = aligned_alloc(64, sizeof(struct hyperloglog));
	if (ops->check(&params) != NULL || collecting->distinct == NULL)
		return false;
	hyperloglog_reset(collecting->distinct);
	collecting->sketch = ops->create(&params);
	return collecting->sketch != NULL;
}

static void set_sink(struct collect_bench *collecting)
{
	collecting->sink = (struct record_handler){
		.batch = collecting->batch,
		.arg = collecting,
		.records = add_records,
		.option = ignore_option,
		.unknown = ignore_set,
		.template_known = ignore_template,
		.counters = ignore_counters,
		.sampler = ignore_sampler,
	};
}

struct collect_bench *collect_bench_create(enum collect_bench_depth depth, uint64_t flows, uint64_t seed)
{
	struct collect_bench *collecting = aligned_alloc(64, (sizeof(*collecting) + 63) / 64 * 64);

	if (collecting == NULL)
		return NULL;
	memset(collecting, 0, sizeof(*collecting));
	collecting->depth = depth;
	set_sink(collecting);
	if ((depth == COLLECT_BENCH_RECORDS || create_collector(collecting)) &&
		(depth < COLLECT_BENCH_BEST || create_dedup(collecting, flows, seed)) &&
		(depth < COLLECT_BENCH_COUNTED || create_sketch(collecting, seed)))
		return collecting;
	collect_bench_destroy(collecting);
	return NULL;
}

void collect_bench_destroy(struct collect_bench *collecting)
{
	for (uint32_t t = 0; t <= COLLECT_BENCH_ROUTERS_MAX; t++)
		if (collecting->templates[t] != NULL)
			templates_destroy(collecting->templates[t]);
	collector_destroy(collecting->collector);
	dedup_destroy(collecting->dedup);
	if (collecting->sketch != NULL)
		collecting->sketch->ops->destroy(collecting->sketch);
	free(collecting->by_exporter);
	free(collecting->distinct);
	free(collecting);
}

void collect_bench_take(struct collect_bench *collecting, const struct datagram *datagram)
{
	if (collecting->depth == COLLECT_BENCH_RECORDS)
		decode(collecting, datagram);
	else
		collector_take(collecting->collector, datagram);
}

static void ignore_exporter(void *arg, const struct exporter_row *row)
{
	(void)arg;
	(void)row;
}

static void ignore_link(void *arg, const struct link_row *row)
{
	(void)arg;
	(void)row;
}

static void ignore_path(void *arg, const struct path_row *row)
{
	(void)arg;
	(void)row;
}

static void settle(struct collect_bench *collecting)
{
	for (;;) {
		struct dedup_counts counts = {.smallest_frame = UINT32_MAX};

		if (dedup_settle(collecting->dedup, collecting->counting.bursts, &counts) == 0)
			break;
		collecting->counts.measured += counts.measured;
		if (collecting->depth == COLLECT_BENCH_COUNTED)
			count_weighted_keys(
				&collecting->counting, &collecting->sketch, &collecting->distinct);
	}
	count_waiting_keys(&collecting->counting, &collecting->sketch, &collecting->distinct);
}

void collect_bench_end_epoch(struct collect_bench *collecting, int64_t now)
{
	if (collecting->collector != NULL)
		collector_end_epoch(collecting->collector, 0, ignore_exporter, ignore_link, NULL);
	if (collecting->dedup == NULL)
		return;
	settle(collecting);
	dedup_end_epoch(collecting->dedup, now, ignore_path, NULL);
}

void collect_bench_run(struct collect_bench *collecting, const struct exported *exported, int64_t *now)
{
	struct datagram datagram = {.src_port = 50000, .dst_port = 2055};
	int64_t start = *now;

	datagram.src.s6_addr[10] = datagram.src.s6_addr[11] = 0xff;
	datagram.src.s6_addr[12] = 192;
	datagram.src.s6_addr[14] = 2;
	for (uint32_t d = 0; d < exported->n; d++) {
		const struct exported_datagram *next = &exported->datagrams[d];

		datagram.src.s6_addr[15] = (uint8_t)(next->router + 1);
		datagram.data = exported->bytes + next->at;
		datagram.len = next->len;
		datagram.time = start + SECOND_NS * d / exported->n;
		collect_bench_take(collecting, &datagram);
	}
	*now = start + SECOND_NS;
	collect_bench_end_epoch(collecting, *now);
}

struct collect_bench_counts collect_bench_counts(const struct collect_bench *collecting)
{
	return collecting->counts;
}
