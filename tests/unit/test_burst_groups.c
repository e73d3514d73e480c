/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sketch/burst_groups.h"
#include "zipf_stream.h"

static bool has(uint64_t mask, uint32_t i)
{
	return mask >> i & 1;
}

static bool same_hash(const struct key_burst *burst, uint32_t i, uint32_t j)
{
	return burst->hash[i].lo == burst->hash[j].lo && burst->hash[i].hi == burst->hash[j].hi;
}

/* Returns the number of followers. */
static uint32_t check(const struct key_burst *burst)
{
	uint64_t all = burst->n < BURST_MAX ? (UINT64_C(1) << burst->n) - 1 : UINT64_MAX;
	struct burst_groups groups;

	burst_groups_find(&groups, burst);
	assert_true((groups.leaders | groups.followers) == all);
	assert_true((groups.leaders & groups.followers) == 0);
	for (uint32_t i = 0; i < burst->n; i++) {
		assert_true(has(groups.leaders, groups.leader[i]));
		assert_int_equal(has(groups.leaders, i), groups.leader[i] == i);
		assert_true(groups.leader[i] <= i && same_hash(burst, i, groups.leader[i]));
		/* A key with followers is in no other group. */
		for (uint32_t j = 0; j < burst->n; j++)
			if (has(groups.followers, i) && same_hash(burst, i, j))
				assert_int_equal(groups.leader[j], groups.leader[i]);
	}
	return (uint32_t)__builtin_popcountll(groups.followers);
}

static void test_groups(void **state)
{
	struct zipf_stream stream;
	uint32_t nb_followers = 0;

	(void)state;
	zipf_open(&stream, 200, 1.0, 11);
	for (uint32_t round = 0; round < 2000; round++) {
		struct key_burst burst = {0};

		while (burst.n < round % (BURST_MAX + 1))
			zipf_append(&stream, &burst, zipf_draw(&stream));
		nb_followers += check(&burst);
	}
	/* About a third of all packets: keys in the same slot split few groups. */
	assert_in_range(nb_followers, 2000 * 32 / 4, 2000 * 32 / 2);
	zipf_close(&stream);
}

/* Keys that fall into one slot and differ in one bit of the hash. */
static void test_one_slot(void **state)
{
	struct key key = zipf_key(0);
	struct key_burst burst = {0};

	(void)state;
	for (uint32_t i = 0; i < BURST_MAX; i++) {
		struct key_hash hash = {.lo = i % 3 == 0, .hi = i % 3 == 1};

		burst_append(&burst, &key, &hash, UINT32_MAX - i);
	}
	/* The 22 packets of the first key form one group; the others have no group. */
	assert_int_equal(check(&burst), 21);
}

static void test_one_key(void **state)
{
	struct key key = zipf_key(0);
	struct key_hash hash = {0};

	(void)state;
	for (uint32_t n = 1; n <= BURST_MAX; n++) {
		struct key_burst burst = {0};

		while (burst.n < n)
			burst_append(&burst, &key, &hash, UINT32_MAX);
		assert_int_equal(check(&burst), n - 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_groups),
		cmocka_unit_test(test_one_slot),
		cmocka_unit_test(test_one_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
