/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Floods of crafted keys. Count-Min with a known seed: keys that share the victim's counter in
 * every row. Under that seed they raise the victim's estimate by whole flows; under other seeds
 * they are ordinary keys, and the victim's error stays within the bound. Flow table with a public
 * hash: keys that form one chain, but not under the keyed hash.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "bench/crafted.h"
#include "bench/flow_variants.h"
#include "key/hash.h"
#include "merged.h"
#include "sketch/flow_table/flow_table.h"
#include "sketch/row_index.h"

#define DEPTH   4
#define BITS    12
#define PER_ROW 200 /* crafted keys for each row */
#define PACKETS 50  /* packets per crafted key */
#define SEED_A  1001
#define SEEDS_B 20
#define CRAFTED 512 /* keys in one chain */

static struct key4 make_key(uint32_t n)
{
	struct key4 key = {.proto = 6};

	memcpy(key.src_ip, &n, sizeof(n));
	return key;
}

static struct key_hash hash_of(const struct hash_key *hash_key, const struct key4 *key4)
{
	struct key key = {.v4 = *key4, .family = KEY_IPV4};

	return hash_one(hash_key, &key);
}

static const struct key4 victim = {.src_ip = {192, 0, 2, 1}, .proto = 17};

/*
 * Finds keys that share the victim's counter in one row under seed A, by trial, as an attacker
 * would.
 */
static void craft(struct key4 keys[DEPTH][PER_ROW])
{
	struct hash_key hash_key;
	struct key_hash target;
	uint32_t n = 1;

	hash_key_init(&hash_key, SEED_A);
	target = hash_of(&hash_key, &victim);
	for (uint32_t row = 0; row < DEPTH; row++)
		for (uint32_t found = 0; found < PER_ROW; n++) {
			struct key4 key = make_key(n);
			struct key_hash hash = hash_of(&hash_key, &key);

			if (row_index(&hash, row, ROW_LANE_BITS, BITS) ==
				row_index(&target, row, ROW_LANE_BITS, BITS))
				keys[row][found++] = key;
		}
}

static void count(struct sketch *sketch, const struct hash_key *hash_key, const struct key4 *key,
	uint32_t packets)
{
	static struct key_burst burst;

	burst.v6 = 0;
	burst.n = 1;
	burst.key4[0] = *key;
	burst.wire_len[0] = 64;
	hash_burst(hash_key, &burst);
	for (uint32_t i = 0; i < packets; i++)
		sketch->ops->update[SHARING_SEPARATE](sketch, &burst);
}

/* Returns the victim's error after the flood under one seed. bound: the joint bound at 0.999. */
static uint64_t flood(struct key4 keys[DEPTH][PER_ROW], uint64_t seed, uint64_t *bound)
{
	const struct sketch_ops *ops = sketch_find("count-min");
	struct sketch_params params = {
		.depth = DEPTH,
		.width = 1 << BITS,
		.seed = seed,
		.allocator = sketch_allocator_malloc,
	};
	struct hash_key hash_key;
	struct key_hash hash;
	struct sketch *sketch, *merged;
	uint64_t error;

	assert_null(ops->check(&params));
	sketch = ops->create(&params);
	assert_non_null(sketch);
	hash_key_init(&hash_key, seed);
	count(sketch, &hash_key, &victim, 10);
	for (uint32_t row = 0; row < DEPTH; row++)
		for (uint32_t i = 0; i < PER_ROW; i++)
			count(sketch, &hash_key, &keys[row][i], PACKETS);
	hash = hash_of(&hash_key, &victim);
	merged = merged_of(sketch);
	error = ops->query(merged, &hash).value - 10;
	*bound = ops->error_bound(merged, DEPTH * PER_ROW + 1, 0.999);
	ops->destroy(merged);
	ops->destroy(sketch);
	return error;
}

