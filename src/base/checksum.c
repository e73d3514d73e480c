/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/checksum.h"

uint64_t checksum_add(uint64_t sum, const void *bytes, size_t len)
{
	const unsigned char *at = bytes;

	for (size_t i = 0; i < len; i++)
		sum = (sum ^ at[i]) * UINT64_C(0x100000001b3);
	return sum;
}
