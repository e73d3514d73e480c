/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * The hash functions with which a flow table's buckets are chosen, to compare with the run's, aes.
 * All but that are published and without a key: whoever knows them can aim many keys at one bucket
 * (docs/FLOWTABLE.md). They hash a whole struct key4 or key6, from the seed 0; hsieh, as its author
 * has it, from the length. rss is what a card computes; the burst's hashes are that.
 */

#include <stddef.h>
#include <stdint.h>

#include "key/key_burst.h"

#define TABLE_HASHES(X)                                                                            \
	X(AES, aes)                                                                                \
	X(RSS, rss)                                                                                \
	X(CORALREEF, coralreef)                                                                    \
	X(JENKINS, jenkins)                                                                        \
	X(MURMUR3, murmur3)                                                                        \
	X(CRC32, crc32)                                                                            \
	X(FNV1A, fnv1a)                                                                            \
	X(HSIEH, hsieh)                                                                            \
	X(XXH3, xxh3)

#define TABLE_HASH_ID(id, name) TABLE_HASH_##id,

/* In the order of the words after --table-hash. */
enum table_hash { TABLE_HASHES(TABLE_HASH_ID) TABLE_HASH_COUNT };

/* Fills hash[0..n) of a burst, whose own hashes are filled for aes and rss. */
typedef void (*table_hash_fn)(const struct key_burst *burst, uint32_t *hash);

extern const table_hash_fn table_hashes[TABLE_HASH_COUNT];
extern const char *const table_hash_names[TABLE_HASH_COUNT];

/* The published functions, over any bytes. */
uint32_t hash_jenkins(const void *data, size_t len, uint32_t seed); /* lookup3's hashlittle() */
uint32_t hash_murmur3(const void *data, size_t len, uint32_t seed); /* x86_32 */
uint32_t hash_crc32(const void *data, size_t len, uint32_t seed);   /* Castagnoli's, CRC-32C */
uint32_t hash_fnv1a(const void *data, size_t len);                  /* 32 bits */
uint32_t hash_hsieh(const void *data, size_t len, uint32_t seed);   /* SuperFastHash */
