/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Extracts UDP datagrams from captured packets and reassembles IPv4 and IPv6 fragments. Memory is
 * bounded and allocated once. Does not verify UDP checksums. Single-threaded.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/datagram.h"
#include "rx/packet/link_type.h"

struct fragments;

#define FRAGMENTS_PORTS 65536

/* Limits of incomplete datagrams. Beyond a limit, the oldest one is dropped. */
struct fragments_limits {
	uint32_t datagrams;
	size_t bytes; /* memory; each datagram takes the maximum size */
	int64_t age;  /* ns since the arrival of the first fragment */
};

struct fragments_counts {
	/* Packets: */
	uint64_t whole;     /* complete datagrams */
	uint64_t fragments; /* UDP fragments */
	uint64_t not_udp;
	uint64_t not_ip; /* included in not_udp */
	uint64_t cut;    /* truncated by the capture */
	uint64_t bad;    /* inconsistent headers or lengths */
	/* Datagrams: */
	uint64_t completed;   /* reassembled */
	uint64_t overlapping; /* dropped: overlapping fragments (RFC 5722) */
	uint64_t given_up;    /* dropped: fragments missing */
};

/* Returns NULL if out of memory, or if the limits do not fit one datagram. */
struct fragments *fragments_create(const struct fragments_limits *limits);
void fragments_destroy(struct fragments *fragments);

/* Returns the maximum memory in bytes. */
size_t fragments_memory(const struct fragments_limits *limits);

/*
 * Processes a captured packet, of which `len` bytes are present. `time`: as in struct datagram.
 * Returns true if the packet completes the datagram *out. Its data is in the packet or in
 * `fragments`, and is valid until the next call. Otherwise sets out->proto to IPPROTO_TCP or
 * IPPROTO_SCTP if the packet has such a payload, else to 0.
 */
bool fragments_add(struct fragments *fragments, const uint8_t *packet, uint32_t len,
	uint32_t wire_len, enum link_type link, int64_t time, struct datagram *out);

/* Drops all incomplete datagrams. */
void fragments_give_up(struct fragments *fragments);

/*
 * Returns an array of FRAGMENTS_PORTS counters: datagrams per destination port that were counted as
 * cut, bad, overlapping or given_up. Index 0: the port is unknown. The caller may reset them.
 */
uint32_t *fragments_lost_ports(struct fragments *fragments);

/* Returns the number of incomplete datagrams. */
uint32_t fragments_waiting(const struct fragments *fragments);

const struct fragments_counts *fragments_counted(const struct fragments *fragments);
