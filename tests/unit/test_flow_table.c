/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The flow table against exact truth: what it holds, what it sheds when it is full, and that
 * neither the borders of bursts nor the number of buckets nor the hash make a difference.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <rte_malloc.h>

#include "eal.h"
#include "flow_tree.h"
#include "make_sketch.h"
#include "parallel/plan/flow_stores.h"
#include "zipf_stream.h"

#define FLOWS   3000
#define PACKETS 40000
#define SEED    11

static struct sketch *make(struct sketch_params params)
{
	params.seed = SEED;
	return make_sketch(&flow_table_ops, params);
}

struct truth {
	uint64_t packets[FLOWS], bytes[FLOWS];
	int64_t first[FLOWS], last[FLOWS];
	uint8_t tcp_flags[FLOWS];
};

static struct truth truth;

/* Packets out of order, times before 1970 too. */
static void add_details(struct key_burst *burst, uint32_t flow, uint64_t *random)
{
	uint32_t i = burst->n - 1;
	int64_t time = (int64_t)(zipf_random(random) % 1000000) - 5000;
	uint8_t flags = (uint8_t)(1u << zipf_random(random) % 8);

	burst->time[i] = time;
	burst->tcp_flags[i] = flags;
	burst->flow_hash[i] = flow * 7919;
	truth.first[flow] =
		truth.packets[flow] == 0 || time < truth.first[flow] ? time : truth.first[flow];
	truth.last[flow] =
		truth.packets[flow] == 0 || time > truth.last[flow] ? time : truth.last[flow];
	truth.packets[flow]++;
	truth.bytes[flow] += burst->wire_len[i];
	truth.tcp_flags[flow] |= flags;
}

/* Feeds a stream in bursts of 1 to `longest` packets. */
static void feed(struct sketch *sketch, uint32_t longest, enum sketch_sharing sharing)
{
	static struct key_burst burst;
	struct zipf_stream stream;
	uint64_t random = 3, cuts = longest;
	uint32_t left = 1;

	truth = (struct truth){0};
	zipf_open(&stream, FLOWS, 0.9, SEED);
	burst.n = 0;
	for (uint32_t p = 0; p < PACKETS; p++) {
		uint32_t flow = zipf_draw(&stream);

		zipf_append(&stream, &burst, flow);
		add_details(&burst, flow, &random);
		if (--left > 0 && p + 1 < PACKETS)
			continue;
		flow_table_ops.update[sharing](sketch, &burst);
		burst.n = 0;
		left = 1 + (uint32_t)(zipf_random(&cuts) % longest);
	}
	zipf_close(&stream);
}

struct listing {
	uint32_t n;
	bool seen[FLOWS];
	struct sketch_candidate list[FLOWS];
};

static struct listing listed, other;

static void list_candidate(const struct sketch_candidate *candidate, void *arg)
{
	struct listing *listing = arg;
	struct hash_key hash_key;
	struct key_hash hash;
	uint32_t flow = zipf_flow(&candidate->key);
	struct key key;

	assert_true(flow < FLOWS && listing->n < FLOWS);
	key = zipf_key(flow);
	assert_true(key_equal(&key, &candidate->key));
	assert_false(listing->seen[flow]);
	listing->seen[flow] = true;
	hash_key_init(&hash_key, SEED);
	hash = hash_one(&hash_key, &key);
	assert_true(hash.lo == candidate->hash.lo && hash.hi == candidate->hash.hi);
	listing->list[listing->n++] = *candidate;
}

static void list(const struct sketch *sketch, struct listing *listing)
{
	memset(listing, 0, sizeof(*listing));
	flow_table_ops.candidates(sketch, list_candidate, listing);
}

