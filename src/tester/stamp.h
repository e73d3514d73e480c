/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Stamp of a generated frame, in its last STAMP_BYTES: packet number, sending time, and a hash of
 * the rest, to verify the frame when it is received again. Each run has its own secrets, so that
 * stamps of other runs are invalid.
 *
 * The words of a stamp add up to 0 in the arithmetic of Internet checksums (RFC 1071), like the
 * zeros that they replace, so that the checksums of the frame stay valid. Other devices and the
 * kernel can then verify them, and a damaged byte is detected.
 */

#include <stdbool.h>
#include <stdint.h>

#include "rx/packet/frame.h"

#define STAMP_BYTES     16
#define STAMP_TIME_BITS 48

struct stamp {
	uint32_t number;
	uint64_t time; /* TSC, lowest STAMP_TIME_BITS bits */
};

/* Words in the hash: headers, frame length, number and time of the stamp. */
#define STAMP_WORDS (FRAME_HEADERS_MAX / 4 + 4)

struct stamp_secrets {
	uint64_t factors[STAMP_WORDS + 1];
	uint32_t number;
	uint64_t time;
};

void stamp_secrets_init(struct stamp_secrets *secrets, uint64_t seed);

/* Condition of a returned frame. */
enum stamp_content {
	STAMP_SAME,
	/* Changed only by a router: Ethernet addresses, hop limit and its checksum. */
	STAMP_ROUTED,
	STAMP_CHANGED,
};

/*
 * Writes a stamp over the last bytes of a generated frame, whose payload is all zero; `length`
 * includes them.
 */
void stamp_write(const struct stamp_secrets *secrets, const struct stamp *stamp, uint8_t *frame,
	uint32_t length);

/* Returns false if a frame has no stamp of this run, as far as its bytes show. */
bool stamp_read(const struct stamp_secrets *secrets, struct stamp *stamp, const uint8_t *frame,
	uint32_t length);

/* Returns the condition of a frame with that stamp. Misses a change with probability 2^-32. */
enum stamp_content stamp_compare(const struct stamp_secrets *secrets, const struct stamp *stamp,
	const uint8_t *frame, uint32_t length);
