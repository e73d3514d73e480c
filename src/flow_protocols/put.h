/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Writes numbers in network byte order at any alignment. Each function returns the position after
 * the number.
 */

#include <endian.h>
#include <stdint.h>
#include <string.h>

static inline uint8_t *put8(uint8_t *at, uint64_t value)
{
	*at = (uint8_t)value;
	return at + 1;
}

static inline uint8_t *put16(uint8_t *at, uint64_t value)
{
	uint16_t big = htobe16((uint16_t)value);

	memcpy(at, &big, sizeof(big));
	return at + sizeof(big);
}

static inline uint8_t *put32(uint8_t *at, uint64_t value)
{
	uint32_t big = htobe32((uint32_t)value);

	memcpy(at, &big, sizeof(big));
	return at + sizeof(big);
}

static inline uint8_t *put64(uint8_t *at, uint64_t value)
{
	uint64_t big = htobe64(value);

	memcpy(at, &big, sizeof(big));
	return at + sizeof(big);
}

static inline uint8_t *put_bytes(uint8_t *at, const void *bytes, uint32_t len)
{
	memcpy(at, bytes, len);
	return at + len;
}