static void assert_exact(const struct listing *listing)
{
	for (uint32_t i = 0; i < listing->n; i++) {
		const struct sketch_candidate *got = &listing->list[i];
		uint32_t flow = zipf_flow(&got->key);

		assert_int_equal(got->packets, truth.packets[flow]);
		assert_int_equal(got->bytes, truth.bytes[flow]);
		assert_int_equal(got->first, truth.first[flow]);
		assert_int_equal(got->last, truth.last[flow]);
		assert_int_equal(got->tcp_flags, truth.tcp_flags[flow]);
		assert_int_equal(got->before, 0);
	}
}

static uint32_t true_flows(void)
{
	uint32_t flows = 0;

	for (uint32_t f = 0; f < FLOWS; f++)
		flows += truth.packets[f] > 0;
	return flows;
}

/* Every hash, crowded and roomy, both sharings. */
static void test_exact(void **state)
{
	static const uint64_t widths[] = {FLOWS, 4096, 3001, 1 << 16};

	(void)state;
	for (size_t s = 0; s < COLLISION_COUNT; s++)
		for (int hash = 0; hash < TABLE_HASH_COUNT; hash++)
			for (enum sketch_sharing sharing = 0; sharing < SHARING_COUNT; sharing++) {
				struct sketch_params params = {
					.width = widths[hash % 4],
					.store = flow_stores[s],
					.table_hash = (enum table_hash)hash,
					.atomic = (enum sketch_atomic)(hash % 3),
				};
				struct sketch *sketch;

				if (flow_stores[s]->update[sharing] == NULL)
					continue;
				sketch = make(params);
				feed(sketch, BURST_MAX, sharing);
				list(sketch, &listed);
				assert_int_equal(listed.n, true_flows());
				assert_exact(&listed);
				assert_true(flow_table_ops.lists_all_keys(sketch));
				assert_int_equal(flow_table_ops.shed(sketch).packets, 0);
				assert_int_equal(flow_table_ops.missed(sketch, NULL), 0);

				/* And once more after a reset. */
				flow_table_ops.reset(sketch);
				list(sketch, &listed);
				assert_int_equal(listed.n, 0);
				feed(sketch, 5, sharing);
				list(sketch, &listed);
				assert_int_equal(listed.n, true_flows());
				assert_exact(&listed);
				flow_table_ops.destroy(sketch);
			}
}

/* The same table, in the same order, however the stream was cut into bursts; full or not. */
static void test_burst_borders(void **state)
{
	(void)state;
	for (size_t s = 0; s < COLLISION_COUNT; s++)
		for (uint64_t width = 512; width <= 4096; width *= 8) {
			struct sketch_params params = {.width = width, .store = flow_stores[s]};
			struct sketch *a = make(params), *b = make(params);

			feed(a, 1, SHARING_SEPARATE);
			feed(b, BURST_MAX, SHARING_SEPARATE);
			list(a, &listed);
			list(b, &other);
			assert_int_equal(listed.n, other.n);
			for (uint32_t i = 0; i < listed.n; i++) {
				assert_true(key_equal(&listed.list[i].key, &other.list[i].key));
				assert_int_equal(listed.list[i].packets, other.list[i].packets);
			}
			assert_int_equal(
				flow_table_ops.shed(a).packets, flow_table_ops.shed(b).packets);
			flow_table_ops.destroy(a);
			flow_table_ops.destroy(b);
		}
}

/* What is stored stays exact, what is not is in the account of what was shed. */
static void test_full(void **state)
{
	(void)state;
	for (size_t s = 0; s < COLLISION_COUNT; s++)
		for (enum sketch_sharing sharing = 0; sharing < SHARING_COUNT; sharing++)
			for (enum sketch_metric metric = 0; metric <= SKETCH_BYTES; metric++) {
				struct sketch_params params = {
					.width = 256, .store = flow_stores[s], .metric = metric};
				uint64_t packets = 0, bytes = 0;
				struct sketch_shed shed;
				struct sketch *sketch;

				if (flow_stores[s]->update[sharing] == NULL)
					continue;
				sketch = make(params);
				feed(sketch, BURST_MAX, sharing);
				list(sketch, &listed);
				assert_in_range(listed.n, 256, 512);
				assert_exact(&listed);
				for (uint32_t f = 0; f < FLOWS; f++) {
					packets += listed.seen[f] ? 0 : truth.packets[f];
					bytes += listed.seen[f] ? 0 : truth.bytes[f];
				}
				shed = flow_table_ops.shed(sketch);
				assert_int_equal(shed.packets, packets);
				assert_int_equal(shed.bytes, bytes);
				assert_false(flow_table_ops.lists_all_keys(sketch));
				assert_int_equal(flow_table_ops.missed(sketch, NULL),
					metric == SKETCH_PACKETS ? packets : bytes);
				flow_table_ops.destroy(sketch);
			}
}

