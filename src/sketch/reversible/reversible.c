/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Reversible sketch: Schweller et al., Reversible sketches for efficient and accurate change
 * detection (2004), and Reversible sketches: enabling monitoring and analysis over high-speed data
 * streams (2007). Each thread has its own list of heavy keys, so that threads do not compete for
 * the counters of such a key. A merge adds the lists to the rows.
 */

#include "sketch/reversible/reversible.h"

#include <errno.h>

#include "base/assertion.h"
#include "sketch/listed.h"
#include "sketch/implement.h"

/* A row of buckets is 2^IPV4_BITS_LESS times shorter than a row of counters. */
#define IPV4_BITS_LESS 2
#define IPV4_BITS_MIN  12
#define IPV6_BITS_LESS 4
#define IPV6_BITS_MIN  10

static struct reversible *reversible_of(struct sketch *sketch)
{
	return (struct reversible *)sketch;
}

static const char *check(struct sketch_params *params)
{
	if (params->writers == 0)
		params->writers = 1;
	return counter_rows_check(params);
}

static uint32_t bucket_bits(const struct sketch_params *params, uint32_t less, uint32_t min)
{
	uint32_t bits = (uint32_t)__builtin_ctzll(params->width);

	if (bits < min + less)
		return min;
	return bits - less < PIECE_BITS ? bits - less : PIECE_BITS;
}

static uint32_t bits4(const struct sketch_params *params)
{
	return bucket_bits(params, IPV4_BITS_LESS, IPV4_BITS_MIN);
}

static uint32_t bits6(const struct sketch_params *params)
{
	return bucket_bits(params, IPV6_BITS_LESS, IPV6_BITS_MIN);
}

/*
 * Bits that are 0 in every key distinguish keys from wrong combinations of the recovery. Excludes
 * bits of a mangled key6 that may be correct in a wrong combination. `both`: struct key6 stores
 * keys of both IP versions, which one bit of the reserved byte distinguishes.
 */
static uint32_t redundant_bits(const struct key_layout *layout, bool both)
{
	const uint8_t *mask = &layout->mask[0][0];
	size_t size = layout->wide ? sizeof(struct key6) : sizeof(struct key4);
	uint32_t bits = 0;

	for (size_t b = 0; b < size; b++)
		if (!layout->wide || b < MANGLE6_BLIND || b >= MANGLE6_BLIND_END)
			bits += 8 - (uint32_t)__builtin_popcount(mask[b]);
	return bits - both;
}

static const char *check_key(const struct key_rule *rule)
{
	bool both = rule->ipv4.wide && rule->ipv6.wide;

	if (redundant_bits(&rule->ipv4, both) < REVERSIBLE_REDUNDANT_BITS ||
		redundant_bits(&rule->ipv6, both) < REVERSIBLE_REDUNDANT_BITS)
		return "has too few fixed bits for a reversible sketch; give another --sketch, "
		       "or --key 5tuple";
	return NULL;
}

static size_t header_size(const struct sketch_params *params)
{
	return line_up(sizeof(struct reversible) + params->writers * sizeof(struct candidates));
}

static size_t memory(const struct sketch_params *params)
{
	return header_size(params) + line_up(counter_rows_size(params)) +
	       chunk_rows_size(bits4(params), CHUNK_WORDS_IPV4) +
	       chunk_rows_size(bits6(params), CHUNK_WORDS_IPV6) +
	       params->writers * candidates_memory(CANDIDATES_DEFAULT);
}

static struct sketch *create(const struct sketch_params *params)
{
	struct reversible *rv = params->allocator.alloc(memory(params), params->allocator.arg);
	uint8_t *at = (uint8_t *)rv;

