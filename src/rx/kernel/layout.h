/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Memory that the eBPF program (monitor.bpf.c) shares with this process. Each CPU has a ring of
 * slots. The program on that CPU fills it with soft interrupts off, and one worker reads it.
 *
 * If the program finds the key of a packet, the packet takes one slot. Otherwise it takes
 * KERNEL_HEADERS_SLOTS more, for its first bytes. Extra slots after the end of the ring keep these
 * slots contiguous. The next packet continues at its position modulo `slots`.
 */

#include <linux/types.h>

#include "sketch/kernel_addition.h"
#include "sketch/sketch_names.h"

#define KERNEL_CACHE_LINE 64

/*
 * Multilinear hashing (Lemire and Kaser, "Strongly universal string hashing is fast", 2014),
 * because eBPF has neither AES nor 128-bit products. Two different keys get sums with equal high
 * halves with probability 2^-32.
 */
#define KERNEL_HASH_WORDS 10
#define KERNEL_HASH_KEYS  (KERNEL_HASH_WORDS + 1)

/* The bit mixer of SplitMix64 */
static inline __attribute__((always_inline)) __u64 kernel_hash_mix(__u64 x)
{
	x = (x ^ x >> 32) * 0xd6e8feb86659fd93ull;
	x = (x ^ x >> 32) * 0xd6e8feb86659fd93ull;
	return x ^ x >> 32;
}

/* nb_words must be a constant, at most KERNEL_HASH_WORDS / 2. */
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

#define KERNEL_HEADERS_MAX   256
#define KERNEL_HEADERS_SLOTS (KERNEL_HEADERS_MAX / 64)

#define KERNEL_KEY4_BYTES 13
#define KERNEL_KEY6_BYTES 37

enum kernel_entry_kind {
	KERNEL_ENTRY_IPV4 = 4,
	KERNEL_ENTRY_IPV6 = 6,
	KERNEL_ENTRY_HEADERS = 1, /* the next slots hold the first bytes of the packet */
};

/* Senders control the number of segments, so it may be wrong. */
#define KERNEL_SEGMENTS_MAX 65535

/* A received packet. If the kernel joined segments (GRO, TSO), each segment counts as a packet. */
struct kernel_entry {
	__u64 time;   /* monotonic ns; 0 if not needed */
	__u32 length; /* sum over all segments, with the Ethernet header */
	__u32 interface;
	__u16 segments; /* 1 to KERNEL_SEGMENTS_MAX */
	__u16 segment;  /* payload bytes of each segment but the last; 0: not joined */
	/* KERNEL_ENTRY_HEADERS: copied bytes. Other kinds: header bytes of each joined segment. */
	__u16 headers;
	__u16 vlan; /* outermost VLAN ID, or 0; unset for KERNEL_ENTRY_HEADERS */
	__u8 key[KERNEL_KEY6_BYTES];
	__u8 kind;
	__u8 tcp_flags, tos;
};

_Static_assert(sizeof(struct kernel_entry) == KERNEL_CACHE_LINE, "a slot is a cache line");

struct kernel_ring {
	/* Written by the eBPF program */
	__u64 head;      /* slots produced since the start; stored with release */
	__u64 tail_seen; /* copy of `tail`; `tail` is read only if the ring seems full */
	__u64 received;
	__u64 ring_full;
	__u64 filtered[2]; /* packets that match no rule of --prefixes, for each generation */
	/* Generation of tables and rules that the program uses, 0 or 1. The worker writes it. */
	__u64 generation;
	__u64 of_program;
	/* Written by the worker */
	__u64 tail; /* slots consumed since the start; stored with release */
	__u64 of_consumer[7];
};

_Static_assert(sizeof(struct kernel_ring) == 2 * KERNEL_CACHE_LINE, "one cache line per side");

#define KERNEL_RING_BYTES(slots)                                                                   \
	(sizeof(struct kernel_ring) +                                                              \
		((unsigned long)(slots) + KERNEL_HEADERS_SLOTS) * sizeof(struct kernel_entry))

/*
 * These members are written before the program is loaded, so the verifier treats them as constants.
 */
