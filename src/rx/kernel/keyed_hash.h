/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Hash of the tables of the eBPF program, which has neither AES nor 128-bit products. Used by the
 * program and this process. A sum of products of 32-bit words with secret keys (multilinear
 * hashing: Lemire and Kaser, "Strongly universal string hashing is fast", 2014): the high halves of
 * any two keys are equal with probability 2^-32. The final rounds mix them into the low bits.
 */

#include <linux/types.h>

#define KERNEL_HASH_WORDS 10
#define KERNEL_HASH_KEYS  (KERNEL_HASH_WORDS + 1)

/* Permutes x by xor and multiplication, as the output function of SplitMix64. */
static inline __attribute__((always_inline)) __u64 kernel_hash_mix(__u64 x)
{
	x = (x ^ x >> 32) * 0xd6e8feb86659fd93ull;
	x = (x ^ x >> 32) * 0xd6e8feb86659fd93ull;
	return x ^ x >> 32;
}

/* Hashes nb_words 64-bit words: a constant, at most half of KERNEL_HASH_WORDS. */
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
