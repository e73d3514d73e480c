/* SPDX-License-Identifier: BSD-3-Clause */
#include "rx/packet/prefix_table.h"

#include <stdlib.h>

#include "base/huge_map.h"
#include "base/key_burst.h"

#define FIRSTS     (UINT32_C(1) << 24)
#define GROUP_SIZE 256
#define IS_GROUP   (UINT32_C(1) << 31) /* the rest is a group's number */

struct prefix_table {
	uint32_t nb_groups, used;
	uint32_t *entries; /* [FIRSTS], then [nb_groups][GROUP_SIZE] */
};

size_t prefix_table_bytes(uint32_t nb_groups)
{
	return (FIRSTS + (size_t)nb_groups * GROUP_SIZE) * sizeof(uint32_t);
}

struct prefix_table *prefix_table_create(uint32_t nb_groups)
{
	struct prefix_table *table = calloc(1, sizeof(*table));

	if (table == NULL)
		return NULL;
	table->nb_groups = nb_groups;
	table->entries = huge_map(prefix_table_bytes(nb_groups));
	if (table->entries != NULL)
		return table;
	free(table);
	return NULL;
}

void prefix_table_destroy(struct prefix_table *table)
{
	if (table == NULL)
		return;
	huge_unmap(table->entries, prefix_table_bytes(table->nb_groups));
	free(table);
}

static inline uint32_t *group_of(const struct prefix_table *table, uint32_t entry)
{
	return table->entries + FIRSTS + (size_t)(entry & ~IS_GROUP) * GROUP_SIZE;
}

static void paint(uint32_t *entries, uint32_t n, uint32_t value)
{
	for (uint32_t i = 0; i < n; i++)
		entries[i] = value;
}

bool prefix_table_add(struct prefix_table *table, uint32_t address, uint32_t length, uint32_t value)
{
	uint32_t *first = &table->entries[address >> 8];

	if (length <= 24) { /* longer ones come later: there are no groups below */
		paint(first, UINT32_C(1) << (24 - length), value);
		return true;
	}
	if ((*first & IS_GROUP) == 0) {
		if (table->used == table->nb_groups)
			return false;
		paint(group_of(table, table->used), GROUP_SIZE, *first);
		*first = IS_GROUP | table->used++;
	}
	paint(group_of(table, *first) + (address & 0xff), UINT32_C(1) << (32 - length), value);
	return true;
}

void prefix_table_look_up(
	const struct prefix_table *table, const uint32_t *addresses, uint32_t *values, uint32_t n)
{
	const uint32_t *at[BURST_MAX];

	for (uint32_t i = 0; i < n; i++)
		__builtin_prefetch(&table->entries[addresses[i] >> 8]);
	for (uint32_t i = 0; i < n; i++) {
		const uint32_t *first = &table->entries[addresses[i] >> 8];

		at[i] = (*first & IS_GROUP) != 0 ? group_of(table, *first) + (addresses[i] & 0xff)
						 : first;
		__builtin_prefetch(at[i]);
	}
	for (uint32_t i = 0; i < n; i++)
		values[i] = *at[i];
}
