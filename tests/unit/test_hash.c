/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The keyed hash: its values (compared with FIPS 197 and with a separate implementation), agreement
 * of its two code paths, and its quality. All choices come from fixed seeds, so a test that passes
 * once always passes. The thresholds are quantiles; the probability that a perfect hash fails
 * stands next to them.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <math.h>
#include <sys/mman.h>

#include "key/hash.h"

static uint64_t random_state;

/* xorshift64* (Vigna 2014), which hash.c does not use to expand its seeds. */
static uint64_t next_random(void)
{
	random_state ^= random_state >> 12;
	random_state ^= random_state << 25;
	random_state ^= random_state >> 27;
	return random_state * 0x2545f4914f6cdd1d;
}

static void fill_random(void *memory, size_t size)
{
	for (size_t i = 0; i < size; i++)
		((uint8_t *)memory)[i] = (uint8_t)(next_random() >> 32);
}

static int seed_random(void **state)
{
	(void)state;
	random_state = 0x853c49e6748fea9b;
	return 0;
}

static void assert_hash_equal(struct key_hash a, struct key_hash b)
{
	assert_true(a.lo == b.lo && a.hi == b.hi);
}

/*
 * ---- Values
 */

static void hex_to_bytes(const char *hex, uint8_t *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		unsigned int byte;

		assert_int_equal(sscanf(hex + 2 * i, "%2x", &byte), 1);
		bytes[i] = (uint8_t)byte;
	}
}

/*
 * FIPS 197, appendix B: the input, the first five round keys, and the state at the start of round
 * 5, the result of four full rounds.
 */
static void ipv4_is_four_aes_rounds(void **state)
{
	static const char *const round_keys[] = {
		"2b7e151628aed2a6abf7158809cf4f3c",
		"a0fafe1788542cb123a339392a6c7605",
		"f2c295f27a96b9435935807a7359f67f",
		"3d80477d4716fe3e1e237e446d7a883b",
		"ef44a541a8525b7fb671253bdb0bad00",
	};
	struct hash_key hash_key = {.seed = 0};
	struct key key = {.family = KEY_IPV4};
	static struct key_burst burst = {.n = 1};
	uint8_t expected[16];

	(void)state;
	for (int r = 0; r <= HASH_ROUNDS; r++)
		hex_to_bytes(round_keys[r], hash_key.round4[r], 16);
	hex_to_bytes("3243f6a8885a308d313198a2e0370734", (uint8_t *)&burst.key4[0], 16);
	hex_to_bytes("e0927fe8c86363c0d9b1355085b8be01", expected, 16);
	key.v4 = burst.key4[0];
	for (int path = 0; path < 3; path++) {
		if (path == 0)
			hash_burst_portable(&hash_key, &burst);
		else if (path == 1)
			hash_burst(&hash_key, &burst);
		else
			burst.hash[0] = hash_one(&hash_key, &key);
		for (int i = 0; i < 8; i++) {
			assert_int_equal(burst.hash[0].lo >> 8 * i & 0xff, expected[i]);
			assert_int_equal(burst.hash[0].hi >> 8 * i & 0xff, expected[8 + i]);
		}
	}
}

static struct key make_key(
	const char *src, const char *dst, uint16_t src_port, uint16_t dst_port, uint8_t proto)
{
	bool v4 = strchr(src, ':') == NULL;
	int family = v4 ? AF_INET : AF_INET6;
	struct key key = {.family = v4 ? KEY_IPV4 : KEY_IPV6};
	uint16_t ports[2] = {htons(src_port), htons(dst_port)};

	assert_int_equal(inet_pton(family, src, v4 ? key.v4.src_ip : key.v6.src_ip), 1);
	assert_int_equal(inet_pton(family, dst, v4 ? key.v4.dst_ip : key.v6.dst_ip), 1);
	memcpy(v4 ? key.v4.src_port : key.v6.src_port, &ports[0], 2);
	memcpy(v4 ? key.v4.dst_port : key.v6.dst_port, &ports[1], 2);
	*(v4 ? &key.v4.proto : &key.v6.proto) = proto;
	return key;
}

/*
 * Values of a separate implementation, with the S-box and the products of MixColumns computed in
 * GF(2^8) as FIPS 197 defines them. They are part of the contract: a seed gives the same hash on
 * every machine.
 */
