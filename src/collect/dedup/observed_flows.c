/* SPDX-License-Identifier: BSD-3-Clause */

#include "collect/dedup/observed_flows.h"

#include <string.h>

#include "base/power_of_two.h"

#define SWEPT_FOR_EACH 2          /* entries swept per requested entry */
#define TIMEOUT_MAX    0x3fffffff /* ticks; differences have 31 bits */

uint32_t observed_flows_entries(uint64_t flows)
{
	uint64_t at_least = flows > 0 ? flows : 1;

	return at_least < FLOWS_MAX ? (uint32_t)at_least : FLOWS_MAX;
}

/* Returns the number of cells: at most two thirds are used. */
static uint64_t cells(uint64_t flows)
{
	uint64_t count = power_of_two_at_least((uint64_t)observed_flows_entries(flows) * 3 / 2 + 1);

	return count > 64 ? count : 64;
}

static size_t entries_bytes(uint64_t flows)
{
	return observed_flows_entries(flows) * sizeof(struct flow);
}

static size_t index_bytes(uint64_t flows)
{
	return cells(flows) * sizeof(uint64_t);
}

size_t observed_flows_memory(uint64_t flows)
{
	return entries_bytes(flows) + index_bytes(flows);
}

static uint32_t to_ticks(uint64_t timeout)
{
	uint64_t ticks = (timeout >> TICK_SHIFT) + 1;

	return ticks < TIMEOUT_MAX ? (uint32_t)ticks : TIMEOUT_MAX;
}

bool observed_flows_init(struct observed_flows *table, uint64_t flows, uint64_t timeout,
	const struct sketch_allocator *allocator)
{
	uint64_t nb_cells = cells(flows);

	*table = (struct observed_flows){
		.flows = allocator->alloc(entries_bytes(flows), allocator->arg),
		.index = allocator->alloc(index_bytes(flows), allocator->arg),
		.mask = nb_cells - 1,
		.shift = (uint32_t)(32 - __builtin_ctzll(nb_cells)),
		.room = observed_flows_entries(flows),
		.timeout = to_ticks(timeout),
	};
	/* At least four timeouts fit in the bits. */
	while (table->timeout >> table->share_shift >= UINT32_C(1) << (SHARE_TIME_BITS - 2))
		table->share_shift++;
	return table->flows && table->index;
}

void observed_flows_fini(struct observed_flows *table, const struct sketch_allocator *allocator)
{
	if (table->flows)
		allocator->free(table->flows, entries_bytes(table->room), allocator->arg);
	if (table->index)
		allocator->free(table->index, index_bytes(table->room), allocator->arg);
}

/* Returns the cell of the flow, or the free cell for it. */
static uint64_t find_flow(const struct observed_flows *table, const struct key_hash *hash)
{
	uint32_t tag = flow_tag(hash);
	uint64_t at = tag >> table->shift;

	for (; table->index[at]; at = (at + 1) & table->mask) {
		uint64_t cell = table->index[at];

		if (cell >> 32 == tag && flow_is_of(&table->flows[flow_of_cell(cell)], hash))
			break;
	}
	return at;
}

/* Frees a cell, and moves the following ones so that a search from their tag finds them. */
static void remove_cell(struct observed_flows *table, uint64_t hole)
{
	for (uint64_t at = (hole + 1) & table->mask; table->index[at];
		at = (at + 1) & table->mask) {
		uint64_t begins = table->index[at] >> 32 >> table->shift;

		if (((at - begins) & table->mask) >= ((at - hole) & table->mask)) {
			table->index[hole] = table->index[at];
			hole = at;
		}
	}
	table->index[hole] = 0;
}

static void free_entry(struct observed_flows *table, uint32_t number)
{
	struct flow *flow = &table->flows[number];

	*flow = (struct flow){.more = table->free};
	table->free = number + 1;
	table->used--;
}

static void free_more(struct observed_flows *table, struct flow *flow)
{
	uint32_t more = flow->more;

	while (more) {
		uint32_t number = more - 1;

		more = table->flows[number].more;
		free_entry(table, number);
	}
	flow->more = 0;
}

static void evict_flow(struct observed_flows *table, uint32_t number)
{
	struct flow *flow = &table->flows[number];

	remove_cell(table, find_flow(table, &flow->hash));
	free_more(table, flow);
	free_entry(table, number);
}

