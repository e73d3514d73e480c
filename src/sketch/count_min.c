/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Count-Min (Cormode, Muthukrishnan, 2005): depth rows of counters, each packet adds to one of
 * every row, the least of them is the estimate. Rows of 32-bit counters for packets, of 64-bit ones
 * for bytes; they saturate, the maximum says "at least this".
 *
 * One block of memory: struct count_min, the counters, the candidates.
 */

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "sketch/count_min.h"
#include "sketch/error_bound.h"
#include "sketch/row_index.h"

#define DEFAULT_DEPTH  4
#define DEFAULT_WIDTH  (UINT64_C(1) << 18)
#define DEPTH_MAX      ERROR_BOUND_ROWS
#define WIDTH_BITS_MIN 4
#define WIDTH_BITS_MAX 32

static struct count_min *count_min_of(struct sketch *sketch)
{
	return (struct count_min *)sketch;
}

static const struct count_min *count_min_of_const(const struct sketch *sketch)
{
	return (const struct count_min *)sketch;
}

static uint32_t log2_of(uint64_t power)
{
	return (uint32_t)__builtin_ctzll(power);
}

static const char *check(struct sketch_params *params)
{
	if (params->depth == 0)
		params->depth = DEFAULT_DEPTH;
	if (params->width == 0)
		params->width = DEFAULT_WIDTH;
	if (params->candidates == 0)
		params->candidates = CANDIDATES_DEFAULT;

	if (params->depth > DEPTH_MAX)
		return "depth is 1 to 16";
	if ((params->width & (params->width - 1)) != 0 ||
		params->width < UINT64_C(1) << WIDTH_BITS_MIN ||
		params->width > UINT64_C(1) << WIDTH_BITS_MAX)
		return "width is a power of two, 16 to 4294967296";
	if (params->depth * log2_of(params->width) > ROW_HASH_BITS)
		return "depth x log2(width) is at most 128, the bits of the hash";
	if (params->candidates > CANDIDATES_MAX)
		return "candidates are at most 16777216";
	return NULL;
}

static size_t line_up(size_t size)
{
	return (size + 63) / 64 * 64;
}

static size_t counters_size(const struct sketch_params *params)
{
	return params->depth * params->width *
	       (params->metric == SKETCH_PACKETS ? sizeof(uint32_t) : sizeof(uint64_t));
}

static size_t memory(const struct sketch_params *params)
{
	return line_up(sizeof(struct count_min)) + line_up(counters_size(params)) +
	       candidates_memory(params->candidates);
}

static uint64_t width_for(const struct sketch_params *params, size_t size)
{
	struct sketch_params trial = *params;

	for (uint32_t bits = WIDTH_BITS_MAX; bits >= WIDTH_BITS_MIN; bits--) {
		trial.width = UINT64_C(1) << bits;
		if (check(&trial) == NULL && memory(&trial) <= size)
			return trial.width;
	}
	return 0;
}

static uint64_t counter_max(const struct count_min *cm)
{
	return cm->sketch.params.metric == SKETCH_PACKETS ? UINT32_MAX : UINT64_MAX;
}

static struct sketch *create(const struct sketch_params *params)
{
	struct count_min *cm = params->allocator.alloc(memory(params), params->allocator.arg);
	uint8_t *at = (uint8_t *)cm;

	if (cm == NULL)
		return NULL;
	cm->sketch.ops = &count_min_ops;
	cm->sketch.params = *params;
	cm->bits = log2_of(params->width);
	cm->stride = row_stride(params->depth, cm->bits);
	at += line_up(sizeof(*cm));
	if (params->metric == SKETCH_PACKETS)
		cm->counters.packets = (uint32_t *)(void *)at;
	else
		cm->counters.bytes = (uint64_t *)(void *)at;
	at += line_up(counters_size(params));
	candidates_init(&cm->candidates, at, params->candidates, params->metric, counter_max(cm));
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

	if (sketch->params.metric == SKETCH_PACKETS)
		memset(cm->counters.packets, 0, counters_size(&sketch->params));
	else
		memset(cm->counters.bytes, 0, counters_size(&sketch->params));
	candidates_reset(&cm->candidates);
}

static inline uint32_t add32(uint32_t a, uint32_t b)
{
	uint32_t sum = a + b;

	return sum | -(uint32_t)(sum < a);
}

static inline uint64_t add64(uint64_t a, uint64_t b)
{
	uint64_t sum = a + b;

	return sum | -(uint64_t)(sum < a);
}

/*
 * Add packet after packet and note each one's estimate right after it. Depth and stride are
 * constants where these are instantiated for the usual shape.
 */
static inline __attribute__((always_inline)) void add_packets(const struct count_min *cm,
	const struct key_burst *burst, uint64_t *estimate, const uint32_t depth,
	const uint32_t stride)
{
	uint32_t *const counters = cm->counters.packets;
	const uint32_t bits = cm->bits, n = burst->n;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t least = UINT32_MAX;

		for (uint32_t row = 0; row < depth; row++) {
			uint32_t *counter = counters + ((uint64_t)row << bits) +
					    row_index(&burst->hash[i], row, stride, bits);
			uint32_t value = *counter + (*counter < UINT32_MAX);

			*counter = value;
			least = value < least ? value : least;
		}
		estimate[i] = least;
	}
}

