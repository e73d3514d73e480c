/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * The stamp of a generated frame: its last STAMP_BYTES say which packet it is, when it was sent and
 * what the rest of it was, so that it is known when it comes back. A run has secrets of its own:
 * the stamps of another run, an earlier one too, are no stamps.
 *
 * A stamp's words add up to 0 in the arithmetic of Internet checksums (RFC 1071), as the zeros do
 * that were in its place: a frame's checksums stay right. So another device or the kernel may look
 * at them, and one damaged byte is seen.
 */

#include <stdbool.h>
#include <stdint.h>

#include "rx/packet/frame.h"

#define STAMP_BYTES     16
#define STAMP_TIME_BITS 48

struct stamp {
	uint32_t number;
	uint64_t time; /* STAMP_TIME_BITS of it */
};

/* What is looked at as numbers: headers, the frame's length, the stamp's number and time. */
#define STAMP_WORDS (FRAME_HEADERS_MAX / 4 + 4)

struct stamp_secrets {
	uint64_t factors[STAMP_WORDS + 1];
	uint32_t number;
	uint64_t time;
};

void stamp_secrets_init(struct stamp_secrets *secrets, uint64_t seed);

/* How a frame came back. */
enum stamp_content {
	STAMP_SAME,
	/* But for what a router changes: Ethernet addresses, hop limit and the checksum over it. */
	STAMP_ROUTED,
	STAMP_CHANGED,
};

/*
 * Over the last bytes of a frame of the generator, whose payload is all zero; `length` includes
 * them.
 */
void stamp_write(const struct stamp_secrets *secrets, const struct stamp *stamp, uint8_t *frame,
	uint32_t length);

/* False where a frame has no stamp of ours, by all that can be seen without the sender's account. */
bool stamp_read(const struct stamp_secrets *secrets, struct stamp *stamp, const uint8_t *frame,
	uint32_t length);

/* Of a frame with that stamp. A change is overlooked once in 2^32. */
enum stamp_content stamp_compare(const struct stamp_secrets *secrets, const struct stamp *stamp,
	const uint8_t *frame, uint32_t length);
