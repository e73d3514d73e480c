/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Several threads: a compare-and-swap for each number of a pair (Algorithm 4 of Wu et al. 2016)
 * could add a count to a key that has just replaced another. Therefore Algorithm 5 is applied to
 * the pair. The thread that exchanges rest for REST_OWNED owns the pair, and other threads
 * wait. The owner publishes its changes when it stores rest without this bit, by a release that
 * the next owner acquires. The result is that of a single thread that processes the packets in
 * some order. ATOMIC_ADD is the same as ATOMIC_CAS here.
 */

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#ifdef __AVX2__
#include <immintrin.h>
#endif

#include "key/hash.h"
#include "sketch/counter.h"
#include "sketch/implement.h"
#include "sketch/row_index.h"
#include "sketch/simple_hash.h"
#include "sketch/weight.h"
#include "sketch/spin_wait.h"

#define DEFAULT_WIDTH  (UINT64_C(1) << 18)
#define WIDTH_BITS_MIN 4
#define WIDTH_BITS_MAX 32

static struct simple_hash *simple_hash_of(struct sketch *sketch)
{
	return (struct simple_hash *)sketch;
}

static const struct simple_hash *simple_hash_of_const(const struct sketch *sketch)
{
	return (const struct simple_hash *)sketch;
}

static uint32_t log2_of(uint64_t power)
{
	return (uint32_t)__builtin_ctzll(power);
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t nb_pairs(const struct sketch_params *params)
{
	return params->width / BUCKET_WAYS;
}

static const char *check(struct sketch_params *params)
{
	if (params->depth == 0)
		params->depth = 1;
	if (params->width == 0)
		params->width = DEFAULT_WIDTH;
	/* Only the buckets list keys. The number of keys that fit depends on their hashes. */
	params->candidates = 0;

	if (params->depth != 1)
		return "depth is 1: a simple hash table has one row";
	if ((params->width & (params->width - 1)) != 0 ||
		params->width < UINT64_C(1) << WIDTH_BITS_MIN ||
		params->width > UINT64_C(1) << WIDTH_BITS_MAX)
		return "width is a power of two, 16 to 4294967296";
	return NULL;
}

static size_t memory(const struct sketch_params *params)
{
	return line_up(sizeof(struct simple_hash)) + nb_pairs(params) * sizeof(struct bucket_pair) +
	       params->width * sizeof(struct key6);
}

static struct sketch *create(const struct sketch_params *params)
{
	struct simple_hash *table = params->allocator.alloc(memory(params), params->allocator.arg);

	if (table == NULL)
		return NULL;
	table->sketch.ops = &simple_hash_ops;
	table->sketch.params = *params;
	table->bits = log2_of(nb_pairs(params));
	table->pairs = (struct bucket_pair *)((uint8_t *)table + line_up(sizeof(*table)));
	table->key6 = (struct key6 *)(table->pairs + nb_pairs(params));
	return &table->sketch;
}

/* IPv6 keys need no clearing, because no bucket has BUCKET_IPV6 afterwards. */
static void reset(struct sketch *sketch)
{
	struct simple_hash *table = simple_hash_of(sketch);

	memset(table->pairs, 0, nb_pairs(&sketch->params) * sizeof(*table->pairs));
}

static inline struct bucket_pair *pair_at(
	struct bucket_pair *pairs, uint32_t bits, const struct key_hash *hash)
{
	return pairs + row_index(hash, 0, ROW_LANE_BITS, bits);
}

static inline bool same_hash(const struct key_hash *a, const struct key_hash *b)
{
	return ((a->lo ^ b->lo) | (a->hi ^ b->hi)) == 0;
}

/* Bit 2 * way of the result is set if the way has this hash. */
static ALWAYS_INLINE uint32_t match_ways(
	const struct bucket_pair *pair, const struct key_hash *hash)
{
#ifdef __AVX2__
	__m256i want =
		_mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)hash));
	__m256i have = _mm256_load_si256((const __m256i *)(const void *)pair->hash);
	uint32_t halves =
		(uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(have, want)));

	return halves & halves >> 1 & 5;