static inline __attribute__((always_inline)) void add_bytes(const struct count_min *cm,
	const struct key_burst *burst, uint64_t *estimate, const uint32_t depth,
	const uint32_t stride)
{
	uint64_t *const counters = cm->counters.bytes;
	const uint32_t bits = cm->bits, n = burst->n;

	for (uint32_t i = 0; i < n; i++) {
		uint64_t least = UINT64_MAX;

		for (uint32_t row = 0; row < depth; row++) {
			uint64_t *counter = counters + ((uint64_t)row << bits) +
					    row_index(&burst->hash[i], row, stride, bits);
			uint64_t value = add64(*counter, burst->wire_len[i]);

			*counter = value;
			least = value < least ? value : least;
		}
		estimate[i] = least;
	}
}

static void update_separate(struct sketch *sketch, const struct key_burst *burst)
{
	struct count_min *cm = count_min_of(sketch);
	const uint32_t depth = sketch->params.depth;
	uint64_t estimate[BURST_MAX];

	if (sketch->params.metric == SKETCH_PACKETS) {
		if (depth == ROW_LANE_DEPTH)
			add_packets(cm, burst, estimate, ROW_LANE_DEPTH, ROW_LANE_BITS);
		else
			add_packets(cm, burst, estimate, depth, cm->stride);
	} else {
		if (depth == ROW_LANE_DEPTH)
			add_bytes(cm, burst, estimate, ROW_LANE_DEPTH, ROW_LANE_BITS);
		else
			add_bytes(cm, burst, estimate, depth, cm->stride);
	}
	candidates_update(&cm->candidates, burst, estimate);
}

static uint64_t counter_at(const struct count_min *cm, uint64_t cell)
{
	return cm->sketch.params.metric == SKETCH_PACKETS ? cm->counters.packets[cell]
							  : cm->counters.bytes[cell];
}

static struct sketch_estimate query(const struct sketch *sketch, const struct key_hash *hash)
{
	const struct count_min *cm = count_min_of_const(sketch);
	uint64_t least = UINT64_MAX;

	for (uint32_t row = 0; row < sketch->params.depth; row++) {
		uint64_t cell =
			((uint64_t)row << cm->bits) + row_index(hash, row, cm->stride, cm->bits);
		uint64_t value = counter_at(cm, cell);

		if (value < least)
			least = value;
	}
	return (struct sketch_estimate){.value = least, .saturated = least == counter_max(cm)};
}

static int merge(struct sketch *dst, const struct sketch *src)
{
	struct count_min *to = count_min_of(dst);
	const struct count_min *from = count_min_of_const(src);
	uint64_t cells = dst->params.depth * dst->params.width;

	if (dst == src || dst->ops != src->ops || dst->params.depth != src->params.depth ||
		dst->params.width != src->params.width ||
		dst->params.metric != src->params.metric || dst->params.seed != src->params.seed)
		return -EINVAL;

	if (dst->params.metric == SKETCH_PACKETS) {
		for (uint64_t i = 0; i < cells; i++)
			to->counters.packets[i] =
				add32(to->counters.packets[i], from->counters.packets[i]);
	} else {
		for (uint64_t i = 0; i < cells; i++)
			to->counters.bytes[i] =
				add64(to->counters.bytes[i], from->counters.bytes[i]);
	}
	candidates_forget(&to->candidates);
	return 0;
}

static void candidates(const struct sketch *sketch, sketch_emit_fn emit, void *arg)
{
	candidates_emit(&count_min_of_const(sketch)->candidates, emit, arg);
}

static bool lists_all_keys(const struct sketch *sketch)
{
	return candidates_complete(&count_min_of_const(sketch)->candidates);
}

/* Without memory for the histograms there is no bound. */
static uint64_t bound(const struct sketch *sketch, uint64_t keys, double confidence)
{
	const struct count_min *cm = count_min_of_const(sketch);
	const struct sketch_params *params = &sketch->params;
	size_t size = params->depth * sizeof(struct row_histogram);
	struct row_histogram *rows = params->allocator.alloc(size, params->allocator.arg);
	uint64_t result;

	if (rows == NULL)
		return UINT64_MAX;
	for (uint32_t r = 0; r < params->depth; r++) {
		if (params->metric == SKETCH_PACKETS)
			row_histogram_fill32(
				&rows[r], cm->counters.packets + r * params->width, params->width);
		else
			row_histogram_fill64(
				&rows[r], cm->counters.bytes + r * params->width, params->width);
	}
	result = error_bound(rows, params->depth, params->width, keys, confidence);
	params->allocator.free(rows, size, params->allocator.arg);
	return result;
}

const struct sketch_ops count_min_ops = {
	.name = "count-min",
	.alias = "cms",
	.caps = SKETCH_MERGEABLE,
	.default_depth = DEFAULT_DEPTH,
	.default_width = DEFAULT_WIDTH,
	.check = check,
	.memory = memory,
	.width_for = width_for,
	.create = create,
	.destroy = destroy,
	.reset = reset,
	.update = {[SHARING_SEPARATE] = update_separate},
	.query = query,
	.merge = merge,
	.candidates = candidates,
	.lists_all_keys = lists_all_keys,
	.error_bound = bound,
};
