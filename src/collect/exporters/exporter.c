/* SPDX-License-Identifier: BSD-3-Clause */
#include "collect/exporters/exporter.h"

#include <stdlib.h>
#include <string.h>

#include "base/assertion.h"
#include "base/power_of_two.h"
#include "base/random.h"
#include "collect/exporters/observation.h"

/* number of rejected and evicted domains that are remembered by their hash */
#define REMEMBERED_MIN 4096
#define REMEMBERED_MAX (UINT64_C(1) << 20)

#define NEWCOMERS_PART 8 /* 1/8 of the slots is reserved for domains that are not proven */
#define ADDRESS_PART   4 /* an address has at most 1/4 of the slots of proven domains */
#define ADDRESS_LEAST  16

/* See exporter.h. Each rank has its own list. */
enum rank {
	RANK_NEW,
	RANK_HEARD,
	RANK_PROVEN,
	RANK_COUNT,
};

struct exporter_entry {
	struct exporter_id id;
	uint64_t heard; /* last epoch with a datagram */
	/* last datagram, ns since 1970-01-01 UTC; 0: in an earlier run */
	int64_t heard_at;
	uint64_t datagram;       /* number of its last datagram */
	uint64_t proved;         /* number of the last good datagram; 0: none */
	uint32_t earlier, later; /* neighbours in the list of its rank, oldest datagram first */
	/* next and previous domain of the address; EXPORTER_NONE: none */
	uint32_t sibling, elder;
	uint32_t proven; /* proven domains of the address; valid in its first domain */
	uint8_t rank;    /* enum rank */
	uint8_t proofs;
};

/* Open addressing. Cell: slot + 1; 0: free. */
struct exporter_cells {
	uint32_t *cell;
	uint64_t mask;
};

struct exporter_table {
	uint32_t max, used;
	/* domains: number, limit, limit per address */
	uint32_t proven, proven_max, address_max;
	uint64_t epoch, datagrams;
	/* ns since 1970-01-01 UTC: current datagram and first one; 0: none yet */
	int64_t now, start;
	uint64_t seed;
	struct exporter_cells by_id, by_address; /* by_address: the first domain of each address */
	uint32_t *remembered;
	uint64_t remembered_mask;
	struct exporter_entry *entries; /* [max] slots, then the list head of each rank */
};

static uint64_t cells_for(uint32_t max)
{
	return power_of_two_at_least((uint64_t)max * 2);
}

static uint64_t remembered_for(uint32_t max)
{
	uint64_t cells = power_of_two_at_least((uint64_t)max * 16);

	if (cells < REMEMBERED_MIN)
		return REMEMBERED_MIN;
	return cells < REMEMBERED_MAX ? cells : REMEMBERED_MAX;
}

size_t exporter_table_memory(uint32_t max)
{
	return sizeof(struct exporter_table) + 2 * cells_for(max) * sizeof(uint32_t) +
	       remembered_for(max) * sizeof(uint32_t) +
	       ((size_t)max + RANK_COUNT) * sizeof(struct exporter_entry);
}

static uint32_t ring(const struct exporter_table *table, enum rank rank)
{
	return table->max + rank;
}

static void ring_take_out(struct exporter_table *table, uint32_t slot)
{
	struct exporter_entry *entry = &table->entries[slot];

	table->entries[entry->earlier].later = entry->later;
	table->entries[entry->later].earlier = entry->earlier;
}

/* Inserts the slot as the most recent one of its rank. */
static void ring_put_in(struct exporter_table *table, uint32_t slot, enum rank rank)
{
	struct exporter_entry *entry = &table->entries[slot];
	uint32_t sentinel = ring(table, rank);

	entry->rank = (uint8_t)rank;
	entry->earlier = table->entries[sentinel].earlier;
	entry->later = sentinel;
	table->entries[entry->earlier].later = slot;
	table->entries[sentinel].earlier = slot;
}

/* Returns EXPORTER_NONE if the rank is empty. */
static uint32_t oldest(const struct exporter_table *table, enum rank rank)
{
	uint32_t slot = table->entries[ring(table, rank)].later;

	return slot < table->max ? slot : EXPORTER_NONE;
}

