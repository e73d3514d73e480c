/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Memory shared by the eBPF program and this process, and constants of the program. Also included
 * by monitor.bpf.c, which has only kernel types.
 *
 * Each CPU has a ring. Its producer is the program on that CPU; it runs with soft interrupts off,
 * so it cannot interrupt itself. Its consumer is one worker. The ring is an array of slots. A
 * packet whose key the short path finds takes one slot. Any other packet takes one slot, and more
 * slots after it for its headers. These are always contiguous: the array has extra slots after its
 * end. The next entry follows them, modulo the size.
 */

#include <linux/types.h>

#include "rx/kernel/keyed_hash.h"
#include "sketch/iblt/iblt_layout.h"

#define KERNEL_CACHE_LINE 64

/* Maximum header bytes of a packet for parse_packet() */
#define KERNEL_HEADERS_MAX   256
#define KERNEL_HEADERS_SLOTS (KERNEL_HEADERS_MAX / 64)

/* Bytes of a key as in key/key.h: addresses, ports, proto */
#define KERNEL_KEY4_BYTES 13
#define KERNEL_KEY6_BYTES 37

enum kernel_entry_kind {
	KERNEL_ENTRY_IPV4 = 4,
	KERNEL_ENTRY_IPV6 = 6,
	KERNEL_ENTRY_HEADERS = 1, /* the first bytes of the packet are in the next slots */
};

/* Maximum segments of a packet joined by GRO: the number in a header is not trusted */
#define KERNEL_SEGMENTS_MAX 65535

/* A packet, or several joined ones (GRO, TSO), which count as one packet per segment */
struct kernel_entry {
	__u64 time;      /* monotonic ns; 0 if not needed */
	__u32 length;    /* bytes with the Ethernet header, of the joined packet */
	__u32 interface; /* interface index of the kernel */
	__u16 segments;  /* packets, 1 to KERNEL_SEGMENTS_MAX */
	__u16 segment;   /* payload bytes per segment, except the last; 0: a single packet */
	/* Keys: header bytes per segment; 0: a single packet. Headers: bytes copied. */
	__u16 headers;
	__u16 vlan; /* keys: VLAN ID of the outermost tag, or 0 */
	__u8 key[KERNEL_KEY6_BYTES];
	__u8 kind;           /* enum kernel_entry_kind */
	__u8 tcp_flags, tos; /* keys */
};

_Static_assert(sizeof(struct kernel_entry) == KERNEL_CACHE_LINE, "a slot is a cache line");

struct kernel_ring {
	/* Written by the program. */
	__u64 head;        /* slots produced since the start; written last, with release */
	__u64 tail_seen;   /* value of `tail` when the ring last seemed full */
	__u64 received;    /* packets received */
	__u64 ring_full;   /* packets dropped because the ring was full */
	__u64 filtered[2]; /* received packets that match no rule, by generation */
	/* Written by the consumer, rarely: generation of tables and rules to use, 0 or 1 */
	__u64 generation;
	__u64 of_program;
	/* Written by the consumer. */
	__u64 tail; /* slots consumed since the start; written with release */
	__u64 of_consumer[7];
};

_Static_assert(sizeof(struct kernel_ring) == 2 * KERNEL_CACHE_LINE, "one cache line per side");

/* Bytes of a ring. slots: a power of two; the extra slots are added. */
#define KERNEL_RING_BYTES(slots)                                                                   \
	(sizeof(struct kernel_ring) +                                                              \
		((unsigned long)(slots) + KERNEL_HEADERS_SLOTS) * sizeof(struct kernel_entry))

/* Written before the program is loaded; constants to the verifier. A section of its own. */
#define KERNEL_CONSTANTS_SECTION ".rodata.constants"

