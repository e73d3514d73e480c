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

/* Defaults of options of sketchtap collect. */
#define EXPORTERS_MAX  10000
#define TEMPLATE_BYTES ((size_t)64 << 20)
#define WAITING_BYTES  ((size_t)16 << 20)
#define LINK_OVERHEAD  14
#define TIMEOUT_NS     (120 * SECOND_NS)
/* Longer than the time in which the roles of interfaces are learned. */
#define EPOCH_NS       (10 * SECOND_NS)

struct collect_bench {
	enum collect_bench_depth depth;
	struct collect_bench_counts counts;

	/* COLLECT_BENCH_RECORDS */
	struct record_handler sink;
	struct flow_record batch[DECODE_BATCH];
	struct templates *templates[COLLECT_BENCH_ROUTERS_MAX + 1];

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

static void add_records(void *arg, uint32_t n)
{
	struct collect_bench *bench = arg;

	for (uint32_t i = 0; i < n; i++) {
		bench->counts.packets += bench->batch[i].packets;
		bench->counts.bytes += bench->batch[i].bytes;
	}
	bench->counts.records += n;
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

static void decode(struct collect_bench *bench, const struct datagram *datagram)
{
	struct templates **templates;
	struct datagram_header header;

	if (flow_protocol_read_header(datagram->data, datagram->len, &header) != DECODE_FINE)
		return;
	templates = &bench->templates[header.domain % (COLLECT_BENCH_ROUTERS_MAX + 1)];
	if (*templates == NULL)
		*templates = templates_create(TEMPLATE_BYTES);
	flow_protocol_decode(&header, *templates, datagram->data, datagram->len, &bench->sink);
}

static void count(struct collect_bench *bench, const struct observation *observations, uint32_t n)
{
	struct dedup_counts counts = {.smallest_frame = UINT32_MAX};

	dedup_burst(
		bench->dedup, observations, n, bench->counting.bursts, &counts, bench->by_exporter);
	bench->counts.records += n;
	bench->counts.packets += counts.received;
	bench->counts.measured += counts.measured;
	if (bench->depth == COLLECT_BENCH_COUNTED)
		count_weighted_keys(&bench->counting, &bench->sketch, &bench->distinct);
}

static void observe(void *arg, const struct observation *observations, uint32_t n)
{
	struct collect_bench *bench = arg;

	if (bench->depth >= COLLECT_BENCH_BEST) {
		count(bench, observations, n);
		return;
	}
	for (uint32_t i = 0; i < n; i++)
		bench->counts.packets += observations[i].packets * observations[i].sampling;
	bench->counts.records += n;
}

static void forget(void *arg, uint32_t exporter)
{
	struct collect_bench *bench = arg;

	if (bench->dedup != NULL)
		dedup_forget_exporter(bench->dedup, exporter);
}

static void discard_line(void *arg, bool warning, const char *line)
{
	(void)arg;
	(void)warning;
	(void)line;
}

static bool create_collector(struct collect_bench *bench)
{
	const struct collector_params params = {
		.exporters_max = EXPORTERS_MAX,
		.template_bytes = TEMPLATE_BYTES,
		.waiting_bytes = WAITING_BYTES,
		.link_overhead = LINK_OVERHEAD,
		.observe = observe,
		.forget = forget,
		.log = discard_line,
		.arg = bench,
	};
	char error[OPTION_WHY_MAX];

	bench->collector = collector_create(&params, error);
	return bench->collector != NULL;
}

static bool create_dedup(struct collect_bench *bench, uint64_t flows, uint64_t seed)
{
	const struct dedup_params params = {
		.method = DEDUP_BEST,
		.flows = flows,
		.exporters = EXPORTERS_MAX,
		.timeout = TIMEOUT_NS,
		.seed = seed,
		.allocator = node_memory_on_node(PLAN_NODE_ANY),
	};

	bench->by_exporter = calloc(EXPORTERS_MAX, sizeof(struct record_counts));
	bench->dedup = dedup_create(&params);
	for (uint32_t b = 0; b < 2; b++)
		bench->bursts[b].weights = &bench->weights[b];
	bench->counting.bursts = bench->bursts;
	return bench->by_exporter != NULL && bench->dedup != NULL;
}

static bool create_sketch(struct collect_bench *bench, uint64_t seed)
{
	const struct sketch_ops *ops = sketch_find("count-min");
	struct sketch_params params = {
		.candidates = 100, .seed = seed, .allocator = node_memory_on_node(PLAN_NODE_ANY)};

	hash_key_init(&bench->hash_key, seed);
	bench->counting = (struct counting){
		.hash_key = &bench->hash_key,
		.nb_measurements = 1,
		.nb_key_rules = 1,
		.key_rules = {&key_rules[0]},
		.bursts = &bench->bursts[0],
		.waiting = &bench->bursts[1],
		.weights = bench->weights,
		.fetch = {ops->fetch_weighted != NULL ? ops->fetch_weighted : ops->fetch},
		.update_weighted = {ops->update_weighted[SHARING_SEPARATE]},
	};
	bench->distinct = aligned_alloc(64, sizeof(struct hyperloglog));
	if (ops->check(&params) != NULL || bench->distinct == NULL)
		return false;
	hyperloglog_reset(bench->distinct);
	bench->sketch = ops->create(&params);
	return bench->sketch != NULL;
}

static void set_sink(struct collect_bench *bench)
{
	bench->sink = (struct record_handler){
		.batch = bench->batch,
		.arg = bench,
		.records = add_records,
		.option = ignore_option,
		.unknown = ignore_set,
		.template_known = ignore_template,
		.counters = ignore_counters,
		.sampler = ignore_sampler,
	};
}

struct collect_bench *collect_bench_create(
	enum collect_bench_depth depth, uint64_t flows, uint64_t seed)
{
	struct collect_bench *bench = aligned_alloc(64, (sizeof(*bench) + 63) / 64 * 64);

	if (bench == NULL)
		return NULL;
	memset(bench, 0, sizeof(*bench));
	bench->depth = depth;
	set_sink(bench);
	if ((depth == COLLECT_BENCH_RECORDS || create_collector(bench)) &&
		(depth < COLLECT_BENCH_BEST || create_dedup(bench, flows, seed)) &&
		(depth < COLLECT_BENCH_COUNTED || create_sketch(bench, seed)))
		return bench;
	collect_bench_destroy(bench);
	return NULL;
}

void collect_bench_destroy(struct collect_bench *bench)
{
	for (uint32_t t = 0; t <= COLLECT_BENCH_ROUTERS_MAX; t++)
		if (bench->templates[t] != NULL)
			templates_destroy(bench->templates[t]);
	collector_destroy(bench->collector);
	dedup_destroy(bench->dedup);
	if (bench->sketch != NULL)
		bench->sketch->ops->destroy(bench->sketch);
	free(bench->by_exporter);
	free(bench->distinct);
	free(bench);
}

void collect_bench_take(struct collect_bench *bench, const struct datagram *datagram)
{
	if (bench->depth == COLLECT_BENCH_RECORDS)
		decode(bench, datagram);
	else
		collector_take(bench->collector, datagram);
}

void collect_bench_flush(struct collect_bench *bench)
{
	if (bench->collector != NULL)
		collector_flush(bench->collector);
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

static void settle(struct collect_bench *bench)
{
	for (;;) {
		struct dedup_counts counts = {.smallest_frame = UINT32_MAX};

		if (dedup_settle(bench->dedup, bench->counting.bursts, &counts) == 0)
			break;
		bench->counts.measured += counts.measured;
		if (bench->depth == COLLECT_BENCH_COUNTED)
			count_weighted_keys(&bench->counting, &bench->sketch, &bench->distinct);
	}
	count_waiting_keys(&bench->counting, &bench->sketch, &bench->distinct);
}

void collect_bench_end_epoch(struct collect_bench *bench, int64_t now)
{
	struct dedup_counts counts = {0};

	if (bench->collector != NULL)
		collector_end_epoch(bench->collector, 0, ignore_exporter, ignore_link, NULL);
	if (bench->dedup == NULL)
		return;
	dedup_learn(bench->dedup, now, false, &counts);
	settle(bench);
	dedup_end_epoch(bench->dedup, now, ignore_path, NULL);
}

void collect_bench_run(struct collect_bench *bench, const struct exported *exported, int64_t *now)
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
		datagram.time = start + EPOCH_NS / exported->n * d;
		collect_bench_take(bench, &datagram);
	}
	*now = start + EPOCH_NS;
	collect_bench_end_epoch(bench, *now);
}

struct collect_bench_counts collect_bench_counts(const struct collect_bench *bench)
{
	return bench->counts;
}
