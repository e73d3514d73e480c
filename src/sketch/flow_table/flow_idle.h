/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Keys that are idle, in a table that one thread updates. A record ends where its key had no packet
 * for longer than the timeout, by the packets' clock: the latest time of any packet so far. It is
 * given out when a sweep comes by its entry, which is free then; or, earlier, when the next packet
 * of the key comes, which begins another record in the same entry. So the records depend on the
 * packets alone, not on when a sweep was.
 *
 * Which keys find room does depend on sweeps. They come after every FLOW_STRIDE packets, counted
 * over the bursts, so that it does not matter where those were cut.
 */

#include <stdbool.h>
#include <stdint.h>

#include "sketch/flow_table/flow_queue.h"
#include "sketch/flow_table/flow_entries.h"

#define FLOW_STRIDE 64

struct flow_idle {
	uint64_t timeout;  /* ns */
	int64_t now;       /* the packets' clock, ns since 1970; INT64_MIN: there was none yet */
	double rate;       /* share of the table to sweep per ns */
	double owed;       /* entries that are */
	int64_t swept_at;  /* when that was last added to */
	int64_t looped_at; /* when all entries were last looked at because there was no room */
	uint32_t at;       /* next entry of the sweep */
	uint32_t stride;   /* packets since the last sweep */
	void (*wait)(const void *arg);
	const void *wait_arg;
	struct flow_queue queue;
};

/* Bytes of it, with its queue. */
size_t flow_idle_memory(const struct sketch_params *params);
/* Initializes it in zeroed memory, aligned to 64. */
struct flow_idle *flow_idle_init(void *memory, const struct sketch_params *params);
/* Resets it to the state after init. No thread may read the queue. */
void flow_idle_reset(struct flow_idle *idle);

/* Looks at as many entries as the time that has passed asks for, and gives out the idle ones. */
void flow_sweep(struct flow_table *table);

/*
 * Looks at all entries, at a time of the packets' clock, because a key finds no room. Not again
 * before a 64th of the timeout has passed, and not where nobody waits for the queue: a port's
 * packets do not wait either. Returns whether an entry was given back.
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

/* Ends the record in an entry and begins another; goes on with it where the queue is full. */
void flow_end(struct flow_table *table, uint32_t entry);

static inline bool flow_is_idle(
	const struct flow_idle *idle, const struct flow_entry *entry, int64_t now)
{
	int64_t last = atomic_load_explicit(&entry->last, memory_order_relaxed);

	return now > last && (uint64_t)now - (uint64_t)last > idle->timeout;
}
