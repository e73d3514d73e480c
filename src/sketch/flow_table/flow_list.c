/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The chain of a bucket. Several threads add entries without waiting (Algorithm 5 of Wu et al.
 * 2016, applied to a set). A new key claims a free first entry by a compare-and-swap of its state.
 * Otherwise the thread appends an entry of the pool by a compare-and-swap of the last `next` from
 * 0. If that fails, the thread searches on. Entries of the pool in a chain therefore have
 * different keys. No entry leaves its chain while threads share the table.
 *
 * If a first entry is claimed but not yet stored, another thread may append the same key. Readers
 * add up all entries of a key.
 */

#include "sketch/flow_table/flow_owned.h"

static inline __attribute__((always_inline)) void count_separate(
	struct flow_table *table, const struct key_burst *burst, const uint32_t mode)
{
	if (table->deep != NULL)
		(mode & FLOW_WEIGHTED ? flow_detail_update_weighted : flow_detail_update)(
			table, burst);
	else if (table->idle != NULL)
		flow_update_idle(table, burst, flow_find_in_chain, mode);
	else
		flow_update_owned(table, burst, flow_hash_keyed, flow_find_in_chain, mode);
}

/* `weight` is FLOW_WEIGHTED or 0. */
#define FLOW_UPDATE(name, count, weight)                                                           \
	void name(struct sketch *sketch, const struct key_burst *burst)                            \
	{                                                                                          \
		struct flow_table *table = flow_table_of(sketch);                                  \
                                                                                                   \
		if (table->ip_bytes != NULL)                                                       \
			count(table, burst, (weight) | FLOW_IP_BYTES);                             \
		else                                                                               \
			count(table, burst, weight);                                               \
	}

FLOW_UPDATE(flow_update_separate, count_separate, 0)
FLOW_UPDATE(flow_update_separate_weighted, count_separate, FLOW_WEIGHTED)

/* The next entry of the chain moves to the first place. */
static void remove_first(struct flow_table *table, uint32_t bucket)
{
	uint32_t next = flow_next(table, bucket);

	if (next == 0) {
		table->entries[bucket] = (struct flow_entry){0};
		return;
	}
	table->entries[bucket] = table->entries[next]; /* also copies `next` */
	table->key6[bucket] = table->key6[next];
	if (table->ip_bytes != NULL)
		atomic_store_explicit(&table->ip_bytes[bucket],
			atomic_load_explicit(&table->ip_bytes[next], memory_order_relaxed),
			memory_order_relaxed);
	flow_return(table, next);
}

void flow_remove(struct flow_table *table, uint32_t entry)
{
	uint32_t at;

	if (table->deep != NULL)
		flow_deep_end(table->deep, &table->entries[entry]);
	if (entry < table->nb_buckets) {
		remove_first(table, entry);
		return;
	}
	for (at = table->entries[entry].bucket; flow_next(table, at) != entry;)
		at = flow_next(table, at);
	flow_set_next(table, at, flow_next(table, entry));
	flow_return(table, entry);
}

static bool stored_and_matches(const struct flow_table *table, uint32_t entry,
	const struct flow_id *id, const struct key_burst *burst, uint32_t i)
{
	/* Pairs with the release in claim(): the key is complete. */
	return atomic_load_explicit(&table->entries[entry].state, memory_order_acquire) ==
		       FLOW_STORED &&
	       flow_matches(table, entry, id, burst, i);
}

/* Returns false if the entry is in use. */
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
 * Sets *shed if there is no room. *fresh is 0, or an entry that this thread has taken from the
 * pool but not used. The caller returns it after the burst.
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
		/* Pairs with the release of the compare-and-swap below. */
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
			flow_set_next(table, *fresh, 0);
			flow_set_stored(table, *fresh);
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

/* Adds the packets of followers to the addition of their leader (sketch/burst_groups.h). */
static inline __attribute__((always_inline)) void sum_groups(const struct key_burst *burst,
	const struct burst_groups *groups, struct flow_addition *additions, const uint32_t mode)
{
	for (uint32_t i = 0; i < burst->n; i++)
		additions[i] = flow_addition_of(burst, i, mode);
	for (uint64_t left = groups->followers; left != 0;) {
		uint32_t i = mask_next(&left);
		struct flow_addition *sum = &additions[groups->leader[i]];

		if ((mode & FLOW_WEIGHTED) != 0) {
			sum->packets = counter64_sum(sum->packets, burst->weights->packets[i]);
			sum->bytes = counter64_sum(sum->bytes, burst->weights->bytes[i]);
			if (mode & FLOW_IP_BYTES)
				sum->ip_bytes = counter64_sum(sum->ip_bytes, additions[i].ip_bytes);
		} else {
			sum->packets++;
			sum->bytes += burst->wire_len[i];
			if (mode & FLOW_IP_BYTES)
				sum->ip_bytes += additions[i].ip_bytes;
		}
		sum->first = burst->time[i] < sum->first ? burst->time[i] : sum->first;
		sum->last = burst->time[i] > sum->last ? burst->time[i] : sum->last;
		sum->tcp_flags |= burst->tcp_flags[i];
	}
}

static inline __attribute__((always_inline)) void update_atomic(struct flow_table *table,
	const struct key_burst *burst, const enum counter_policy policy, const uint32_t mode)
{
	struct flow_addition additions[BURST_MAX];
	struct burst_groups groups;
	struct flow_burst work;
	uint32_t fresh = 0;

	flow_burst_prepare(table, burst, flow_hash_keyed, &work);
	burst_groups_find(&groups, burst);
	sum_groups(burst, &groups, additions, mode);
	for (uint64_t left = groups.leaders; left != 0;) {
		uint32_t i = mask_next(&left);
		bool shed;
		uint32_t entry = find_shared(table, burst, &work, i, &fresh, &shed);

		if (shed)
			flow_shed(table, &additions[i], burst, mode);
		else
			flow_count(table, entry, &additions[i], policy, mode);
	}
	if (fresh != 0)
		flow_return(table, fresh);
}

static inline __attribute__((always_inline)) void count_shared(
	struct flow_table *table, const struct key_burst *burst, const uint32_t mode)
{
	if (table->sketch.params.atomic == ATOMIC_ADD)
		update_atomic(table, burst, COUNTER_ADD, mode);
	else
		update_atomic(table, burst, COUNTER_CAS, mode);
}

FLOW_UPDATE(flow_update_shared, count_shared, 0)
FLOW_UPDATE(flow_update_shared_weighted, count_shared, FLOW_WEIGHTED)
