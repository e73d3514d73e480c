/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Keyed permutation of the 40 bytes of an IPv6 key. Its result begins with the hash of the key.
 *
 * Symbols: s is the source address, d the destination address, p the last 8 bytes of the key.
 * P is HASH_ROUNDS AES rounds with the round keys round6, and k is round6[0]. b.lo and b.hi are
 * the halves of a 16-byte block b, and | concatenates.
 *
 *     h = P(P(P(s ^ k) ^ d) ^ p)       the hash, from hash_burst()
 *     t = P(h)
 *     y = P((d.hi | p) ^ t)
 *     x = P((d.lo | y.lo) ^ t)
 *     mangled key = h | x | y.hi
 *
 * The inverse computes y.lo and d.lo from x, then d.hi and p from y, and then s from h.
 *
 * It detects errors. p comes from a block that depends on every bit of the mangled key. If any
 * bit is wrong, the three bytes of p that are 0 in a 5-tuple are 0 with a probability of only
 * 2^-24. All other bytes become random too, with one exception: if only the last word is wrong,
 * d.lo remains correct.
 */

#include <stdint.h>

#include "key/hash.h"
#include "key/key.h"
#include "key/key_burst.h"

/* Bytes of d.lo in a key. */
#define MANGLE6_BLIND     16
#define MANGLE6_BLIND_END 24

_Static_assert(MANGLE6_BLIND == offsetof(struct key6, dst_ip), "d.lo is the start of dst_ip");

struct mangled6 {
	uint64_t word[5]; /* the first two are the hash: lo and hi */
};

/* Writes the mangled IPv6 keys of a hashed burst, in order and without gaps. */
void mangle6_burst(
	const struct hash_key *hash_key, const struct key_burst *burst, struct mangled6 *mangled);

void mangle6_burst_portable(
	const struct hash_key *hash_key, const struct key_burst *burst, struct mangled6 *mangled);

struct key6 mangle6_invert(const struct hash_key *hash_key, const struct mangled6 *mangled);
