/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * One keyed 128-bit hash per packet, from which every structure takes its indices.
 *
 * IPv4: HASH_ROUNDS AES rounds under secret round keys, a permutation of the 16-byte key: two IPv4
 * keys never share a hash, and the hash can be inverted. IPv6: the same rounds over the key's three
 * blocks, chained, under separate round keys; two IPv6 keys share a hash with probability about
 * 2^-128. All paths, in hardware or portable, give the same values.
 *
 * Senders cannot aim for collisions, because the round keys come from the seed of the run. This is
 * not a cryptographic PRF: it must withstand a sender who sees no output of it, not one who does.
 */

#include <stdint.h>

#include "key/key.h"
#include "key/key_burst.h"

struct hash_key {
	/* Row 0 is added before the first round, row r after round r. */
	uint8_t round4[HASH_ROUNDS + 1][16] __attribute__((aligned(16)));
	uint8_t round6[HASH_ROUNDS + 1][16] __attribute__((aligned(16)));
	uint64_t seed;
};

/* Expands a seed into round keys. The same seed gives the same hash on every machine. */
void hash_key_init(struct hash_key *hash_key, uint64_t seed);

/* Fills burst->hash[0..n) from its keys. Uses AES-NI or VAES where the CPU has it. */
void hash_burst(const struct hash_key *hash_key, struct key_burst *burst);

/* The portable path of hash_burst(), for tests and for CPUs without AES. */
void hash_burst_portable(const struct hash_key *hash_key, struct key_burst *burst);

/* Returns all paths that this CPU supports, for tests: the default first, NULL at the end. */
typedef void (*hash_burst_fn)(const struct hash_key *hash_key, struct key_burst *burst);
const hash_burst_fn *hash_burst_paths(void);

struct key_hash hash_one(const struct hash_key *hash_key, const struct key *key);

/* Returns the IPv4 key of a hash: the inverse of hash_one(). */
struct key4 hash_invert4(const struct hash_key *hash_key, const struct key_hash *hash);