#else
	return (uint32_t)same_hash(&pair->hash[0], hash) | (uint32_t)same_hash(&pair->hash[1], hash)
								   << 2;
#endif
}

static ALWAYS_INLINE uint64_t since_of(
	const struct bucket_pair *pair, uint32_t way, enum sketch_metric metric)
{
	return metric == SKETCH_PACKETS ? pair->packets[way] : bucket_bytes(pair, way);
}

static ALWAYS_INLINE uint64_t upper_of(
	const struct bucket_pair *pair, uint32_t way, enum sketch_metric metric)
{
	return since_of(pair, way, metric) + pair->before[way];
}

static inline void set_bytes(struct bucket_pair *pair, uint32_t way, uint64_t bytes, bool v6)
{
	pair->bytes_low[way] = (uint32_t)bytes;
	pair->bytes_high[way] = (uint16_t)(bytes >> 32 | (v6 ? BUCKET_IPV6 : 0));
}

/* Carries an overflow of bytes_low. Saturates at BUCKET_BYTES_MAX. */
static __attribute__((noinline)) void carry_bytes(struct bucket_pair *pair, uint32_t way)
{
	if (bucket_bytes(pair, way) >> 32 == BUCKET_BYTES_MAX >> 32)
		pair->bytes_low[way] = UINT32_MAX;
	else
		pair->bytes_high[way]++;
}

static ALWAYS_INLINE void add_packet(struct bucket_pair *pair, uint32_t way, uint32_t wire_len)
{
	uint32_t bytes_low = pair->bytes_low[way] + wire_len;

	pair->packets[way] += pair->packets[way] < UINT32_MAX;
	pair->bytes_low[way] = bytes_low;
	if (__builtin_expect(bytes_low < wire_len, 0))
		carry_bytes(pair, way);
}

static ALWAYS_INLINE void store_key(const struct simple_hash *table, struct bucket_pair *pair,
	uint32_t way, const struct key_burst *burst, uint32_t i, const struct weight *since,
	uint32_t before)
{
	bool v6 = burst->v6 >> i & 1;

	pair->hash[way] = burst->hash[i];
	pair->packets[way] = (uint32_t)least(since->packets, UINT32_MAX);
	pair->before[way] = before;
	set_bytes(pair, way, least(since->bytes, BUCKET_BYTES_MAX), v6);
	if (v6)
		table->key6[(pair - table->pairs) * BUCKET_WAYS + way] = burst->key6[i];
}

static ALWAYS_INLINE uint32_t count_packet(const struct simple_hash *table,
	struct bucket_pair *pair, uint32_t rest, const struct key_burst *burst, uint32_t i,
	const enum sketch_metric metric)
{
	uint32_t wire_len = burst->wire_len[i], match = match_ways(pair, &burst->hash[i]);
	const struct weight packet = {1, wire_len};
	uint64_t upper0, upper1, smaller, newcomer;

	if (match != 0) {
		add_packet(pair, match >> 2, wire_len);
		return rest;
	}
	upper0 = upper_of(pair, 0, metric);
	upper1 = upper_of(pair, 1, metric);
	smaller = least(upper0, upper1);
	newcomer = (uint64_t)rest + (metric == SKETCH_PACKETS ? 1 : wire_len);
	if (newcomer > smaller) {
		store_key(table, pair, upper1 < upper0, burst, i, &packet, rest);
		return (uint32_t)least(smaller, REST_MAX);
	}
	return (uint32_t)least(newcomer, REST_MAX);
}

