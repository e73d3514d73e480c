/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Memory that the eBPF program shares with this process, and constants of the program.
 * monitor.bpf.c includes this file, and has only the types of the kernel.
 *
 * Each CPU has a ring: an array of slots. Its producer is the program on that CPU. The program runs
 * with soft interrupts off, so it cannot interrupt itself. Its consumer is one worker.
 *
 * A packet whose key the program finds takes one slot. Any other packet takes one slot, and
 * KERNEL_HEADERS_SLOTS more for its first bytes. The slots of a packet are always contiguous,
 * because the array has extra slots after its end. The next packet then continues at its position
 * modulo `slots`.
 */

#include <linux/types.h>

#include "sketch/kernel_addition.h"
#include "sketch/sketch_names.h" /* defines SKETCHES; made by meson.build */

#define KERNEL_CACHE_LINE 64

/*
 * Hash of the keys. An eBPF program has neither AES nor 128-bit products, so this is multilinear
 * hashing (Lemire and Kaser, "Strongly universal string hashing is fast", 2014). It sums the
 * products of 32-bit words with secret 64-bit numbers. The sums of two different keys have equal
 * high halves with probability 2^-32. kernel_hash_mix() then mixes the high half into the low bits.
 */
#define KERNEL_HASH_WORDS 10
#define KERNEL_HASH_KEYS  (KERNEL_HASH_WORDS + 1)

/* Permutes the 64-bit numbers by xor and multiplication, as SplitMix64 does. */
static inline __attribute__((always_inline)) __u64 kernel_hash_mix(__u64 x)
{
	x = (x ^ x >> 32) * 0xd6e8feb86659fd93ull;
	x = (x ^ x >> 32) * 0xd6e8feb86659fd93ull;
	return x ^ x >> 32;
}

/* Hashes nb_words 64-bit words. nb_words is a constant, at most KERNEL_HASH_WORDS / 2. */
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

/* Maximum bytes that are copied from the start of a packet */
#define KERNEL_HEADERS_MAX   256
#define KERNEL_HEADERS_SLOTS (KERNEL_HEADERS_MAX / 64)

/* Bytes of the addresses, ports and protocol of a key (key/key.h) */
#define KERNEL_KEY4_BYTES 13
#define KERNEL_KEY6_BYTES 37

enum kernel_entry_kind {
	KERNEL_ENTRY_IPV4 = 4,
	KERNEL_ENTRY_IPV6 = 6,
	KERNEL_ENTRY_HEADERS = 1, /* the next slots have the first bytes of the packet */
};

/* Limit of the segments of a packet. Senders control their number, so it may be wrong. */
#define KERNEL_SEGMENTS_MAX 65535

/* A received packet. If the kernel joined segments (GRO, TSO), each segment counts as a packet. */
struct kernel_entry {
	__u64 time;      /* monotonic ns; 0 if not needed */
	__u32 length;    /* bytes with the Ethernet header, of all segments together */
	__u32 interface; /* index of the kernel interface */
	__u16 segments;  /* number of segments, 1 to KERNEL_SEGMENTS_MAX */
	__u16 segment;   /* payload bytes of each segment but the last; 0: not joined */
	/* KERNEL_ENTRY_HEADERS: copied bytes. Other kinds: header bytes of a segment, if joined. */
	__u16 headers;
	__u16 vlan; /* VLAN ID of the outermost tag, or 0; not for KERNEL_ENTRY_HEADERS */
	__u8 key[KERNEL_KEY6_BYTES];
	__u8 kind;           /* enum kernel_entry_kind */
	__u8 tcp_flags, tos; /* keys */
};

_Static_assert(sizeof(struct kernel_entry) == KERNEL_CACHE_LINE, "a slot is a cache line");

struct kernel_ring {
	/* Written by the program. */
	__u64 head;        /* slots produced since the start; stored with release */
	__u64 tail_seen;   /* last value that the program read from `tail` */
	__u64 received;    /* packets received */
	__u64 ring_full;   /* packets dropped because the ring was full */
	__u64 filtered[2]; /* packets that match no rule, for each generation */
	/*
	 * Generation of tables and rules that the program uses, 0 or 1. Written by the consumer
	 * when an epoch ends.
	 */
	__u64 generation;
	__u64 of_program;
	/* Written by the consumer. */
	__u64 tail; /* slots consumed since the start; stored with release */
	__u64 of_consumer[7];
};

_Static_assert(sizeof(struct kernel_ring) == 2 * KERNEL_CACHE_LINE, "one cache line per side");

/* Bytes of a ring with its extra slots. `slots` is a power of two. */
#define KERNEL_RING_BYTES(slots)                                                                   \
	(sizeof(struct kernel_ring) +                                                              \
		((unsigned long)(slots) + KERNEL_HEADERS_SLOTS) * sizeof(struct kernel_entry))

/*
 * Section of struct kernel_constants. It is written before the program is loaded, so that its
 * members are constants for the verifier.
 */
#define KERNEL_CONSTANTS_SECTION ".rodata.constants"