struct exporter_table *exporter_table_create(uint32_t max, uint64_t seed)
{
	struct exporter_table *table = calloc(1, sizeof(*table));

	if (table == NULL)
		return NULL;
	table->max = max;
	table->proven_max = max > 1 ? max - (max + NEWCOMERS_PART - 1) / NEWCOMERS_PART : 1;
	table->address_max = table->proven_max / ADDRESS_PART;
	if (table->address_max < ADDRESS_LEAST)
		table->address_max = ADDRESS_LEAST;
	table->epoch = 2;
	table->seed = seed;
	table->by_id.mask = table->by_address.mask = cells_for(max) - 1;
	table->remembered_mask = remembered_for(max) - 1;
	table->by_id.cell = calloc(cells_for(max), sizeof(uint32_t));
	table->by_address.cell = calloc(cells_for(max), sizeof(uint32_t));
	table->remembered = calloc(remembered_for(max), sizeof(uint32_t));
	table->entries = calloc((size_t)max + RANK_COUNT, sizeof(struct exporter_entry));
	if (table->by_id.cell == NULL || table->by_address.cell == NULL ||
		table->remembered == NULL || table->entries == NULL) {
		exporter_table_destroy(table);
		return NULL;
	}
	for (uint32_t i = max; i < max + RANK_COUNT; i++)
		table->entries[i].earlier = table->entries[i].later = i;
	return table;
}

void exporter_table_destroy(struct exporter_table *table)
{
	if (table == NULL)
		return;
	free(table->by_id.cell);
	free(table->by_address.cell);
	free(table->remembered);
	free(table->entries);
	free(table);
}

uint32_t exporter_table_used(const struct exporter_table *table)
{
	return table->used;
}

static uint64_t hash_address(uint64_t seed, const struct in6_addr *address)
{
	uint64_t halves[2];

	memcpy(halves, address, sizeof(halves));
	return random_mix(random_mix(halves[0] ^ seed) + halves[1]);
}

static uint64_t hash_id(uint64_t seed, const struct exporter_id *id)
{
	return random_mix(
		hash_address(seed, &id->address) + ((uint64_t)id->protocol << 32 | id->domain));
}

static bool same_id(const struct exporter_id *a, const struct exporter_id *b)
{
	return a->domain == b->domain && a->protocol == b->protocol &&
	       memcmp(&a->address, &b->address, sizeof(a->address)) == 0;
}

uint32_t exporter_find(const struct exporter_table *table, const struct exporter_id *id)
{
	const struct exporter_cells *cells = &table->by_id;

	for (uint64_t i = hash_id(table->seed, id);; i++) {
		uint32_t cell = cells->cell[i & cells->mask];

		if (cell == 0)
			return EXPORTER_NONE;
		if (same_id(&table->entries[cell - 1].id, id))
			return cell - 1;
	}
}

/* Returns the cell of the address, or the free cell for it. */
static uint64_t address_cell(const struct exporter_table *table, const struct in6_addr *address)
{
	const struct exporter_cells *cells = &table->by_address;

	for (uint64_t i = hash_address(table->seed, address);; i++) {
		uint32_t cell = cells->cell[i & cells->mask];

		if (cell == 0 || memcmp(&table->entries[cell - 1].id.address, address,
					 sizeof(*address)) == 0)
			return i & cells->mask;
	}
}

uint32_t exporter_at(const struct exporter_table *table, const struct in6_addr *address)
{
	/* An empty cell is 0, and 0 - 1 is EXPORTER_NONE. */
	return table->by_address.cell[address_cell(table, address)] - 1;
}

uint32_t exporter_sibling(const struct exporter_table *table, uint32_t slot)
{
	return table->entries[slot].sibling;
}

const struct exporter_id *exporter_id(const struct exporter_table *table, uint32_t slot)
{
	return &table->entries[slot].id;
}

static uint64_t home(
	const struct exporter_table *table, const struct exporter_cells *cells, uint32_t cell)
{
	const struct exporter_id *id = &table->entries[cell - 1].id;

	return cells == &table->by_id ? hash_id(table->seed, id)
				      : hash_address(table->seed, &id->address);
}