static inline void add_weight(struct bucket_pair *pair, uint32_t way, const struct weight *weight)
{
	uint64_t room = BUCKET_BYTES_MAX - bucket_bytes(pair, way);

	counter32_add_weight(
		&pair->packets[way], pair->packets[way], weight->packets, COUNTER_OWNED);
	set_bytes(pair, way, BUCKET_BYTES_MAX - room + least(weight->bytes, room),
		pair->bytes_high[way] & BUCKET_IPV6);
}

/*
 * Moves packets from a weight to the rest until the rest exceeds `upper`, the smaller upper of the
 * pair. Returns the rest. At REST_MAX, compares the remaining weight as a whole.
 */
static inline uint32_t add_to_rest(
	uint32_t rest, uint64_t upper, struct weight *left, enum sketch_metric metric)
{
	uint64_t room = least(upper, REST_MAX) - rest;
	struct weight added = weight_take(left, weight_within(left, metric, room));

	rest += (uint32_t)weight_amount(&added, metric);
	if (left->packets == 0 || weight_amount(left, metric) > upper - rest)
		return rest;
	left->packets = 0;
	return REST_MAX;
}

/* Has the same result as count_packet() for each packet of entry i. */
static inline uint32_t count_weight(const struct simple_hash *table, struct bucket_pair *pair,
	uint32_t rest, const struct key_burst *burst, uint32_t i, enum sketch_metric metric)
{
	uint32_t match = match_ways(pair, &burst->hash[i]);
	struct weight left = weight_of(burst, i, true);
	uint64_t upper0, upper1, smaller;

	if (match != 0) {
		add_weight(pair, match >> 2, &left);
		return rest;
	}
	upper0 = upper_of(pair, 0, metric);
	upper1 = upper_of(pair, 1, metric);
	smaller = least(upper0, upper1);
	rest = add_to_rest(rest, smaller, &left, metric);
	if (left.packets == 0)
		return rest;
	store_key(table, pair, upper1 < upper0, burst, i, &left, rest);
	return (uint32_t)least(smaller, REST_MAX);
}

enum policy {
	POLICY_ALONE, /* single writer */
	POLICY_CAS,
};

/* An exchange needs no earlier load, as a compare-and-swap does. */
static ALWAYS_INLINE uint32_t acquire_pair(struct bucket_pair *pair, const enum policy policy)
{
	uint32_t spins = 0, rest;

	if (policy == POLICY_ALONE)
		return atomic_load_explicit(&pair->rest, memory_order_relaxed);
	for (;;) {
		/* Pairs with the release in release_pair(). */
		rest = atomic_exchange_explicit(&pair->rest, REST_OWNED, memory_order_acquire);
		if (__builtin_expect((rest & REST_OWNED) == 0, 1))
			return rest;
		do
			spin_wait(&spins);
		while (atomic_load_explicit(&pair->rest, memory_order_relaxed) & REST_OWNED);
	}
}

static ALWAYS_INLINE void release_pair(
	struct bucket_pair *pair, uint32_t rest, const enum policy policy)
{
	/* Pairs with the acquire in acquire_pair(). */
	atomic_store_explicit(&pair->rest, rest,
		policy == POLICY_ALONE ? memory_order_relaxed : memory_order_release);
}

static ALWAYS_INLINE void count_burst(const struct simple_hash *table,
	const struct key_burst *burst, const enum sketch_metric metric, const enum policy policy,
	const bool weighted)
{
	struct bucket_pair *const pairs = table->pairs;
	const uint32_t bits = table->bits, n = burst->n;

	for (uint32_t i = 0; i < n; i++)
		__builtin_prefetch(pair_at(pairs, bits, &burst->hash[i]), 1);
	for (uint32_t i = 0; i < n; i++) {
		struct bucket_pair *pair = pair_at(pairs, bits, &burst->hash[i]);
		uint32_t rest = acquire_pair(pair, policy);

		if (weighted)
			rest = count_weight(table, pair, rest, burst, i, metric);
		else
			rest = count_packet(table, pair, rest, burst, i, metric);
		release_pair(pair, rest, policy);
	}
}

