/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Queue of expired entries, from the thread that updates a table to the reader of expired(). One
 * producer, one consumer; neither waits: a put into a full queue fails.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/assertion.h"
#include "sketch/flow_table/flow_detail.h"
#include "sketch/flow_table/flow_entries.h"

#define FLOW_QUEUE 8192 /* entries, a power of two */

struct flow_queue {
	struct flow_entry *entries;  /* [FLOW_QUEUE] */
	struct key6 *key6;           /* key of each IPv6 flow */
	struct flow_detail *details; /* detail of each, with --flow-detail; else NULL */
	uint64_t *ip_bytes;          /* IP bytes of each, with params.ip_bytes; else NULL */
	/*
	 * Entries put and taken since the reset, modulo 2^32. `put` is written by the producer,
	 * `taken` by the consumer.
	 */
	_Atomic uint32_t put __attribute__((aligned(64)));
	_Atomic uint32_t taken __attribute__((aligned(64)));
};

/* Returns false if the queue is full. */
static inline bool flow_queue_put(struct flow_queue *queue, const struct flow_table *table,
	uint32_t number, const struct flow_detail *detail)
{
	const struct flow_entry *entry = &table->entries[number];
	uint32_t put = atomic_load_explicit(&queue->put, memory_order_relaxed);
	uint32_t slot = put % FLOW_QUEUE;

	/* Pairs with the release in flow_queue_release(): the consumer has read the slot. */
	if (put - atomic_load_explicit(&queue->taken, memory_order_acquire) == FLOW_QUEUE)
		return false;
	queue->entries[slot] = *entry;
	if (flow_family(entry) == KEY_IPV6)
		queue->key6[slot] = table->key6[number];
	if (queue->details != NULL)
		queue->details[slot] = *detail;
	if (queue->ip_bytes != NULL)
		queue->ip_bytes[slot] =
			atomic_load_explicit(&table->ip_bytes[number], memory_order_relaxed);
	/* Pairs with the acquire in flow_queue_length(): the entry comes first. */
	atomic_store_explicit(&queue->put, put + 1, memory_order_release);
	return true;
}

/* Called by the consumer. Returns the number of readable entries, and the slot of the oldest. */
static inline uint32_t flow_queue_length(const struct flow_queue *queue, uint32_t *oldest)
{
	uint32_t taken = atomic_load_explicit(&queue->taken, memory_order_relaxed);

	*oldest = taken % FLOW_QUEUE;
	/* Pairs with the release in flow_queue_put(). */
	return atomic_load_explicit(&queue->put, memory_order_acquire) - taken;
}

/* Called by the consumer. Releases the oldest n entries. */
static inline void flow_queue_release(struct flow_queue *queue, uint32_t n)
{
	uint32_t taken = atomic_load_explicit(&queue->taken, memory_order_relaxed);

	ASSERT(n, <=, atomic_load_explicit(&queue->put, memory_order_relaxed) - taken);
	/* Pairs with the acquire in flow_queue_put(). */
	atomic_store_explicit(&queue->taken, taken + n, memory_order_release);
}
