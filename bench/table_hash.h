/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Only aes has a secret key. An attacker can send many keys to one bucket of the other hashes. */

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

enum table_hash { TABLE_HASHES(TABLE_HASH_ID) TABLE_HASH_COUNT };

/* Fills hash[0..n). For aes and rss, the burst already has the hashes. */
typedef void (*table_hash_fn)(const struct key_burst *burst, uint32_t *hash);

extern const table_hash_fn table_hashes[TABLE_HASH_COUNT];
extern const char *const table_hash_names[TABLE_HASH_COUNT];

/* The published functions, for any bytes. */
uint32_t hash_jenkins(const void *data, size_t len, uint32_t seed); /* hashlittle() of lookup3 */
uint32_t hash_murmur3(const void *data, size_t len, uint32_t seed);
uint32_t hash_crc32(const void *data, size_t len, uint32_t seed); /* CRC-32C (Castagnoli) */
uint32_t hash_fnv1a(const void *data, size_t len);
uint32_t hash_hsieh(const void *data, size_t len, uint32_t seed); /* SuperFastHash */
