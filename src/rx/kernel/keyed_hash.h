/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * The hash of the program's tables, where there are neither AES nor products of 128 bits: a sum of
 * products of 32-bit words with secret keys (multilinear hashing: Lemire and Kaser, "Strongly
 * universal string hashing is fast", 2014), whose high half two keys share with probability 2^-32
 * whoever chose them; then rounds that make its low bits as good. Both sides have it.
 */

#include <linux/types.h>

#define KERNEL_HASH_WORDS 10
#define KERNEL_HASH_KEYS  (KERNEL_HASH_WORDS + 1)

/* xor and multiply, as SplitMix64's output function does: a permutation. */
static inline __attribute__((always_inline)) __u64 kernel_hash_mix(__u64 x)
{
	x = (x ^ x >> 32) * 0xd6e8feb86659fd93ull;
	x = (x ^ x >> 32) * 0xd6e8feb86659fd93ull;
	return x ^ x >> 32;
}

/* Hashes nb_words 64-bit words: a constant of at most half of KERNEL_HASH_WORDS. */
static inline __attribute__((always_inline)) __u64 kernel_hash(
	const volatile __u64 *keys, const __u64 *words, const __u32 nb_words)
{
	__u64 sum = keys[0];

	for (__u32 i = 0; i < nb_words; i++) {
		sum += keys[2 * i + 1] * (__u32)words[i];
		sum += keys[2 * i + 2] * (words[i] >> 32);
	}
	return kernel_hash_mix(sum);
}
