/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Ring from one forwarding lcore to one worker. A digest is the key of a packet with length and
 * time. A mark starts an epoch or ends the run. A mark always fits, because digests leave
 * DIGEST_MARKS units free, and epoch s opens only after all workers have left epoch s - 2
 * (parallel/epoch.h).
 *
 * A digest takes one or more consecutive units of 32 bytes. `head` and `tail` count units and never
 * decrease. A digest near the end of the array extends into spare units after it. The same number
 * of units at the start of the array then stays unused.
 */

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/assertion.h"
#include "key/key_burst.h"

#define DIGEST_UNIT 32 /* bytes */

enum digest_kind {
	DIGEST_IPV4,
	DIGEST_IPV6,
	DIGEST_IPV4_EXTRA,
	DIGEST_IPV6_EXTRA,
	DIGEST_EPOCH, /* mark: later digests belong to epoch `number` */
	DIGEST_END,   /* mark: the run ends at epoch `number` */
};

struct digest {
	uint32_t wire_len; /* bytes without FCS */
	uint8_t kind;      /* enum digest_kind */
	uint8_t tcp_flags; /* unset in DIGEST_FORM_PLAIN */
	uint16_t overhead; /* bytes outside the IP packet; unset in DIGEST_FORM_PLAIN */
	union {
		int64_t time;    /* ns since 1970-01-01 UTC; unset in DIGEST_FORM_PLAIN */
		uint64_t number; /* epoch of a mark */
	};
	union {
		struct key4 key4;
		struct key6 key6;
		struct {
			struct key4 key4;
			struct key_extra extra;
		} ipv4;
		struct {
			struct key6 key6;
			struct key_extra extra;
		} ipv6;
	};
} __attribute__((aligned(DIGEST_UNIT)));

#define DIGEST_UNITS_MAX (sizeof(struct digest) / DIGEST_UNIT)
#define DIGEST_MARKS     2
#define DIGEST_AHEAD     32 /* prefetch distance of the producer, units */

#define DIGEST_RING_UNITS(size) ((size) + DIGEST_UNITS_MAX - 1)

_Static_assert(offsetof(struct digest, key4) + sizeof(struct key4) == DIGEST_UNIT, "one unit");
_Static_assert(offsetof(struct digest, key6) + sizeof(struct key6) <= 2 * DIGEST_UNIT, "two units");
_Static_assert(sizeof(struct digest) % DIGEST_UNIT == 0, "whole units");

struct digest_unit {
	alignas(DIGEST_UNIT) uint8_t bytes[DIGEST_UNIT];
};

struct digest_ring {
	struct digest_unit *units; /* [DIGEST_RING_UNITS(size)] */
	uint32_t size;             /* power of two */

	/* Written by the producer. The consumer reads `tail`. */
	alignas(64) _Atomic uint64_t tail;
	uint64_t put;       /* end of the written units, some not yet in `tail` */
	uint64_t head_seen; /* cached `head` */

	/* Written by the consumer. The producer reads `head`. */
	alignas(64) _Atomic uint64_t head;
	uint64_t taken;     /* end of the read units, some not yet in `head` */
	uint64_t tail_seen; /* cached `tail` */
};

static inline uint32_t digest_units(enum digest_kind kind)
{
	switch (kind) {
	case DIGEST_IPV6:
	case DIGEST_IPV4_EXTRA: return 2;
	case DIGEST_IPV6_EXTRA: return DIGEST_UNITS_MAX;
	default: return 1;
	}
}

/* Returns true if the ring has room for `units` and DIGEST_MARKS. May update head_seen. */
static inline bool digest_ring_has_room(struct digest_ring *ring, uint32_t units)
{
	uint64_t end = ring->put + units + DIGEST_MARKS;

	if (__builtin_expect(end - ring->head_seen <= ring->size, 1))
		return true;
	/* Pairs with the release in digest_ring_give_back(): the consumer has read the units. */
	ring->head_seen = atomic_load_explicit(&ring->head, memory_order_acquire);
	return end - ring->head_seen <= ring->size;
}

/* The ring must have room for `units`. The consumer sees the digest after digest_ring_publish(). */
static inline struct digest *digest_ring_put(struct digest_ring *ring, uint32_t units)
{
	struct digest_unit *place = &ring->units[ring->put & (ring->size - 1)];

	ASSERT(ring->put + units - ring->head_seen, <=, ring->size);
	ring->put += units;
	/* The line is in the cache of the consumer's core. */
	__builtin_prefetch(&ring->units[(ring->put + DIGEST_AHEAD) & (ring->size - 1)], 1);
	return (struct digest *)place;
}

static inline void digest_ring_publish(struct digest_ring *ring)
{
	/* Pairs with the acquire in digest_ring_take(). */
	atomic_store_explicit(&ring->tail, ring->put, memory_order_release);
}

static inline void digest_ring_mark(
	struct digest_ring *ring, enum digest_kind kind, uint64_t number)
{
	struct digest *mark;

	/* A mark always fits. This call only updates head_seen. */
	digest_ring_has_room(ring, 0);
	mark = digest_ring_put(ring, 1);
	mark->kind = (uint8_t)kind;
	mark->number = number;
	digest_ring_publish(ring);
}

/* Returns the units that wait. Only the consumer may call it. */
static inline uint32_t digest_ring_waiting(const struct digest_ring *ring)
{
	return (uint32_t)(atomic_load_explicit(&ring->tail, memory_order_relaxed) - ring->taken);
}

/* Returns NULL if the ring is empty. The digest stays valid until digest_ring_give_back(). */
static inline const struct digest *digest_ring_take(struct digest_ring *ring)
{
	const struct digest *digest;

	if (ring->taken == ring->tail_seen) {
		/* Pairs with the release in digest_ring_publish(). */
		ring->tail_seen = atomic_load_explicit(&ring->tail, memory_order_acquire);
		if (ring->taken == ring->tail_seen)
			return NULL;
	}
	digest = (const struct digest *)&ring->units[ring->taken & (ring->size - 1)];
	ring->taken += digest_units((enum digest_kind)digest->kind);
	return digest;
}

static inline void digest_ring_give_back(struct digest_ring *ring)
{
	ASSERT(ring->taken, <=, ring->tail_seen);
	/* Pairs with the acquire in digest_ring_has_room(). */
	atomic_store_explicit(&ring->head, ring->taken, memory_order_release);
}
