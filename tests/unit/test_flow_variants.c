/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Structures and hashes that flow tables are compared with: each is exact with any keys in one
 * bucket. A sender that knows an unkeyed hash can target one bucket.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <rte_malloc.h>

#include "bench/flow_cuckoo.h"
#include "bench/flow_tree.h"
#include "bench/flow_variants.h"
#include "eal.h"
#include "flow_truth.h"
#include "make_sketch.h"

static struct sketch *make(const struct sketch_ops *ops, uint64_t width)
{
	return make_sketch(ops, (struct sketch_params){.width = width, .seed = SEED});
}

static void feed_and_check(const struct sketch_ops *ops, struct sketch *sketch, uint32_t longest)
{
	feed(ops, sketch, longest, SHARING_SEPARATE);
	list(sketch, &listed);
	assert_int_equal(listed.n, true_flows());
	assert_exact(&listed, false);
	assert_true(ops->lists_all_keys(sketch));
	assert_int_equal(ops->shed(sketch).packets, 0);
}

/* Few and many buckets, and once more after a reset. */
static void test_exact(void **state)
{
	static const uint64_t widths[] = {FLOWS, 4096, 3001, 1 << 16};

	(void)state;
	for (uint32_t s = 0; s <= FLOW_CUCKOO; s++)
		for (uint32_t hash = 0; hash < TABLE_HASH_COUNT; hash++) {
			const struct sketch_ops *ops = flow_variant_ops((struct flow_variant){
				(enum flow_structure)s, (enum table_hash)hash});
			struct sketch *sketch = make(ops, widths[hash % 4]);

			feed_and_check(ops, sketch, BURST_MAX);
			ops->reset(sketch);
			list(sketch, &listed);
			assert_int_equal(listed.n, 0);
			feed_and_check(ops, sketch, 5);
			ops->destroy(sketch);
		}
}

/* Stored flows stay exact; all other packets are counted as shed. */
static void test_full(void **state)
{
	(void)state;
	for (uint32_t s = 0; s <= FLOW_CUCKOO; s++) {
		const struct sketch_ops *ops = flow_variant_ops(
			(struct flow_variant){(enum flow_structure)s, TABLE_HASH_MURMUR3});
		struct sketch *sketch = make(ops, 256);
		uint64_t packets = 0;

		feed(ops, sketch, BURST_MAX, SHARING_SEPARATE);
		list(sketch, &listed);
		assert_in_range(listed.n, 256, 512);
		assert_exact(&listed, false);
		for (uint32_t f = 0; f < FLOWS; f++)
			packets += listed.seen[f] ? 0 : truth.packets[f];
		assert_int_equal(ops->shed(sketch).packets, packets);
		assert_int_equal(ops->missed(sketch, NULL), packets);
		assert_false(ops->lists_all_keys(sketch));
		ops->destroy(sketch);
	}
}

/* Returns the height of a tree of the table; every node must be balanced. */
static int check_tree(const struct flow_table *table, uint32_t node)
{
	const struct flow_entry *e = &table->entries[node];
	int left, right;

	if (node == 0)
		return 0;
	left = check_tree(table, e->next);
	right = check_tree(table, *flow_tree_right(e));
	assert_in_range(left - right + 1, 0, 2);
	assert_int_equal(*flow_tree_height(e), 1 + (left > right ? left : right));
	return *flow_tree_height(e);
}

/* All keys in one bucket: as many as all buckets hold, and one more. */
static void fill_one_bucket(enum flow_structure structure, uint32_t step)
{
	enum { WIDTH = 1024 };
	const struct sketch_ops *ops =
		flow_variant_ops((struct flow_variant){structure, TABLE_HASH_RSS});
	struct sketch *sketch = make(ops, WIDTH);

	feed_one_bucket(ops, sketch, WIDTH + 1, step);
	/* An AVL tree of this size has a height of at most 14. */
	if (structure == FLOW_TREE)
		assert_in_range(
			check_tree(flow_table_of(sketch), flow_table_of(sketch)->entries[5].next),
			10, 14);
	ops->destroy(sketch);
}

