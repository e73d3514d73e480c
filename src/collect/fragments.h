/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * From captured packets to UDP datagrams: those that came in one packet as they lie there, those
 * that came in fragments of IPv4 or IPv6 put together. Bounded; nothing is allocated but at the
 * beginning. UDP's checksum is not looked at. One thread's.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/datagram.h"
#include "rx/packet/link_type.h"

struct fragments;

#define FRAGMENTS_PORTS 65536

/* What waits for fragments: where it would be more, the oldest datagram is given up. */
struct fragments_limits {
	uint32_t datagrams;
	size_t bytes; /* of memory, in which each takes as much as the longest datagram */
	int64_t age;  /* ns from the first fragment that came */
};

struct fragments_counts {
	/* Packets: */
	uint64_t whole;     /* with a datagram of their own */
	uint64_t fragments; /* of UDP */
	uint64_t not_udp;
	uint64_t not_ip; /* part of not_udp */
	uint64_t cut;    /* less was captured than was sent */
	uint64_t bad;    /* headers or lengths that contradict each other */
	/* Datagrams: */
	uint64_t completed;   /* from fragments */
	uint64_t overlapping; /* dropped: fragments contradict each other (RFC 5722) */
	uint64_t given_up;    /* for want of fragments */
};

/* NULL: there is no memory, or not room for one datagram. */
struct fragments *fragments_create(const struct fragments_limits *limits);
void fragments_destroy(struct fragments *fragments);

/* A bound of what it takes, whatever comes. */
size_t fragments_memory(const struct fragments_limits *limits);

/*
 * Takes a captured packet, of which the first `len` bytes are there; `time` as struct datagram's.
 * True where a datagram is whole now: *out, whose data lies in the packet or, until the next call,
 * in the fragments. Otherwise out->proto is IPPROTO_TCP or IPPROTO_SCTP, if the packet has user
 * data of these, or 0.
 */
bool fragments_add(struct fragments *fragments, const uint8_t *packet, uint32_t len,
	uint32_t wire_len, enum link_type link, int64_t time, struct datagram *out);

/* Gives up the datagrams that wait. */
void fragments_give_up(struct fragments *fragments);

/*
 * [FRAGMENTS_PORTS]: how many were counted as cut, bad, overlapping or given_up, by destination port. 0: the
 * port is unknown. The caller may clear them.
 */
uint32_t *fragments_lost_ports(struct fragments *fragments);

/* Datagrams that wait for fragments. */
uint32_t fragments_waiting(const struct fragments *fragments);

const struct fragments_counts *fragments_counted(const struct fragments *fragments);
