/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * An entry of a burst: one packet, or several packets of one key. Some sketches split it at the
 * packet from which on the key is processed differently.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/assertion.h"
#include "key/key_burst.h"
#include "sketch/sketch.h"

struct weight {
	uint64_t packets, bytes;
};

/* `weighted` is a compile-time constant. */
static inline __attribute__((always_inline)) struct weight weight_of(
	const struct key_burst *burst, uint32_t i, const bool weighted)
{
	return weighted ? (struct weight){burst->weights->packets[i], burst->weights->bytes[i]}
			: (struct weight){1, burst->wire_len[i]};
}

static inline uint64_t weight_amount(const struct weight *weight, enum sketch_metric metric)
{
	return metric == SKETCH_PACKETS ? weight->packets : weight->bytes;
}

/*
 * Returns how many packets, from the first, have a sum of at most `room` in the metric. The first
 * (bytes % packets) packets are one byte larger than the others.
 */
static inline uint64_t weight_within(
	const struct weight *weight, enum sketch_metric metric, uint64_t room)
{
	uint64_t size, nb_larger;

	if (weight_amount(weight, metric) <= room)
		return weight->packets;
	if (metric == SKETCH_PACKETS)
		return room;
	size = weight->bytes / weight->packets;
	nb_larger = weight->bytes % weight->packets;
	if (room < (size + 1) * nb_larger)
		return room / (size + 1);
	return nb_larger + (room - (size + 1) * nb_larger) / size;
}

/* Returns the removed part. */
static inline struct weight weight_take(struct weight *weight, uint64_t n)
{
	uint64_t nb_larger = weight->bytes % weight->packets;
	struct weight taken = {n, n * (weight->bytes / weight->packets)};

	ASSERT(n, <=, weight->packets);
	taken.bytes += n < nb_larger ? n : nb_larger;
	weight->packets -= n;
	weight->bytes -= taken.bytes;
	return taken;
}

/* Returns the bytes inside the IP packets, or all bytes if the burst has no overhead[]. */
static inline __attribute__((always_inline)) uint64_t weight_ip_bytes(
	const struct weight *weight, const struct key_burst *burst, uint32_t i)
{
	unsigned __int128 overhead;

	if (!burst->has_overhead)
		return weight->bytes;
	overhead = (unsigned __int128)burst->overhead[i] * weight->packets;
	return overhead < weight->bytes ? weight->bytes - (uint64_t)overhead : 0;
}
