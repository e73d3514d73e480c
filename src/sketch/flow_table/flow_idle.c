/* SPDX-License-Identifier: BSD-3-Clause */
#include "sketch/flow_table/flow_idle.h"

#include "sketch/flow_table/flow_detail.h"

#define SWEEPS_PER_TIMEOUT 4
#define LOOPS_PER_TIMEOUT  64
#define SWEEP_MAX          FLOW_STRIDE /* maximum entries per sweep */

size_t flow_idle_memory(const struct sketch_params *params)
{
	size_t detail = params->deep.deepest != FLOW_COUNT ? sizeof(struct flow_detail) : 0;
	size_t ip_bytes = params->ip_bytes ? sizeof(uint64_t) : 0;

	return sizeof(struct flow_idle) +
	       FLOW_QUEUE * (sizeof(struct flow_entry) + detail + ip_bytes + sizeof(struct key6));
}

struct flow_idle *flow_idle_init(void *memory, const struct sketch_params *params)
{
	struct flow_idle *idle = memory;
	void *behind;

	idle->timeout = params->idle_timeout;
	idle->rate = SWEEPS_PER_TIMEOUT / (double)params->idle_timeout;
	idle->wait = params->wait;
	idle->wait_arg = params->wait_arg;
	idle->queue.entries = (struct flow_entry *)(idle + 1);
	behind = idle->queue.entries + FLOW_QUEUE;
	if (params->deep.deepest != FLOW_COUNT) {
		idle->queue.details = behind;
		behind = idle->queue.details + FLOW_QUEUE;
	}
	if (params->ip_bytes) {
		idle->queue.ip_bytes = behind;
		behind = idle->queue.ip_bytes + FLOW_QUEUE;
	}
	idle->queue.key6 = behind;
	flow_idle_reset(idle);
	return idle;
}

void flow_idle_reset(struct flow_idle *idle)
{
	idle->now = idle->swept_at = idle->looped_at = INT64_MIN;
	idle->owed = 0;
	idle->at = 0;
	idle->stride = 0;
	atomic_store_explicit(&idle->queue.put, 0, memory_order_relaxed);
	atomic_store_explicit(&idle->queue.taken, 0, memory_order_relaxed);
}

static bool emit_record(struct flow_table *table, uint32_t entry)
{
	const struct flow_entry *e = &table->entries[entry];
	const struct flow_detail *detail =
		table->deep != NULL ? flow_detail_of(table->deep->details, e) : NULL;
	struct flow_idle *idle = table->idle;

	while (!flow_queue_put(&idle->queue, table, entry, detail)) {
		if (idle->wait == NULL)
			return false;
		idle->wait(idle->wait_arg);
	}
	return true;
}

static bool is_expired(const struct flow_table *table, uint32_t entry, int64_t now)
{
	const struct flow_entry *e = &table->entries[entry];

	return atomic_load_explicit(&e->state, memory_order_relaxed) == FLOW_STORED &&
	       flow_is_idle(table->idle, e, now);
}

/* Returns the number of removed entries. */
static uint32_t scan_buckets(struct flow_table *table, int64_t now, uint32_t n)
{
	struct flow_idle *idle = table->idle;
	uint32_t removed = 0;

	for (; n > 0; n--) {
		if (idle->at >= atomic_load_explicit(&table->used, memory_order_relaxed))
			idle->at = 0;
		/* Check the same place again: another entry may have moved there. */
		for (; is_expired(table, idle->at, now); removed++) {
			if (!emit_record(table, idle->at))
				return removed;
			flow_remove(table, idle->at);
		}
		idle->at++;
	}
	return removed;
}

void flow_sweep(struct flow_table *table)
{
	struct flow_idle *idle = table->idle;
	uint32_t used = atomic_load_explicit(&table->used, memory_order_relaxed), n;
	uint64_t passed = (uint64_t)idle->now - (uint64_t)idle->swept_at;

	idle->owed += (double)passed * idle->rate * used;
	if (idle->owed > SWEEP_MAX)
		idle->owed = SWEEP_MAX;
	idle->swept_at = idle->now;
	n = (uint32_t)idle->owed;
	idle->owed -= n;
	scan_buckets(table, idle->now, n);
}

bool flow_reclaim(struct flow_table *table, int64_t now)
{
	struct flow_idle *idle = table->idle;

	if (idle->wait == NULL ||
		(uint64_t)now - (uint64_t)idle->looped_at <= idle->timeout / LOOPS_PER_TIMEOUT)
		return false;
	idle->looped_at = now;
	return scan_buckets(table, now, atomic_load_explicit(&table->used, memory_order_relaxed)) >
	       0;
}

void flow_end(struct flow_table *table, uint32_t entry)
{
	struct flow_entry *e = &table->entries[entry];

	/* A new entry has no packets yet. */
	if (atomic_load_explicit(&e->packets, memory_order_relaxed) == 0 ||
		!emit_record(table, entry))
		return;
	flow_clear_counts(table, entry);
	if (table->deep != NULL)
		flow_deep_end(table->deep, e);
}
