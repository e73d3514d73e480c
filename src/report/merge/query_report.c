/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/merge/query_report.h"

#include <stdlib.h>
#include <string.h>

#include "sketch/queries.h"

struct query_sums {
	struct merge_counts flow;
	uint64_t number; /* number of the flow, from 1 */
	struct query_sum {
		uint64_t packets, bytes, flows, deep_packets;
		uint64_t last; /* number of the last added flow */
	} * of;                /* [queries->n] */
};

static void add_flow(uint32_t query, void *arg)
{
	struct query_sums *sums = arg;
	struct query_sum *sum = &sums->of[query];

	if (sum->last == sums->number)
		return;
	sum->last = sums->number;
	sum->packets += sums->flow.packets;
	sum->bytes += sums->flow.bytes;
	sum->flows++;
	sum->deep_packets += sums->flow.deep_packets;
}

/* on[r]: share of the packets that came while queries of rank r were on. */
static void find_shares(
	const struct run *run, uint64_t epoch, uint32_t m, double on[QUERY_RANKS + 1])
{
	double packets[QUERY_RANKS + 1] = {0}, sum = 0;

	for (uint32_t w = 0; w < run->nb_workers; w++) {
		const struct sketch *sketch = worker_generation(run->workers[w], epoch)->sketch[m];
		const struct flow_query_packets *of = sketch->ops->query_packets != NULL
							      ? sketch->ops->query_packets(sketch)
							      : NULL;
		for (uint32_t rank = 0; of != NULL && rank <= QUERY_RANKS; rank++)
			packets[rank] += (double)of->ranks_off[QUERY_RANKS - rank];
	}
	for (uint32_t rank = QUERY_RANKS + 1; rank-- > 0;)
		on[rank] = sum += packets[rank];
	for (uint32_t rank = 0; rank <= QUERY_RANKS; rank++)
		on[rank] = sum > 0 ? on[rank] / sum : 1;
}

bool query_report(const struct run *run, uint64_t epoch, uint32_t m, const struct merger *merger,
	struct report_measurement *out)
{
	const struct measurements *measurements = run_measurements(run, epoch);
	const struct plan_measurement *planned = &measurements->plan.measurements[m];
	const struct queries *queries = measurements->queries;
	bool known = key_rule_equal(measurements_key(measurements, m, epoch), &key_rules[0]);
	struct query_sums sums;
	double on[QUERY_RANKS + 1];

	if (queries == NULL || !queries_apply(measurements->plan.config, planned->config))
		return true;
	out->queries = calloc(queries->n + 1, sizeof(out->queries[0]));
	sums.of = calloc(queries->n + 1, sizeof(sums.of[0]));
	if (out->queries == NULL || sums.of == NULL) {
		free(sums.of);
		return false;
	}
	for (uint32_t i = 0; known && i < merger_nb_flows(merger); i++) {
		sums.flow = merger_counts(merger, i);
		sums.number = i + 1;
		queries_match(queries, sums.flow.key, add_flow, &sums);
	}
	find_shares(run, epoch, m, on);
	for (uint32_t q = 0; q < queries->n; q++) {
		const struct query_sum *sum = &sums.of[q];
		struct merge_set set = merger_set(merger, sum->packets, sum->bytes, sum->flows);
		struct report_query *row = &out->queries[q];

		memcpy(row->name, queries->list[q].name, sizeof(row->name));
		row->rank = queries->list[q].rank;
		row->state = queries->list[q].state;
		if (row->state > planned->params.deep.deepest)
			row->state = planned->params.deep.deepest;
		row->known = known;
		row->on = on[row->rank];
		row->packets = set.packets;
		row->bytes = set.bytes;
		row->flows = set.flows;
		row->deep_packets = sum->deep_packets;
		/* A drill-down does not count other packets, and they may match. */
		row->packets.high_known &= known && !out->inside.only;
		row->bytes.high_known &= known && !out->inside.only;
		row->flows.high_known &= known && !out->inside.only;
	}
	out->nb_queries = queries->n;
	free(sums.of);
	return true;
}
