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

#define KERNEL_CACHE_LINE 64

/* Bytes of a packet that the short path leaves to parse_packet(). */
#define KERNEL_HEADERS_MAX   256
#define KERNEL_HEADERS_SLOTS (KERNEL_HEADERS_MAX / 64)

/* A key of a packet as in base/key.h: addresses, ports, proto. */
#define KERNEL_KEY4_BYTES 13
#define KERNEL_KEY6_BYTES 37

enum kernel_entry_kind {
	KERNEL_ENTRY_IPV4 = 4,
	KERNEL_ENTRY_IPV6 = 6,
	KERNEL_ENTRY_HEADERS = 1, /* the packet's first bytes are in the slots behind */
};

/* A packet, or joined ones (GRO, TSO), which are as many packets as there are segments. */
struct kernel_entry {
	__u64 time;      /* monotonic ns; 0 where nobody asks */
	__u32 length;    /* bytes with Ethernet's header, as if it were one packet */
	__u32 interface; /* the kernel's index */
	__u16 segments;  /* packets: at least 1 */
	__u16 segment;   /* bytes behind the headers of each but the last; 0: it is one packet */
	/*
	 * Of a key: bytes of headers that each joined packet has, 0 where it is one. Of headers:
	 * how many bytes were copied.
	 */
	__u16 headers;
	__u16 vlan; /* of a key: the outermost tag's number, or 0 */
	__u8 key[KERNEL_KEY6_BYTES];
	__u8 kind; /* enum kernel_entry_kind */
	__u8 tcp_flags, dscp;
};

_Static_assert(sizeof(struct kernel_entry) == KERNEL_CACHE_LINE, "a slot is a cache line");

struct kernel_ring {
	/* The program's. */
	__u64 head;      /* slots ever taken; written last, with release */
	__u64 tail_seen; /* `tail` as it was when there was no more room for what was seen of it */
	__u64 received;  /* packets that came */
	__u64 ring_full; /* packets of these that found no room */
	__u64 of_program[4];
	/* The consumer's. */
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
	__u32 slots;        /* of a ring: a power of two */
	__u32 headers_only; /* somebody looks at all packets' headers */
};

/* Written by this process while the program runs. A section of its own. */
#define KERNEL_CONTROL_SECTION ".data.control"

struct kernel_control {
	__u32 measuring; /* packets count: not before the workers run, nor when the end was said */
	__u32 times;     /* enum kernel_times */
};

/* Where entries get their time from. */
enum kernel_times {
	KERNEL_TIMES_NONE,
	KERNEL_TIMES_EXACT,
	KERNEL_TIMES_COARSE, /* the kernel's tick */
};
