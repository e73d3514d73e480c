/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Removes keys without a packet for longer than the timeout. Time is the packet clock: the latest
 * timestamp of all packets so far. If a packet of an idle key arrives before the key is removed,
 * the table ends the old record and starts a new one, so that records depend only on the packets.
 * One sweep per FLOW_STRIDE packets makes the table independent of burst boundaries.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/assertion.h"
#include "sketch/flow_table/flow_detail.h"
#include "sketch/flow_table/flow_entries.h"

#define FLOW_STRIDE 64

#define FLOW_QUEUE 8192 /* entries, a power of two */

/* Single producer, which updates the table. Single consumer, which calls sketch_ops.expired(). */
struct flow_queue {
	struct flow_entry *entries;
	struct key6 *key6;           /* keys of IPv6 entries */
	struct flow_detail *details; /* NULL without --flow-detail */
	uint64_t *ip_bytes;          /* NULL without params.ip_bytes */
	/* Modulo 2^32. Only the producer writes `put`, only the consumer writes `taken`. */
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

	/* Pairs with the release in flow_queue_release(): the consumer no longer reads the slot. */
	if (put - atomic_load_explicit(&queue->taken, memory_order_acquire) == FLOW_QUEUE)
		return false;
	queue->entries[slot] = *entry;
	if (flow_id_family(&entry->id) == KEY_IPV6)
		queue->key6[slot] = table->key6[number];
	if (queue->details != NULL)
		queue->details[slot] = *detail;
	if (queue->ip_bytes != NULL)
		queue->ip_bytes[slot] =
			atomic_load_explicit(&table->ip_bytes[number], memory_order_relaxed);
	/* Pairs with the acquire in flow_queue_length(): the slot is complete. */
	atomic_store_explicit(&queue->put, put + 1, memory_order_release);
	return true;
}

/* Called by the consumer. The readable entries begin at slot *oldest. */
static inline uint32_t flow_queue_length(const struct flow_queue *queue, uint32_t *oldest)
{
	uint32_t taken = atomic_load_explicit(&queue->taken, memory_order_relaxed);

	*oldest = taken % FLOW_QUEUE;
	/* Pairs with the release in flow_queue_put(). */
	return atomic_load_explicit(&queue->put, memory_order_acquire) - taken;
}

/* Called by the consumer. */
static inline void flow_queue_release(struct flow_queue *queue, uint32_t n)
{
	uint32_t taken = atomic_load_explicit(&queue->taken, memory_order_relaxed);

	ASSERT(n, <=, atomic_load_explicit(&queue->put, memory_order_relaxed) - taken);
	/* Pairs with the acquire in flow_queue_put(). */
	atomic_store_explicit(&queue->taken, taken + n, memory_order_release);
}

struct flow_idle {
	uint64_t timeout;  /* ns */
	int64_t now;       /* packet clock, ns since 1970-01-01 UTC; INT64_MIN: no packet yet */
	double rate;       /* share of the table to sweep per ns */
	double owed;       /* entries that the next sweep must check */
	int64_t swept_at;  /* packet clock at the last update of `owed` */
	int64_t looped_at; /* packet clock when flow_reclaim() last checked all entries */
	uint32_t at;       /* next entry to sweep */
	uint32_t stride;   /* packets since the last sweep */
	void (*wait)(const void *arg);
	const void *wait_arg;
	struct flow_queue queue;
};

size_t flow_idle_memory(const struct sketch_params *params);
/* `memory` must be zeroed and aligned to 64 bytes. */
struct flow_idle *flow_idle_init(void *memory, const struct sketch_params *params);
/* No thread may read the queue. */
void flow_idle_reset(struct flow_idle *idle);

/* Checks entries in proportion to the time since the last sweep. */
void flow_sweep(struct flow_table *table);

/*
 * Checks all entries of a full table, at most once per 1/64 of the timeout, unless params.wait is
 * NULL. `now` is the packet clock. Returns true if an entry was freed.
 */
bool flow_reclaim(struct flow_table *table, int64_t now);

/* If true, packets must be counted in order, because n new keys may fill the table. */
static inline bool flow_may_reclaim(const struct flow_table *table, uint32_t n)
{
	return table->idle->wait != NULL &&
	       n > flow_nb_entries(&table->sketch.params) -
			       atomic_load_explicit(&table->used, memory_order_relaxed);
}

/* Emits the record of an entry and starts a new one, unless the queue is full. */
void flow_end(struct flow_table *table, uint32_t entry);

static inline bool flow_is_idle(
	const struct flow_idle *idle, const struct flow_entry *entry, int64_t now)
{
	int64_t last = atomic_load_explicit(&entry->last, memory_order_relaxed);

	return now > last && (uint64_t)now - (uint64_t)last > idle->timeout;
}