struct kernel_constants {
	__u32 slots;                   /* slots per ring, a power of two */
	__u32 headers_only;            /* not 0: copy the first bytes of all packets */
	__u32 on_path;                 /* enum kernel_on_path */
	__u32 buckets;                 /* buckets of each flow table, a power of two */
	__u32 sketch;                  /* enum kernel_sketch_index */
	__u32 shape[KERNEL_SHAPE_MAX]; /* shape of the sketch (sketch/kernel_layout.h) */
	__u32 cpus;                    /* possible CPUs */
	/* Addresses that must match a rule: bits of enum kernel_monitor; 0: no rules */
	__u32 monitor;
	/* Secret numbers for the low and the high 64 bits of a hash */
	__u64 hash_keys[2 * KERNEL_HASH_KEYS];
};

/* Where the program itself counts packets. Packets that it cannot count enter the ring. */
enum kernel_on_path {
	KERNEL_ON_PATH_NOTHING,
	KERNEL_ON_PATH_FLOWS,  /* struct kernel_flow */
	KERNEL_ON_PATH_SHARED, /* one flow table of all CPUs, a kernel map */
	KERNEL_ON_PATH_SKETCH, /* one sketch for each generation and CPU */
};

/* Index in sketches[] */
enum kernel_sketch_index {
#define SKETCH(name) KERNEL_SKETCH_##name,
	SKETCHES
#undef SKETCH
};

/* Section of struct kernel_control, which this process writes while the program runs */
#define KERNEL_CONTROL_SECTION ".data.control"

struct kernel_control {
	__u32 measuring; /* not 0: measure packets */
	__u32 times;     /* enum kernel_times */
};

/*
 * Each generation and CPU has a flow table. All tables are in one kernel map, one after the other.
 * A table has 2 * `buckets` flows. The first half are the heads of the hash buckets. The second
 * half is a pool for further flows of a bucket, which form a chain. An epoch uses the pool in
 * order. If a flow does not fit in its table, its packets enter the ring.
 */
#define KERNEL_CHAIN_MAX 16

struct kernel_flow {
	__u64 first, last; /* times of its packets, monotonic ns; 0 if not needed */
	__u64 bytes;
	__u32 packets; /* 0: no flow */
	__u32 next;    /* index of the next flow of the chain; 0: none */
	__u32 tcp_flags;
	__u8 kind; /* enum kernel_entry_kind */
	__u8 spare[3];
	__u64 key[5]; /* key of struct kernel_entry; IPv4 has two words; unused bytes are 0 */
};

/*
 * Not aligned to cache lines. With many flows, a larger table costs more than flows that cross a
 * cache line.
 */
_Static_assert(sizeof(struct kernel_flow) == 80, "no padding for alignment");

/* Key of the kernel map that all CPUs share. Its values are struct kernel_flow. */
struct kernel_shared_key {
	__u64 key[5];
	__u64 kind;
};

/*
 * The program adds packets to a flow in the shared map only up to this limit. Several CPUs may
 * exceed it at once, so it leaves room below the maximum of the counter.
 */
#define KERNEL_SHARED_MAX 0x7fffffff

/* Totals of one flow table or sketch */
struct kernel_tally {
	__u32 used;     /* used entries of the pool */
	__u32 largest;  /* bytes of the largest packet */
	__u32 smallest; /* bytes of the smallest packet; 0: none */
	__u32 spare;
	__u64 packets[2], bytes; /* packets in the sketch (IPv4, IPv6), and bytes */
	__u64 room[3];
};

_Static_assert(sizeof(struct kernel_tally) == KERNEL_CACHE_LINE, "one cache line per CPU");

/* Addresses of a packet that are compared with the rules of --prefixes, as bits */
enum kernel_monitor {
	KERNEL_PREFIX_DST = 1,
	KERNEL_PREFIX_SRC = 2,
};

/*
 * Tree of the IPv4 addresses that match a rule. Its levels have 16, 8 and 8 bits of the address. An
 * entry of the first two levels is KERNEL_PREFIX_NONE, KERNEL_PREFIX_ALL, or the index of the next
 * level. The second level has 256 entries. The last level has one bit for each address. A few hosts
 * take a few KB, which stay in the cache. A table of 2^24 entries would take 64 MB.
 */
#define KERNEL_PREFIX_ENTRIES 8
#define KERNEL_PREFIX_FIRSTS  65536
#define KERNEL_PREFIX_NONE    0
#define KERNEL_PREFIX_ALL     1
#define KERNEL_PREFIX_FLAGS   (BPF_F_MMAPABLE | BPF_F_INNER_MAP) /* linux/bpf.h */

struct kernel_prefixes {
	__u32 entries[KERNEL_PREFIX_ENTRIES];
};

/* An IPv6 prefix; key of an LPM trie of the kernel */
struct kernel_prefix6 {
	__u32 length;
	__u8 bits[16];
};

/* Clock of `time` in struct kernel_entry */
enum kernel_times {
	KERNEL_TIMES_NONE,
	KERNEL_TIMES_EXACT,
	KERNEL_TIMES_COARSE, /* time of the last kernel tick */
};