	if (rv == NULL)
		return NULL;
	rv->sketch.ops = &reversible_ops;
	rv->sketch.params = *params;
	if (params->key == NULL)
		rv->sketch.params.key = &key_rules[0];
	hash_key_init(&rv->hash_key, params->seed);
	at += header_size(params);
	counter_rows_init(&rv->counters, params, at);
	at += line_up(counter_rows_size(params));
	chunk_rows_init(&rv->rows4, bits4(params), CHUNK_WORDS_IPV4, params->atomic, at);
	at += chunk_rows_size(bits4(params), CHUNK_WORDS_IPV4);
	chunk_rows_init(&rv->rows6, bits6(params), CHUNK_WORDS_IPV6, params->atomic, at);
	at += chunk_rows_size(bits6(params), CHUNK_WORDS_IPV6);
	VERIFY(params->writers, >=, 1u);
	for (; rv->nb_lists < params->writers; at += candidates_memory(CANDIDATES_DEFAULT))
		candidates_init(&rv->lists[rv->nb_lists++], at, CANDIDATES_DEFAULT, params->metric);
	return &rv->sketch;
}

static bool has_ipv6(const struct reversible *rv)
{
	return atomic_load_explicit(&rv->has_ipv6, memory_order_relaxed);
}

/* Writes only if necessary, because threads share the cache line. */
static void see_ipv6(struct reversible *rv)
{
	if (!has_ipv6(rv))
		atomic_store_explicit(&rv->has_ipv6, true, memory_order_relaxed);
}

static void reset(struct sketch *sketch)
{
	struct reversible *rv = reversible_of(sketch);

	counter_rows_reset(&rv->counters);
	chunk_rows_reset(&rv->rows4);
	if (has_ipv6(rv))
		chunk_rows_reset(&rv->rows6);
	atomic_store_explicit(&rv->has_ipv6, false, memory_order_relaxed);
	for (uint32_t l = 0; l < rv->nb_lists; l++)
		candidates_reset(&rv->lists[l]);
}

/* `weighted` is a compile-time constant in this file. */
static ALWAYS_INLINE void add_chunks(struct reversible *rv, const struct key_burst *burst,
	uint64_t which, enum counter_policy policy, const bool weighted)
{
	enum sketch_metric metric = rv->sketch.params.metric;

	(weighted ? chunk_rows_add4_weighted : chunk_rows_add4)(
		&rv->rows4, burst, which, metric, policy);
	if ((burst->v6 & which) != 0) {
		struct mangled6 mangled[BURST_MAX];

		see_ipv6(rv);
		mangle6_burst(&rv->hash_key, burst, mangled);
		(weighted ? chunk_rows_add6_weighted : chunk_rows_add6)(
			&rv->rows6, burst, which, mangled, metric, policy);
	}
}

static void add_chunks_of(struct reversible *rv, const struct key *key, const struct key_hash *hash,
	uint64_t amount, enum counter_policy policy)
{
	if (key->family == KEY_IPV6) {
		/* A burst is large. Set only the fields that mangle6_burst() reads. */
		struct key_burst burst;
		struct mangled6 mangled;

		burst.n = 1;
		burst.v6 = 1;
		burst.key6[0] = key->v6;
		burst.hash[0] = *hash;
		see_ipv6(rv);
		mangle6_burst(&rv->hash_key, &burst, &mangled);
		chunk_rows_add_key6(&rv->rows6, &mangled, amount, policy);
	} else {
		chunk_rows_add_key4(&rv->rows4, hash, amount, policy);
	}
}

static uint64_t all_packets(const struct key_burst *burst)
{
	return burst->n < BURST_MAX ? (UINT64_C(1) << burst->n) - 1 : UINT64_MAX;
}

static ALWAYS_INLINE void count_separate(
	struct sketch *sketch, const struct key_burst *burst, const bool weighted)
{
	struct reversible *rv = reversible_of(sketch);

	(weighted ? counter_rows_add_weighted : counter_rows_add)(&rv->counters, burst);
	add_chunks(rv, burst, all_packets(burst), COUNTER_OWNED, weighted);
}

/* The order of additions does not matter, so that an update need not be atomic. */
static ALWAYS_INLINE void count_shared(
	struct sketch *sketch, const struct key_burst *burst, const bool weighted)
{
	struct reversible *rv = reversible_of(sketch);
	enum counter_policy policy = counter_policy_of(sketch->params.atomic);
	struct listed_passed passed;

