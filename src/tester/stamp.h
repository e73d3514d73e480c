/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Stamp in the last STAMP_BYTES of a generated frame: packet number, sending time, and a hash of
 * the rest. The receiver verifies the frame with it. Each run has its own secrets, so that stamps
 * of other runs are invalid.
 *
 * A stamp replaces zeros of the payload. Its words sum up to 0 in the arithmetic of Internet
 * checksums (RFC 1071), so the checksums of the frame stay valid. Devices and the kernel can verify
 * them, and they detect a damaged byte of the stamp.
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

/* Number of words in the hash: headers, frame length, packet number, time. */
#define STAMP_WORDS (FRAME_HEADERS_MAX / 4 + 4)

struct stamp_secrets {
	uint64_t factors[STAMP_WORDS + 1];
	uint32_t number;
	uint64_t time;
};

void stamp_secrets_init(struct stamp_secrets *secrets, uint64_t seed);

/* Comparison of a returned frame with the sent one. */
enum stamp_content {
	STAMP_SAME,
	/* Changed as by a router: Ethernet addresses, hop limit, IPv4 checksum. */
	STAMP_ROUTED,
	STAMP_CHANGED,
};

/*
 * Writes a stamp over the last bytes of a generated frame with a payload of zeros. length: bytes of
 * the frame with the stamp.
 */
void stamp_write(const struct stamp_secrets *secrets, const struct stamp *stamp, uint8_t *frame,
	uint32_t length);

/*
 * Reads the stamp of a frame. Returns false if there is none. Also reads stamps of other runs: they
 * give a random number and time.
 */
bool stamp_read(const struct stamp_secrets *secrets, struct stamp *stamp, const uint8_t *frame,
	uint32_t length);

/* Compares a frame with that stamp to the sent one. Misses a change with probability 2^-32. */
enum stamp_content stamp_compare(const struct stamp_secrets *secrets, const struct stamp *stamp,
	const uint8_t *frame, uint32_t length);
