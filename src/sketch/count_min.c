/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Count-Min sketch with a list of heavy keys in front of its counters. Threads that share an
 * instance share its counters, but each has its own list.
 */

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/assertion.h"
#include "sketch/count_min.h"
#include "sketch/listed.h"
#include "sketch/implement.h"

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
	if (params->writers == 0)
		params->writers = 1;
	if (why == NULL && params->candidates > CANDIDATES_MAX)
		why = "candidates are at most 16777216";
	return why;
}

static size_t header_size(const struct sketch_params *params)
{
	return line_up(sizeof(struct count_min) + params->writers * sizeof(struct candidates));
}

static size_t memory(const struct sketch_params *params)
{
	return header_size(params) + line_up(counter_rows_size(params)) +
	       params->writers * candidates_memory(params->candidates);
}

static struct sketch *create(const struct sketch_params *params)
{
	struct count_min *cm = params->allocator.alloc(memory(params), params->allocator.arg);
	uint8_t *at = (uint8_t *)cm;

	if (cm == NULL)
		return NULL;
	VERIFY(params->writers, >=, 1u);
	cm->sketch.ops = &count_min_ops;
	cm->sketch.params = *params;
	at += header_size(params);
	counter_rows_init(&cm->counters, params, at);
	at += line_up(counter_rows_size(params));
	for (; cm->nb_lists < params->writers; at += candidates_memory(params->candidates))
		candidates_init(&cm->lists[cm->nb_lists++], at, params->candidates, params->metric);
	return &cm->sketch;
}

static void reset(struct sketch *sketch)
{
	struct count_min *cm = count_min_of(sketch);

	counter_rows_reset(&cm->counters);
	for (uint32_t l = 0; l < cm->nb_lists; l++)
		candidates_reset(&cm->lists[l]);
}

static ALWAYS_INLINE void count_separate(
	struct sketch *sketch, const struct key_burst *burst, const bool weighted)
{
	struct count_min *cm = count_min_of(sketch);

	(weighted ? listed_add_weighted : listed_add)(
		&cm->lists[0], &cm->counters, burst, COUNTER_OWNED, NULL);
}

static ALWAYS_INLINE void count_shared(
	struct sketch *sketch, const struct key_burst *burst, const bool weighted)
{
	struct count_min *cm = count_min_of(sketch);

	ASSERT(burst->writer, <, cm->nb_lists);
	(weighted ? listed_add_weighted : listed_add)(&cm->lists[burst->writer], &cm->counters,
		burst, counter_policy_of(sketch->params.atomic), NULL);
}

SKETCH_UPDATES(count_separate, count_shared)

static void fetch(const struct sketch *sketch, const struct key_burst *burst)
{
	counter_rows_fetch(&count_min_of_const(sketch)->counters, burst);
}

static struct sketch_estimate query(const struct sketch *sketch, const struct key_hash *hash)
{
	const struct count_min *cm = count_min_of_const(sketch);

	return listed_query(cm->lists, cm->nb_lists, &cm->counters, hash);
}

struct settling {
	const struct counter_rows *rows;
	enum sketch_metric metric;
};

static void settle_key(const struct sketch_candidate *candidate, void *arg)
{
	const struct settling *settling = arg;

	counter_rows_add_key(settling->rows, &candidate->hash,
		settling->metric == SKETCH_PACKETS ? candidate->packets : candidate->bytes,
		COUNTER_OWNED);
}

static void settle(const struct count_min *dst, const struct count_min *src)
{
	struct settling settling = {&dst->counters, dst->sketch.params.metric};

	for (uint32_t l = 0; l < src->nb_lists; l++)
		candidates_emit(&src->lists[l], settle_key, &settling);
}

static int merge(struct sketch *dst, const struct sketch *src)
{
	struct count_min *to = count_min_of(dst);

	if (!sketch_fits(dst, src))
		return -EINVAL;

	settle(to, to);
	counter_rows_merge(&to->counters, &count_min_of_const(src)->counters);
	settle(to, count_min_of_const(src));
	for (uint32_t l = 0; l < to->nb_lists; l++)
		candidates_forget(&to->lists[l]);
	return 0;
}

