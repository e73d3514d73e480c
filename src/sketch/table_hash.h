/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * The hash functions with which a flow table chooses buckets. All but aes are published and without
 * a key: whoever knows them can aim many keys at one bucket (docs/FLOWTABLE.md). They hash a whole
 * struct key4 or key6, from the seed 0; hsieh, as
 * its author has it, from the length.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/key_burst.h"

enum table_hash {
	TABLE_HASH_AES, /* the burst's keyed hash */
	TABLE_HASH_RSS, /* what the card or the feeder computed */
	TABLE_HASH_CORALREEF,
	TABLE_HASH_JENKINS,
	TABLE_HASH_MURMUR3,
	TABLE_HASH_CRC32,
	TABLE_HASH_FNV1A,
	TABLE_HASH_HSIEH,
	TABLE_HASH_XXH3,
	TABLE_HASH_COUNT,
};

/* Fills hash[0..n) of a burst whose own hashes are filled, and for rss its details. */
typedef void (*table_hash_fn)(const struct key_burst *burst, uint32_t *hash);

extern const table_hash_fn table_hashes[TABLE_HASH_COUNT];

/* The words after --table-hash. */
extern const char *const table_hash_names[TABLE_HASH_COUNT];

/* The published functions, over any bytes. */
uint32_t hash_jenkins(const void *data, size_t len, uint32_t seed); /* lookup3's hashlittle() */
uint32_t hash_murmur3(const void *data, size_t len, uint32_t seed); /* x86_32 */
uint32_t hash_crc32(const void *data, size_t len, uint32_t seed);   /* Castagnoli's, CRC-32C */
uint32_t hash_fnv1a(const void *data, size_t len);                  /* 32 bits */
uint32_t hash_hsieh(const void *data, size_t len, uint32_t seed);   /* SuperFastHash */

/* ceil(2^64 / n), for table_hash_modulo(); 0 for n = 1. */
static inline uint64_t table_hash_modulus_inverse(uint32_t n)
{
	return UINT64_MAX / n + 1;
}

/*
 * hash % n without a division: Lemire, Kaser, Kurz, "Faster remainder by direct computation"
 * (2019), section 3; exact for every hash and n of 32 bits.
 */
static inline uint32_t table_hash_modulo(uint32_t hash, uint32_t n, uint64_t inverse)
{
	return (uint32_t)((unsigned __int128)(inverse * hash) * n >> 64);
}
