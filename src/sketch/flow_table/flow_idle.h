/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Removes idle keys from a flow table with a single writer.
 *
 * The record of a key ends if the key has no packet for longer than the timeout. Time is the packet
 * clock: the latest timestamp of all packets so far.
 *
 * A sweep checks some entries. If a key is idle, it emits the record and frees the entry. If a
 * packet of an idle key arrives before the sweep, the table emits the old record and starts a new
 * one in the same entry. Records therefore depend only on the packets, not on the times of sweeps.
 *
 * Sweeps decide when entries become free, and thus which keys fit. There is one sweep per
 * FLOW_STRIDE packets, counted across bursts, so that burst boundaries do not matter.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/assertion.h"
#include "sketch/flow_table/flow_detail.h"
#include "sketch/flow_table/flow_entries.h"

#define FLOW_STRIDE 64

/* --- queue --- */

#define FLOW_QUEUE 8192 /* entries, a power of two */

/*
 * Queue of expired entries, from the thread that updates the table to the thread that calls
 * sketch_ops.expired(). One producer, one consumer. Neither waits: if the queue is full, a put
 * fails.
 */
struct flow_queue {
	struct flow_entry *entries;  /* [FLOW_QUEUE] */
	struct key6 *key6;           /* key of each IPv6 flow */
	struct flow_detail *details; /* detail of each entry; NULL without --flow-detail */
	uint64_t *ip_bytes;          /* IP bytes of each entry; NULL without params.ip_bytes */
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

	/* Pairs with the release in flow_queue_release(): the consumer no longer reads the slot. */
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
	/*
	 * Pairs with the acquire in flow_queue_length(): the slot is written before `put` is
	 * raised.
	 */
	atomic_store_explicit(&queue->put, put + 1, memory_order_release);
	return true;
}

/*
 * Called by the consumer. Returns the number of readable entries. Sets *oldest to the slot of the
 * first.
 */
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

/* --- idle keys --- */

struct flow_idle {
	uint64_t timeout;  /* ns */
	int64_t now;       /* packet clock, ns since 1970-01-01 UTC; INT64_MIN: no packet yet */
	double rate;       /* share of the table to sweep per ns */
	double owed;       /* entries that the next sweep must check */
	int64_t swept_at;  /* packet clock at the last update of `owed` */
	int64_t looped_at; /* packet clock at the last flow_reclaim() that checked all entries */
	uint32_t at;       /* next entry of the sweep */
	uint32_t stride;   /* packets since the last sweep */
	void (*wait)(const void *arg);
	const void *wait_arg;
	struct flow_queue queue;
};

/* Returns the bytes of struct flow_idle and its queue. */
size_t flow_idle_memory(const struct sketch_params *params);
/* Initializes struct flow_idle in zeroed memory, aligned to 64 bytes. */
struct flow_idle *flow_idle_init(void *memory, const struct sketch_params *params);
/* Restores the state after flow_idle_init(). No thread may read the queue. */
void flow_idle_reset(struct flow_idle *idle);

/* Checks entries in proportion to the time since the last sweep, and emits the idle ones. */
void flow_sweep(struct flow_table *table);

/*
 * Checks all entries if the table is full. `now` is the packet clock. Does so at most once per 1/64
 * of the timeout, and only if params.wait is set, which excludes live ports. Returns true if an
 * entry was freed.
 */
bool flow_reclaim(struct flow_table *table, int64_t now);

/*
 * Returns true if n new keys may cause a reclaim. Packets must then be counted strictly in order:
 * later packets decide whether an entry is reclaimed.
 */
static inline bool flow_may_reclaim(const struct flow_table *table, uint32_t n)
{
	return table->idle->wait != NULL &&
	       n > flow_nb_entries(&table->sketch.params) -
			       atomic_load_explicit(&table->used, memory_order_relaxed);
}

/*
 * Emits the record of an entry and starts a new one. If the queue is full, continues the old
 * record.
 */
void flow_end(struct flow_table *table, uint32_t entry);

static inline bool flow_is_idle(
	const struct flow_idle *idle, const struct flow_entry *entry, int64_t now)
{
	int64_t last = atomic_load_explicit(&entry->last, memory_order_relaxed);

	return now > last && (uint64_t)now - (uint64_t)last > idle->timeout;
}
