/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Each put function returns the address after its last byte. */

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

/* `len` is 0 to 8. */
static inline uint64_t read_number(const uint8_t *data, uint32_t len)
{
	uint64_t value = 0;

	for (uint32_t i = 0; i < len; i++)
		value = value << 8 | data[i];
	return value;
}

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
