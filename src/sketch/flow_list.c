/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The entries of a bucket as a chain, in the order in which their keys came: heavy keys come early.
 *
 * A burst goes over the table in passes. First every bucket's line is fetched. Then all first
 * entries are compared, without a branch, and the second ones fetched: at one key a bucket three
 * packets of four or more find theirs in the first line. What is left walks its chain, in the order
 * of the packets, so that the table does not depend on where bursts were cut.
 *
 * How threads share it (the paper's Algorithm 5, a set; no thread waits for another). An entry
 * never leaves its chain. A new key either claims the free first entry, by a compare-and-swap of
 * its state, or is written into an entry of the pool that nobody else knows and appended by a
 * compare-and-swap of the last `next` from 0. Where that fails another entry was appended, and the
 * walk goes on there: so each thread that appends has compared its key with every entry before its
 * own, and no two entries of the chain's pool part have the same key. A first entry that is claimed
 * but not yet stored is passed over. Its key may then be appended once more by another thread, and
 * the two entries count different packets of it; whoever reads the table adds entries of one key.
 */

#include "sketch/burst_groups.h"
#include "sketch/flow_table.h"

/* What the passes hand on. Bit i of a mask stands for packet i. */
struct flow_burst {
	uint32_t bucket[BURST_MAX];
	struct flow_id id[BURST_MAX];
};

static uint64_t all_packets(uint32_t n)
{
	return n < BURST_MAX ? (UINT64_C(1) << n) - 1 : UINT64_MAX;
}

static void prepare(
	const struct flow_table *table, const struct key_burst *burst, struct flow_burst *work)
{
	flow_buckets(table, burst, work->bucket);
	for (uint32_t i = 0; i < burst->n; i++)
		work->id[i] = flow_id_of(burst, i);
}

/* ---- One thread */

/* Packets whose key is the first of its bucket. */
static uint64_t find_first(const struct flow_table *table, const struct key_burst *burst,
	const struct flow_burst *work)
{
	uint64_t found = 0;

	for (uint32_t i = 0; i < burst->n; i++) {
		const struct flow_entry *first = &table->entries[work->bucket[i]];
		uint64_t differ = flow_ids_differ(&first->id, &work->id[i]);

		__builtin_prefetch(
			&table->entries[atomic_load_explicit(&first->next, memory_order_relaxed)],
			1);
		found |= (uint64_t)(differ == 0) << i;
	}
	for (uint64_t left = found & burst->v6; left != 0;) {
		uint32_t i = mask_next(&left);

		if (!flow_matches(table, work->bucket[i], &work->id[i], burst, i))
			found &= ~(UINT64_C(1) << i);
	}
	return found;
}

/* The entry of a key that was not found first, new if need be; 0 and *shed where there is no room.
 * An entry 0 is bucket 0's first.
 */
static uint32_t find_owned(struct flow_table *table, const struct key_burst *burst,
	const struct flow_burst *work, uint32_t i, bool *shed)
{
	uint32_t at = work->bucket[i], next;

	*shed = false;
	if (atomic_load_explicit(&table->entries[at].state, memory_order_relaxed) == FLOW_FREE) {
		flow_fill(table, at, &work->id[i], burst, i);
		atomic_store_explicit(&table->entries[at].state, FLOW_STORED, memory_order_relaxed);
		return at;
	}
	for (;;) {
		if (flow_matches(table, at, &work->id[i], burst, i))
			return at;
		next = atomic_load_explicit(&table->entries[at].next, memory_order_relaxed);
		if (next == 0)
			break;
		at = next;
	}
	next = flow_take(table);
	*shed = next == 0;
	if (*shed)
		return 0;
	flow_fill(table, next, &work->id[i], burst, i);
	atomic_store_explicit(&table->entries[next].next, 0, memory_order_relaxed);
	atomic_store_explicit(&table->entries[next].state, FLOW_STORED, memory_order_relaxed);
	atomic_store_explicit(&table->entries[at].next, next, memory_order_relaxed);
	return next;
}

static void update_owned(struct flow_table *table, const struct key_burst *burst)
{
	struct flow_burst work;
	uint64_t found;

	prepare(table, burst, &work);
	found = find_first(table, burst, &work);
	for (uint64_t left = found; left != 0;) {
		uint32_t i = mask_next(&left);
		struct flow_addition addition = flow_addition_of(burst, i);

		flow_count(&table->entries[work.bucket[i]], &addition, FLOW_OWNED);
	}
	for (uint64_t left = all_packets(burst->n) & ~found; left != 0;) {
		uint32_t i = mask_next(&left);
		struct flow_addition addition = flow_addition_of(burst, i);
		bool shed;
		uint32_t entry = find_owned(table, burst, &work, i, &shed);

		if (shed)
			flow_shed(table, &addition);
		else
			flow_count(&table->entries[entry], &addition, FLOW_OWNED);
	}
}

/* ---- Several threads */

static bool stored_and_matches(const struct flow_table *table, uint32_t entry,
	const struct flow_id *id, const struct key_burst *burst, uint32_t i)
{
	/* Pairs with the release that stored it: its key comes first. */
	return atomic_load_explicit(&table->entries[entry].state, memory_order_acquire) ==
		       FLOW_STORED &&
	       flow_matches(table, entry, id, burst, i);
}

/* Whether this thread now owns a first entry that was free; it is stored then. */
static bool claim(struct flow_table *table, uint32_t entry, const struct flow_id *id,
	const struct key_burst *burst, uint32_t i)
{
	_Atomic uint8_t *state = &table->entries[entry].state;
	uint8_t expected = FLOW_FREE;

	if (atomic_load_explicit(state, memory_order_relaxed) != FLOW_FREE ||
		!atomic_compare_exchange_strong_explicit(
			state, &expected, FLOW_CLAIMED, memory_order_relaxed, memory_order_relaxed))
		return false;
	flow_fill(table, entry, id, burst, i);
	atomic_store_explicit(state, FLOW_STORED, memory_order_release);
	return true;
}

/*
 * As find_owned(). *fresh is an entry of the pool that this thread took and has not used, or 0;
 * what is left of it at the end goes back.
 */
static uint32_t find_shared(struct flow_table *table, const struct key_burst *burst,
	const struct flow_burst *work, uint32_t i, uint32_t *fresh, bool *shed)
{
	const struct flow_id *id = &work->id[i];
	uint32_t at = work->bucket[i];
	bool filled = false;

	*shed = false;
	if (claim(table, at, id, burst, i))
		return at;
	for (;;) {
		uint32_t next;

		if (stored_and_matches(table, at, id, burst, i))
			return at;
		/* Pairs with the release that appended it. */
		next = atomic_load_explicit(&table->entries[at].next, memory_order_acquire);
		if (next != 0) {
			at = next;
			continue;
		}
		if (*fresh == 0)
			*fresh = flow_take(table);
		*shed = *fresh == 0;
		if (*shed)
			return 0;
		if (!filled) {
			flow_fill(table, *fresh, id, burst, i);
			atomic_store_explicit(
				&table->entries[*fresh].next, 0, memory_order_relaxed);
			atomic_store_explicit(
				&table->entries[*fresh].state, FLOW_STORED, memory_order_relaxed);
			filled = true;
		}
		if (atomic_compare_exchange_strong_explicit(&table->entries[at].next, &next, *fresh,
			    memory_order_release, memory_order_acquire)) {
			at = *fresh;
			*fresh = 0;
			return at;
		}
		at = next;
	}
}

/* Followers into their leader's addition (sketch/burst_groups.h). */
static void sum_groups(const struct key_burst *burst, const struct burst_groups *groups,
	struct flow_addition *additions)
{
	for (uint32_t i = 0; i < burst->n; i++)
		additions[i] = flow_addition_of(burst, i);
	for (uint64_t left = groups->followers; left != 0;) {
		uint32_t i = mask_next(&left);
		struct flow_addition *sum = &additions[groups->leader[i]];

		sum->packets++;
		sum->bytes += burst->wire_len[i];
		sum->first = burst->time[i] < sum->first ? burst->time[i] : sum->first;
		sum->last = burst->time[i] > sum->last ? burst->time[i] : sum->last;
		sum->tcp_flags |= burst->tcp_flags[i];
	}
}

static inline __attribute__((always_inline)) void update_atomic(
	struct flow_table *table, const struct key_burst *burst, const enum flow_policy policy)
{
	struct flow_addition additions[BURST_MAX];
	struct burst_groups groups;
	struct flow_burst work;
	uint32_t fresh = 0;

	prepare(table, burst, &work);
	burst_groups_find(&groups, burst);
	sum_groups(burst, &groups, additions);
	for (uint64_t left = groups.leaders; left != 0;) {
		uint32_t i = mask_next(&left);
		bool shed;
		uint32_t entry = find_shared(table, burst, &work, i, &fresh, &shed);

		if (shed)
			flow_shed(table, &additions[i]);
		else
			flow_count(&table->entries[entry], &additions[i], policy);
	}
	if (fresh != 0)
		flow_return(table, fresh);
}

static void update_shared(struct flow_table *table, const struct key_burst *burst)
{
	switch (table->sketch.params.atomic) {
	case ATOMIC_CAS: update_atomic(table, burst, FLOW_CAS); break;
	case ATOMIC_ADD: update_atomic(table, burst, FLOW_ADD); break;
	case ATOMIC_LOCK:
		spinlock_lock(&table->lock);
		update_owned(table, burst);
		spinlock_unlock(&table->lock);
		break;
	}
}

const struct flow_store flow_store_list = {
	.name = "list",
	.update = {[SHARING_SEPARATE] = update_owned, [SHARING_SHARED] = update_shared},
};
