/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Computes one keyed 128-bit hash per packet. All sketches and tables take their indices from bits
 * of this hash.
 *
 * IPv4: HASH_ROUNDS AES rounds with secret round keys, applied to the 16 bytes of the key. This is
 * a permutation: two IPv4 keys never have the same hash, and a hash can be inverted.
 *
 * IPv6: the same rounds with other round keys, applied to the three blocks of the key as in
 * CBC-MAC. Two IPv6 keys have the same hash with a probability of about 2^-128.
 *
 * All versions, portable and with AES instructions, give the same values.
 *
 * The round keys come from the seed of the run, so that senders cannot choose keys that collide.
 * The hash is not a cryptographic PRF: it resists only senders who never see one of its outputs.
 */

#include <stdint.h>

#include "key/key.h"
#include "key/key_burst.h"

struct hash_key {
	/* Round keys: row 0 is XORed before the first round, row r at the end of round r. */
	uint8_t round4[HASH_ROUNDS + 1][16] __attribute__((aligned(16)));
	uint8_t round6[HASH_ROUNDS + 1][16] __attribute__((aligned(16)));
	uint64_t seed;
};

/* Expands a seed into round keys. The same seed gives the same hashes on every machine. */
void hash_key_init(struct hash_key *hash_key, uint64_t seed);

/* Fills burst->hash[0..n) from the keys of the burst. Uses AES-NI or VAES if the CPU has it. */
void hash_burst(const struct hash_key *hash_key, struct key_burst *burst);

/* Portable version of hash_burst(), for tests and for CPUs without AES. */
void hash_burst_portable(const struct hash_key *hash_key, struct key_burst *burst);

/*
 * Returns the versions of hash_burst() that this CPU supports, for tests. The first is the default;
 * NULL ends the list.
 */
typedef void (*hash_burst_fn)(const struct hash_key *hash_key, struct key_burst *burst);
const hash_burst_fn *hash_burst_paths(void);

struct key_hash hash_one(const struct hash_key *hash_key, const struct key *key);

/* Returns the IPv4 key of a hash: the inverse of hash_one(). */
struct key4 hash_invert4(const struct hash_key *hash_key, const struct key_hash *hash);
