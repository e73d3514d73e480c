/* SPDX-License-Identifier: BSD-3-Clause */

/* The flow hash, compared with the definition of Toeplitz and with DPDK. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <rte_thash.h>

#include "rx/packet/rss_hash.h"

#define TUPLES 100000

static uint64_t random_state;

/* xorshift64* (Vigna 2014). */
static uint64_t next_random(void)
{
	random_state ^= random_state >> 12;
	random_state ^= random_state << 25;
	random_state ^= random_state >> 27;
	return random_state * 0x2545f4914f6cdd1d;
}

static void fill_random(uint8_t *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		bytes[i] = (uint8_t)(next_random() >> 32);
}

static int seed_random(void **state)
{
	(void)state;
	random_state = 0x9e3779b97f4a7c15;
	return 0;
}

/* For each set bit: the 32 bits of the key that begin at it. */
static uint32_t toeplitz(const uint8_t *data, size_t len)
{
	uint32_t hash = 0;

	for (size_t bit = 0; bit < 8 * len; bit++) {
		if (!(data[bit / 8] >> (7 - bit % 8) & 1))
			continue;
		for (size_t i = 0; i < 32; i++) {
			size_t at = bit + i;
			uint32_t key_bit = rss_symmetric_key[at / 8] >> (7 - at % 8) & 1;

			hash ^= key_bit << (31 - i);
		}
	}
	return hash;
}

/* rte_softrss() needs the data as words in the CPU's byte order. */
static uint32_t softrss(const uint8_t *data, size_t len)
{
	uint32_t words[9];

	for (size_t w = 0; w < len / 4; w++)
		words[w] = (uint32_t)data[4 * w] << 24 | (uint32_t)data[4 * w + 1] << 16 |
			   (uint32_t)data[4 * w + 2] << 8 | data[4 * w + 3];
	return rte_softrss(words, (uint32_t)len / 4, rss_symmetric_key);
}

/* Returns a random packet as the parser describes it; ports only if the parser would set them. */
static struct parsed random_parsed(enum parse_verdict verdict)
{
	static const uint8_t protos[] = {6, 17, 132, 1, 47};
	struct parsed parsed = {.fragment = next_random() % 8 == 0};
	uint8_t proto = protos[next_random() % sizeof(protos)];
	uint8_t ports[4] = {0};

	if (proto == 6 || proto == 17 || proto == 132)
		fill_random(ports, sizeof(ports));
	if (verdict == PARSE_IPV4) {
		fill_random(parsed.key4.src_ip, 4);
		fill_random(parsed.key4.dst_ip, 4);
		memcpy(parsed.key4.src_port, ports, 2);
		memcpy(parsed.key4.dst_port, ports + 2, 2);
		parsed.key4.proto = proto;
	} else {
		fill_random(parsed.key6.src_ip, 16);
		fill_random(parsed.key6.dst_ip, 16);
		memcpy(parsed.key6.src_port, ports, 2);
		memcpy(parsed.key6.dst_port, ports + 2, 2);
		parsed.key6.proto = proto;
	}
	return parsed;
}

/* Writes the Toeplitz input of a card. Returns its length. */
static size_t rss_input(enum parse_verdict verdict, const struct parsed *parsed, uint8_t input[36])
{
	bool v4 = verdict == PARSE_IPV4;
	size_t address = v4 ? 4 : 16;
	uint8_t proto = v4 ? parsed->key4.proto : parsed->key6.proto;

	memcpy(input, v4 ? parsed->key4.src_ip : parsed->key6.src_ip, address);
	memcpy(input + address, v4 ? parsed->key4.dst_ip : parsed->key6.dst_ip, address);
	if (parsed->fragment || (proto != 6 && proto != 17 && proto != 132))
		return 2 * address;
	memcpy(input + 2 * address, v4 ? parsed->key4.src_port : parsed->key6.src_port, 2);
	memcpy(input + 2 * address + 2, v4 ? parsed->key4.dst_port : parsed->key6.dst_port, 2);
	return 2 * address + 4;
}

static struct parsed reversed(enum parse_verdict verdict, const struct parsed *parsed)
{
	struct parsed back = *parsed;

	if (verdict == PARSE_IPV4) {
		memcpy(back.key4.src_ip, parsed->key4.dst_ip, 4);
		memcpy(back.key4.dst_ip, parsed->key4.src_ip, 4);
		memcpy(back.key4.src_port, parsed->key4.dst_port, 2);
		memcpy(back.key4.dst_port, parsed->key4.src_port, 2);
	} else {
		memcpy(back.key6.src_ip, parsed->key6.dst_ip, 16);
		memcpy(back.key6.dst_ip, parsed->key6.src_ip, 16);
		memcpy(back.key6.src_port, parsed->key6.dst_port, 2);
		memcpy(back.key6.dst_port, parsed->key6.src_port, 2);
	}
	return back;
}