#ifdef __AVX2__
/*
 * Updates without branches by a single writer, because it is unpredictable whether a key is stored,
 * and whether another key replaces it. The outcome of a packet selects masks, which update the
 * eight numbers of a pair at once.
 */

_Static_assert(offsetof(struct bucket_pair, packets) == 32 &&
		       offsetof(struct bucket_pair, bytes_low) == 40 &&
		       offsetof(struct bucket_pair, before) == 48 &&
		       offsetof(struct bucket_pair, bytes_high) == 56 &&
		       offsetof(struct bucket_pair, rest) == 60,
	"count_at_once() updates these as eight numbers");

enum outcome {
	STORED0, /* the key is in bucket 0 */
	STORED1,
	REPLACES0, /* the key replaces that of bucket 0 */
	REPLACES1,
	RESTS, /* the packet is added to the rest of the pair */
	NB_OUTCOMES,
};

#define ALL   (-1)
#define LOWER 0xffff
#define UPPER (-0x10000)

/* Bits of the eight numbers that stay, and those that a number of the packet is added to. */
static const struct {
	int32_t stay[8], gain[8];
	int64_t key[4]; /* halves of the stored hashes that the packet's hash replaces */
} updates[NB_OUTCOMES] __attribute__((aligned(32))) = {
	[STORED0] = {{ALL, ALL, ALL, ALL, ALL, ALL, ALL, ALL}, {ALL, 0, ALL}, {0}},
	[STORED1] = {{ALL, ALL, ALL, ALL, ALL, ALL, ALL, ALL}, {0, ALL, 0, ALL}, {0}},
	[REPLACES0] = {{0, ALL, 0, ALL, 0, ALL, UPPER, 0}, {ALL, 0, ALL, 0, ALL, 0, LOWER, ALL},
		{ALL, ALL}},
	[REPLACES1] = {{ALL, 0, ALL, 0, ALL, 0, LOWER, 0}, {0, ALL, 0, ALL, 0, ALL, UPPER, ALL},
		{0, 0, ALL, ALL}},
	[RESTS] = {{ALL, ALL, ALL, ALL, ALL, ALL, ALL, 0}, {0, 0, 0, 0, 0, 0, 0, ALL}, {0}},
};

/* clang-format off */
#define IN0      {STORED0, STORED0, STORED0, STORED0}
#define IN1      {STORED1, STORED1, STORED1, STORED1}
#define UNSTORED {RESTS, RESTS, REPLACES0, REPLACES1}

/*
 * First index: equal halves of both stored hashes; bit 0 is the low half of the first hash. Second
 * index, for a key that is not stored: 2 if it replaces another key, plus the way with the smaller
 * upper.
 */
static const uint8_t outcomes[16][4] = {
	UNSTORED, UNSTORED, UNSTORED, IN0,
	UNSTORED, UNSTORED, UNSTORED, IN0,
	UNSTORED, UNSTORED, UNSTORED, IN0,
	IN1, IN1, IN1, IN1,
};
/* clang-format on */

/* Corrects numbers that have wrapped. Bits 0 and 1: packets. Bits 2 and 3: bytes_low. */
static __attribute__((noinline)) void carry(struct bucket_pair *pair, uint32_t overflown)
{
	for (uint32_t way = 0; way < BUCKET_WAYS; way++) {
		if ((overflown >> way & 1) != 0)
			pair->packets[way] = UINT32_MAX;
		if ((overflown >> way & 4) != 0)
			carry_bytes(pair, way);
	}
}

static ALWAYS_INLINE __m256i vector_of(const void *aligned)
{
	return _mm256_load_si256((const __m256i *)aligned);
}