struct emit_bounded {
	const struct counter_rows *rows;
	sketch_emit_fn emit;
	void *arg;
};

/* Sets `before` to the estimate of the key in the shared counters. */
static void emit_bounded(const struct sketch_candidate *candidate, void *arg)
{
	const struct emit_bounded *to = arg;
	struct sketch_estimate rest = counter_rows_query(to->rows, &candidate->hash);
	struct sketch_candidate bounded = *candidate;

	bounded.before = rest.saturated ? UINT64_MAX : rest.value;
	to->emit(&bounded, to->arg);
}

static void candidates(const struct sketch *sketch, sketch_emit_fn emit, void *arg)
{
	const struct count_min *cm = count_min_of_const(sketch);
	struct emit_bounded to = {&cm->counters, emit, arg};

	if (cm->nb_lists == 1)
		candidates_emit(&cm->lists[0], emit, arg);
	else
		for (uint32_t l = 0; l < cm->nb_lists; l++)
			candidates_emit(&cm->lists[l], emit_bounded, &to);
}

static bool lists_all_keys(const struct sketch *sketch)
{
	const struct count_min *cm = count_min_of_const(sketch);

	for (uint32_t l = 0; l < cm->nb_lists; l++)
		if (!candidates_complete(&cm->lists[l]))
			return false;
	return true;
}

/* Returns UINT64_MAX unless all lists are empty. */
static uint64_t bound(const struct sketch *sketch, uint64_t keys, double confidence)
{
	const struct count_min *cm = count_min_of_const(sketch);

	if (!listed_nothing(cm->lists, cm->nb_lists))
		return UINT64_MAX;
	return counter_rows_bound(&cm->counters, keys, confidence, &sketch->params.allocator);
}

#define SUMS 1024 /* counters per pass; their sums take 8 KB of the L1 cache */

/* Adds up each counter of a row over all parts. Returns UINT64_MAX if a counter is saturated. */
static uint64_t largest_sum(struct sketch *const *parts, uint32_t nb_parts, uint32_t row)
{
	uint64_t width = parts[0]->params.width, largest = 0;
	uint64_t sums[SUMS];

	for (uint64_t column = 0; column < width; column += SUMS) {
		uint32_t n = width - column < SUMS ? (uint32_t)(width - column) : SUMS;

		memset(sums, 0, n * sizeof(sums[0]));
		for (uint32_t p = 0; p < nb_parts; p++)
			if (!counter_rows_sum(&count_min_of_const(parts[p])->counters,
				    row * width + column, n, sums))
				return UINT64_MAX;
		for (uint32_t i = 0; i < n; i++)
			largest = sums[i] > largest ? sums[i] : largest;
	}
	return largest;
}

/* The count of an unlisted key is at most the largest counter of each row. */
static uint64_t unlisted(struct sketch *const *parts, uint32_t nb_parts)
{
	uint64_t least = UINT64_MAX;

	for (uint32_t row = 0; row < parts[0]->params.depth; row++) {
		uint64_t largest = largest_sum(parts, nb_parts, row);

		least = largest < least ? largest : least;
	}
	return least;
}

static uint64_t total(const struct sketch *sketch)
{
	return counter_rows_total(&count_min_of_const(sketch)->counters);
}

const struct sketch_ops count_min_ops = {
	.name = "count-min",
	.alias = "cms",
	.suits = "any number of flows in fixed memory; estimates for every key",
	.caps = SKETCH_MERGEABLE,
	.default_depth = COUNTER_ROWS_DEPTH,
	.default_width = COUNTER_ROWS_WIDTH,
	.check = check,
	.memory = memory,
	.create = create,
	.destroy = one_block_destroy,
	.reset = reset,
	SKETCH_UPDATE_SLOTS,
	.fetch_weighted = fetch,
	.query = query,
	.merge = merge,
	.candidates = candidates,
	.lists_all_keys = lists_all_keys,
	.total = total,
	.error_bound = bound,
	.unlisted = unlisted,
};