static void golden_values(void **state)
{
	const struct key v4 = make_key("192.0.2.1", "198.51.100.2", 49152, 443, 6);
	const struct key v6 = make_key("2001:db8::1", "2001:db8::2", 49152, 443, 6);
	const struct key zero4 = {.family = KEY_IPV4}, zero6 = {.family = KEY_IPV6};
	const struct {
		uint64_t seed;
		struct key_hash zero4, v4, zero6, v6;
	} golden[] = {
		{0, {0x80335348bbaba89e, 0x7421a215da1b9a2a},
			{0xcaf1eb108e32b1d7, 0x0870a9c1d031943c},
			{0xbf2ee2a9714aa4fc, 0x0fcd015c3cd103fa},
			{0x72c56cf36dd4690c, 0xdd3e13e03c33c830}},
		{1, {0x0f34b4aceaf2b4df, 0x8797e4dc63c7e3ed},
			{0x60385ec215c30c9d, 0x09afd4f4befb5ec5},
			{0xdbe10d0cf491f190, 0x7afa4f7a0e1eef27},
			{0x787142b86ec17067, 0xd087a6a098b66d8c}},
		{0x0123456789abcdef, {0x443258a076e1bb59, 0x1b50f42834085f45},
			{0x708a88d85d514a8e, 0x5eed11194498fdcd},
			{0x836e695fa4f8c36a, 0xec9de453ef728a6e},
			{0x49840374a179a7d2, 0x615113c8ab2781d6}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(golden) / sizeof(golden[0]); i++) {
		struct hash_key hash_key;

		hash_key_init(&hash_key, golden[i].seed);
		assert_true(hash_key.seed == golden[i].seed);
		assert_hash_equal(hash_one(&hash_key, &zero4), golden[i].zero4);
		assert_hash_equal(hash_one(&hash_key, &v4), golden[i].v4);
		assert_hash_equal(hash_one(&hash_key, &zero6), golden[i].zero6);
		assert_hash_equal(hash_one(&hash_key, &v6), golden[i].v6);
	}
}

/* A hundred thousand random keys, a hundred seeds: all bits of the 16 bytes can be recovered. */
static void ipv4_hashes_are_inverted(void **state)
{
	struct hash_key hash_key;

	(void)state;
	for (uint32_t i = 0; i < 100000; i++) {
		struct key key = {.family = KEY_IPV4}, back = {.family = KEY_IPV4};
		struct key_hash hash;

		if (i % 1000 == 0)
			hash_key_init(&hash_key, next_random());
		fill_random(&key.v4, sizeof(key.v4));
		hash = hash_one(&hash_key, &key);
		back.v4 = hash_invert4(&hash_key, &hash);
		assert_memory_equal(&back.v4, &key.v4, sizeof(key.v4));
	}
}

/* A million random keys, in bursts of every length and every mix of families. */
static void paths_agree(void **state)
{
	static struct key_burst fast, portable, blank;
	struct hash_key hash_key;
	uint32_t hashed = 0;

	(void)state;
	for (uint32_t round = 0; hashed < 1000000; round++) {
		uint32_t n = round % (BURST_MAX + 1);
		uint64_t existing = n < 64 ? (UINT64_C(1) << n) - 1 : UINT64_MAX;

		hash_key_init(&hash_key, next_random());
		fast.n = n;
		fast.v6 = round % 4 == 0 ? 0 : round % 4 == 1 ? existing : next_random() & existing;
		for (uint32_t i = 0; i < n; i++) {
			if (fast.v6 >> i & 1)
				fill_random(&fast.key6[i], sizeof(fast.key6[i]));
			else
				fill_random(&fast.key4[i], sizeof(fast.key4[i]));
		}
		memset(fast.hash, 0xee, sizeof(fast.hash));
		portable = blank = fast;
		hash_burst_portable(&hash_key, &portable);
		for (const hash_burst_fn *path = hash_burst_paths(); *path != NULL; path++) {
			fast = blank;
			(*path)(&hash_key, &fast);
			assert_memory_equal(&fast, &portable, sizeof(fast));
		}
		fast = blank;
		hash_burst(&hash_key, &fast);
		assert_memory_equal(&fast, &portable, sizeof(fast));
		if (n > 0) {
			struct key last = key_burst_get(&fast, n - 1);

			assert_hash_equal(hash_one(&hash_key, &last), fast.hash[n - 1]);
		}
		hashed += n;
	}
}

/* key6 of the burst lies in an unmapped page. */
static void ipv4_bursts_do_not_touch_key6(void **state)
{
	const size_t page = 65536;
	char *pages =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct key_burst *burst;
	struct hash_key hash_key;

	(void)state;
	assert_true(pages != MAP_FAILED);
	assert_int_equal(mprotect(pages + page, page, PROT_NONE), 0);
	burst = (struct key_burst *)(void *)(pages + page - offsetof(struct key_burst, key6));
	burst->n = BURST_MAX;
	hash_key_init(&hash_key, 1);
	hash_burst(&hash_key, burst);
	hash_burst_portable(&hash_key, burst);
	assert_true(burst->hash[0].lo != 0);
	munmap(pages, 2 * page);
}

/*
 * ---- Avalanche
 */

#define AVALANCHE_KEYS 2048

/*
 * Each output bit flips with probability 1/2 for each input bit: over N keys the flips are
 * binomial, standard deviation sqrt(N) / 2. They exceed 7 deviations with probability 2.6e-12, and
 * one of the 3 x (104 + 296) x 128 = 153 600 pairs below exceeds them with 4e-7. The allowed
 * frequency is thus 0.5 +- 0.078. Spare bytes are always 0 and not tested.
 */
static void assert_avalanche(uint64_t seed, enum key_family family, size_t key_bits)
{
	const double tolerance = 7 * sqrt(AVALANCHE_KEYS) / 2;
	static struct key_burst base, flipped;
	struct hash_key hash_key;

	hash_key_init(&hash_key, seed);
	for (size_t bit = 0; bit < key_bits; bit++) {
		uint32_t flips[128] = {0};

		for (uint32_t done = 0; done < AVALANCHE_KEYS; done += BURST_MAX) {
			base.n = BURST_MAX;
			base.v6 = family == KEY_IPV6 ? UINT64_MAX : 0;
			fill_random(base.key4, sizeof(base.key4));
			fill_random(base.key6, sizeof(base.key6));
			flipped = base;
			for (uint32_t i = 0; i < BURST_MAX; i++) {
				uint8_t *key = family == KEY_IPV6 ? (uint8_t *)&flipped.key6[i]
								  : (uint8_t *)&flipped.key4[i];

				key[bit / 8] ^= (uint8_t)(1 << bit % 8);
			}
			hash_burst(&hash_key, &base);
			hash_burst(&hash_key, &flipped);
			for (uint32_t i = 0; i < BURST_MAX; i++) {
				uint64_t lo = base.hash[i].lo ^ flipped.hash[i].lo;
				uint64_t hi = base.hash[i].hi ^ flipped.hash[i].hi;

				for (uint32_t b = 0; b < 64; b++) {
					flips[b] += (uint32_t)(lo >> b) & 1;
					flips[64 + b] += (uint32_t)(hi >> b) & 1;
				}
			}
		}
		for (uint32_t b = 0; b < 128; b++)
			assert_true(fabs(flips[b] - AVALANCHE_KEYS / 2.0) <= tolerance);
	}
}

static void avalanche(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 3; seed++) {
		assert_avalanche(seed, KEY_IPV4, 13 * 8);
		assert_avalanche(seed, KEY_IPV6, 37 * 8);
	}
}