/* Same result as count_packet(). `ipv6` is a compile-time constant. */
static ALWAYS_INLINE void count_at_once(const struct simple_hash *table, struct bucket_pair *pair,
	const struct key_burst *burst, uint32_t i, const enum sketch_metric metric, const bool ipv6)
{
	const __m256i one = _mm256_setr_epi32(1, 1, 0, 0, 0, 0, 0, 0);
	const bool v6 = ipv6 && (burst->v6 >> i & 1);
	const __m256i family = _mm256_set1_epi16(v6 ? (short)BUCKET_IPV6 : 0);
	uint32_t rest = atomic_load_explicit(&pair->rest, memory_order_relaxed);
	uint32_t wire_len = burst->wire_len[i];
	uint64_t upper0 = upper_of(pair, 0, metric), upper1 = upper_of(pair, 1, metric);
	uint64_t smaller = least(upper0, upper1);
	uint64_t newcomer = (uint64_t)rest + (metric == SKETCH_PACKETS ? 1 : wire_len);
	uint32_t rest_after = (uint32_t)least(least(newcomer, smaller), REST_MAX);
	__m256i want = _mm256_broadcastsi128_si256(
		_mm_load_si128((const __m128i *)(const void *)&burst->hash[i]));
	__m256i have = vector_of(pair->hash), before = vector_of(pair->packets);
	uint32_t halves =
		(uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(have, want)));
	uint32_t outcome = outcomes[halves][(newcomer > smaller) << 1 | (upper1 < upper0)];
	__m256i lengths = _mm256_blend_epi32(one, _mm256_set1_epi32((int)wire_len), 3 << 2);
	__m256i rests = _mm256_blend_epi32(
		_mm256_set1_epi32((int)rest), _mm256_set1_epi32((int)rest_after), 1 << 7);
	__m256i packet =
		_mm256_blend_epi32(_mm256_blend_epi32(lengths, rests, 11 << 4), family, 1 << 6);
	__m256i kept = _mm256_and_si256(before, vector_of(updates[outcome].stay));
	__m256i after =
		_mm256_add_epi32(kept, _mm256_and_si256(packet, vector_of(updates[outcome].gain)));
	__m256i larger = _mm256_cmpeq_epi32(_mm256_min_epu32(after, kept), kept);
	uint32_t lanes = (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(larger));

	_mm256_store_si256((__m256i *)(void *)pair->hash,
		_mm256_blendv_epi8(have, want, vector_of(updates[outcome].key)));
	_mm256_store_si256((__m256i *)(void *)pair->packets, after);
	if (__builtin_expect(lanes != 0xff, 0))
		carry(pair, ~lanes);
	if (v6 && (outcome == REPLACES0 || outcome == REPLACES1))
		table->key6[(pair - table->pairs) * BUCKET_WAYS + (outcome == REPLACES1)] =
			burst->key6[i];
}

static ALWAYS_INLINE void count_family(const struct simple_hash *table,
	const struct key_burst *burst, const enum sketch_metric metric, const bool ipv6)
{
	struct bucket_pair *pairs[BURST_MAX];
	const uint32_t n = burst->n;

	for (uint32_t i = 0; i < n; i++) {
		pairs[i] = pair_at(table->pairs, table->bits, &burst->hash[i]);
		__builtin_prefetch(pairs[i], 1);
	}
	for (uint32_t i = 0; i < n; i++)
		count_at_once(table, pairs[i], burst, i, metric, ipv6);
}

static ALWAYS_INLINE void count_alone(const struct simple_hash *table,
	const struct key_burst *burst, const enum sketch_metric metric)
{
	if (burst->v6 == 0)
		count_family(table, burst, metric, false);
	else
		count_family(table, burst, metric, true);
}
#endif

static ALWAYS_INLINE void count_metric(const struct simple_hash *table,
	const struct key_burst *burst, const enum policy policy, const bool weighted)
{
	if (table->sketch.params.metric == SKETCH_PACKETS)
		count_burst(table, burst, SKETCH_PACKETS, policy, weighted);
	else
		count_burst(table, burst, SKETCH_BYTES, policy, weighted);
}

