/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Internals of the flow table. A table of `width` buckets has twice as many entries. Entry b is
 * the first entry of bucket b. The others are a pool for further keys of any bucket, so that
 * `width` keys always fit. If the pool is empty, packets of new keys are only counted ("shed").
 */

#include <stdatomic.h>
#include <stdint.h>

#include "key/hash.h"
#include "sketch/counter.h"
#include "sketch/flow_id.h"
#include "sketch/sketch.h"
#include "sketch/weight.h"

enum flow_state {
	FLOW_FREE,
	FLOW_CLAIMED, /* a thread is writing its key */
	FLOW_STORED,
};

struct flow_entry {
	struct flow_id id;
	_Atomic uint64_t packets, bytes;
	_Atomic int64_t first, last; /* ns since 1970-01-01 UTC */
	_Atomic uint32_t next;       /* next entry of the bucket; 0: none */
	uint32_t bucket;             /* only set in entries of the pool */
	_Atomic uint8_t state;       /* enum flow_state */
	_Atomic uint8_t tcp_flags;
	uint8_t ranks[2]; /* struct query_ranks; also used by sketchtap-bench */
	uint32_t deep;    /* states and number of the flow's detail; 0 without --flow-detail */
} __attribute__((aligned(64)));

_Static_assert(sizeof(struct flow_entry) == 64, "a flow is one cache line");

struct flow_idle;
struct flow_deep;

struct flow_table {
	struct sketch sketch;
	uint32_t nb_buckets;
	uint64_t modulus_inverse;
	struct flow_entry *entries; /* [2 * nb_buckets] */
	struct key6 *key6;          /* keys of IPv6 entries */
	_Atomic uint64_t *ip_bytes; /* NULL: not counted */
	struct flow_idle *idle;     /* NULL: entries stay until the reset */
	struct flow_deep *deep;     /* NULL: flows have one state */
	struct hash_key hash_key;

	/* Entries from this number on were never taken. */
	_Atomic uint32_t used __attribute__((aligned(64)));
	_Atomic uint64_t returned; /* stack of returned entries */
	_Atomic uint64_t shed_packets __attribute__((aligned(64))), shed_bytes;
	_Atomic uint64_t shed_added, shed_added_bytes;
};

void flow_update_separate(struct sketch *sketch, const struct key_burst *burst);
void flow_update_separate_weighted(struct sketch *sketch, const struct key_burst *burst);
void flow_update_shared(struct sketch *sketch, const struct key_burst *burst);
void flow_update_shared_weighted(struct sketch *sketch, const struct key_burst *burst);
/* The table must have a single writer. Another entry of the bucket may move to this place. */
void flow_remove(struct flow_table *table, uint32_t entry);

extern const struct sketch_ops flow_table_ops;

static inline struct flow_table *flow_table_of(struct sketch *sketch)
{
	return (struct flow_table *)sketch;
}

static inline __attribute__((always_inline)) bool flow_matches(const struct flow_table *table,
	uint32_t entry, const struct flow_id *id, const struct key_burst *burst, uint32_t i)
{
	return flow_id_matches(&table->entries[entry].id, &table->key6[entry], id, burst, i);
}

/* Returns ceil(2^64 / n), or 0 for n = 1. */
static inline uint64_t flow_modulus_inverse(uint32_t n)
{
	return UINT64_MAX / n + 1;
}

/* hash % n: Lemire, Kaser and Kurz, Faster remainder by direct computation (2019), section 3. */
static inline uint32_t flow_modulo(uint32_t hash, uint32_t n, uint64_t inverse)
{
	return (uint32_t)((unsigned __int128)(inverse * hash) * n >> 64);
}

typedef void (*flow_hash_fn)(const struct key_burst *burst, uint32_t *hash);

/* Keyed, so that senders cannot direct many keys to one bucket. */
static inline void flow_hash_keyed(const struct key_burst *burst, uint32_t *hash)
{
	for (uint32_t i = 0; i < burst->n; i++)
		hash[i] = (uint32_t)burst->hash[i].lo;
}

/* Two loops, so that neither has a branch. `hash` is a compile-time constant. */
static inline __attribute__((always_inline)) void flow_buckets(const struct flow_table *table,
	const struct key_burst *burst, const flow_hash_fn hash, uint32_t *bucket)
{
	const uint32_t n = burst->n, nb_buckets = table->nb_buckets;
	uint32_t hashes[BURST_MAX];

	hash(burst, hashes);
	if ((nb_buckets & (nb_buckets - 1)) == 0) {
		for (uint32_t i = 0; i < n; i++) {
			bucket[i] = hashes[i] & (nb_buckets - 1);
			__builtin_prefetch(&table->entries[bucket[i]], 1);
		}
		return;
	}
	for (uint32_t i = 0; i < n; i++) {
		bucket[i] = flow_modulo(hashes[i], nb_buckets, table->modulus_inverse);
		__builtin_prefetch(&table->entries[bucket[i]], 1);
	}
}

/* Compile-time properties of a burst and a table. */
enum flow_mode {
	FLOW_WEIGHTED = 1 << 0,
	FLOW_IP_BYTES = 1 << 1, /* table->ip_bytes is not NULL */
	/* some packets are processed with less detail than the flow's own state */
	FLOW_DEFERRED = 1 << 2,
	FLOW_QUERIES = 1 << 3, /* queries request the states of flows */
};

/* One packet, or a group of packets with one key. */
struct flow_addition {
	uint64_t packets, bytes, ip_bytes;
	int64_t first, last;
	uint8_t tcp_flags;
};

