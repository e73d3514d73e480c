/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Keyed 128-bit hash of a packet's key, with the same result on every CPU. Not a cryptographic
 * PRF: senders who see hashes could find keys that collide.
 *
 * IPv4: HASH_ROUNDS AES rounds with secret round keys. This is a permutation, which can be
 * inverted.
 *
 * IPv6: the same rounds over the three blocks of the key as in CBC-MAC. Two keys collide with a
 * probability of about 2^-128.
 */

#include <stdint.h>

#include "key/key.h"
#include "key/key_burst.h"

struct hash_key {
	/* Row 0 is XORed before the first round, row r at the end of round r. */
	uint8_t round4[HASH_ROUNDS + 1][16] __attribute__((aligned(16)));
	uint8_t round6[HASH_ROUNDS + 1][16] __attribute__((aligned(16)));
	uint64_t seed;
};

void hash_key_init(struct hash_key *hash_key, uint64_t seed);

/* Fills burst->hash[0..n). Uses AES-NI or VAES if the CPU has it. */
void hash_burst(const struct hash_key *hash_key, struct key_burst *burst);

void hash_burst_portable(const struct hash_key *hash_key, struct key_burst *burst);

/* Returns the versions that this CPU supports, with the default first and NULL last. */
typedef void (*hash_burst_fn)(const struct hash_key *hash_key, struct key_burst *burst);
const hash_burst_fn *hash_burst_paths(void);

struct key_hash hash_one(const struct hash_key *hash_key, const struct key *key);

/* Inverts hash_one() for IPv4. */
struct key4 hash_invert4(const struct hash_key *hash_key, const struct key_hash *hash);