/*
 * ---- Uniformity
 */

#define KEYS_MAX (1 << 16)

static struct key_hash hashes[KEYS_MAX];

/* Makes key number i of a set of keys that differ in few bits. */
typedef void (*make_key_fn)(uint32_t i, uint8_t *src, uint8_t *dst, size_t address_len,
	uint8_t ports[4], uint8_t *proto);

static void put_be32(uint8_t *p, uint32_t x)
{
	x = htonl(x);
	memcpy(p, &x, 4);
}

static void put_be16(uint8_t *p, uint32_t x)
{
	p[0] = (uint8_t)(x >> 8);
	p[1] = (uint8_t)x;
}

static void sequential_src(uint32_t i, uint8_t *src, uint8_t *dst, size_t address_len,
	uint8_t ports[4], uint8_t *proto)
{
	put_be32(src + address_len - 4, 0x0a000000 + i);
	dst[0] = 192;
	put_be16(ports + 2, 443);
	*proto = 6;
}

static void sequential_src_alone(uint32_t i, uint8_t *src, uint8_t *dst, size_t address_len,
	uint8_t ports[4], uint8_t *proto)
{
	(void)dst;
	(void)ports;
	(void)proto;
	put_be32(src + address_len - 4, i);
}

static void sequential_src_port(uint32_t i, uint8_t *src, uint8_t *dst, size_t address_len,
	uint8_t ports[4], uint8_t *proto)
{
	(void)address_len;
	src[0] = 10;
	dst[0] = 192;
	put_be16(ports, i);
	put_be16(ports + 2, 53);
	*proto = 17;
}