static void crafted_keys_hit_under_their_seed_only(void **state)
{
	static struct key4 keys[DEPTH][PER_ROW];
	uint64_t bound;

	(void)state;
	craft(keys);
	/*
	 * With the known seed the attack works: every row's counter holds its share of the flood.
	 */
	assert_true(flood(keys, SEED_A, &bound) >= PER_ROW * PACKETS);
	/*
	 * 800 keys in rows of 4096: under other seeds each row of the victim holds only a few of
	 * them.
	 */
	for (uint64_t seed = 1; seed <= SEEDS_B; seed++) {
		uint64_t error = flood(keys, seed, &bound);

		assert_true(error <= bound);
		assert_true(bound < PER_ROW * PACKETS / 10);
	}
}

/* Under another seed, a crafted key meets the victim in its row only as often as by chance. */
static void crafted_keys_spread_under_other_seeds(void **state)
{
	static struct key4 keys[DEPTH][PER_ROW];
	uint32_t hits = 0;

	(void)state;
	craft(keys);
	for (uint64_t seed = 1; seed <= SEEDS_B; seed++) {
		struct hash_key hash_key;
		struct key_hash target;

		hash_key_init(&hash_key, seed);
		target = hash_of(&hash_key, &victim);
		for (uint32_t row = 0; row < DEPTH; row++)
			for (uint32_t i = 0; i < PER_ROW; i++) {
				struct key_hash hash = hash_of(&hash_key, &keys[row][i]);

				hits += row_index(&hash, row, ROW_LANE_BITS, BITS) ==
					row_index(&target, row, ROW_LANE_BITS, BITS);
			}
	}
	/* 16000 tries at 2^-12 each: 3.9 expected; more than 20 has a chance below 10^-8. */
	assert_true(hits <= 20);
}

/* Returns the number of keys in the fullest bucket of a chained table. */
static uint32_t longest_chain(const struct sketch *sketch)
{
	const struct flow_table *table = (const struct flow_table *)sketch;
	uint32_t longest = 0;

	for (uint32_t b = 0; b < table->nb_buckets; b++) {
		uint32_t length = table->entries[b].state == FLOW_STORED;

		for (uint32_t e = table->entries[b].next; e != 0; e = table->entries[e].next)
			length++;
		longest = length > longest ? length : longest;
	}
	return longest;
}

/* Returns the longest chain of a table that was fed the keys crafted for a hash. */
static uint32_t chain_of_crafted(
	enum table_hash crafted_for, enum table_hash hash, uint64_t buckets, uint64_t seed)
{
	const struct sketch_ops *ops = flow_variant_ops((struct flow_variant){FLOW_LIST, hash});
	struct sketch_params params = {
		.width = buckets,
		.seed = seed,
		.allocator = sketch_allocator_malloc,
	};
	struct hash_key hash_key;
	struct sketch *sketch;
	uint32_t longest;

	assert_null(flow_table_ops.check(&params));
	sketch = flow_table_ops.create(&params);
	assert_non_null(sketch);
	sketch->ops = ops;
	hash_key_init(&hash_key, seed);
	for (uint32_t n = 0; n < CRAFTED; n++) {
		struct key4 key = crafted_key(crafted_for, n);

		count(sketch, &hash_key, &key, 1);
	}
	assert_int_equal(flow_table_ops.shed(sketch).packets, 0);
	longest = longest_chain(sketch);
	flow_table_ops.destroy(sketch);
	return longest;
}

/*
 * All keys are distinct, so the chain has as many keys as there are, for any number of buckets.
 * Under the keyed hash, half a key per bucket makes a chain of 11 once in 10^8 tables.
 */
static void crafted_keys_chain_under_their_hash_only(void **state)
{
	static const uint64_t sizes[] = {1024, 3001, 1 << 16};

	(void)state;
	for (uint32_t h = 0; h < CRAFTED_HASHES; h++)
		for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
			enum table_hash hash = crafted_hashes[h];

			assert_int_equal(chain_of_crafted(hash, hash, sizes[s], 1), CRAFTED);
			for (uint64_t seed = 1; seed <= SEEDS_B; seed++)
				assert_in_range(
					chain_of_crafted(hash, TABLE_HASH_AES, sizes[s], seed), 1,
					10);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(crafted_keys_hit_under_their_seed_only),
		cmocka_unit_test(crafted_keys_spread_under_other_seeds),
		cmocka_unit_test(crafted_keys_chain_under_their_hash_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
