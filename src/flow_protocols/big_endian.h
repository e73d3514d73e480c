/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Reads numbers in network byte order at any alignment. */

#include <endian.h>
#include <stdint.h>
#include <string.h>

static inline uint16_t read_u16(const uint8_t *data)
{
	uint16_t value;

	memcpy(&value, data, sizeof(value));
	return be16toh(value);
}

static inline uint32_t read_u32(const uint8_t *data)
{
	uint32_t value;

	memcpy(&value, data, sizeof(value));
	return be32toh(value);
}

static inline uint64_t read_u64(const uint8_t *data)
{
	uint64_t value;

	memcpy(&value, data, sizeof(value));
	return be64toh(value);
}

/* Reads a number of 0 to 8 bytes. */
static inline uint64_t read_number(const uint8_t *data, uint32_t len)
{
	uint64_t value = 0;

	for (uint32_t i = 0; i < len; i++)
		value = value << 8 | data[i];
	return value;
}
