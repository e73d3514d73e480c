/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * The longest prefix of IPv4 addresses, a burst at once. Prefixes cut the addresses into ranges,
 * and a lookup finds the one that holds its address: the first 16 bits lead to the few ranges that
 * begin there, which are compared at once; where they are more, the next 8 bits lead on, and the
 * last 8 at most. So a table of 50 000 hosts takes 1 MB, of which a lookup touches two or three
 * lines.
 */

#include <stddef.h>
#include <stdint.h>

struct prefix_table;

struct prefix {
	uint32_t address; /* in host byte order */
	uint32_t length;
};

#define PREFIXES_MAX 1000000 /* most prefixes of a table */
#define PREFIX_NONE  UINT32_MAX

/* Bytes that one takes at most. */
size_t prefix_table_bytes(uint32_t nb_prefixes);
/*
 * Creates a table of distinct prefixes, sorted by address, shorter first. Returns NULL if out of
 * memory.
 */
struct prefix_table *prefix_table_create(const struct prefix *prefixes, uint32_t n);
void prefix_table_destroy(struct prefix_table *table);

/* places[i] := where the longest prefix that holds addresses[i] stood; PREFIX_NONE: none does.
 * n <= BURST_MAX */
void prefix_table_look_up(
	const struct prefix_table *table, const uint32_t *addresses, uint32_t *places, uint32_t n);
