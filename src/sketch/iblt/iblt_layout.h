/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * The cells and the filter of an iblt (sketch/iblt/iblt.h), and which of them a key's hash of 128
 * bits leads to. With the kernel's types alone: a program there fills such cells, too.
 */

#include <linux/types.h>

#define IBLT_FILTER_WORDS 8
#define IBLT_LANES4       4
#define IBLT_LANES6       10
#define IBLT_SHIFT4       6 /* a cell is a cache line */
#define IBLT_SHIFT6       7 /* a cell is two; what every packet adds to is in the first */
#define IBLT_LESS6        1 /* IPv6 has half as many cells */

/* A cell. */
struct iblt_sums {
	__u64 packets, bytes;
	__u64 flows;   /* insertions */
	__u64 check;   /* of iblt_check_of() of the keys */
	__u64 lanes[]; /* of the keys' words of 32 bits */
};

#define IBLT_INLINE static inline __attribute__((always_inline))

/* Of up to 32 bits, by which a key's cell in a row of up to four is chosen. */
IBLT_INLINE __u32 iblt_lane_of(__u64 lo, __u64 hi, __u32 row)
{
	return (__u32)((row < 2 ? lo : hi) >> (row % 2 * 32));
}

/*
 * Tells a key from what a sum of several keys looks like. It is no linear function of the key, and
 * takes in all bits of the hash, so that bits which keys of a cell have in common do not weaken it.
 */
IBLT_INLINE __u64 iblt_check_of(__u64 lo, __u64 hi)
{
	__u64 mixed = (lo ^ (hi << 23 | hi >> 41)) * 0x9e3779b97f4a7c15ull;

	return mixed ^ mixed >> 32;
}

/* Number of the key's block of a filter of 2^bits. */
IBLT_INLINE __u64 iblt_block_of(__u64 lo, __u64 hi, __u32 bits)
{
	__u64 mixed = (hi ^ (lo << 31 | lo >> 33)) * 0xd6e8feb86659fd93ull;

	return mixed >> (64 - bits);
}

/* Number of the key's bit in a word: bits of the hash that rows of up to 2^20 cells leave over. */
IBLT_INLINE __u32 iblt_filter_bit_of(__u64 lo, __u64 hi, __u32 word)
{
	__u32 shift = 20 + word % 2 * 6 + word / 2 % 2 * 32;

	return (word < IBLT_FILTER_WORDS / 2 ? lo : hi) >> shift & 63;
}