/* Moves later cells of the probe sequence, so that searches find them. */
static void empty_cell(
	const struct exporter_table *table, const struct exporter_cells *cells, uint64_t hole)
{
	for (uint64_t i = hole + 1;; i++) {
		uint32_t cell = cells->cell[i & cells->mask];

		if (cell == 0)
			break;
		if (((i - home(table, cells, cell)) & cells->mask) < ((i - hole) & cells->mask))
			continue;
		cells->cell[hole & cells->mask] = cell;
		hole = i;
	}
	cells->cell[hole & cells->mask] = 0;
}

static struct exporter_entry *eldest_of(struct exporter_table *table, uint32_t slot)
{
	return &table->entries[exporter_at(table, &table->entries[slot].id.address)];
}

static void leave_address(struct exporter_table *table, uint32_t slot)
{
	struct exporter_entry *entry = &table->entries[slot];
	uint64_t cell = address_cell(table, &entry->id.address);

	if (entry->sibling != EXPORTER_NONE)
		table->entries[entry->sibling].elder = entry->elder;
	if (entry->elder != EXPORTER_NONE) {
		table->entries[entry->elder].sibling = entry->sibling;
	} else if (entry->sibling != EXPORTER_NONE) {
		table->by_address.cell[cell] = entry->sibling + 1;
		table->entries[entry->sibling].proven = entry->proven;
	} else {
		empty_cell(table, &table->by_address, cell);
	}
}

static void leave_id(struct exporter_table *table, uint32_t slot)
{
	const struct exporter_cells *cells = &table->by_id;
	uint64_t i = hash_id(table->seed, &table->entries[slot].id);

	while (cells->cell[i & cells->mask] != slot + 1)
		i++;
	empty_cell(table, cells, i);
}

/* Inserts after the first domain of the address: this takes constant time. */
static void enter_address(struct exporter_table *table, uint32_t slot)
{
	struct exporter_entry *entry = &table->entries[slot];
	uint64_t cell = address_cell(table, &entry->id.address);
	uint32_t eldest = table->by_address.cell[cell] - 1;

	entry->sibling = entry->elder = EXPORTER_NONE;
	entry->proven = 0;
	if (eldest == EXPORTER_NONE) {
		table->by_address.cell[cell] = slot + 1;
		return;
	}
	entry->elder = eldest;
	entry->sibling = table->entries[eldest].sibling;
	table->entries[eldest].sibling = slot;
	if (entry->sibling != EXPORTER_NONE)
		table->entries[entry->sibling].elder = slot;
}

static void enter_id(struct exporter_table *table, uint32_t slot)
{
	const struct exporter_cells *cells = &table->by_id;
	uint64_t i = hash_id(table->seed, &table->entries[slot].id);

	while (cells->cell[i & cells->mask] != 0)
		i++;
	cells->cell[i & cells->mask] = slot + 1;
}

/*
 * The hash has no secret seed, so that runs are reproducible. A collision gives an attacker no more
 * than a second datagram.
 */
static bool remember(struct exporter_table *table, const struct exporter_id *id)
{
	uint64_t hash = hash_id(0, id);
	uint32_t *cell = &table->remembered[hash & table->remembered_mask];
	uint32_t print = (uint32_t)(hash >> 32) | 1;
	bool was = *cell == print;

	*cell = print;
	return was;
}

/* Unsigned arithmetic, because the times of a capture are arbitrary and may overflow. */
static bool is_silent(const struct exporter_table *table, uint32_t slot)
{
	int64_t heard_at = table->entries[slot].heard_at;

	return (int64_t)((uint64_t)table->now -
			 (uint64_t)(heard_at != 0 ? heard_at : table->start)) > EXPORTER_SILENCE_NS;
}

static void set_rank(struct exporter_table *table, uint32_t slot, enum rank rank)
{
	bool was = table->entries[slot].rank == RANK_PROVEN, is = rank == RANK_PROVEN;

	ring_take_out(table, slot);
	ring_put_in(table, slot, rank);
	table->proven += (uint32_t)is - was;
	ASSERT(table->proven, <=, table->proven_max);
	eldest_of(table, slot)->proven += (uint32_t)is - was;
}