static void sweep(struct observed_flows *table, uint32_t number, uint32_t now)
{
	const struct flow *flow = &table->flows[number];

	if ((flow->flags & (FLOW_USED | FLOW_MORE)) == FLOW_USED && flow_is_over(table, flow, now))
		evict_flow(table, number);
}

void observed_flows_expire(struct observed_flows *table, uint32_t now)
{
	/* A full scan pollutes the caches; with free entries the sweep suffices. */
	if (!table->keep && table->used < table->room - table->room / 8)
		return;
	for (uint32_t number = 0; number < table->nb; number++)
		sweep(table, number, now);
}

/* Returns a free entry, or FLOW_NONE. */
static uint32_t take_entry(struct observed_flows *table, uint32_t now)
{
	uint32_t number;

	for (uint32_t i = 0; i < SWEPT_FOR_EACH && table->nb > 0 && !table->keep; i++) {
		table->hand = table->hand + 1 < table->nb ? table->hand + 1 : 0;
		sweep(table, table->hand, now);
	}
	if (table->free) {
		number = table->free - 1;
		table->free = table->flows[number].more;
	} else if (table->nb < table->room) {
		number = table->nb++;
	} else {
		return FLOW_NONE;
	}
	table->used++;
	return number;
}

static void start(struct flow *flow, const struct key_hash *hash)
{
	*flow = (struct flow){.flags = FLOW_USED, .hash = *hash};
}

void observed_flows_restart(struct observed_flows *table, struct flow *flow)
{
	struct key_hash hash = flow->hash;

	free_more(table, flow);
	start(flow, &hash);
}

static struct flow *add_flow(
	struct observed_flows *table, const struct key_hash *hash, uint32_t now)
{
	uint32_t number = take_entry(table, now);

	if (number == FLOW_NONE)
		return NULL;
	/* After take_entry(), because the sweep moves cells. */
	table->index[find_flow(table, hash)] = (uint64_t)flow_tag(hash) << 32 | (number + 1);
	start(&table->flows[number], hash);
	table->flows[number].last = now;
	return &table->flows[number];
}

struct flow *observed_flows_get(
	struct observed_flows *table, const struct key_hash *hash, uint32_t guess, uint32_t now)
{
	struct flow *flow;

	if (guess == FLOW_NONE || !flow_is_of(&table->flows[guess], hash)) {
		uint64_t cell = table->index[find_flow(table, hash)];

		if (!cell)
			return add_flow(table, hash, now);
		guess = flow_of_cell(cell);
	}
	flow = &table->flows[guess];
	if (flow_is_over(table, flow, now))
		observed_flows_restart(table, flow);
	if (flow->nb == 0 || (int32_t)(now - flow->last) > 0)
		flow->last = now;
	return flow;
}

struct share *observed_flows_more_share(struct observed_flows *table, struct flow *flow, uint32_t i)
{
	const struct flow *entry = &table->flows[flow->more - 1];
	struct more_shares *more;

	for (i -= FLOW_SHARES; i >= MORE_SHARES; i -= MORE_SHARES)
		entry = &table->flows[entry->more - 1];
	more = (struct more_shares *)(void *)&table->flows[entry - table->flows];
	return &more->shares[i];
}

/* Returns the last link of the list of additional entries. */
static uint32_t *last_link(struct observed_flows *table, struct flow *flow)
{
	uint32_t *link = &flow->more;

	while (*link)
		link = &table->flows[*link - 1].more;
	return link;
}

struct share *observed_flows_add_share(
	struct observed_flows *table, struct flow *flow, uint32_t now)
{
	if (flow->nb == SHARES_MAX)
		return NULL;
	if (flow->nb >= FLOW_SHARES && (flow->nb - FLOW_SHARES) % MORE_SHARES == 0) {
		/* The sweep does not free this flow: it was just reported. */
		uint32_t number = take_entry(table, now);

		if (number == FLOW_NONE)
			return NULL;
		memset(&table->flows[number], 0, sizeof(struct flow));
		table->flows[number].flags = FLOW_USED | FLOW_MORE;
		*last_link(table, flow) = number + 1;
	}
	if (flow->nb == 1)
		table->index[find_flow(table, &flow->hash)] |= FLOW_SEVERAL;
	return observed_flows_share(table, flow, flow->nb++);
}
