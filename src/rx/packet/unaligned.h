/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Words in the byte order of the CPU (load) and in network byte order (put_be), at any address */

#include <endian.h>
#include <stdint.h>
#include <string.h>

static inline uint16_t load16(const uint8_t *p)
{
	uint16_t word;

	memcpy(&word, p, sizeof(word));
	return word;
}

static inline uint32_t load32(const uint8_t *p)
{
	uint32_t word;

	memcpy(&word, p, sizeof(word));
	return word;
}

static inline uint64_t load64(const uint8_t *p)
{
	uint64_t word;

	memcpy(&word, p, sizeof(word));
	return word;
}

static inline void put_be16(uint8_t *to, uint32_t number)
{
	uint16_t big = htobe16((uint16_t)number);

	memcpy(to, &big, sizeof(big));
}

static inline void put_be32(uint8_t *to, uint32_t number)
{
	uint32_t big = htobe32(number);

	memcpy(to, &big, sizeof(big));
}

static inline void put_be64(uint8_t *to, uint64_t number)
{
	uint64_t big = htobe64(number);

	memcpy(to, &big, sizeof(big));
}