static bool is_current(const struct exporter_table *table, uint32_t slot)
{
	return table->entries[slot].datagram == table->datagrams;
}

static uint32_t victim(struct exporter_table *table, bool heard_before)
{
	uint32_t slot = oldest(table, RANK_NEW);

	if (slot != EXPORTER_NONE)
		return is_current(table, slot) ? EXPORTER_NONE : slot;
	slot = oldest(table, RANK_PROVEN);
	if (slot != EXPORTER_NONE && is_silent(table, slot))
		return slot;
	slot = oldest(table, RANK_HEARD);
	if (slot != EXPORTER_NONE && heard_before && table->entries[slot].heard + 1 < table->epoch)
		return slot;
	return EXPORTER_NONE;
}

void exporter_datagram(struct exporter_table *table, int64_t now)
{
	table->now = now;
	table->datagrams++;
	if (table->start == 0)
		table->start = now;
}

static void evict(struct exporter_table *table, uint32_t slot)
{
	if (table->entries[slot].rank == RANK_NEW)
		remember(table, &table->entries[slot].id);
	set_rank(table, slot, RANK_NEW);
	leave_id(table, slot);
	leave_address(table, slot);
	ring_take_out(table, slot);
}

uint32_t exporter_admit(struct exporter_table *table, const struct exporter_id *id, bool *evicted)
{
	bool full = table->used == table->max;
	bool heard_before = full && remember(table, id);
	uint32_t slot = full ? victim(table, heard_before) : table->used++;
	struct exporter_entry *entry;

	ASSERT(table->used, <=, table->max);
	*evicted = full;
	if (slot == EXPORTER_NONE)
		return slot;
	if (full)
		evict(table, slot);
	entry = &table->entries[slot];
	entry->id = *id;
	entry->heard = table->epoch;
	entry->heard_at = table->now;
	entry->datagram = table->datagrams;
	entry->proofs = 0;
	entry->proved = 0;
	enter_id(table, slot);
	enter_address(table, slot);
	ring_put_in(table, slot, heard_before ? RANK_HEARD : RANK_NEW);
	return slot;
}

void exporter_heard(struct exporter_table *table, uint32_t slot)
{
	struct exporter_entry *entry = &table->entries[slot];
	enum rank rank = entry->rank == RANK_PROVEN ? RANK_PROVEN : RANK_HEARD;

	ASSERT(slot, <, exporter_table_used(table));
	if (is_current(table, slot))
		return;
	entry->datagram = table->datagrams;
	entry->heard = table->epoch;
	entry->heard_at = table->now;
	ring_take_out(table, slot);
	ring_put_in(table, slot, rank);
}

/* Returns true if another domain of this address can become proven. */
static bool has_room(struct exporter_table *table, uint32_t slot)
{
	uint32_t silent = oldest(table, RANK_PROVEN);

	if (table->proven == table->proven_max && is_silent(table, silent))
		set_rank(table, silent, RANK_HEARD);
	return table->proven < table->proven_max &&
	       eldest_of(table, slot)->proven < table->address_max;
}

void exporter_prove(struct exporter_table *table, uint32_t slot)
{
	struct exporter_entry *entry = &table->entries[slot];

	if (entry->rank == RANK_PROVEN || entry->proved == table->datagrams)
		return;
	entry->proved = table->datagrams;
	if (entry->proofs < EXPORTER_PROOFS)
		entry->proofs++;
	if (entry->proofs == EXPORTER_PROOFS && has_room(table, slot))
		set_rank(table, slot, RANK_PROVEN);
}

void exporter_restore(struct exporter_table *table, uint32_t slot)
{
	struct exporter_entry *entry = &table->entries[slot];

	entry->heard = 0;
	entry->heard_at = 0;
	entry->datagram = 0;
	entry->proofs = EXPORTER_PROOFS;
	if (entry->rank != RANK_PROVEN)
		set_rank(table, slot, has_room(table, slot) ? RANK_PROVEN : RANK_HEARD);
}

bool exporter_is_proven(const struct exporter_table *table, uint32_t slot)
{
	return table->entries[slot].rank == RANK_PROVEN;
}

void exporter_end_epoch(struct exporter_table *table)
{
	table->epoch++;
}
