/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * What the program in the kernel and this process share: memory that both have mapped, and words of
 * the program's constants. Included by monitor.bpf.c, which has the kernel's types alone.
 *
 * A ring for every CPU. Its producer is the program on that CPU, which nothing interrupts that
 * could run it again: hooks run with soft interrupts off. Its consumer is one worker. The ring is
 * an array of slots; what the program's short path has a key of takes one, anything else takes one
 * and those behind it that its headers need. Such an entry is never cut at the end of the array:
 * slots beyond the end are there for that, and who comes after it goes on behind them, modulo the
 * size, as if they were the first of the array.
 */

#include <linux/types.h>

#include "rx/kernel/keyed_hash.h"
#include "sketch/iblt/iblt_layout.h"

#define KERNEL_CACHE_LINE 64

/* Bytes of a packet that the short path leaves to parse_packet(). */
#define KERNEL_HEADERS_MAX   256
#define KERNEL_HEADERS_SLOTS (KERNEL_HEADERS_MAX / 64)

/* A key of a packet as in key/key.h: addresses, ports, proto. */
#define KERNEL_KEY4_BYTES 13
#define KERNEL_KEY6_BYTES 37

enum kernel_entry_kind {
	KERNEL_ENTRY_IPV4 = 4,
	KERNEL_ENTRY_IPV6 = 6,
	KERNEL_ENTRY_HEADERS = 1, /* the packet's first bytes are in the slots behind */
};

/* Limit for packets joined by GRO: the number in a header is not trusted. */
#define KERNEL_SEGMENTS_MAX 65535

/* A packet, or joined ones (GRO, TSO), which are as many packets as there are segments. */
struct kernel_entry {
	__u64 time;      /* monotonic ns; 0 where nobody asks */
	__u32 length;    /* bytes with Ethernet's header, as if it were one packet */
	__u32 interface; /* the kernel's index */
	__u16 segments;  /* packets: at least 1, at most KERNEL_SEGMENTS_MAX */
	__u16 segment;   /* payload bytes of each joined packet but the last; 0: a single packet */
	/*
	 * Keys: header bytes of each joined packet, 0 for a single packet. Headers: bytes copied.
	 */
	__u16 headers;
	__u16 vlan; /* keys: VLAN ID of the outermost tag, or 0 */
	__u8 key[KERNEL_KEY6_BYTES];
	__u8 kind; /* enum kernel_entry_kind */
	__u8 tcp_flags, dscp;
};

_Static_assert(sizeof(struct kernel_entry) == KERNEL_CACHE_LINE, "a slot is a cache line");

struct kernel_ring {
	/* Written by the program. */
	__u64 head;        /* slots ever taken; written last, with release */
	__u64 tail_seen;   /* last value of `tail` read, when the ring seemed full */
	__u64 received;    /* packets that came */
	__u64 ring_full;   /* packets dropped because the ring was full */
	__u64 filtered[2]; /* packets of these that no rule holds, by generation */
	/* Written by the consumer, rarely: generation of tables and rules in use, 0 or 1. */
	__u64 generation;
	__u64 of_program;
	/* Written by the consumer. */
	__u64 tail; /* slots ever read; written with release */
	__u64 of_consumer[7];
};

_Static_assert(sizeof(struct kernel_ring) == 2 * KERNEL_CACHE_LINE, "each side has a line");

/* A ring with its slots: a power of two, and those beyond the end. */
#define KERNEL_RING_BYTES(slots)                                                                   \
	(sizeof(struct kernel_ring) +                                                              \
		((unsigned long)(slots) + KERNEL_HEADERS_SLOTS) * sizeof(struct kernel_entry))

/* Written before the program is loaded, and constants to the verifier. A section of its own. */
#define KERNEL_CONSTANTS_SECTION ".rodata.constants"

struct kernel_constants {
	__u32 slots;        /* slots of a ring: a power of two */
	__u32 headers_only; /* headers of all packets are needed */
	__u32 on_path;      /* enum kernel_on_path; rings get what is not taken there */
	__u32 buckets;      /* buckets of a table: a power of two */
	__u32 cells_bits;   /* log2 of the IPv4 cells of a row */
	__u32 filter_bits;  /* log2 of the blocks of a filter */
	__u32 cpus;         /* possible CPUs */
	__u32 monitor;      /* bits of enum kernel_monitor: only what rules hold counts; 0: all */
	__u64 hash_keys[2 * KERNEL_HASH_KEYS]; /* keys of the low and the high 64 bits */
};