static void test_one_bucket(void **state)
{
	(void)state;
	for (uint32_t s = 0; s <= FLOW_CUCKOO; s++) {
		fill_one_bucket((enum flow_structure)s, 1);
		fill_one_bucket((enum flow_structure)s, FLOWS - 1);
		fill_one_bucket((enum flow_structure)s, 1009);
	}
}

/* Returns the number of keys after the first one of a bucket. */
static uint32_t chain_len(const struct flow_table *table, uint32_t bucket)
{
	uint32_t len = 0;

	for (uint32_t e = table->entries[bucket].next; e != 0; e = table->entries[e].next)
		len++;
	return len;
}

static uint32_t longest_chain(const struct flow_table *table)
{
	uint32_t longest = 0;

	for (uint32_t b = 0; b < table->nb_buckets; b++)
		longest = chain_len(table, b) > longest ? chain_len(table, b) : longest;
	return longest;
}

/* Returns the key of a packet whose sender chose address and ports. */
static struct key chosen_key(uint32_t number)
{
	struct key key;

	memset(&key, 0, sizeof(key));
	key.family = KEY_IPV4;
	number = htobe32(number); /* also changes the low bits of coralreef */
	memcpy(key.v4.src_ip, &number, sizeof(number));
	key.v4.proto = 6;
	return key;
}

/*
 * A sender that knows the hash tries keys until they fall into bucket 0, where they form one chain.
 * Under the keyed hash, which the sender does not know, the same keys are spread like any others.
 */
static void test_aimed_keys(void **state)
{
	enum { WIDTH = 1024, KEYS = 256 };
	static struct key_burst burst;
	static struct key aimed[KEYS];
	struct hash_key hash_key;

	(void)state;
	hash_key_init(&hash_key, SEED);
	for (int hash = TABLE_HASH_CORALREEF; hash < TABLE_HASH_COUNT; hash++) {
		const struct sketch_ops *ops =
			flow_variant_ops((struct flow_variant){FLOW_LIST, (enum table_hash)hash});
		struct sketch *open = make(ops, WIDTH), *keyed = make(&flow_table_ops, WIDTH);
		uint32_t found = 0;

		for (uint32_t number = 0; found < KEYS; number++) {
			uint32_t value;

			burst.n = 1;
			burst.v6 = 0;
			burst.key4[0] = chosen_key(number).v4;
			table_hashes[hash](&burst, &value);
			if (value % WIDTH == 0)
				aimed[found++] = chosen_key(number);
		}
		for (uint32_t k = 0; k < KEYS; k++) {
			struct key_hash secret = hash_one(&hash_key, &aimed[k]);

			burst.n = 0;
			burst_append(&burst, &aimed[k], &secret, 60);
			ops->update[SHARING_SEPARATE](open, &burst);
			flow_table_ops.update[SHARING_SEPARATE](keyed, &burst);
		}
		assert_int_equal(chain_len((struct flow_table *)open, 0), KEYS - 1);
		/*
		 * With a quarter key per bucket, 5 more keys after the first one occur once in 10^4
		 * tables.
		 */
		assert_in_range(longest_chain((struct flow_table *)keyed), 0, 5);
		flow_table_ops.destroy(open);
		flow_table_ops.destroy(keyed);
	}
}

/* Two IPv6 keys with one hash, and an IPv4 key with the bytes of an IPv6 key's hash. */
static void test_keys_are_compared(void **state)
{
	struct key keys[3] = {zipf_key(2), zipf_key(5), zipf_key(3)};
	struct key_hash hash = {0};
	static struct key_burst burst;

	(void)state;
	memcpy(&hash, &keys[2].v4, sizeof(hash));
	for (uint32_t s = 0; s <= FLOW_CUCKOO; s++) {
		const struct sketch_ops *ops = flow_variant_ops(
			(struct flow_variant){(enum flow_structure)s, TABLE_HASH_AES});
		struct sketch *sketch = make(ops, 16);

		for (int round = 0; round < 3; round++) {
			burst.n = 0;
			for (int k = 0; k < 3; k++) {
				burst_append(&burst, &keys[k], &hash, 100);
				burst.time[k] = 0;
			}
			ops->update[SHARING_SEPARATE](sketch, &burst);
		}
		/* Listing assigns different hashes. */
		list(sketch, &listed);
		assert_int_equal(listed.n, 3);
		for (uint32_t i = 0; i < 3; i++)
			assert_int_equal(listed.list[i].packets, 3);
		ops->destroy(sketch);
	}
}

