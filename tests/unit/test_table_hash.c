/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Published hash functions, compared with the vectors of their authors, bursts compared with single
 * keys, and the remainder without division.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "bench/table_hash.h"
#include "zipf_stream.h"

/* lookup3.c, driver5() */
static void test_jenkins(void **state)
{
	static const char text[] = "Four score and seven years ago";

	(void)state;
	assert_int_equal(hash_jenkins("", 0, 0), 0xdeadbeef);
	assert_int_equal(hash_jenkins("", 0, 0xdeadbeef), 0xbd5b7dde);
	assert_int_equal(hash_jenkins(text, 30, 0), 0x17770551);
	assert_int_equal(hash_jenkins(text, 30, 1), 0xcd628161);
}

/* RFC 3720, appendix B.4 */
static void test_crc32(void **state)
{
	uint8_t data[32];

	(void)state;
	memset(data, 0, sizeof(data));
	assert_int_equal(hash_crc32(data, 32, 0), 0x8a9136aa);
	memset(data, 0xff, sizeof(data));
	assert_int_equal(hash_crc32(data, 32, 0), 0x62a8ab43);
	for (int i = 0; i < 32; i++)
		data[i] = (uint8_t)i;
	assert_int_equal(hash_crc32(data, 32, 0), 0x46dd794e);
	for (int i = 0; i < 32; i++)
		data[i] = (uint8_t)(31 - i);
	assert_int_equal(hash_crc32(data, 32, 0), 0x113fdb5c);
}

/* test_fnv.c of the authors */
static void test_fnv1a(void **state)
{
	(void)state;
	assert_int_equal(hash_fnv1a("", 0), 0x811c9dc5);
	assert_int_equal(hash_fnv1a("a", 1), 0xe40c292c);
	assert_int_equal(hash_fnv1a("b", 1), 0xe70c2de5);
	assert_int_equal(hash_fnv1a("foobar", 6), 0xbf9cf968);
}

/*
 * SMHasher's verification of a 32-bit function, by the author of Murmur: the hash of the hashes of
 * the keys {}, {0}, {0, 1}, ... with the seeds 256, 255, ...
 */
static uint32_t verification(uint32_t (*hash)(const void *data, size_t len, uint32_t seed))
{
	uint8_t key[256], hashes[256 * 4];

	for (uint32_t i = 0; i < 256; i++) {
		uint32_t h;

		key[i] = (uint8_t)i;
		h = hash(key, i, 256 - i);
		memcpy(hashes + 4 * i, &h, 4);
	}
	return hash(hashes, sizeof(hashes), 0);
}

static uint32_t hsieh_without_seed(const void *data, size_t len, uint32_t seed)
{
	(void)seed;
	return hash_hsieh(data, len, 0);
}

static void test_smhasher(void **state)
{
	(void)state;
	assert_int_equal(verification(hash_murmur3), 0xb0f57ee3);
	assert_int_equal(verification(hash_jenkins), 0x3d83917a);
	assert_int_equal(verification(hsieh_without_seed), 0x980acd1d);
}

static struct key_burst burst;

static void fill_burst(void)
{
	uint64_t random = 5;

	burst.n = BURST_MAX;
	burst.v6 = 0xf0f0f0f0f0f0f0f1;
	for (uint32_t i = 0; i < BURST_MAX; i++) {
		uint64_t words[5];

		for (int w = 0; w < 5; w++)
			words[w] = zipf_random(&random);
		memcpy(&burst.key6[i], words, 40);
		memcpy(&burst.key4[i], words, 16);
		burst.hash[i].lo = words[2];
	}
}

static uint32_t address_of(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Follows the published formula. */
static uint32_t coralreef4(const struct key4 *key)
{
	uint32_t sport = (uint32_t)(key->src_port[0] << 8 | key->src_port[1]);
	uint32_t dport = (uint32_t)(key->dst_port[0] << 8 | key->dst_port[1]);

	return address_of(key->src_ip) * 59 ^ address_of(key->dst_ip) ^ sport << 16 ^ dport ^
	       key->proto;
}

static void test_bursts(void **state)
{
	uint32_t hash[BURST_MAX];

	(void)state;
	fill_burst();
	for (uint32_t i = 0; i < BURST_MAX; i++) {
		memset(burst.key4[i].spare, 0, sizeof(burst.key4[i].spare));
		burst.key4[i].reserved = 0;
	}
	for (int function = 0; function < TABLE_HASH_COUNT; function++) {
		table_hashes[function](&burst, hash);
		for (uint32_t i = 0; i < BURST_MAX; i++) {
			bool v6 = burst.v6 >> i & 1;
			const void *key =
				v6 ? (const void *)&burst.key6[i] : (const void *)&burst.key4[i];
			size_t len = v6 ? sizeof(struct key6) : sizeof(struct key4);
			uint32_t expected = 0;

			switch ((enum table_hash)function) {
			case TABLE_HASH_AES:
			case TABLE_HASH_RSS: expected = (uint32_t)burst.hash[i].lo; break;
			case TABLE_HASH_CORALREEF:
				expected = v6 ? hash[i] : coralreef4(&burst.key4[i]);
				break;
			case TABLE_HASH_JENKINS: expected = hash_jenkins(key, len, 0); break;
			case TABLE_HASH_MURMUR3: expected = hash_murmur3(key, len, 0); break;
			case TABLE_HASH_CRC32: expected = hash_crc32(key, len, 0); break;
			case TABLE_HASH_FNV1A: expected = hash_fnv1a(key, len); break;
			case TABLE_HASH_HSIEH:
				expected = hash_hsieh(key, len, (uint32_t)len);
				break;
			case TABLE_HASH_XXH3: expected = (uint32_t)XXH3_64bits(key, len); break;
			case TABLE_HASH_COUNT: break;
			}
			assert_int_equal(hash[i], expected);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_jenkins),
		cmocka_unit_test(test_crc32),
		cmocka_unit_test(test_fnv1a),
		cmocka_unit_test(test_smhasher),
		cmocka_unit_test(test_bursts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
