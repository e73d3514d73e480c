/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * A keyed permutation of the 40 bytes of an IPv6 key, which begins with the key's hash.
 *
 * With s, d, p the key's source, destination and the 8 bytes behind them, P the HASH_ROUNDS AES
 * rounds under round6, .lo and .hi the halves of a block and | their concatenation:
 *
 *     h = hash(s | d | p)              P(P(P(s ^ k) ^ d) ^ p), from hash_burst()
 *     t = P(h)
 *     y = P((d.hi | p) ^ t)
 *     x = P((d.lo | y.lo) ^ t)
 *     mangled = h | x | y.hi
 *
 * Each step can be taken back when the ones after it were: y.lo and d.lo from x, d.hi and p from y,
 * and then s from h. On that way p comes last but one, out of a block on which every mangled bit
 * has had its effect: if any bit of the mangled key is wrong, the three bytes of p that are 0 in a
 * 5-tuple are 0 with probability 2^-24 only. The same holds of all other bytes but d.lo's, which
 * comes back right where only the last word is wrong.
 */

#include <stdint.h>

#include "key/hash.h"
#include "key/key.h"
#include "key/key_burst.h"

/* position of d.lo in a key */
#define MANGLE6_BLIND     16
#define MANGLE6_BLIND_END 24

_Static_assert(MANGLE6_BLIND == offsetof(struct key6, dst_ip), "d begins there");

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
