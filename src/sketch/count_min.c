/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Count-Min: rows of counters (counter_rows.h), and a list of the keys that look heavy in them.
 *
 * One block of memory: struct count_min, the counters, the candidates.
 *
 * How threads share an instance. Sums do not depend on the order of their terms, so the counters
 * are those of one thread that saw all packets in any order; each row's addition takes effect at
 * its own atomic operation (counter.h). The list says for itself what holds (candidates_shared.c).
 * Of a burst, first the floors are read, then the counters are raised, then the list is updated:
 * what the list claims needs this order.
 */

#include <errno.h>
#include <stdbool.h>

#include "sketch/burst_groups.h"
#include "sketch/count_min.h"
#include "sketch/counter_groups.h"

static struct count_min *count_min_of(struct sketch *sketch)
{
	return (struct count_min *)sketch;
}

static const struct count_min *count_min_of_const(const struct sketch *sketch)
{
	return (const struct count_min *)sketch;
}

static const char *check(struct sketch_params *params)
{
	const char *why = counter_rows_check(params);

	if (params->candidates == 0)
		params->candidates = CANDIDATES_DEFAULT;
	if (why == NULL && params->candidates > CANDIDATES_MAX)
		why = "candidates are at most 16777216";
	return why;
}

static size_t line_up(size_t size)
{
	return (size + 63) / 64 * 64;
}

static size_t memory(const struct sketch_params *params)
{
	return line_up(sizeof(struct count_min)) + line_up(counter_rows_size(params)) +
	       candidates_memory(params->candidates);
}

static struct sketch *create(const struct sketch_params *params)
{
	struct count_min *cm = params->allocator.alloc(memory(params), params->allocator.arg);
	uint8_t *at = (uint8_t *)cm;

	if (cm == NULL)
		return NULL;
	cm->sketch.ops = &count_min_ops;
	cm->sketch.params = *params;
	at += line_up(sizeof(*cm));
	counter_rows_init(&cm->counters, params, at);
	at += line_up(counter_rows_size(params));
	candidates_init(&cm->candidates, at, params->candidates, params->metric, cm->counters.full);
	return &cm->sketch;
}

static void destroy(struct sketch *sketch)
{
	struct sketch_params params = sketch->params;

	params.allocator.free(sketch, memory(&params), params.allocator.arg);
}

static void reset(struct sketch *sketch)
{
	struct count_min *cm = count_min_of(sketch);

	counter_rows_reset(&cm->counters);
	candidates_reset(&cm->candidates);
}

static void update_separate(struct sketch *sketch, const struct key_burst *burst)
{
	struct count_min *cm = count_min_of(sketch);
	uint64_t estimate[BURST_MAX];

	counter_rows_add(&cm->counters, burst, estimate);
	candidates_update(&cm->candidates, burst, estimate);
}

static void update_shared(struct sketch *sketch, const struct key_burst *burst)
{
	struct count_min *cm = count_min_of(sketch);
	uint64_t floor[BURST_MAX], estimate[BURST_MAX];
	struct burst_groups groups;

	if (sketch->params.atomic == ATOMIC_LOCK) {
		spinlock_lock(&cm->lock);
		update_separate(sketch, burst);
		spinlock_unlock(&cm->lock);
		return;
	}
	burst_groups_find(&groups, burst);
	candidates_read_floors(&cm->candidates, burst, &groups, floor);
	counter_groups_add(&cm->counters, burst, &groups, sketch->params.atomic, estimate);
	candidates_update_shared(&cm->candidates, burst, &groups, floor, estimate);
}

static struct sketch_estimate query(const struct sketch *sketch, const struct key_hash *hash)
{
	return counter_rows_query(&count_min_of_const(sketch)->counters, hash);
}

static int merge(struct sketch *dst, const struct sketch *src)
{
	struct count_min *to = count_min_of(dst);

	if (dst == src || dst->ops != src->ops || dst->params.depth != src->params.depth ||
		dst->params.width != src->params.width ||
		dst->params.metric != src->params.metric || dst->params.seed != src->params.seed)
		return -EINVAL;

	counter_rows_merge(&to->counters, &count_min_of_const(src)->counters);
	candidates_forget(&to->candidates);
	return 0;
}

struct emit_bounded {
	const struct sketch *sketch;
	sketch_emit_fn emit;
	void *arg;
};

/* At rest the estimate bounds a key of which the list does not know what it did not count. */
static void emit_bounded(const struct sketch_candidate *candidate, void *arg)
{
	const struct emit_bounded *to = arg;
	struct sketch_candidate bounded = *candidate;

	if (candidate->before == UINT64_MAX) {
		struct sketch_estimate estimate = query(to->sketch, &candidate->hash);
		bool packets = to->sketch->params.metric == SKETCH_PACKETS;

		if (!estimate.saturated)
			bounded.before =
				estimate.value - (packets ? candidate->packets : candidate->bytes);
	}
	to->emit(&bounded, to->arg);
}

static void candidates(const struct sketch *sketch, sketch_emit_fn emit, void *arg)
{
	struct emit_bounded to = {sketch, emit, arg};

	candidates_emit(&count_min_of_const(sketch)->candidates, emit_bounded, &to);
}

static bool lists_all_keys(const struct sketch *sketch)
{
	return candidates_complete(&count_min_of_const(sketch)->candidates);
}

static uint64_t bound(const struct sketch *sketch, uint64_t keys, double confidence)
{
	return counter_rows_bound(
		&count_min_of_const(sketch)->counters, keys, confidence, &sketch->params.allocator);
}

const struct sketch_ops count_min_ops = {
	.name = "count-min",
	.alias = "cms",
	.caps = SKETCH_MERGEABLE,
	.default_depth = COUNTER_ROWS_DEPTH,
	.default_width = COUNTER_ROWS_WIDTH,
	.check = check,
	.memory = memory,
	.create = create,
	.destroy = destroy,
	.reset = reset,
	.update = {[SHARING_SEPARATE] = update_separate, [SHARING_SHARED] = update_shared},
	.query = query,
	.merge = merge,
	.candidates = candidates,
	.lists_all_keys = lists_all_keys,
	.error_bound = bound,
};
