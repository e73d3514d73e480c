/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/reporting.h"

#include <stdlib.h>

#include "parallel/plan/plan.h"
#include "parallel/workers/node_memory.h"
#include "report/formats/format.h"
#include "report/merge/rank.h"

#define WORKERS_MAX 64

struct reporting {
	uint32_t nb_workers, top;
	struct sketch *parts[WORKERS_MAX];
	struct hyperloglog distinct;
	struct ledger ledger;
	struct merger *merger;
	struct text text;
};

/* Passes each key to the worker of its flow. */
static void fill(struct reporting *reporting, const struct workload *workload)
{
	static struct key_burst pending[WORKERS_MAX];
	struct key_burst burst;

	workload_burst_init(&burst);
	for (uint32_t w = 0; w < reporting->nb_workers; w++) {
		workload_burst_init(&pending[w]);
		pending[w].n = 0;
	}
	for (uint64_t b = 0; b < workload_bursts(workload); b++) {
		workload_load(workload, b, &burst);
		hash_burst(&workload->hash_key, &burst);
		for (uint32_t i = 0; i < burst.n; i++) {
			uint32_t w = (uint32_t)(burst.hash[i].lo >> 32) % reporting->nb_workers;
			struct key_burst *to = &pending[w];

			to->key4[to->n] = burst.key4[i];
			to->hash[to->n++] = burst.hash[i];
			if (to->n == BURST_MAX) {
				reporting->parts[w]->ops->update[SHARING_SEPARATE](
					reporting->parts[w], to);
				to->n = 0;
			}
		}
	}
	for (uint32_t w = 0; w < reporting->nb_workers; w++)
		reporting->parts[w]->ops->update[SHARING_SEPARATE](
			reporting->parts[w], &pending[w]);
}

static bool create_sketches(
	struct reporting *reporting, uint32_t nb_workers, uint64_t width, uint64_t seed)
{
	const struct sketch_ops *ops = sketch_find("count-min");
	struct sketch_params params = {
		.width = width,
		.candidates = 10 * reporting->top, /* same as in parallel/plan/plan.c */
		.seed = seed,
		.allocator = node_memory_on_node(PLAN_NODE_ANY),
	};

	if (ops->check(&params) != NULL)
		return false;
	for (; reporting->nb_workers < nb_workers; reporting->nb_workers++) {
		struct sketch *part = ops->create(&params);

		if (part == NULL)
			return false;
		reporting->parts[reporting->nb_workers] = part;
	}
	reporting->merger = merger_create(ops, &params);
	if (reporting->merger == NULL)
		return false;
	merger_reserve(reporting->merger, nb_workers);
	return true;
}

struct reporting *reporting_create(const struct workload *workload, uint32_t nb_workers,
	uint64_t width, uint32_t top, uint64_t seed)
{
	struct reporting *reporting = aligned_alloc(64, (sizeof(*reporting) + 63) / 64 * 64);

	if (reporting == NULL)
		return NULL;
	memset(reporting, 0, sizeof(*reporting));
	reporting->top = top;
	if (nb_workers > WORKERS_MAX || !create_sketches(reporting, nb_workers, width, seed)) {
		reporting_destroy(reporting);
		return NULL;
	}
	reporting->distinct = workload->distinct_keys;
	reporting->ledger = (struct ledger){
		.offered = workload->spec.packets,
		.received = workload->spec.packets,
		.measured = workload->spec.packets,
		.bytes = workload->spec.packets * WORKLOAD_WIRE_LEN,
		.largest_frame = WORKLOAD_WIRE_LEN,
		.smallest_frame = WORKLOAD_WIRE_LEN,
	};
	fill(reporting, workload);
	return reporting;
}

void reporting_destroy(struct reporting *reporting)
{
	for (uint32_t w = 0; w < reporting->nb_workers; w++)
		reporting->parts[w]->ops->destroy(reporting->parts[w]);
	if (reporting->merger != NULL)
		merger_destroy(reporting->merger);
	text_free(&reporting->text);
	free(reporting);
}

static void print(struct text *text, const struct report_epoch *report)
{
	struct columns *columns = columns_of(&output_heavy_hitters, &(struct column_choice){0});

	text_clear(text);
	if (columns != NULL)
		format_epoch(text, &format_csv, columns, report);
	free(columns);
}

uint32_t reporting_run(struct reporting *reporting)
{
	struct hyperloglog *distinct = &reporting->distinct;
	struct merge_input input = {
		.parts = reporting->parts,
		.nb_parts = reporting->nb_workers,
		.distinct = &distinct,
		.nb_distinct = 1,
		.ledger = &reporting->ledger,
		.loss_known = true,
		.confidence = 0.999,
		.wanted = reporting->top,
		.smallest = 1,
	};
	const struct rank_limits limits = {.top = reporting->top};
	struct report_epoch *report = report_epoch_alloc(1, 1);
	uint32_t rows = 0;

	if (report == NULL)
		return 0;
	report->ledger = reporting->ledger;
	report->measurements[0].name = "main";
	report->measurements[0].key_rule = &key_rules[0];
	if (merger_collect(reporting->merger, &input) == 0 &&
		rank_flows(reporting->merger, &limits, &report->measurements[0]) == 0) {
		print(&reporting->text, report);
		rows = report->measurements[0].nb_rows;
	}
	report_epoch_free(report);
	return rows;
}
