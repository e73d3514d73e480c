/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Longest prefix match of IPv4 addresses. The first 16 bits of an address select a few ranges. If
 * they are too many, the next 8 bits select, then the last 8. A lookup reads two or three cache
 * lines.
 */

#include <stddef.h>
#include <stdint.h>

struct prefix_table;

struct prefix {
	uint32_t address; /* host byte order */
	uint32_t length;
};

#define PREFIXES_MAX 1000000
#define PREFIX_NONE  UINT32_MAX

/* Returns an upper bound. */
size_t prefix_table_bytes(uint32_t nb_prefixes);
/*
 * The prefixes are distinct and sorted by address, then by length. Returns NULL if out of memory.
 */
struct prefix_table *prefix_table_create(const struct prefix *prefixes, uint32_t n);
void prefix_table_destroy(struct prefix_table *table);

/* Sets places[i] to the index of the longest prefix, or PREFIX_NONE. n <= BURST_MAX. */
void prefix_table_look_up(
	const struct prefix_table *table, const uint32_t *addresses, uint32_t *places, uint32_t n);
