/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "key/mangle6.h"
#include "zipf_stream.h"

static void fill_random(struct key_burst *burst, uint64_t *random)
{
	burst->n = BURST_MAX;
	burst->v6 = zipf_random(random) | 1;
	for (uint32_t i = 0; i < BURST_MAX; i++) {
		uint64_t words[5];

		for (uint32_t w = 0; w < 5; w++)
			words[w] = zipf_random(random);
		memcpy(&burst->key6[i], words, sizeof(words));
		memset(burst->key6[i].spare, 0, sizeof(burst->key6[i].spare));
		burst->key6[i].reserved = 0;
		memcpy(&burst->key4[i], words, sizeof(burst->key4[i]));
	}
}

static void test_inverts(void **state)
{
	static struct key_burst burst;
	struct mangled6 mangled[BURST_MAX], portable[BURST_MAX];
	struct hash_key hash_key;
	uint64_t random = 5;

	(void)state;
	for (uint64_t seed = 0; seed < 200; seed++) {
		uint32_t n = 0;

		hash_key_init(&hash_key, seed);
		fill_random(&burst, &random);
		hash_burst(&hash_key, &burst);
		mangle6_burst(&hash_key, &burst, mangled);
		mangle6_burst_portable(&hash_key, &burst, portable);
		for (uint32_t i = 0; i < BURST_MAX; i++) {
			struct key6 key;

			if ((burst.v6 >> i & 1) == 0)
				continue;
			assert_memory_equal(&mangled[n], &portable[n], sizeof(mangled[n]));
			assert_int_equal(mangled[n].word[0], burst.hash[i].lo);
			assert_int_equal(mangled[n].word[1], burst.hash[i].hi);
			key = mangle6_invert(&hash_key, &mangled[n++]);
			assert_memory_equal(&key, &burst.key6[i], sizeof(key));
		}
	}
}

static uint32_t bits_set(const struct mangled6 *a, const struct mangled6 *b)
{
	uint32_t bits = 0;

	for (uint32_t w = 0; w < 5; w++)
		bits += (uint32_t)__builtin_popcountll(a->word[w] ^ b->word[w]);
	return bits;
}

/* Each bit of the key flips about half of the mangled bits. */
static void test_mixes(void **state)
{
	static struct key_burst burst;
	struct mangled6 before[BURST_MAX], after[BURST_MAX];
	struct hash_key hash_key;
	uint64_t random = 6;

	(void)state;
	hash_key_init(&hash_key, 1);
	for (uint32_t bit = 0; bit < 37 * 8; bit++) {
		uint32_t flipped = 0, packets;

		fill_random(&burst, &random);
		packets = (uint32_t)__builtin_popcountll(burst.v6);
		hash_burst(&hash_key, &burst);
		mangle6_burst(&hash_key, &burst, before);
		for (uint32_t i = 0; i < BURST_MAX; i++)
			((uint8_t *)&burst.key6[i])[bit / 8] ^= (uint8_t)(1 << bit % 8);
		hash_burst(&hash_key, &burst);
		mangle6_burst(&hash_key, &burst, after);
		for (uint32_t i = 0; i < packets; i++)
			flipped += bits_set(&before[i], &after[i]);
		assert_true(flipped > packets * 130 && flipped < packets * 190);
	}
}

/*
 * A wrong bit anywhere in the mangled key makes the spare bytes random: they are zero once in 2^24.
 */
static void test_spare_bytes_check(void **state)
{
	static struct key_burst burst;
	struct mangled6 mangled[BURST_MAX];
	struct hash_key hash_key;
	uint64_t random = 7;

	(void)state;
	hash_key_init(&hash_key, 2);
	fill_random(&burst, &random);
	hash_burst(&hash_key, &burst);
	mangle6_burst(&hash_key, &burst, mangled);
	for (uint32_t bit = 0; bit < 320; bit++) {
		struct mangled6 wrong = mangled[0];
		struct key6 key;

		wrong.word[bit / 64] ^= UINT64_C(1) << bit % 64;
		key = mangle6_invert(&hash_key, &wrong);
		assert_true((key.spare[0] | key.spare[1] | key.reserved) != 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_inverts),
		cmocka_unit_test(test_mixes),
		cmocka_unit_test(test_spare_bytes_check),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
