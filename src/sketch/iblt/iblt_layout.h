/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Uses only kernel types, because an eBPF program includes it. */

#include <linux/types.h>

#define IBLT_FILTER_WORDS 8
#define IBLT_KERNEL_ROWS  3 /* rows of an iblt that an eBPF program fills */
#define IBLT_LANES4       4
#define IBLT_LANES6       10
#define IBLT_SHIFT4       6 /* a cell is a cache line */
#define IBLT_SHIFT6       7 /* a cell is two cache lines; most packets write only to the first */
#define IBLT_LESS6        1 /* IPv6 has 2^IBLT_LESS6 times fewer cells than IPv4 */

struct iblt_sums {
	__u64 packets, bytes;
	__u64 flows;   /* insertions */
	__u64 check;   /* sum of iblt_check_of() over insertions */
	__u64 lanes[]; /* sums of the 32-bit words of the keys */
};

#define IBLT_INLINE static inline __attribute__((always_inline))

IBLT_INLINE __u32 iblt_lane_of(__u64 lo, __u64 hi, __u32 row)
{
	return (__u32)((row < 2 ? lo : hi) >> (row % 2 * 32));
}

/*
 * The sum of check values shows whether a cell has a single key. They use all bits of the hash,
 * because keys of one cell have some bits in common.
 */
IBLT_INLINE __u64 iblt_check_of(__u64 lo, __u64 hi)
{
	__u64 mixed = (lo ^ (hi << 23 | hi >> 41)) * 0x9e3779b97f4a7c15ull;

	return mixed ^ mixed >> 32;
}

IBLT_INLINE __u64 iblt_block_of(__u64 lo, __u64 hi, __u32 bits)
{
	__u64 mixed = (hi ^ (lo << 31 | lo >> 33)) * 0xd6e8feb86659fd93ull;

	return mixed >> (64 - bits);
}

/* Rows of up to 2^20 cells do not use these bits of the hash. */
IBLT_INLINE __u32 iblt_filter_bit_of(__u64 lo, __u64 hi, __u32 word)
{
	__u32 shift = 20 + word % 2 * 6 + word / 2 % 2 * 32;

	return (word < IBLT_FILTER_WORDS / 2 ? lo : hi) >> shift & 63;
}
