/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * pcapng files, block by block: sections of either byte order, whose interfaces may differ in link
 * type, snap length and resolution of time. libpcap reads only files whose interfaces are alike.
 * Memory is bounded, whatever a file claims.
 */

#include <stdbool.h>
#include <stdint.h>

#include "rx/capture/capture_input.h"

struct pcapng_interface {
	uint32_t number;      /* within its section */
	int link_type_number; /* link type number of the file */
	int kind;             /* as link_kind_find() returns it */
	enum link_type link;
	uint32_t snaplen;
	uint32_t fcs_bytes;     /* at the end of a packet, unless the packet has its own */
	uint64_t units;         /* timestamp units per second */
	int64_t offset_seconds; /* to be added */
};

struct pcapng_packet {
	const uint8_t *data; /* valid until the next call */
	uint32_t captured, wire_len;
	int64_t time;       /* as in struct source_packet; 0: no timestamp in the file */
	uint32_t fcs_bytes; /* at its end */
	const struct pcapng_interface *interface;
};

struct pcapng;

/* Returns true if the input begins like such a file. Consumes nothing. */
bool pcapng_is(struct capture_input *input);

/* Reads from the input, which stays the caller's. Returns NULL where memory is missing. */
struct pcapng *pcapng_create(struct capture_input *input);
void pcapng_destroy(struct pcapng *pcapng);

/* 1: *packet is filled. 0: the end. -1: damage, and pcapng_error() says which. */
int pcapng_next(struct pcapng *pcapng, struct pcapng_packet *packet);
const char *pcapng_error(const struct pcapng *pcapng);

/* Returns a bit for each kind of interface that was described so far (rx/packet/link_type.h). */
uint32_t pcapng_kinds(const struct pcapng *pcapng);
