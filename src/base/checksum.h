/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* 64-bit FNV-1a checksum, against accidental changes only. */

#include <stddef.h>
#include <stdint.h>

#define CHECKSUM_START UINT64_C(0xcbf29ce484222325)

static inline uint64_t checksum_add(uint64_t sum, const void *bytes, size_t len)
{
	const unsigned char *at = bytes;

	for (size_t i = 0; i < len; i++)
		sum = (sum ^ at[i]) * UINT64_C(0x100000001b3);
	return sum;
}
