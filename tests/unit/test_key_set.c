/* SPDX-License-Identifier: BSD-3-Clause */

/* Key sets of networks, compared with a linear search, and which heavy keys stay in the list. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "key/hash.h"
#include "key/key_set.h"

#define TEXT_MAX 96

static uint64_t state = 1;
static struct hash_key hash_key;
static struct key_set set;
static struct heavy_keys list;

static uint32_t below(uint32_t n)
{
	return (uint32_t)(random_split(&state) % n);
}

/* Few addresses with many prefixes, so that some are close to those of networks. */
static void fill_address(uint8_t *address, size_t size)
{
	for (size_t i = 0; i < size; i++)
		address[i] = (uint8_t)(below(4) == 0 ? below(256) : below(2));
}

static void fill_packets(struct key_burst *burst, uint32_t n)
{
	memset(burst, 0, sizeof(*burst));
	burst->n = n;
	for (uint32_t i = 0; i < n; i++) {
		burst->v6 |= (uint64_t)below(2) << i;
		fill_address(burst->key4[i].src_ip, 8);
		fill_address(burst->key6[i].src_ip, 32);
		burst->key4[i].proto = burst->key6[i].proto = 6;
	}
}

/* Compares bit by bit, without key masks. */
static bool same_prefix(const uint8_t *a, const uint8_t *b, uint32_t bits)
{
	for (uint32_t bit = 0; bit < bits; bit++)
		if (((a[bit / 8] ^ b[bit / 8]) >> (7 - bit % 8) & 1) != 0)
			return false;
	return true;
}

/* Network of one side, or of both. */
struct naive {
	bool v6;
	uint8_t src[16], dst[16];
};

struct rule {
	bool src, dst;
	uint32_t bits4, bits6;
};

static bool is_inside(const struct naive *networks, uint32_t n, const struct rule *rule,
	const struct key_burst *burst, uint32_t i)
{
	bool v6 = burst->v6 >> i & 1;
	uint32_t bits = v6 ? rule->bits6 : rule->bits4;
	const uint8_t *src = v6 ? burst->key6[i].src_ip : burst->key4[i].src_ip;
	const uint8_t *dst = v6 ? burst->key6[i].dst_ip : burst->key4[i].dst_ip;

	for (uint32_t k = 0; k < n; k++)
		if (networks[k].v6 == v6 &&
			(!rule->src || same_prefix(networks[k].src, src, bits)) &&
			(!rule->dst || same_prefix(networks[k].dst, dst, bits)))
			return true;
	return false;
}

static void parse_rule(struct key_rule *parsed, const struct rule *rule, char text[TEXT_MAX])
{
	char prefix[32] = "", why[KEY_RULE_WHY_MAX];

	if (rule->bits4 < 32 || rule->bits6 < 128)
		snprintf(prefix, sizeof(prefix), "/%u/%u", rule->bits4, rule->bits6);
	snprintf(text, TEXT_MAX, "%s%s%s%s%s", rule->src ? "src" : "", rule->src ? prefix : "",
		rule->src && rule->dst ? "," : "", rule->dst ? "dst" : "", rule->dst ? prefix : "");
	if (!key_rule_parse(parsed, text, why))
		fail_msg("%s: %s", text, why);
}

/* Draws networks of random packets, until there are n or no new ones come. */
static uint32_t draw_networks(
	struct naive *networks, uint32_t n, const struct rule *rule, const struct key_rule *parsed)
{
	static struct key_burst packets, keys;
	uint32_t drawn = 0;

	key_set_clear(&set);
	for (uint32_t tries = 0; drawn < n && tries < 8 * n; tries++) {
		struct key key;

		fill_packets(&packets, 1);
		if (is_inside(networks, drawn, rule, &packets, 0))
			continue;
		key_burst_mask(&keys, &packets, parsed);
		networks[drawn].v6 = packets.v6 & 1;
		memcpy(networks[drawn].src,
			packets.v6 & 1 ? packets.key6[0].src_ip : packets.key4[0].src_ip,
			packets.v6 & 1 ? 16 : 4);
		memcpy(networks[drawn++].dst,
			packets.v6 & 1 ? packets.key6[0].dst_ip : packets.key4[0].dst_ip,
			packets.v6 & 1 ? 16 : 4);
		key = key_burst_get(&keys, 0);
		assert_true(key_set_add(&set, &key, hash_one(&hash_key, &key)));
	}
	return drawn;
}

