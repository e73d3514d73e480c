/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * The bytes of a capture file, plain or gzip, in a buffer that readers look into: packets are not
 * copied out of it. It counts what was read, for the progress line.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <zlib.h>

#include "rx/packet/link_type.h"

/* The most that a reader can look at as one: a packet with what stands around it. */
#define CAPTURE_INPUT_WHOLE (PACKET_BYTES_MAX + 64)

struct capture_input {
	int fd; /* -1: closed */
	bool regular;
	uint64_t size;             /* bytes from the start to the end, where regular */
	_Atomic uint64_t consumed; /* bytes read from fd; written by the reader only */
	const char *damage; /* NULL, or what is wrong with the file below the capture format */
	int failure;        /* errno of a read error; 0: none */

	bool ended;
	bool gzip;
	bool member_end; /* between two gzip members */
	z_stream inflate;
	uint8_t *compressed;

	uint8_t *buffer;
	const uint8_t *at; /* the next byte; the reader moves it on, as far as `end` */
	uint8_t *end;
};

/*
 * Opens a path ("-" is standard input). Returns false with one line in error[SOURCE_ERROR_MAX] on
 * failure.
 */
bool capture_input_open(struct capture_input *input, const char *path, char *error);
/* Also of one that is closed. */
void capture_input_close(struct capture_input *input);

/* As capture_input_have(), and reads. */
size_t capture_input_fill(struct capture_input *input, size_t n);

/*
 * Brings the next n bytes, CAPTURE_INPUT_WHOLE at most, to at[], where they stay until the next
 * call. Returns n, or how many there are where the file ends, is damaged or cannot be read on.
 */
static inline size_t capture_input_have(struct capture_input *input, size_t n)
{
	return (size_t)(input->end - input->at) >= n ? n : capture_input_fill(input, n);
}

/* Returns the first four bytes without consuming them; 0 if there are fewer. */
uint32_t capture_input_magic(struct capture_input *input);

/* Writes why bytes are missing: the file is truncated, or a read failed. */
void capture_input_explain(const struct capture_input *input, const char *cut, char *error);

/* Numbers in this machine's byte order, or swapped. */
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
