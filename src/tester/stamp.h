/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Stamp in the last STAMP_BYTES of a generated frame: packet number, sending time, and a hash of
 * the rest. Each run has its own secrets, so that stamps of other runs are invalid.
 *
 * The words of a stamp sum up to 0 in the arithmetic of Internet checksums (RFC 1071), so the
 * checksums of the frame stay valid.
 */

#include <stdbool.h>
#include <stdint.h>

#include "rx/packet/frame.h"

#define STAMP_BYTES     16
#define STAMP_TIME_BITS 48

struct stamp {
	uint32_t number;
	uint64_t time; /* lowest STAMP_TIME_BITS bits of the TSC */
};

/* words in the hash: headers, frame length, packet number, time */
#define STAMP_WORDS (FRAME_HEADERS_MAX / 4 + 4)

struct stamp_secrets {
	uint64_t factors[STAMP_WORDS + 1];
	uint32_t number;
	uint64_t time;
};

void stamp_secrets_init(struct stamp_secrets *secrets, uint64_t seed);

enum stamp_content {
	STAMP_SAME,
	/* changed as by a router: Ethernet addresses, hop limit, IPv4 checksum */
	STAMP_ROUTED,
	STAMP_CHANGED,
};

/* The payload must be zeros. length: bytes of the frame with the stamp. */
void stamp_write(const struct stamp_secrets *secrets, const struct stamp *stamp, uint8_t *frame,
	uint32_t length);

/* Returns false if there is no stamp. A stamp of another run gives a random number and time. */
bool stamp_read(const struct stamp_secrets *secrets, struct stamp *stamp, const uint8_t *frame,
	uint32_t length);

/* stamp: read from the frame. Misses a change with probability 2^-32. */
enum stamp_content stamp_compare(const struct stamp_secrets *secrets, const struct stamp *stamp,
	const uint8_t *frame, uint32_t length);
