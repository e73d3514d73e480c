/* SPDX-License-Identifier: BSD-3-Clause */

/* Each function chooses three of the four words of a key, and inverts the hash for the fourth. */

#include "bench/crafted.h"

#include <endian.h>
#include <string.h>

#include "base/assertion.h"
#include "base/random.h"

#define SOURCE      0
#define DESTINATION 1
#define PORTS       2
#define PROTOCOL    3
#define WORDS       4

#define TCP   6
#define VALUE 0x5eed5eed

const enum table_hash crafted_hashes[CRAFTED_HASHES] = {
	TABLE_HASH_CORALREEF, TABLE_HASH_JENKINS, TABLE_HASH_MURMUR3, TABLE_HASH_CRC32};

static uint32_t rotate(uint32_t x, uint32_t bits)
{
	return x << bits | x >> (32 - bits);
}

/* Newton's method: each step doubles the number of correct bits of the inverse modulo 2^32. */
static uint32_t inverse(uint32_t odd)
{
	uint32_t x = odd;

	for (int step = 0; step < 5; step++)
		x *= 2 - odd * x;
	VERIFY(x * odd, ==, 1u);
	return x;
}

/* CoralReef reads addresses and ports as numbers in host byte order. */
static void craft_coralreef(uint32_t word[WORDS])
{
	word[DESTINATION] = __builtin_bswap32(VALUE ^ __builtin_bswap32(word[SOURCE]) * 59 ^
					      __builtin_bswap32(word[PORTS]) ^ word[PROTOCOL]);
}

/* CRC32 XORs a word into the state. All later steps are bijective. */
static void craft_crc32(uint32_t word[WORDS])
{
	uint32_t before[2] = {htole32(word[SOURCE]), htole32(word[DESTINATION])};

	word[PORTS] = hash_crc32(before, sizeof(before), 0) ^ VALUE;
}

#define MURMUR_1 0xcc9e2d51
#define MURMUR_2 0x1b873593

static uint32_t murmur3_step(uint32_t h, uint32_t word)
{
	return rotate(h ^ rotate(word * MURMUR_1, 15) * MURMUR_2, 13) * 5 + 0xe6546b64;
}

static void craft_murmur3(uint32_t word[WORDS])
{
	uint32_t h = murmur3_step(murmur3_step(0, word[SOURCE]), word[DESTINATION]);

	word[PORTS] = rotate((h ^ VALUE) * inverse(MURMUR_2), 32 - 15) * inverse(MURMUR_1);
}

static void unfinal(uint32_t *x, uint32_t y, uint32_t bits)
{
	*x = (*x + rotate(y, bits)) ^ y;
}

static void unmix(uint32_t *x, uint32_t y, uint32_t *z, uint32_t bits)
{
	*z -= y;
	*x = (*x ^ rotate(*z, bits)) + *z;
}

/* The state has three words. Only the last one is the hash, so the others can have any value. */
static void craft_jenkins(uint32_t word[WORDS])
{
	const uint32_t start = 0xdeadbeef + (uint32_t)sizeof(struct key4);
	uint32_t a = word[SOURCE], b = word[DESTINATION], c = VALUE;

	unfinal(&c, b, 24);
	unfinal(&b, a, 14);
	unfinal(&a, c, 4);
	unfinal(&c, b, 16);
	unfinal(&b, a, 25);
	unfinal(&a, c, 11);
	unfinal(&c, b, 14);
	a -= word[PROTOCOL];
	unmix(&c, a, &b, 4);
	unmix(&b, c, &a, 19);
	unmix(&a, b, &c, 16);
	unmix(&c, a, &b, 8);
	unmix(&b, c, &a, 6);
	unmix(&a, b, &c, 4);
	word[SOURCE] = a - start;
	word[DESTINATION] = b - start;
	word[PORTS] = c - start;
}

struct key4 crafted_key(enum table_hash hash, uint32_t n)
{
	uint64_t random[2] = {random_mix(2 * (uint64_t)n + 1), random_mix(2 * (uint64_t)n + 2)};
	uint32_t word[WORDS] = {
		(uint32_t)random[0], (uint32_t)(random[0] >> 32), (uint32_t)random[1], TCP};
	struct key4 key;

	switch (hash) {
	case TABLE_HASH_CORALREEF: craft_coralreef(word); break;
	case TABLE_HASH_JENKINS: craft_jenkins(word); break;
	case TABLE_HASH_MURMUR3: craft_murmur3(word); break;
	case TABLE_HASH_CRC32: craft_crc32(word); break;
	default: break;
	}
	for (uint32_t w = 0; w < WORDS; w++)
		word[w] = htole32(word[w]);
	memcpy(&key, word, sizeof(key));
	return key;
}
