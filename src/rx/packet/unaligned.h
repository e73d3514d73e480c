/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Loads words from any address, in the byte order of the CPU. */

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