static ALWAYS_INLINE void count_separate(
	struct sketch *sketch, const struct key_burst *burst, const bool weighted)
{
#ifdef __AVX2__
	if (!weighted && sketch->params.metric == SKETCH_PACKETS)
		count_alone(simple_hash_of(sketch), burst, SKETCH_PACKETS);
	else if (!weighted)
		count_alone(simple_hash_of(sketch), burst, SKETCH_BYTES);
	else
#endif
		count_metric(simple_hash_of(sketch), burst, POLICY_ALONE, weighted);
}

static ALWAYS_INLINE void count_shared(
	struct sketch *sketch, const struct key_burst *burst, const bool weighted)
{
	count_metric(simple_hash_of(sketch), burst, POLICY_CAS, weighted);
}

SKETCH_UPDATES(count_separate, count_shared)

static void fetch(const struct sketch *sketch, const struct key_burst *burst)
{
	const struct simple_hash *table = simple_hash_of_const(sketch);

	for (uint32_t i = 0; i < burst->n; i++)
		__builtin_prefetch(pair_at(table->pairs, table->bits, &burst->hash[i]), 1);
}

/* No thread updates the table in the functions below. */

static uint32_t rest_of(const struct bucket_pair *pair)
{
	return atomic_load_explicit(&pair->rest, memory_order_relaxed);
}

static bool is_saturated(const struct bucket_pair *pair, uint32_t way)
{
	return pair->packets[way] == UINT32_MAX || bucket_bytes(pair, way) == BUCKET_BYTES_MAX ||
	       pair->before[way] == REST_MAX;
}

static bool has_key(const struct bucket_pair *pair, uint32_t way, const struct key_hash *hash)
{
	return pair->packets[way] != 0 && same_hash(&pair->hash[way], hash);
}

/* Returns an upper bound or, if saturated, `since` for a stored key and 0 for others. */
static struct sketch_estimate query(const struct sketch *sketch, const struct key_hash *hash)
{
	const struct simple_hash *table = simple_hash_of_const(sketch);
	const struct bucket_pair *pair = pair_at(table->pairs, table->bits, hash);
	enum sketch_metric metric = sketch->params.metric;
	uint32_t rest = rest_of(pair);

	for (uint32_t way = 0; way < BUCKET_WAYS; way++) {
		if (!has_key(pair, way, hash))
			continue;
		if (is_saturated(pair, way))
			return (struct sketch_estimate){since_of(pair, way, metric), true};
		return (struct sketch_estimate){upper_of(pair, way, metric), false};
	}
	if (rest == REST_MAX)
		return (struct sketch_estimate){0, true};
	return (struct sketch_estimate){rest, false};
}

static void candidates(const struct sketch *sketch, sketch_emit_fn emit, void *arg)
{
	const struct simple_hash *table = simple_hash_of_const(sketch);
	struct hash_key hash_key;

	hash_key_init(&hash_key, sketch->params.seed);
	for (uint64_t b = 0; b < sketch->params.width; b++) {
		const struct bucket_pair *pair = table->pairs + b / BUCKET_WAYS;
		uint32_t way = b % BUCKET_WAYS;
		struct sketch_candidate candidate = {
			.hash = pair->hash[way],
			.packets = pair->packets[way],
			.bytes = bucket_bytes(pair, way),
			.before = is_saturated(pair, way) ? UINT64_MAX : pair->before[way],
		};

		if (candidate.packets == 0)
			continue;
		if (pair->bytes_high[way] & BUCKET_IPV6) {
			candidate.key.family = KEY_IPV6;
			candidate.key.v6 = table->key6[b];
		} else {
			candidate.key.family = KEY_IPV4;
			candidate.key.v4 = hash_invert4(&hash_key, &candidate.hash);
		}
		emit(&candidate, arg);
	}
}