static void check_rule(const struct rule *rule, uint32_t n)
{
	static struct naive networks[KEY_SET_MAX];
	static struct key_burst packets, keys;
	struct key_rule parsed;
	char text[TEXT_MAX];
	uint32_t drawn, inside = 0;

	parse_rule(&parsed, rule, text);
	drawn = draw_networks(networks, n, rule, &parsed);
	assert_int_equal(set.n, drawn);
	for (uint32_t round = 0; round < 8; round++) {
		uint64_t expected = 0;

		fill_packets(&packets, 1 + below(BURST_MAX));
		for (uint32_t i = 0; i < packets.n; i++)
			expected |= (uint64_t)is_inside(networks, drawn, rule, &packets, i) << i;
		key_burst_mask(&keys, &packets, &parsed);
		hash_burst(&hash_key, &keys);
		if (key_set_find(&set, &keys) != expected)
			fail_msg("%s, %u networks", text, drawn);
		inside += (uint32_t)__builtin_popcountll(expected);
	}
	if (n == KEY_SET_MAX && rule->bits4 == 8)
		assert_true(inside > 0);
}

static void every_length(void **test_state)
{
	(void)test_state;
	for (uint32_t bits = 1; bits <= 128; bits++) {
		struct rule rule = {.dst = true, .bits4 = bits < 32 ? bits : 32, .bits6 = bits};

		check_rule(&rule, 1 + below(40));
		rule.src = bits % 3 == 0;
		rule.dst = bits % 3 != 0 || bits % 2 == 0;
		check_rule(&rule, 1 + below(40));
	}
}

static void as_many_as_there_can_be(void **test_state)
{
	static const struct rule rules[] = {{false, true, 8, 8}, {true, false, 24, 48},
		{true, true, 8, 128}, {false, true, 32, 128}, {true, true, 32, 128}};
	struct key key = {.family = KEY_IPV4};

	(void)test_state;
	for (size_t r = 0; r < sizeof(rules) / sizeof(rules[0]); r++)
		check_rule(&rules[r], KEY_SET_MAX);
	assert_int_equal(set.n, KEY_SET_MAX);
	key.v4.dst_ip[0] = 250;
	assert_false(key_set_add(&set, &key, hash_one(&hash_key, &key)));
	key_set_clear(&set);
	assert_true(key_set_add(&set, &key, hash_one(&hash_key, &key)));
}

/* With equal hashes, probing ends, and keys decide. */
static void same_hashes(void **test_state)
{
	static struct key_burst burst;
	uint32_t added = 0;

	(void)test_state;
	key_set_clear(&set);
	for (uint32_t i = 0; i < BURST_MAX; i++) {
		struct key key = {.family = KEY_IPV4};

		key.v4.dst_ip[3] = (uint8_t)i;
		burst.key4[i] = key.v4;
		added += key_set_add(&set, &key, burst.hash[i]);
	}
	assert_int_equal(added, KEY_SET_PROBES);
	burst.n = BURST_MAX;
	assert_true(key_set_find(&set, &burst) == (UINT64_C(1) << KEY_SET_PROBES) - 1);
	burst.v6 = 1;
	assert_true(key_set_find(&set, &burst) == (UINT64_C(1) << KEY_SET_PROBES) - 2);
}

static struct key numbered(uint32_t n)
{
	struct key key = {.family = KEY_IPV4};

	memcpy(key.v4.dst_ip, &n, sizeof(n));
	return key;
}

static bool add(uint32_t n, int64_t now)
{
	struct key key = numbered(n);

	return heavy_keys_add(&list, &key, now);
}

static void what_stays(void **test_state)
{
	(void)test_state;
	list.n = 0;
	assert_true(add(1, 10) && add(2, 10) && add(1, 20) && add(1, 20));
	assert_int_equal(list.n, 2);
	heavy_keys_forget(&list, 20, 10);
	assert_int_equal(list.n, 2);
	heavy_keys_forget(&list, 21, 10);
	assert_int_equal(list.n, 1);
	assert_int_equal(list.of[0].last, 20);
	heavy_keys_forget(&list, 5, 0); /* the clock was set back */
	assert_int_equal(list.n, 1);
	heavy_keys_forget(&list, 6, 0);
	assert_int_equal(list.n, 0);
}

/* A heavy key replaces the key that was heavy least recently. */
static void a_full_list(void **test_state)
{
	struct key key = numbered(KEY_SET_MAX);

	(void)test_state;
	list.n = 0;
	for (uint32_t i = 0; i < KEY_SET_MAX; i++)
		assert_true(add(i, i == 7 ? 1 : 2));
	assert_true(add(KEY_SET_MAX, 2));
	assert_int_equal(list.n, KEY_SET_MAX);
	assert_true(key_equal(&list.of[7].key, &key));
	assert_false(add(KEY_SET_MAX + 1, 2));
	assert_true(add(KEY_SET_MAX, 3));
	assert_true(add(KEY_SET_MAX + 1, 3));
	assert_int_equal(list.n, KEY_SET_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_length),
		cmocka_unit_test(as_many_as_there_can_be),
		cmocka_unit_test(same_hashes),
		cmocka_unit_test(what_stays),
		cmocka_unit_test(a_full_list),
	};

	hash_key_init(&hash_key, 7);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