static void sequential_dst_port(uint32_t i, uint8_t *src, uint8_t *dst, size_t address_len,
	uint8_t ports[4], uint8_t *proto)
{
	(void)address_len;
	src[0] = 10;
	dst[0] = 192;
	put_be16(ports + 2, i);
	*proto = 6;
}

static void src_is_dst(uint32_t i, uint8_t *src, uint8_t *dst, size_t address_len, uint8_t ports[4],
	uint8_t *proto)
{
	put_be32(src + address_len - 4, 0xc0a80000 + i);
	put_be32(dst + address_len - 4, 0xc0a80000 + i);
	put_be16(ports, 123);
	put_be16(ports + 2, 123);
	*proto = 17;
}

/* A grid of 256 x 256 addresses, in their last bytes. */
static void grid(uint32_t i, uint8_t *src, uint8_t *dst, size_t address_len, uint8_t ports[4],
	uint8_t *proto)
{
	(void)ports;
	src[address_len - 1] = (uint8_t)(i >> 8);
	dst[address_len - 1] = (uint8_t)i;
	*proto = 1;
}

/* Varies the first bytes only: subnets of a large network. */
static void sequential_high(uint32_t i, uint8_t *src, uint8_t *dst, size_t address_len,
	uint8_t ports[4], uint8_t *proto)
{
	(void)address_len;
	(void)ports;
	put_be16(src, i);
	dst[0] = 1;
	*proto = 6;
}

static const struct {
	const char *name;
	make_key_fn make;
} patterns[] = {
	{"sequential src, constant rest", sequential_src},
	{"sequential src, nothing else", sequential_src_alone},
	{"sequential src port", sequential_src_port},
	{"sequential dst port", sequential_dst_port},
	{"src is dst", src_is_dst},
	{"grid", grid},
	{"sequential networks", sequential_high},
};

#define PATTERNS (sizeof(patterns) / sizeof(patterns[0]))

/* hashes[i] := the hash of the i-th of n keys, n a multiple of BURST_MAX. */
static void hash_pattern(make_key_fn make, enum key_family family, uint64_t seed, uint32_t n)
{
	static struct key_burst burst;
	struct hash_key hash_key;

	hash_key_init(&hash_key, seed);
	for (uint32_t at = 0; at < n; at += BURST_MAX) {
		memset(&burst, 0, sizeof(burst));
		burst.n = BURST_MAX;
		burst.v6 = family == KEY_IPV6 ? UINT64_MAX : 0;
		for (uint32_t i = 0; i < BURST_MAX; i++) {
			struct key4 *key4 = &burst.key4[i];
			struct key6 *key6 = &burst.key6[i];
			uint8_t ports[4] = {0};

			if (family == KEY_IPV4) {
				make(at + i, key4->src_ip, key4->dst_ip, 4, ports, &key4->proto);
				memcpy(key4->src_port, ports, 2);
				memcpy(key4->dst_port, ports + 2, 2);
			} else {
				make(at + i, key6->src_ip, key6->dst_ip, 16, ports, &key6->proto);
				memcpy(key6->src_port, ports, 2);
				memcpy(key6->dst_port, ports + 2, 2);
			}
		}
		hash_burst(&hash_key, &burst);
		memcpy(&hashes[at], burst.hash, sizeof(burst.hash));
	}
}