#define KERNEL_CONSTANTS_SECTION ".rodata.constants"

struct kernel_constants {
	__u32 slots;        /* slots of each ring, a power of two */
	__u32 headers_only; /* not 0: copy the first bytes of all packets */
	__u32 on_path;
	__u32 buckets; /* buckets of each flow table, a power of two */
	__u32 sketch;
	__u32 shape[KERNEL_SHAPE_MAX];
	__u32 cpus;
	__u32 monitor;
	__u32 tcp_flags; /* not 0: keys of flows have the TCP flags after the 5-tuple */
	/* Secret keys for the low and the high 64 bits of a hash */
	__u64 hash_keys[2 * KERNEL_HASH_KEYS];
};

/* Table in which the program counts packets. If a packet does not fit, it enters the ring. */
enum kernel_on_path {
	KERNEL_ON_PATH_NOTHING,
	KERNEL_ON_PATH_FLOWS,  /* one flow table for each generation and CPU */
	KERNEL_ON_PATH_SHARED, /* one flow table of all CPUs */
	KERNEL_ON_PATH_SKETCH, /* one sketch for each generation and CPU */
};

enum kernel_sketch_index {
#define SKETCH(name) KERNEL_SKETCH_##name,
	SKETCHES
#undef SKETCH
};

/* Section of struct kernel_control, which the process writes while the program runs */
#define KERNEL_CONTROL_SECTION ".data.control"

struct kernel_control {
	__u32 measuring;
	__u32 times;
};

/*
 * Each generation and CPU has a flow table with 2 * `buckets` flows in one kernel map. The first
 * half are the heads of the hash buckets. The second half holds the further flows of the chains. If
 * a flow does not fit, its packets enter the ring.
 */
#define KERNEL_CHAIN_MAX 16

struct kernel_flow {
	__u64 first, last; /* times of its packets, monotonic ns; 0 if not needed */
	__u64 bytes;
	__u32 packets; /* 0: unused */
	__u32 next;    /* index of the next flow of the chain; 0: none */
	__u32 tcp_flags;
	__u8 kind;
	__u8 spare[3];
	__u64 key[5]; /* padded with 0; an IPv4 key has two words */
};

/* With many flows, a larger table costs more than flows that cross a cache line. */
_Static_assert(sizeof(struct kernel_flow) == 80, "no padding for alignment");

struct kernel_shared_key {
	__u64 key[5];
	__u64 kind;
};

/* Several CPUs may pass this limit at once, so it is far below the maximum of the counter. */
#define KERNEL_SHARED_MAX 0x7fffffff

struct kernel_tally {
	__u32 used;     /* flows in the second half of the table */
	__u32 largest;  /* bytes */
	__u32 smallest; /* bytes; 0: no packets */
	__u32 spare;
	__u64 packets[2], bytes; /* IPv4 and IPv6 packets in a sketch, and their bytes */
	__u64 room[3];
};

_Static_assert(sizeof(struct kernel_tally) == KERNEL_CACHE_LINE, "one cache line per CPU");

/* Addresses that are compared with the rules of --prefixes */
enum kernel_monitor {
	KERNEL_PREFIX_DST = 1,
	KERNEL_PREFIX_SRC = 2,
};

/*
 * Tree of the IPv4 addresses that match a rule of --prefixes. The levels use 16, 8 and 8 bits of
 * the address. The last level has one bit for each address.
 */
#define KERNEL_PREFIX_ENTRIES 8
#define KERNEL_PREFIX_FIRSTS  65536
#define KERNEL_PREFIX_NONE    0
#define KERNEL_PREFIX_ALL     1
#define KERNEL_PREFIX_FLAGS   (BPF_F_MMAPABLE | BPF_F_INNER_MAP)

struct kernel_prefixes {
	__u32 entries[KERNEL_PREFIX_ENTRIES];
};

struct kernel_prefix6 {
	__u32 length;
	__u8 bits[16];
};

enum kernel_times {
	KERNEL_TIMES_NONE,
	KERNEL_TIMES_EXACT,
	KERNEL_TIMES_COARSE, /* time of the last kernel tick */
};
