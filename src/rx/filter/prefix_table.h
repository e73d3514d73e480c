/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Longest prefix match of IPv4 addresses, a burst at a time. Prefixes divide the addresses into
 * ranges, and a lookup finds the range of its address. The first 16 bits select a few ranges, which
 * are compared at once. If too many ranges have the same 16 bits, the next 8 bits select, then the
 * last 8. A table of 50 000 hosts takes 1 MB. A lookup reads two or three cache lines of it.
 */

#include <stddef.h>
#include <stdint.h>

struct prefix_table;

struct prefix {
	uint32_t address; /* host byte order */
	uint32_t length;
};

#define PREFIXES_MAX 1000000 /* maximum prefixes of a table */
#define PREFIX_NONE  UINT32_MAX

/* Returns the maximum bytes of a table. */
size_t prefix_table_bytes(uint32_t nb_prefixes);
/*
 * Creates a table of distinct prefixes. They are sorted by address, and by length if addresses are
 * equal. Returns NULL if out of memory.
 */
struct prefix_table *prefix_table_create(const struct prefix *prefixes, uint32_t n);
void prefix_table_destroy(struct prefix_table *table);

/*
 * Sets places[i] to the index of the longest prefix that contains addresses[i], or PREFIX_NONE. n
 * <= BURST_MAX.
 */
void prefix_table_look_up(
	const struct prefix_table *table, const uint32_t *addresses, uint32_t *places, uint32_t n);
