/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Keyed permutation of the 40 bytes of an IPv6 key; it starts with the key's hash.
 *
 * With s, d, p the key's source, destination and the 8 bytes after them, P the HASH_ROUNDS AES
 * rounds under round6, .lo and .hi the halves of a block and | their concatenation:
 *
 *     h = hash(s | d | p)              P(P(P(s ^ k) ^ d) ^ p), from hash_burst()
 *     t = P(h)
 *     y = P((d.hi | p) ^ t)
 *     x = P((d.lo | y.lo) ^ t)
 *     mangled = h | x | y.hi
 *
 * The steps are inverted in reverse order: y.lo and d.lo from x, d.hi and p from y, and then s from
 * h. The last but one yields p, from a block that depends on every mangled bit. If any bit of the
 * mangled key is wrong, the three bytes of p that are 0 in a 5-tuple are 0 with a probability of
 * only 2^-24. The same is true for all other bytes except those of d.lo, which are correct if only
 * the last word is wrong.
 */

#include <stdint.h>

#include "key/hash.h"
#include "key/key.h"
#include "key/key_burst.h"

/* bytes of d.lo in a key: [16, 24) */
#define MANGLE6_BLIND     16
#define MANGLE6_BLIND_END 24

_Static_assert(MANGLE6_BLIND == offsetof(struct key6, dst_ip), "d.lo is the start of dst_ip");

struct mangled6 {
	uint64_t word[5]; /* the first two are the hash: lo and hi */
};

/* Fills mangled[] with the IPv6 keys of a hashed burst, in order. */
void mangle6_burst(
	const struct hash_key *hash_key, const struct key_burst *burst, struct mangled6 *mangled);

/* The portable path of mangle6_burst(), for tests and for CPUs without AES. */
void mangle6_burst_portable(
	const struct hash_key *hash_key, const struct key_burst *burst, struct mangled6 *mangled);

/* Returns the original key. */
struct key6 mangle6_invert(const struct hash_key *hash_key, const struct mangled6 *mangled);