/* Returns bits first .. first + count - 1 of the 128, count <= 32. */
static uint32_t slice(struct key_hash hash, uint32_t first, uint32_t count)
{
	unsigned __int128 all = (unsigned __int128)hash.hi << 64 | hash.lo;

	return (uint32_t)(all >> first) & (uint32_t)((UINT64_C(1) << count) - 1);
}

/*
 * Returns the chi-square quantile at `z` standard normal deviations (Wilson and Hilferty 1931). The
 * tests below use -6 to +6: a uniform hash exceeds one side with probability 1e-9, and either side
 * in one of the less than 10 000 statistics of this file with 2e-5.
 */
static double chi_square_quantile(double freedom, double z)
{
	double c = 2 / (9 * freedom);

	return freedom * pow(1 - c + z * sqrt(c), 3);
}

static uint32_t bins[1 << 12];

/* Checks that n values counted in the bins are uniform. Empties the bins. */
static void assert_uniform(uint32_t n, uint32_t nb_bins, const char *what, uint32_t where)
{
	double expected = (double)n / nb_bins, chi_square = 0;

	for (uint32_t b = 0; b < nb_bins; b++)
		chi_square += (bins[b] - expected) * (bins[b] - expected) / expected;
	memset(bins, 0, sizeof(bins));
	if (chi_square > chi_square_quantile(nb_bins - 1, 6) ||
		chi_square < chi_square_quantile(nb_bins - 1, -6))
		fail_msg("%s, bit %u: chi-square %.1f with %u bins", what, where, chi_square,
			nb_bins);
}

static void for_each_pattern(void (*check)(const char *name))
{
	static const enum key_family families[] = {KEY_IPV4, KEY_IPV6};

	for (size_t p = 0; p < PATTERNS; p++) {
		for (int f = 0; f < 2; f++) {
			for (uint64_t seed = 1; seed <= 3; seed++) {
				hash_pattern(patterns[p].make, families[f], seed, KEYS_MAX);
				check(patterns[p].name);
			}
		}
	}
}

/*
 * Checks the low bits of the four 32-bit lanes, and every slice of 8 bits that begins at a multiple
 * of 4.
 */
static void check_slices(const char *name)
{
	for (uint32_t lane = 0; lane < 4; lane++) {
		for (uint32_t i = 0; i < KEYS_MAX; i++)
			bins[slice(hashes[i], 32 * lane, 12)]++;
		assert_uniform(KEYS_MAX, 1 << 12, name, 32 * lane);
	}
	for (uint32_t first = 0; first <= 120; first += 4) {
		for (uint32_t i = 0; i < KEYS_MAX; i++)
			bins[slice(hashes[i], first, 8)]++;
		assert_uniform(KEYS_MAX, 1 << 8, name, first);
	}
}

static void slices_are_uniform(void **state)
{
	(void)state;
	for_each_pattern(check_slices);
}

/* Compares 6 bits of one lane with 6 bits of another, for each pair. */
static void check_pairs(const char *name)
{
	for (uint32_t a = 0; a < 4; a++) {
		for (uint32_t b = a + 1; b < 4; b++) {
			for (uint32_t i = 0; i < KEYS_MAX; i++)
				bins[slice(hashes[i], 32 * a, 6) << 6 |
					slice(hashes[i], 32 * b, 6)]++;
			assert_uniform(KEYS_MAX, 1 << 12, name, 32 * a);
		}
	}
}

static void rows_are_independent(void **state)
{
	(void)state;
	for_each_pattern(check_pairs);
}

static uint32_t varying_byte;

static void one_byte_varies(uint32_t i, uint8_t *src, uint8_t *dst, size_t address_len,
	uint8_t ports[4], uint8_t *proto)
{
	uint8_t key[37] = {0};

	key[varying_byte] = (uint8_t)i;
	memcpy(src, key, address_len);
	memcpy(dst, key + address_len, address_len);
	memcpy(ports, key + 2 * address_len, 4);
	*proto = key[2 * address_len + 4];
}

/* 256 keys under 64 seeds: 16 bins in a slice of each lane, all seeds together. */
static void single_bytes_are_uniform(void **state)
{
	(void)state;
	for (int v6 = 0; v6 < 2; v6++) {
		for (varying_byte = 0; varying_byte < (v6 ? 37 : 13); varying_byte++) {
			for (uint32_t first = 0; first < 128; first += 16) {
				for (uint64_t seed = 0; seed < 64; seed++) {
					hash_pattern(one_byte_varies, v6 ? KEY_IPV6 : KEY_IPV4,
						seed, 256);
					for (uint32_t i = 0; i < 256; i++)
						bins[slice(hashes[i], first, 4)]++;
				}
				assert_uniform(64 * 256, 16, "one byte", varying_byte);
			}
		}
	}
}

