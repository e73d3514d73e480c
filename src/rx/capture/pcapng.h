/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Reads pcapng files in bounded memory. Unlike in libpcap, interfaces may differ in link type, snap
 * length and time resolution.
 */

#include <stdbool.h>
#include <stdint.h>

#include "rx/capture/capture_input.h"

struct pcapng_interface {
	uint32_t number; /* within its section */
	int link_type_number;
	int kind; /* index for link_kind_type() */
	enum link_type link;
	uint32_t snaplen;
	uint32_t fcs_bytes;     /* FCS length of packets whose flags do not have it */
	uint64_t units;         /* timestamp units per second */
	int64_t offset_seconds; /* added to all timestamps */
};

struct pcapng_packet {
	const uint8_t *data; /* valid until the next call */
	uint32_t captured, wire_len;
	int64_t time;       /* ns since 1970-01-01 UTC; 0: no timestamp */
	uint32_t fcs_bytes; /* bytes of FCS at the end of data */
	const struct pcapng_interface *interface;
};

struct pcapng;

bool pcapng_is(struct capture_input *input);

/* The input must outlive the reader. Returns NULL if out of memory. */
struct pcapng *pcapng_create(struct capture_input *input);
void pcapng_destroy(struct pcapng *pcapng);

/* Returns 1 if *packet is filled, 0 at the end, -1 with the reason in pcapng_error(). */
int pcapng_next(struct pcapng *pcapng, struct pcapng_packet *packet);
const char *pcapng_error(const struct pcapng *pcapng);

/* Returns one bit for each link kind (rx/packet/link_type.h) in the file so far. */
uint32_t pcapng_kinds(const struct pcapng *pcapng);
