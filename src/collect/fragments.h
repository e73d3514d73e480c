/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Extracts UDP datagrams from captured packets and reassembles fragments. Single-threaded. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/datagram.h"
#include "rx/packet/link_type.h"

struct fragments;

#define FRAGMENTS_PORTS 65536

/* beyond a limit, the oldest incomplete datagram is dropped */
struct fragments_limits {
	uint32_t datagrams;
	size_t bytes; /* each datagram takes the maximum size */
	int64_t age;  /* ns since the arrival of the first fragment */
};

struct fragments_counts {
	/* packets */
	uint64_t whole;
	uint64_t fragments;
	uint64_t not_udp;
	uint64_t not_ip;
	uint64_t cut;
	uint64_t bad;
	/* datagrams */
	uint64_t completed;
	uint64_t overlapping; /* dropped because fragments overlap (RFC 5722) */
	uint64_t given_up;
};

/* Returns NULL if out of memory, or if the limits do not fit one datagram. */
struct fragments *fragments_create(const struct fragments_limits *limits);
void fragments_destroy(struct fragments *fragments);

size_t fragments_memory(const struct fragments_limits *limits);

/*
 * Returns true if the packet completes the datagram *out, whose data is valid until the next call.
 * Otherwise sets out->proto to IPPROTO_TCP or IPPROTO_SCTP for such a payload, else to 0. `time`:
 * ns since 1970-01-01 UTC.
 */
bool fragments_add(struct fragments *fragments, const uint8_t *packet, uint32_t len,
	uint32_t wire_len, enum link_type link, int64_t time, struct datagram *out);

void fragments_give_up(struct fragments *fragments);

/* Lost datagrams by destination port; index 0: unknown. The caller may reset them. */
uint32_t *fragments_lost_ports(struct fragments *fragments);

uint32_t fragments_waiting(const struct fragments *fragments);

const struct fragments_counts *fragments_counted(const struct fragments *fragments);