/*
 * ---- Seeds and collisions
 */

/*
 * Under two seeds, even adjacent ones, the hashes of the same keys are independent: uniform in the
 * plane, and half of the bits equal (8 M coin tosses, 6 deviations: 2e-9).
 */
static void seeds_are_unrelated(void **state)
{
	static struct key_hash other[KEYS_MAX];
	const uint64_t seeds[][2] = {{0, 1}, {1, 2}, {7, UINT64_C(7) | UINT64_C(1) << 63}};

	(void)state;
	for (int s = 0; s < 3; s++) {
		for (int v6 = 0; v6 < 2; v6++) {
			enum key_family family = v6 ? KEY_IPV6 : KEY_IPV4;
			uint64_t equal = 0;

			hash_pattern(sequential_src, family, seeds[s][0], KEYS_MAX);
			memcpy(other, hashes, sizeof(other));
			hash_pattern(sequential_src, family, seeds[s][1], KEYS_MAX);
			for (uint32_t i = 0; i < KEYS_MAX; i++) {
				bins[slice(hashes[i], 0, 6) << 6 | slice(other[i], 0, 6)]++;
				equal += (uint64_t)__builtin_popcountll(
					~(hashes[i].lo ^ other[i].lo));
				equal += (uint64_t)__builtin_popcountll(
					~(hashes[i].hi ^ other[i].hi));
			}
			assert_uniform(KEYS_MAX, 1 << 12, "two seeds", 0);
			assert_true(fabs((double)equal - KEYS_MAX * 64.0) <=
				    6 * sqrt(KEYS_MAX * 128.0) / 2);
		}
	}
}

static int compare_hashes(const void *a, const void *b)
{
	const struct key_hash *x = a, *y = b;

	if (x->hi != y->hi)
		return x->hi < y->hi ? -1 : 1;
	return (x->lo > y->lo) - (x->lo < y->lo);
}

#define MANY (1 << 20)

/* IPv4: a permutation cannot collide. IPv6: 2^40 / 2 pairs, each with about 2^-128. */
static void hashes_are_distinct(void **state)
{
	struct key_hash *all = malloc(MANY * sizeof(*all));
	static struct key_burst burst;
	struct hash_key hash_key;

	(void)state;
	assert_non_null(all);
	hash_key_init(&hash_key, 42);
	for (int v6 = 0; v6 < 2; v6++) {
		for (uint32_t at = 0; at < MANY; at += BURST_MAX) {
			memset(&burst, 0, sizeof(burst));
			burst.n = BURST_MAX;
			burst.v6 = v6 ? UINT64_MAX : 0;
			for (uint32_t i = 0; i < BURST_MAX; i++)
				put_be32(v6 ? burst.key6[i].dst_ip + 12 : burst.key4[i].dst_ip,
					at + i);
			hash_burst(&hash_key, &burst);
			memcpy(&all[at], burst.hash, sizeof(burst.hash));
		}
		qsort(all, MANY, sizeof(*all), compare_hashes);
		for (uint32_t i = 1; i < MANY; i++)
			assert_int_not_equal(compare_hashes(&all[i - 1], &all[i]), 0);
	}
	free(all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ipv4_is_four_aes_rounds),
		cmocka_unit_test(golden_values),
		cmocka_unit_test_setup(ipv4_hashes_are_inverted, seed_random),
		cmocka_unit_test_setup(paths_agree, seed_random),
		cmocka_unit_test(ipv4_bursts_do_not_touch_key6),
		cmocka_unit_test_setup(avalanche, seed_random),
		cmocka_unit_test(slices_are_uniform),
		cmocka_unit_test(rows_are_independent),
		cmocka_unit_test(single_bytes_are_uniform),
		cmocka_unit_test(seeds_are_unrelated),
		cmocka_unit_test(hashes_are_distinct),
	};

	return cmocka_run_group_tests_name("hash", tests, NULL, NULL);
}
