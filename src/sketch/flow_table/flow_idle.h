/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Removes idle keys from a flow table with a single writer. A record ends if its key had no packet
 * for longer than the timeout, by the packet clock: the latest time of any packet so far. The table
 * emits the record when a sweep reaches its entry, and frees the entry. It does so earlier if
 * another packet of the key arrives, and starts a new record in the same entry. So the records
 * depend only on the packets, not on the times of sweeps.
 *
 * The sweeps decide which keys fit. A sweep follows every FLOW_STRIDE packets, counted across
 * bursts, so that burst boundaries do not matter.
 */

#include <stdbool.h>
#include <stdint.h>

#include "sketch/flow_table/flow_queue.h"
#include "sketch/flow_table/flow_entries.h"

#define FLOW_STRIDE 64

struct flow_idle {
	uint64_t timeout;  /* ns */
	int64_t now;       /* packet clock, ns since 1970-01-01 UTC; INT64_MIN: no packet yet */
	double rate;       /* share of the table to sweep per ns */
	double owed;       /* entries due for the sweep */
	int64_t swept_at;  /* packet clock at the last update of `owed` */
	int64_t looped_at; /* packet clock at the last check of all entries for lack of room */
	uint32_t at;       /* next entry of the sweep */
	uint32_t stride;   /* packets since the last sweep */
	void (*wait)(const void *arg);
	const void *wait_arg;
	struct flow_queue queue;
};

/* Returns its bytes, including the queue. */
size_t flow_idle_memory(const struct sketch_params *params);
/* Initializes it in zeroed memory, aligned to 64 bytes. */
struct flow_idle *flow_idle_init(void *memory, const struct sketch_params *params);
/* Resets it to the state after init. No thread may read the queue. */
void flow_idle_reset(struct flow_idle *idle);

/* Checks entries in proportion to the time since the last sweep, and emits the idle ones. */
void flow_sweep(struct flow_table *table);

/*
 * Checks all entries because the table is full; `now` is the packet clock. At most once per 64th of
 * the timeout, and only if params.wait is set, so not for packets of a port. Returns true if an
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

/* Ends the record in an entry and starts another; continues the record if the queue is full. */
void flow_end(struct flow_table *table, uint32_t entry);

static inline bool flow_is_idle(
	const struct flow_idle *idle, const struct flow_entry *entry, int64_t now)
{
	int64_t last = atomic_load_explicit(&entry->last, memory_order_relaxed);

	return now > last && (uint64_t)now - (uint64_t)last > idle->timeout;
}