/* All keys in one bucket: as many as buckets fit, and one more. */
static void fill_one_bucket(const struct flow_store *store, uint32_t step)
{
	enum { WIDTH = 1024 };
	struct sketch *sketch = make((struct sketch_params){
		.width = WIDTH, .store = store, .table_hash = TABLE_HASH_RSS});
	static struct key_burst burst;

	for (uint32_t round = 0; round < 2; round++)
		for (uint32_t flow = 0; flow <= WIDTH; flow++) {
			struct key key = zipf_key(flow * step % FLOWS);
			struct key_hash hash = {.lo = zipf_flow(&key)};

			burst.n = 0;
			burst_append(&burst, &key, &hash, 60);
			burst.flow_hash[0] = 5;
			flow_table_ops.update[SHARING_SEPARATE](sketch, &burst);
		}
	assert_int_equal(flow_table_ops.shed(sketch).packets, 0);
	assert_int_equal(((struct flow_table *)sketch)->used,
		store == &flow_store_cuckoo ? WIDTH + 1 : 2 * WIDTH);
	/* An AVL tree of 1023 nodes is no higher. */
	if (store == &flow_store_tree)
		assert_in_range(check_tree((struct flow_table *)sketch,
					((struct flow_table *)sketch)->entries[5].next),
			10, 14);
	flow_table_ops.destroy(sketch);
}

static void test_one_bucket(void **state)
{
	(void)state;
	for (size_t s = 0; s < COLLISION_COUNT; s++) {
		fill_one_bucket(flow_stores[s], 1);
		fill_one_bucket(flow_stores[s], FLOWS - 1);
		fill_one_bucket(flow_stores[s], 1009);
	}
}

/* Keys behind the first of a bucket. */
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

/* The key of a packet that somebody sends: an address and ports of their choice. */
static struct key chosen_key(uint32_t number)
{
	struct key key;

	memset(&key, 0, sizeof(key));
	key.family = KEY_IPV4;
	number = htobe32(number); /* the low bits of coralreef change, too */
	memcpy(key.v4.src_ip, &number, sizeof(number));
	key.v4.proto = 6;
	return key;
}

/*
 * Whoever knows the hash tries keys until they fall into bucket 0. They make one chain of it there,
 * and under the keyed hash, of which the sender knows nothing, the same keys lie like any others.
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
		struct sketch *open = make((struct sketch_params){
			.width = WIDTH, .table_hash = (enum table_hash)hash});
		struct sketch *keyed = make((struct sketch_params){.width = WIDTH});
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
			flow_table_ops.update[SHARING_SEPARATE](open, &burst);
			flow_table_ops.update[SHARING_SEPARATE](keyed, &burst);
		}
		assert_int_equal(chain_len((struct flow_table *)open, 0), KEYS - 1);
		/* Of a quarter key a bucket: 5 more behind a first is expected once in 10^4
		 * tables. */
		assert_in_range(longest_chain((struct flow_table *)keyed), 0, 5);
		flow_table_ops.destroy(open);
		flow_table_ops.destroy(keyed);
	}
}