static bool lists_all_keys(const struct sketch *sketch)
{
	const struct simple_hash *table = simple_hash_of_const(sketch);

	for (uint64_t p = 0; p < nb_pairs(&sketch->params); p++)
		if (rest_of(&table->pairs[p]) != 0)
			return false;
	return true;
}

/* A stored key is over-estimated by at most `before`, any other by at most the pair's rest. */
static uint64_t error_bound(const struct sketch *sketch, uint64_t keys, double confidence)
{
	const struct simple_hash *table = simple_hash_of_const(sketch);
	uint32_t largest = 0;

	(void)keys;
	(void)confidence;
	for (uint64_t p = 0; p < nb_pairs(&sketch->params); p++)
		if (rest_of(&table->pairs[p]) > largest)
			largest = rest_of(&table->pairs[p]);
	return largest == REST_MAX ? UINT64_MAX : largest;
}

/* The count of an unlisted key is, in each part, at most the rest of its pair. */
static uint64_t unlisted(struct sketch *const *parts, uint32_t nb_parts)
{
	uint64_t largest = 0;

	for (uint64_t p = 0; p < nb_pairs(&parts[0]->params); p++) {
		uint64_t sum = 0;

		for (uint32_t part = 0; part < nb_parts; part++) {
			uint32_t rest = rest_of(&simple_hash_of_const(parts[part])->pairs[p]);

			sum = counter64_sum(sum, rest < REST_MAX ? rest : UINT64_MAX);
		}
		largest = sum > largest ? sum : largest;
	}
	return largest;
}

/*
 * Agarwal et al., Mergeable summaries, 2012. since and before of a key add up. For a key that only
 * one pair stores, the rest of the other pair is added to before. If there are more than two keys,
 * those with the two largest uppers remain, and the third largest upper is the new rest. Otherwise
 * the rests are added.
 */

static bool stores(const struct bucket_pair *pair, const struct key_hash *hash)
{
	return has_key(pair, 0, hash) || has_key(pair, 1, hash);
}

/* `since` and `before` are those of the merged pair. */
struct simple_hash_contender {
	struct key_hash hash;
	struct key6 key6;
	bool v6;
	uint64_t packets, bytes, before;
};

struct simple_hash_contenders {
	struct simple_hash_contender keys[2 * BUCKET_WAYS];
	uint32_t nb_keys;
};

static struct simple_hash_contender *contender_of(
	struct simple_hash_contenders *all, const struct key_hash *hash)
{
	struct simple_hash_contender *key = all->keys;

	while (key < all->keys + all->nb_keys && !same_hash(&key->hash, hash))
		key++;
	if (key == all->keys + all->nb_keys) {
		*key = (struct simple_hash_contender){.hash = *hash};
		all->nb_keys++;
	}
	return key;
}

/* If `other` does not store a key, the rest of its pair is added to `before`. */
static void contend(struct simple_hash_contenders *all, const struct simple_hash *table,
	const struct simple_hash *other, uint64_t p)
{
	const struct bucket_pair *pair = &table->pairs[p];

	for (uint32_t way = 0; way < BUCKET_WAYS; way++) {
		struct simple_hash_contender *key;

		if (pair->packets[way] == 0)
			continue;
		key = contender_of(all, &pair->hash[way]);
		key->packets += pair->packets[way];
		key->bytes += bucket_bytes(pair, way);
		key->before += pair->before[way];
		key->v6 = (pair->bytes_high[way] & BUCKET_IPV6) != 0;
		if (key->v6)
			key->key6 = table->key6[p * BUCKET_WAYS + way];
		if (!stores(&other->pairs[p], &pair->hash[way]))
			key->before += rest_of(&other->pairs[p]);
	}
}

static uint64_t contender_upper(const struct simple_hash_contender *key, enum sketch_metric metric)
{
	return (metric == SKETCH_PACKETS ? key->packets : key->bytes) + key->before;
}