static void key_is_6d5a_repeated(void **state)
{
	(void)state;
	for (size_t i = 0; i < RSS_KEY_LEN_MAX; i += 2) {
		assert_int_equal(rss_symmetric_key[i], 0x6d);
		assert_int_equal(rss_symmetric_key[i + 1], 0x5a);
	}
}

static void is_toeplitz(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < TUPLES; i++) {
		enum parse_verdict verdict = i % 2 ? PARSE_IPV6 : PARSE_IPV4;
		struct parsed parsed = random_parsed(verdict);
		uint8_t input[36];
		size_t len = rss_input(verdict, &parsed, input);
		uint32_t hash = rss_hash(verdict, &parsed);

		assert_int_equal(hash, toeplitz(input, len));
		assert_int_equal(hash, softrss(input, len));
	}
}

static void hashes_the_fields_that_are_wanted(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < TUPLES; i++) {
		enum parse_verdict verdict = i % 2 ? PARSE_IPV6 : PARSE_IPV4;
		struct parsed parsed = random_parsed(verdict);
		size_t address = verdict == PARSE_IPV4 ? 4 : 16;
		uint8_t input[36];
		size_t len = rss_input(verdict, &parsed, input);
		const struct {
			enum rss_fields fields;
			const uint8_t *data;
			size_t len;
		} rows[] = {
			{RSS_FIELDS_5TUPLE, input, len},
			{RSS_FIELDS_ADDRESSES, input, 2 * address},
			{RSS_FIELDS_SRC, input, address},
			{RSS_FIELDS_DST, input + address, address},
		};

		for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
			struct rss_mask mask = rss_mask_of(rows[r].fields);

			assert_int_equal(rss_hash_masked(verdict, &parsed, &mask),
				toeplitz(rows[r].data, rows[r].len));
		}
	}
}

static void is_symmetric(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < TUPLES; i++) {
		enum parse_verdict verdict = i % 2 ? PARSE_IPV6 : PARSE_IPV4;
		struct parsed parsed = random_parsed(verdict);
		struct parsed back = reversed(verdict, &parsed);

		assert_int_equal(rss_hash(verdict, &parsed), rss_hash(verdict, &back));
	}
}

/* All fragments of a packet have the same hash, with or without ports. */
static void fragments_hash_by_address(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 1000; i++) {
		enum parse_verdict verdict = i % 2 ? PARSE_IPV6 : PARSE_IPV4;
		struct parsed first = random_parsed(verdict), later;

		first.fragment = true;
		later = first;
		memset(later.key4.src_port, 0, 2);
		memset(later.key4.dst_port, 0, 2);
		memset(later.key6.src_port, 0, 2);
		memset(later.key6.dst_port, 0, 2);
		assert_int_equal(rss_hash(verdict, &first), rss_hash(verdict, &later));
	}
}

static void not_ip_is_zero(void **state)
{
	struct parsed parsed = random_parsed(PARSE_IPV4);

	(void)state;
	for (int verdict = PARSE_NON_IP; verdict < PARSE_VERDICT_COUNT; verdict++)
		assert_int_equal(rss_hash((enum parse_verdict)verdict, &parsed), 0);
}

/*
 * Random flows over the indirection table: chi-square with 127 degrees of freedom. It exceeds 127 +
 * 6 x sqrt(254) = 222.6 with probability 4e-7.
 */
static void spreads_evenly(void **state)
{
	const double expected = (double)TUPLES / RSS_RETA_SIZE;

	(void)state;
	for (int v6 = 0; v6 < 2; v6++) {
		enum parse_verdict verdict = v6 ? PARSE_IPV6 : PARSE_IPV4;
		uint32_t entries[RSS_RETA_SIZE] = {0};
		double chi_square = 0;

		for (uint32_t i = 0; i < TUPLES; i++) {
			struct parsed parsed = random_parsed(verdict);

			entries[rss_hash(verdict, &parsed) % RSS_RETA_SIZE]++;
		}
		for (uint32_t e = 0; e < RSS_RETA_SIZE; e++)
			chi_square += (entries[e] - expected) * (entries[e] - expected) / expected;
		assert_true(chi_square < 222.6);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(key_is_6d5a_repeated),
		cmocka_unit_test_setup(is_toeplitz, seed_random),
		cmocka_unit_test_setup(hashes_the_fields_that_are_wanted, seed_random),
		cmocka_unit_test_setup(is_symmetric, seed_random),
		cmocka_unit_test_setup(fragments_hash_by_address, seed_random),
		cmocka_unit_test_setup(not_ip_is_zero, seed_random),
		cmocka_unit_test_setup(spreads_evenly, seed_random),
	};

	return cmocka_run_group_tests_name("rss_hash", tests, NULL, NULL);
}