/* Two IPv6 keys with one hash, and an IPv4 key with the bytes of an IPv6 key's hash. */
static void compare_keys(const struct flow_store *store)
{
	struct sketch *sketch = make((struct sketch_params){.width = 16, .store = store});
	struct key keys[3] = {zipf_key(2), zipf_key(5), zipf_key(3)};
	struct key_hash hash = {0};
	static struct key_burst burst;

	memcpy(&hash, &keys[2].v4, sizeof(hash));
	for (int round = 0; round < 3; round++) {
		burst.n = 0;
		for (int k = 0; k < 3; k++) {
			burst_append(&burst, &keys[k], &hash, 100);
			burst.time[k] = 0;
		}
		flow_table_ops.update[SHARING_SEPARATE](sketch, &burst);
	}
	/* Listing gives them hashes of their own. */
	list(sketch, &listed);
	assert_int_equal(listed.n, 3);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(listed.list[i].packets, 3);
	flow_table_ops.destroy(sketch);
}

static void test_keys_are_compared(void **state)
{
	(void)state;
	for (size_t s = 0; s < COLLISION_COUNT; s++)
		compare_keys(flow_stores[s]);
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

/* What cuckoo says it takes of EAL's memory is what it takes, and it gives all of it back. */
static void test_cuckoo_memory(void **state)
{
	static const uint64_t widths[] = {16, 1000, 1024, 4096, 30000, 1 << 16};

	(void)state;
	for (size_t w = 0; w < sizeof(widths) / sizeof(widths[0]); w++) {
		const struct sketch_params params = {
			.width = widths[w], .store = &flow_store_cuckoo};
		size_t before = heap_in_use(), said = flow_store_cuckoo.memory(&params), taken;
		struct sketch *sketch = make(params);

		taken = heap_in_use() - before;
		assert_in_range(said, taken - taken / 100, taken + taken / 100 + 4096);
		flow_table_ops.destroy(sketch);
		assert_int_equal(heap_in_use(), before);
	}
}

/* Numbers of rte_hash have 30 bits. */
static void test_cuckoo_width(void **state)
{
	struct sketch_params params = {.width = 1 << 29, .store = &flow_store_cuckoo};

	(void)state;
	assert_null(flow_table_ops.check(&params));
	params.width++;
	assert_non_null(flow_table_ops.check(&params));
}

static void test_check(void **state)
{
	static const struct {
		uint32_t depth;
		uint64_t width;
		bool good;
	} shapes[] = {{0, 0, true}, {1, 16, true}, {1, 1000, true}, {1, 15, false}, {2, 16, false},
		{1, UINT64_C(1) << 30, true}, {1, (UINT64_C(1) << 30) + 1, false}};

	(void)state;
	assert_ptr_equal(sketch_find("flow-table"), &flow_table_ops);
	assert_ptr_equal(sketch_find("ft"), &flow_table_ops);
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		struct sketch_params params = {.depth = shapes[i].depth, .width = shapes[i].width};

		assert_int_equal(flow_table_ops.check(&params) == NULL, shapes[i].good);
		if (i == 0)
			assert_int_equal(params.width, flow_table_ops.default_width);
	}
	assert_int_equal(
		sketch_width_for(&flow_table_ops, &(struct sketch_params){0}, 1 << 20), 4096);
	assert_int_equal(sketch_width_for(&flow_table_ops, &(struct sketch_params){0}, 1000), 0);
}

static void test_no_memory(void **state)
{
	(void)state;
	assert_none_without_memory(&flow_table_ops);
}

static int start_eal(void **state)
{
	(void)state;
	return eal_begin("test_flow_table", 256);
}

static int stop_eal(void **state)
{
	(void)state;
	return eal_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_check),
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_exact),
		cmocka_unit_test(test_burst_borders),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_one_bucket),
		cmocka_unit_test(test_keys_are_compared),
		cmocka_unit_test(test_aimed_keys),
		cmocka_unit_test(test_cuckoo_memory),
		cmocka_unit_test(test_cuckoo_width),
	};

	return cmocka_run_group_tests(tests, start_eal, stop_eal);
}