static inline __attribute__((always_inline)) struct flow_addition flow_addition_of(
	const struct key_burst *burst, uint32_t i, const uint32_t mode)
{
	struct weight weight = weight_of(burst, i, (mode & FLOW_WEIGHTED) != 0);

	return (struct flow_addition){weight.packets, weight.bytes,
		mode & FLOW_IP_BYTES ? weight_ip_bytes(&weight, burst, i) : 0, burst->time[i],
		burst->time[i], burst->tcp_flags[i]};
}

/* Returns the old value. */
static inline __attribute__((always_inline)) int64_t flow_stretch(_Atomic int64_t *extreme,
	int64_t time, const bool greater, const enum counter_policy policy)
{
	int64_t value = atomic_load_explicit(extreme, memory_order_relaxed);

	while (greater ? time > value : time < value) {
		if (policy == COUNTER_OWNED) {
			atomic_store_explicit(extreme, time, memory_order_relaxed);
			break;
		}
		if (atomic_compare_exchange_weak_explicit(
			    extreme, &value, time, memory_order_relaxed, memory_order_relaxed))
			break;
	}
	return value;
}

/* Counts of single packets cannot overflow 64 bits. Sums of weights saturate. */
static inline __attribute__((always_inline)) uint64_t flow_add_amount(_Atomic uint64_t *sum,
	uint64_t amount, const enum counter_policy policy, const bool weighted)
{
	return weighted ? sum64_add_weight(sum, amount, policy) : sum64_add(sum, amount, policy);
}

struct flow_before {
	uint64_t packets;
	int64_t last;
};

/* Relaxed ordering is enough: readers wait for the handover of the epoch. */
static inline __attribute__((always_inline)) struct flow_before flow_count(struct flow_table *table,
	uint32_t number, const struct flow_addition *addition, const enum counter_policy policy,
	const uint32_t mode)
{
	struct flow_entry *entry = &table->entries[number];
	uint8_t flags = atomic_load_explicit(&entry->tcp_flags, memory_order_relaxed);
	struct flow_before before;

	before.packets = flow_add_amount(
		&entry->packets, addition->packets, policy, (mode & FLOW_WEIGHTED) != 0);
	flow_add_amount(&entry->bytes, addition->bytes, policy, (mode & FLOW_WEIGHTED) != 0);
	if (mode & FLOW_IP_BYTES)
		flow_add_amount(&table->ip_bytes[number], addition->ip_bytes, policy,
			(mode & FLOW_WEIGHTED) != 0);
	flow_stretch(&entry->first, addition->first, false, policy);
	before.last = flow_stretch(&entry->last, addition->last, true, policy);
	/* Each store would take the cache line from other threads. */
	if ((addition->tcp_flags & ~flags) == 0)
		return before;
	if (policy == COUNTER_OWNED)
		atomic_store_explicit(
			&entry->tcp_flags, flags | addition->tcp_flags, memory_order_relaxed);
	else
		atomic_fetch_or_explicit(
			&entry->tcp_flags, addition->tcp_flags, memory_order_relaxed);
	return before;
}

static inline void flow_clear_counts(struct flow_table *table, uint32_t entry)
{
	struct flow_entry *e = &table->entries[entry];

	if (table->ip_bytes != NULL)
		atomic_store_explicit(&table->ip_bytes[entry], 0, memory_order_relaxed);
	atomic_store_explicit(&e->packets, 0, memory_order_relaxed);
	atomic_store_explicit(&e->bytes, 0, memory_order_relaxed);
	atomic_store_explicit(&e->first, INT64_MAX, memory_order_relaxed);
	atomic_store_explicit(&e->last, INT64_MIN, memory_order_relaxed);
	atomic_store_explicit(&e->tcp_flags, 0, memory_order_relaxed);
}

/* No other thread may see the entry yet. */
static inline void flow_fill(struct flow_table *table, uint32_t entry, const struct flow_id *id,
	const struct key_burst *burst, uint32_t i)
{
	struct flow_entry *e = &table->entries[entry];

	e->id = *id;
	if (burst->v6 >> i & 1)
		table->key6[entry] = burst->key6[i];
	flow_clear_counts(table, entry);
}

static inline uint64_t flow_nb_entries(const struct sketch_params *params)
{
	return 2 * params->width;
}

/* Returns 0 if the pool is empty. */
uint32_t flow_take(struct flow_table *table);
void flow_return(struct flow_table *table, uint32_t entry);

static inline __attribute__((always_inline)) void flow_shed(struct flow_table *table,
	const struct flow_addition *addition, const struct key_burst *burst, const uint32_t mode)
{
	uint32_t shift = (mode & FLOW_WEIGHTED) != 0 ? burst->weights->shift : 0;

	flow_add_amount(
		&table->shed_packets, addition->packets, COUNTER_ADD, (mode & FLOW_WEIGHTED) != 0);
	flow_add_amount(
		&table->shed_bytes, addition->bytes, COUNTER_ADD, (mode & FLOW_WEIGHTED) != 0);
	if (shift == 0)
		return;
	flow_add_amount(&table->shed_added, addition->packets - (addition->packets >> shift),
		COUNTER_ADD, (mode & FLOW_WEIGHTED) != 0);
	flow_add_amount(&table->shed_added_bytes, addition->bytes - (addition->bytes >> shift),
		COUNTER_ADD, (mode & FLOW_WEIGHTED) != 0);
}