static void count_listed(const struct sketch_candidate *candidate, void *arg)
{
	(void)candidate;
	++*(uint32_t *)arg;
}

/* The pool has room for the given number of keys, with fewer and with more buckets. */
static void test_pool(void **state)
{
	static const uint64_t widths[] = {16, 4096, 1 << 16};
	static struct key_burst burst;
	const struct key_hash hash = {0};
	enum { KEYS = 3000 };

	(void)state;
	flow_variants_hold(KEYS);
	for (uint32_t s = 0; s <= FLOW_TREE; s++)
		for (size_t w = 0; w < sizeof(widths) / sizeof(widths[0]); w++) {
			const struct sketch_ops *ops = flow_variant_ops((struct flow_variant){
				(enum flow_structure)s, TABLE_HASH_CORALREEF});
			const struct sketch_params params = {.width = widths[w]};
			struct sketch *sketch = make(ops, widths[w]);
			uint32_t n = 0;

			for (uint32_t k = 0; k < KEYS; k++) {
				struct key key = chosen_key(k);

				burst.n = 0;
				burst.v6 = 0;
				burst_append(&burst, &key, &hash, 60);
				ops->update[SHARING_SEPARATE](sketch, &burst);
			}
			sketch->ops->candidates(sketch, count_listed, &n);
			assert_int_equal(n, KEYS);
			assert_int_equal(ops->shed(sketch).packets, 0);
			assert_int_equal(ops->memory(&params),
				sizeof(struct flow_table) +
					(widths[w] + KEYS) * sizeof(struct flow_entry));
			ops->destroy(sketch);
		}
	flow_variants_hold(0);
}

static size_t heap_in_use(void)
{
	struct rte_malloc_socket_stats stats;
	size_t bytes = 0;

	for (int socket = 0; socket < RTE_MAX_NUMA_NODES; socket++)
		if (rte_malloc_get_socket_stats(socket, &stats) == 0)
			bytes += stats.heap_allocsz_bytes;
	return bytes;
}

/* The stated use of EAL's memory is the real one, and all of it is freed. */
static void test_cuckoo_memory(void **state)
{
	static const uint64_t widths[] = {16, 1000, 1024, 4096, 30000, 1 << 16};

	(void)state;
	for (size_t w = 0; w < sizeof(widths) / sizeof(widths[0]); w++) {
		const struct sketch_params params = {.width = widths[w]};
		size_t before = heap_in_use(), said = flow_cuckoo_heap(&params), taken;
		struct sketch *sketch = make(&flow_cuckoo_ops, widths[w]);

		taken = heap_in_use() - before;
		assert_in_range(said, taken - taken / 100, taken + taken / 100 + 4096);
		flow_cuckoo_ops.destroy(sketch);
		assert_int_equal(heap_in_use(), before);
	}
}

/* Counts of rte_hash have 30 bits. */
static void test_cuckoo_width(void **state)
{
	struct sketch_params params = {.width = 1 << 29};

	(void)state;
	assert_null(flow_cuckoo_ops.check(&params));
	params.width++;
	assert_non_null(flow_cuckoo_ops.check(&params));
}

static int start_eal(void **state)
{
	(void)state;
	return eal_begin("test_flow_variants", 256);
}

static int stop_eal(void **state)
{
	(void)state;
	return eal_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exact),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_one_bucket),
		cmocka_unit_test(test_keys_are_compared),
		cmocka_unit_test(test_aimed_keys),
		cmocka_unit_test(test_pool),
		cmocka_unit_test(test_cuckoo_memory),
		cmocka_unit_test(test_cuckoo_width),
	};

	return cmocka_run_group_tests(tests, start_eal, stop_eal);
}
