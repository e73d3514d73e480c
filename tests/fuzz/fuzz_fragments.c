/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Any packets, one after the other, each after a byte for its link type and two for its length.
 * Every datagram that comes out is read to its end, so that ASan detects an overread.
 */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "collect/fragments.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ROOM 4

static void require(bool holds)
{
	if (!holds)
		abort();
}

static uint64_t sum_of(const struct datagram *datagram)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < datagram->len; i++)
		sum += datagram->data[i];
	return sum;
}

static bool add_copy(struct fragments *fragments, const uint8_t *packet, uint32_t len, uint8_t link,
	int64_t time)
{
	uint8_t *copy = malloc(len + 1);
	struct datagram out;
	bool whole;

	require(copy != NULL);
	memcpy(copy, packet, len);
	/* Shrinks the copy to the exact length of the packet, so that ASan detects an overread. */
	if (len > 0)
		copy = realloc(copy, len);
	require(copy != NULL);
	whole = fragments_add(fragments, copy, len, len + link / LINK_COUNT,
		(enum link_type)(link % LINK_COUNT), time, &out);
	if (whole)
		require(out.len <= 65535 && sum_of(&out) <= 255ull * out.len);
	free(copy);
	return whole;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fragments_limits limits = {ROOM, 1 << 20, 1000};
	struct fragments *fragments = fragments_create(&limits);
	const struct fragments_counts *counts;
	uint64_t whole = 0;

	require(fragments != NULL);
	for (int64_t time = 0; size >= 3; time++) {
		uint32_t len = (uint32_t)data[1] << 8 | data[2];

		if (len > size - 3)
			len = (uint32_t)size - 3;
		whole += add_copy(fragments, data + 3, len, data[0], time);
		data += 3 + len;
		size -= 3 + len;
		require(fragments_waiting(fragments) <= ROOM);
	}
	counts = fragments_counted(fragments);
	require(counts->whole + counts->completed == whole);
	fragments_destroy(fragments);
	return 0;
}
