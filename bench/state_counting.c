/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/state_counting.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>

#include "base/assertion.h"
#include "base/random.h"
#include "key/match.h"
#include "parallel/plan/plan.h"
#include "parallel/workers/node_memory.h"
#include "sketch/queries.h"
#include "sketch/sketch.h"

#define TABLE (UINT64_C(1) << 13) /* small, so that the layout of memory matters less */
#define CASES (1 + 2 * STATE_COUNTING_CASES)

const uint32_t counted_states[STATE_COUNTING_CASES] = {16, 32, 64};
const uint32_t counted_queries[STATE_COUNTING_CASES] = {256, 1024, 4096};

static double ns_since(uint64_t start, uint64_t packets)
{
	return (double)(rte_rdtsc_precise() - start) * 1e9 / (double)rte_get_tsc_hz() /
	       (double)packets;
}

/* Query q matches the flow of a random packet. If not `matching`, it has a source that sends none. */
static bool fill_queries(struct queries *queries, const struct workload *workload, uint32_t n,
	bool matching, uint64_t seed)
{
	struct match *matches = calloc(n, sizeof(*matches));
	struct random random;
	bool compiled = matches != NULL;

	random_init(&random, seed);
	queries->n = n;
	queries->list = calloc(n, sizeof(queries->list[0]));
	for (uint32_t q = 0; queries->list != NULL && compiled && q < n; q++) {
		const struct key4 *key =
			&workload->keys[random_below(&random, workload->spec.packets)];
		char text[128], why[MATCH_WHY_MAX];

		if (matching)
			snprintf(text, sizeof(text), "src host %u.%u.%u.%u and src port %u",
				key->src_ip[0], key->src_ip[1], key->src_ip[2], key->src_ip[3],
				key->src_port[0] << 8 | key->src_port[1]);
		else
			snprintf(text, sizeof(text), "src host 0.0.%u.%u", q >> 8, q & 255);
		queries->list[q] = (struct query){
			.rank = (uint8_t)(1 + q * QUERY_RANKS / n), .state = FLOW_TCP};
		compiled = match_compile(&matches[q], text, why);
	}
	compiled = compiled && queries->list != NULL && queries_classify(queries, matches);
	for (uint32_t q = 0; matches != NULL && q < n; q++)
		match_free(&matches[q]);
	free(matches);
	return compiled;
}

static void verify_none_matches(const struct queries *queries, const struct workload *workload)
{
	for (uint64_t i = 0; i < workload->spec.packets; i++)
		VERIFY(queries_ranks4(queries, &workload->keys[i]).rate, ==, QUERY_NO_RANK);
}

static struct sketch *make_table(const struct queries *queries, uint64_t seed)
{
	const struct sketch_ops *ops = sketch_find("flow-table");
	struct flow_states off = FLOW_STATES_IDENTITY;
	struct sketch_params params = {.width = TABLE,
		.key = &key_rules[0],
		.seed = seed,
		.deep = {.deepest = FLOW_TCP, .after = UINT32_C(1) << 30},
		.queries = queries,
		.allocator = node_memory_on_node(PLAN_NODE_ANY)};
	struct sketch *table = ops->check(&params) == NULL ? ops->create(&params) : NULL;

	off.ranks_off = QUERY_RANKS;
	if (table != NULL)
		ops->set_states(table, &off);
	return table;
}

static double time_table(
	struct sketch *table, const struct workload *workload, struct key_burst *burst)
{
	uint64_t start = rte_rdtsc_precise();

	for (uint64_t b = 0; b < workload_bursts(workload); b++) {
		workload_load(workload, b, burst);
		hash_burst(&workload->hash_key, burst);
		table->ops->update[SHARING_SEPARATE](table, burst);
	}
	return ns_since(start, workload->spec.packets);
}

static bool measure_queries(struct state_counting *times, const struct workload *workload,
	uint32_t rounds, uint64_t seed)
{
	struct queries *queries[CASES] = {NULL};
	struct sketch *tables[CASES] = {NULL};
	struct key_burst *burst = aligned_alloc(64, sizeof(*burst));
	double least[CASES];
	bool right = burst != NULL;

	for (uint32_t c = 0; right && c < CASES; c++) {
		least[c] = INFINITY;
		if (c > 0) {
			bool matching = c <= STATE_COUNTING_CASES;

			queries[c] = calloc(1, sizeof(*queries[c]));
			right = queries[c] != NULL &&
				fill_queries(queries[c], workload,
					counted_queries[(c - 1) % STATE_COUNTING_CASES], matching,
					seed);
			if (right && !matching)
				verify_none_matches(queries[c], workload);
		}
		tables[c] = right ? make_table(queries[c], seed) : NULL;
		right = tables[c] != NULL;
	}
	if (right)
		workload_burst_init(burst);
	/* The first round inserts the flows. */
	for (uint32_t round = 0; right && round <= rounds; round++)
		for (uint32_t c = 0; c < CASES; c++) {
			double ns = time_table(tables[c], workload, burst);

			if (round > 0)
				least[c] = fmin(least[c], ns);
		}
	times->without = least[0];
	for (uint32_t c = 0; c < CASES; c++) {
		if (c > STATE_COUNTING_CASES)
			times->no_match[c - 1 - STATE_COUNTING_CASES] = least[c] - least[0];
		else if (c > 0)
			times->queries[c - 1] = least[c] - least[0];
		if (tables[c] != NULL)
			tables[c]->ops->destroy(tables[c]);
		queries_destroy(queries[c]);
	}
	free(burst);
	return right;
}

static bool measure_states(
	struct state_counting *times, uint64_t packets, uint32_t rounds, uint64_t seed)
{
	uint8_t *states = malloc(packets);
	struct random random;

	if (states == NULL)
		return false;
	random_init(&random, seed);
	for (uint32_t c = 0; c < STATE_COUNTING_CASES; c++) {
		/* volatile: the loop must not be combined into vectors of several packets. */
		static volatile uint64_t counters[256];

		for (uint64_t i = 0; i < packets; i++)
			states[i] = (uint8_t)random_below(&random, counted_states[c]);
		times->states[c] = INFINITY;
		for (uint32_t round = 0; round < rounds; round++) {
			uint64_t start = rte_rdtsc_precise();

			for (uint64_t i = 0; i < packets; i++)
				counters[states[i]]++;
			times->states[c] = fmin(times->states[c], ns_since(start, packets));
		}
	}
	free(states);
	return true;
}

bool state_counting_measure(struct state_counting *times, const struct workload *workload,
	uint32_t rounds, uint64_t seed)
{
	return measure_states(times, workload->spec.packets, rounds, seed) &&
	       measure_queries(times, workload, rounds, seed);
}