/* Stable, by descending upper. */
static void sort_contenders(struct simple_hash_contenders *all, enum sketch_metric metric)
{
	for (uint32_t i = 1; i < all->nb_keys; i++) {
		struct simple_hash_contender key = all->keys[i];
		uint32_t at = i;

		for (; at > 0 &&
			contender_upper(&all->keys[at - 1], metric) < contender_upper(&key, metric);
			at--)
			all->keys[at] = all->keys[at - 1];
		all->keys[at] = key;
	}
}

static void store_contender(struct simple_hash *table, uint64_t p, uint32_t way,
	const struct simple_hash_contender *key)
{
	struct bucket_pair *pair = &table->pairs[p];

	pair->hash[way] = key->hash;
	pair->packets[way] = (uint32_t)least(key->packets, UINT32_MAX);
	pair->before[way] = (uint32_t)least(key->before, REST_MAX);
	set_bytes(pair, way, least(key->bytes, BUCKET_BYTES_MAX), key->v6);
	if (key->v6)
		table->key6[p * BUCKET_WAYS + way] = key->key6;
}

static void merge_pair(struct simple_hash *to, const struct simple_hash *from, uint64_t p)
{
	enum sketch_metric metric = to->sketch.params.metric;
	uint64_t rest = (uint64_t)rest_of(&to->pairs[p]) + rest_of(&from->pairs[p]);
	struct simple_hash_contenders all = {0};

	contend(&all, to, from, p);
	contend(&all, from, to, p);
	sort_contenders(&all, metric);
	for (uint32_t way = 0; way < BUCKET_WAYS; way++)
		store_contender(to, p, way, &all.keys[way]);
	if (all.nb_keys > BUCKET_WAYS)
		rest = contender_upper(&all.keys[BUCKET_WAYS], metric);
	atomic_store_explicit(
		&to->pairs[p].rest, (uint32_t)least(rest, REST_MAX), memory_order_relaxed);
}

static int merge(struct sketch *dst, const struct sketch *src)
{
	struct simple_hash *to = simple_hash_of(dst);
	const struct simple_hash *from = simple_hash_of_const(src);

	if (!sketch_fits(dst, src))
		return -EINVAL;
	for (uint64_t p = 0; p < nb_pairs(&dst->params); p++)
		if (from->pairs[p].packets[0] != 0 || from->pairs[p].packets[1] != 0)
			merge_pair(to, from, p);
	return 0;
}

/* Each packet is counted in one of three numbers of a pair. */
static uint64_t total(const struct sketch *sketch)
{
	const struct simple_hash *table = (const struct simple_hash *)sketch;
	bool packets = table->sketch.params.metric == SKETCH_PACKETS;
	uint64_t sum = 0;

	for (uint64_t p = 0; p >> table->bits == 0; p++) {
		const struct bucket_pair *pair = &table->pairs[p];

		sum += atomic_load_explicit(&pair->rest, memory_order_relaxed);
		for (uint32_t way = 0; way < BUCKET_WAYS; way++)
			sum += pair->before[way] +
			       (packets ? pair->packets[way] : bucket_bytes(pair, way));
	}
	return sum;
}

const struct sketch_ops simple_hash_ops = {
	.name = "simple-hash",
	.alias = "sht",
	.suits = "the fastest; exact for heavy keys if the table is lightly loaded",
	.caps = SKETCH_MERGEABLE,
	.default_depth = 1,
	.default_width = DEFAULT_WIDTH,
	.check = check,
	.memory = memory,
	.create = create,
	.destroy = one_block_destroy,
	.reset = reset,
	SKETCH_UPDATE_SLOTS,
	.fetch = fetch,
	.query = query,
	.merge = merge,
	.candidates = candidates,
	.lists_all_keys = lists_all_keys,
	.total = total,
	.error_bound = error_bound,
	.unlisted = unlisted,
};
