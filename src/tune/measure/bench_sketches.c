/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdlib.h>

#include "tune/measure/bench_subject.h"
#include "parallel/workers/node_memory.h"
#include "parallel/plan/plan.h"
#include "report/merge/rank.h"
#include "sketch/sketch.h"

struct ours {
	uint32_t nb_parts;
	struct sketch *parts[BENCH_SUBJECT_THREADS_MAX];
	void (*update)(struct sketch *sketch, const struct key_burst *burst);
};

static void ours_close(void *state)
{
	struct ours *ours = state;

	for (uint32_t p = 0; p < ours->nb_parts; p++)
		ours->parts[p]->ops->destroy(ours->parts[p]);
	free(ours);
}

/* Otherwise, the kernel would promise the memory, and end the process when it is used. */
static bool has_memory(size_t bytes)
{
	size_t available = node_memory_available();

	return bytes <= available - available / 16;
}

static void *ours_open(const struct bench_subject *subject, const struct bench_rounds *setup)
{
	bool shared = subject->sharing == SHARING_SHARED;
	/*
	 * With a lock, only one thread writes at a time. A shared sketch with one thread is created
	 * for two writers, so that its shared form is measured.
	 */
	bool at_once = shared && !subject->locked;
	struct sketch_params params = {
		.depth = setup->depth,
		.width = bench_subject_width(subject, setup),
		.width6 = subject->width6,
		.load = subject->load,
		.metric = subject->metric,
		.atomic = subject->atomic,
		.writers = !at_once               ? 1
			   : subject->threads > 1 ? subject->threads
						  : 2,
		.seed = setup->seed,
		.allocator = node_memory_on_node(PLAN_NODE_ANY),
	};
	uint32_t parts = shared ? 1 : subject->threads;
	struct ours *ours = calloc(1, sizeof(*ours));

	if (ours == NULL || subject->sketch->update[subject->sharing] == NULL ||
		subject->sketch->check(&params) != NULL ||
		!has_memory(parts * subject->sketch->memory(&params))) {
		free(ours);
		return NULL;
	}
	ours->update = subject->sketch->update[subject->sharing];
	for (; ours->nb_parts < parts; ours->nb_parts++) {
		ours->parts[ours->nb_parts] = subject->sketch->create(&params);
		if (ours->parts[ours->nb_parts] == NULL) {
			ours_close(ours);
			return NULL;
		}
	}
	return ours;
}

static void ours_feed(void *state, uint32_t thread, const struct key_burst *burst)
{
	struct ours *ours = state;

	ours->update(ours->parts[ours->nb_parts == 1 ? 0 : thread], burst);
}

static void ours_fetch(void *state, uint32_t thread, const struct key_burst *burst)
{
	struct ours *ours = state;
	const struct sketch *sketch = ours->parts[ours->nb_parts == 1 ? 0 : thread];

	sketch->ops->fetch(sketch, burst);
}

static uint64_t ours_no_room(const void *state)
{
	const struct ours *ours = state;
	uint64_t packets = 0;

	for (uint32_t p = 0; p < ours->nb_parts && ours->parts[p]->ops->shed != NULL; p++)
		packets += ours->parts[p]->ops->shed(ours->parts[p]).packets;
	return packets;
}

static size_t ours_memory(const void *state)
{
	const struct ours *ours = state;

	return ours->nb_parts * ours->parts[0]->ops->memory(&ours->parts[0]->params);
}

struct counted {
	bool packets;
	uint64_t total;
};

static void add_counted(const struct sketch_candidate *candidate, void *arg)
{
	struct counted *counted = arg;

	counted->total += counted->packets ? candidate->packets : candidate->bytes;
}

static uint64_t exact_total(const struct sketch *part)
{
	struct counted counted = {.packets = part->params.metric == SKETCH_PACKETS};
	struct sketch_shed shed = {0};
	struct sketch_undecoded rest = {0};

	part->ops->candidates(part, add_counted, &counted);
	if (part->ops->shed != NULL)
		shed = part->ops->shed(part);
	if (part->ops->undecoded != NULL)
		rest = part->ops->undecoded(part);
	return counted.total +
	       (counted.packets ? shed.packets + rest.packets : shed.bytes + rest.bytes);
}

/* Merges into an empty sketch first, because a merge moves the lists into the counters. */
static uint64_t merged_total(const struct sketch *part)
{
	struct sketch *merged = part->ops->create(&part->params);
	uint64_t total = UINT64_MAX;

	if (merged == NULL)
		return UINT64_MAX;
	if (part->ops->merge(merged, part) == 0)
		total = part->ops->total(merged);
	part->ops->destroy(merged);
	return total;
}

static uint64_t part_total(const struct sketch *part)
{
	return (part->ops->caps & SKETCH_EXACT) != 0 ? exact_total(part) : merged_total(part);
}

static bool ours_total(const void *state, uint64_t *total)
{
	const struct ours *ours = state;
	uint64_t sum = 0;

	for (uint32_t p = 0; p < ours->nb_parts; p++) {
		uint64_t part = part_total(ours->parts[p]);

		sum = part == UINT64_MAX || sum == UINT64_MAX ? UINT64_MAX : sum + part;
	}
	if (sum != UINT64_MAX && ours->parts[0]->params.metric == SKETCH_BYTES)
		sum /= WORKLOAD_WIRE_LEN;
	*total = sum;
	return true;
}

static uint32_t ours_top(void *state, const struct workload *workload,
	struct bench_subject_flow *flows, uint32_t wanted)
{
	struct ours *ours = state;
	struct hyperloglog distinct = workload->distinct_keys, *distinct_keys = &distinct;
	struct ledger ledger = {
		.received = workload->spec.packets,
		.offered = workload->spec.packets,
		.measured = workload->spec.packets,
		.bytes = workload->spec.packets * WORKLOAD_WIRE_LEN,
		.largest_frame = WORKLOAD_WIRE_LEN,
		.smallest_frame = WORKLOAD_WIRE_LEN,
	};
	struct merge_input input = {
		.parts = ours->parts,
		.nb_parts = ours->nb_parts,
		.distinct = &distinct_keys,
		.nb_distinct = 1,
		.ledger = &ledger,
		.loss_known = true,
		.confidence = 0.999,
		.wanted = wanted,
		.smallest = 1,
	};
	const struct rank_limits limits = {.top = wanted};
	struct merger *merger = merger_create(ours->parts[0]->ops, &ours->parts[0]->params);
	struct report_measurement measurement = {0};
	uint32_t n = 0;

	if (merger != NULL && merger_collect(merger, &input) == 0 &&
		rank_flows(merger, &limits, &measurement) == 0)
		for (; n < measurement.nb_rows; n++)
			flows[n] = (struct bench_subject_flow){
				.key = measurement.rows[n].key.v4,
				.packets = measurement.rows[n].packets.value,
			};
	free(measurement.rows);
	if (merger != NULL)
		merger_destroy(merger);
	return n;
}

const struct bench_subject_ops bench_subject_sketch = {
	.takes_hashes = true,
	.open = ours_open,
	.feed = ours_feed,
	.fetch = ours_fetch,
	.memory = ours_memory,
	.total = ours_total,
	.no_room = ours_no_room,
	.top = ours_top,
	.close = ours_close,
};
