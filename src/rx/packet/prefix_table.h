/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * The longest prefix of IPv4 addresses, a burst at once: DIR-24-8 (Gupta, Lin, McKeown, "Routing
 * lookups in hardware at memory access speeds", 1998). The first 24 bits of an address lead to a
 * value, or to a group of 256 values for the last 8. Lookups of a burst wait for memory together.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct prefix_table;

#define PREFIX_VALUE_MAX INT32_MAX

/* Bytes of one. */
size_t prefix_table_bytes(uint32_t nb_groups);
/* Room for so many beginnings of 24 bits that have longer prefixes. NULL where there is no
 * memory. */
struct prefix_table *prefix_table_create(uint32_t nb_groups);
void prefix_table_destroy(struct prefix_table *table);

/*
 * `address` in host byte order; value from 1 on. A prefix comes after those that hold it. Returns
 * false where there are no groups left.
 */
bool prefix_table_add(
	struct prefix_table *table, uint32_t address, uint32_t length, uint32_t value);

/* values[i] := that of the longest prefix that holds addresses[i]; 0: none does. n <= BURST_MAX */
void prefix_table_look_up(
	const struct prefix_table *table, const uint32_t *addresses, uint32_t *values, uint32_t n);