struct kernel_constants {
	__u32 slots;        /* slots per ring, a power of two */
	__u32 headers_only; /* not 0: copy the headers of all packets */
	__u32 on_path;      /* enum kernel_on_path; all other packets enter the rings */
	__u32 buckets;      /* buckets per table, a power of two */
	__u32 cells_bits;   /* log2 of the IPv4 cells per row */
	__u32 filter_bits;  /* log2 of the blocks per filter */
	__u32 cpus;         /* possible CPUs */
	__u32 monitor;      /* enum kernel_monitor, bits: count only matching packets; 0: all */
	__u64 hash_keys[2 * KERNEL_HASH_KEYS]; /* hash keys: low 64 bits, high 64 bits */
};

/* Where the program counts packets itself */
enum kernel_on_path {
	KERNEL_ON_PATH_NOTHING,
	KERNEL_ON_PATH_FLOWS,  /* struct kernel_flow */
	KERNEL_ON_PATH_SHARED, /* struct kernel_flow in a kernel map shared by all CPUs */
	KERNEL_ON_PATH_CELLS,  /* counts in an IBLT */
};

/* Written by this process while the program runs. A section of its own. */
#define KERNEL_CONTROL_SECTION ".data.control"

struct kernel_control {
	__u32 measuring; /* not 0: count packets, from the start of the workers to the end */
	__u32 times;     /* enum kernel_times */
};

/*
 * A flow table for each generation and CPU, consecutive in one map. The first `buckets` flows of a
 * table are the heads of its buckets. As many more are a pool for chains, used in order. Packets of
 * flows without room enter the ring.
 */
#define KERNEL_CHAIN_MAX 16

struct kernel_flow {
	__u64 first, last; /* monotonic ns; 0 if not needed */
	__u64 bytes;
	__u32 packets; /* 0: no flow */
	__u32 next;    /* next flow of the chain: index in the table; 0: none */
	__u32 tcp_flags;
	__u8 kind; /* enum kernel_entry_kind */
	__u8 spare[3];
	__u64 key[5]; /* key of struct kernel_entry; two words for IPv4; unused bytes are 0 */
};

/*
 * Not aligned to cache lines: with many flows, more lines and pages cost more than an entry across
 * two lines.
 */
_Static_assert(sizeof(struct kernel_flow) == 80, "no padding for alignment");

/* Key of the map shared by all CPUs; values are struct kernel_flow */
struct kernel_shared_key {
	__u64 key[5];
	__u64 kind;
};

/*
 * Maximum packets of a flow in the shared map. Low enough that concurrent additions of all CPUs do
 * not wrap.
 */
#define KERNEL_SHARED_MAX 0x7fffffff

/*
 * An IBLT (sketch/iblt/iblt_layout.h) of three rows for each generation and CPU, consecutive in the
 * maps: IPv4 cells, half as many IPv6 cells, blocks of the filter. Its hash is kernel_hash(), twice
 * 64 bits.
 */
#define KERNEL_CELL_ROWS   3
#define KERNEL_CELL4_BYTES (1 << IBLT_SHIFT4)
#define KERNEL_CELL6_BYTES (1 << IBLT_SHIFT6)

/* Totals of a table or an IBLT */
struct kernel_tally {
	__u32 used;     /* used entries of the pool */
	__u32 largest;  /* bytes of the largest packet */
	__u32 smallest; /* bytes of the smallest packet; 0: none */
	__u32 spare;
	__u64 packets4, packets6, bytes; /* packets and bytes in the IBLT */
	__u64 room[3];
};

_Static_assert(sizeof(struct kernel_tally) == KERNEL_CACHE_LINE, "one cache line per CPU");

/* Addresses of a packet that rules match. */
enum kernel_monitor {
	KERNEL_PREFIX_DST = 1,
	KERNEL_PREFIX_SRC = 2,
};

/*
 * IPv4 addresses that match a rule, in levels of 16, 8 and 8 bits. Entries have the value none,
 * all, or the index of the next level: 256 entries for the next 8 bits, then one bit for each value
 * of the last 8 bits. A few hosts take a few KB, which stay in the cache; a table of 24 bits would
 * take 64 MB.
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

/* Clock for the time of entries */
enum kernel_times {
	KERNEL_TIMES_NONE,
	KERNEL_TIMES_EXACT,
	KERNEL_TIMES_COARSE, /* time of the last kernel tick */
};
