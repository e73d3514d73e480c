/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Buffered reader of a capture file, plain or gzip. Packets are not copied out of the buffer. */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <zlib.h>

#include "rx/packet/link_type.h"

/* Bytes of the longest packet with its headers */
#define CAPTURE_INPUT_WHOLE (PACKET_BYTES_MAX + 64)

struct capture_input {
	int fd; /* -1: closed */
	bool regular;
	uint64_t size;             /* bytes of a regular file after the start position; else 0 */
	_Atomic uint64_t consumed; /* bytes read so far; written by the reading thread */
	const char *damage;        /* damage of the gzip data; NULL: none */
	int failure;               /* errno of a failed read; 0: none */

	bool ended;
	bool gzip;
	bool member_end; /* the last gzip member has ended, and the next one has not started */
	z_stream inflate;
	uint8_t *compressed;

	uint8_t *buffer;
	const uint8_t *at; /* next byte; the user advances it, up to `end` */
	uint8_t *end;
};

/* "-" is standard input. Returns false with one line in error[SOURCE_ERROR_MAX]. */
bool capture_input_open(struct capture_input *input, const char *path, char *error);
void capture_input_close(struct capture_input *input);

size_t capture_input_fill(struct capture_input *input, size_t n);

/*
 * Makes the next n <= CAPTURE_INPUT_WHOLE bytes available at at[], valid until the next call.
 * Returns less than n at the end of the file or on an error.
 */
static inline size_t capture_input_have(struct capture_input *input, size_t n)
{
	return (size_t)(input->end - input->at) >= n ? n : capture_input_fill(input, n);
}

/* Returns the first four bytes, or 0 if there are fewer, without consuming them. */
uint32_t capture_input_magic(struct capture_input *input);

/* Writes "truncated: " and the text `cut`. If a read failed, writes its error instead. */
void capture_input_explain(const struct capture_input *input, const char *cut, char *error);

static inline uint16_t capture_u16(const uint8_t *bytes, bool swapped)
{
	uint16_t value;

	memcpy(&value, bytes, sizeof(value));
	return swapped ? __builtin_bswap16(value) : value;
}

static inline uint32_t capture_u32(const uint8_t *bytes, bool swapped)
{
	uint32_t value;

	memcpy(&value, bytes, sizeof(value));
	return swapped ? __builtin_bswap32(value) : value;
}

static inline uint64_t capture_u64(const uint8_t *bytes, bool swapped)
{
	uint64_t value;

	memcpy(&value, bytes, sizeof(value));
	return swapped ? __builtin_bswap64(value) : value;
}