/* In what the program counts by itself. */
enum kernel_on_path {
	KERNEL_ON_PATH_NOTHING,
	KERNEL_ON_PATH_FLOWS,  /* struct kernel_flow */
	KERNEL_ON_PATH_SHARED, /* the same, in a map of the kernel's that all CPUs share */
	KERNEL_ON_PATH_CELLS,  /* counts in an IBLT */
};

/* Written by this process while the program runs. A section of its own. */
#define KERNEL_CONTROL_SECTION ".data.control"

struct kernel_control {
	__u32 measuring; /* packets are counted: between the start of the workers and the end */
	__u32 times;     /* enum kernel_times */
};

/*
 * A table of flows: one for each generation and CPU, one behind the other in a map. The first
 * `buckets` flows of it are the first ones of their buckets; as many more are a pool, taken in
 * order, from which chains go on. A flow that finds no place goes into the ring, packet by packet.
 */
#define KERNEL_CHAIN_MAX 16

struct kernel_flow {
	__u64 first, last; /* monotonic ns; 0 where nobody asks */
	__u64 bytes;
	__u32 packets; /* 0: there is no flow */
	__u32 next;    /* next in the chain: index in the table; 0: none */
	__u32 tcp_flags;
	__u8 kind; /* enum kernel_entry_kind */
	__u8 spare[3];
	__u64 key[5]; /* as in an entry; two words for IPv4. Unused bytes are 0 */
};

/* With many flows lines and pages cost more than an entry that lies across two lines. */
_Static_assert(sizeof(struct kernel_flow) == 80, "nothing is in it for its alignment");

/* Key of the map shared by all CPUs; its values are struct kernel_flow. */
struct kernel_shared_key {
	__u64 key[5];
	__u64 kind;
};

/* Packets from which on a flow there takes no more: CPUs that look at once do not make it wrap. */
#define KERNEL_SHARED_MAX 0x7fffffff

/*
 * An iblt (sketch/iblt/iblt_layout.h) of three rows: one for each generation and CPU, one behind
 * the other in maps: its IPv4 cells, half as many IPv6 cells, the blocks of its filter. Its hash is
 * the program's, of twice 64 bits.
 */
#define KERNEL_CELL_ROWS   3
#define KERNEL_CELL4_BYTES (1 << IBLT_SHIFT4)
#define KERNEL_CELL6_BYTES (1 << IBLT_SHIFT6)

/* Beside a table, or an iblt. */
struct kernel_tally {
	__u32 used;     /* used entries of the pool */
	__u32 largest;  /* bytes of a packet, of those that are in the table */
	__u32 smallest; /* the same; 0: there is none */
	__u32 spare;
	__u64 packets4, packets6, bytes; /* packets and bytes in the IBLT */
	__u64 room[3];
};

_Static_assert(sizeof(struct kernel_tally) == KERNEL_CACHE_LINE, "each CPU has a line");

/* Addresses of a packet that rules match. */
enum kernel_monitor {
	KERNEL_PREFIX_DST = 1,
	KERNEL_PREFIX_SRC = 2,
};

/*
 * The IPv4 addresses that rules hold, by 16, 8 and 8 bits. An entry is none, all, or the number of
 * what it leads to: 256 entries of the next 8 bits, and from those a bit for each of the last 8.
 * Few hosts take a few KB, which stay in the cache; a table of 24 bits would have 64 MB.
 */
#define KERNEL_PREFIX_ENTRIES 8
#define KERNEL_PREFIX_FIRSTS  65536
#define KERNEL_PREFIX_NONE    0
#define KERNEL_PREFIX_ALL     1
#define KERNEL_PREFIX_FLAGS   (BPF_F_MMAPABLE | BPF_F_INNER_MAP) /* linux/bpf.h */

struct kernel_prefixes {
	__u32 entries[KERNEL_PREFIX_ENTRIES];
};

/* An IPv6 prefix, as the kernel's trees want it. */
struct kernel_prefix6 {
	__u32 length;
	__u8 bits[16];
};

/* Where entries get their time from. */
enum kernel_times {
	KERNEL_TIMES_NONE,
	KERNEL_TIMES_EXACT,
	KERNEL_TIMES_COARSE, /* the kernel's tick */
};