	ASSERT(burst->writer, <, rv->nb_lists);
	(weighted ? listed_add_weighted : listed_add)(
		&rv->lists[burst->writer], &rv->counters, burst, policy, &passed);
	add_chunks(rv, burst, passed.packets, policy, weighted);
	for (uint32_t p = 0; p < passed.nb_parts; p++)
		add_chunks_of(rv, &passed.parts[p].key, &passed.parts[p].hash,
			passed.parts[p].amount, policy);
}

SKETCH_UPDATES(count_separate, count_shared)

static struct sketch_estimate query(const struct sketch *sketch, const struct key_hash *hash)
{
	const struct reversible *rv = reversible_of_const(sketch);

	return listed_query(rv->lists, rv->nb_lists, &rv->counters, hash);
}

static void settle_key(const struct sketch_candidate *candidate, void *arg)
{
	struct reversible *to = arg;
	uint64_t amount =
		to->sketch.params.metric == SKETCH_PACKETS ? candidate->packets : candidate->bytes;

	counter_rows_add_key(&to->counters, &candidate->hash, amount, COUNTER_OWNED);
	add_chunks_of(to, &candidate->key, &candidate->hash, amount, COUNTER_OWNED);
}

static void settle(struct reversible *dst, const struct reversible *src)
{
	for (uint32_t l = 0; l < src->nb_lists; l++)
		candidates_emit(&src->lists[l], settle_key, dst);
}

static int merge(struct sketch *dst, const struct sketch *src)
{
	struct reversible *to = reversible_of(dst);
	const struct reversible *from = reversible_of_const(src);

	if (!sketch_fits(dst, src))
		return -EINVAL;

	if (!listed_nothing(to->lists, to->nb_lists)) {
		settle(to, to);
		for (uint32_t l = 0; l < to->nb_lists; l++)
			candidates_forget(&to->lists[l]);
	}
	counter_rows_merge(&to->counters, &from->counters);
	chunk_rows_merge(&to->rows4, &from->rows4);
	if (has_ipv6(from)) {
		see_ipv6(to);
		chunk_rows_merge(&to->rows6, &from->rows6);
	}
	settle(to, from);
	return 0;
}

/* Merges the lists with the rows in a temporary sketch. */
static void candidates(const struct sketch *sketch, sketch_emit_fn emit, void *arg)
{
	const struct reversible *rv = reversible_of_const(sketch);
	struct sketch *merged;

	if (listed_nothing(rv->lists, rv->nb_lists)) {
		reversible_recover(sketch, sketch->params.candidates, 1, emit, arg);
		return;
	}
	merged = create(&sketch->params);
	if (merged == NULL)
		return;
	if (merge(merged, sketch) == 0)
		reversible_recover(merged, sketch->params.candidates, 1, emit, arg);
	one_block_destroy(merged);
}

static bool lists_all_keys(const struct sketch *sketch)
{
	(void)sketch;
	return false;
}

static uint64_t bound(const struct sketch *sketch, uint64_t keys, double confidence)
{
	const struct reversible *rv = reversible_of_const(sketch);

	if (!listed_nothing(rv->lists, rv->nb_lists))
		return UINT64_MAX;
	return counter_rows_bound(&rv->counters, keys, confidence, &sketch->params.allocator);
}

static uint64_t total(const struct sketch *sketch)
{
	return counter_rows_total(&reversible_of_const(sketch)->counters);
}

const struct sketch_ops reversible_ops = {
	.name = "reversible",
	.alias = "rs",
	.suits = "stores no keys, recovers them from counters; the most expensive",
	.caps = SKETCH_MERGEABLE,
	.default_depth = COUNTER_ROWS_DEPTH,
	.default_width = COUNTER_ROWS_WIDTH,
	.check = check,
	.check_key = check_key,
	.memory = memory,
	.create = create,
	.destroy = one_block_destroy,
	.reset = reset,
	SKETCH_UPDATE_SLOTS,
	.query = query,
	.merge = merge,
	.candidates = candidates,
	.lists_all_keys = lists_all_keys,
	.total = total,
	.recover = reversible_recover,
	.error_bound = bound,
};
