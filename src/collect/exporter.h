/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Which slot an exporter's domain has. Slots are given in the order 0, 1, ...; when all are taken
 * somebody must go, but never for nothing:
 *
 * - a domain that sent one datagram is new, one that sent more is known;
 * - a new one takes the place of the new one that was heard longest ago;
 * - where all are known, one that was heard before (its first datagram found no room) takes the
 *   place of the known one that was heard longest ago, unless that was in this or the last epoch.
 *
 * So datagrams from random addresses push out each other, and no exporter that sends.
 */

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/wire.h"

struct exporter_id {
	struct in6_addr address;
	uint32_t domain;
	enum wire_protocol protocol;
};

struct exporter_table;

/* Bytes of a table with so many slots. */
size_t exporter_table_memory(uint32_t max);

/* NULL: there is no memory. */
struct exporter_table *exporter_table_create(uint32_t max);
void exporter_table_destroy(struct exporter_table *table);

/* Slots that were ever given: 0 to this. */
uint32_t exporter_table_used(const struct exporter_table *table);

/* The slot, or EXPORTER_NONE. */
uint32_t exporter_find(const struct exporter_table *table, const struct exporter_id *id);

/* Gives a slot to a domain that has none, or EXPORTER_NONE. *evicted: it was another's. */
uint32_t exporter_admit(struct exporter_table *table, const struct exporter_id *id, bool *evicted);

/* Another datagram of it came. */
void exporter_heard(struct exporter_table *table, uint32_t slot);

/* It is known, though it was not heard: it comes from a file. */
void exporter_known(struct exporter_table *table, uint32_t slot);

void exporter_end_epoch(struct exporter_table *table);

const struct exporter_id *exporter_id(const struct exporter_table *table, uint32_t slot);

/* The slot of a domain of this address, the one that was there first; or EXPORTER_NONE. */
uint32_t exporter_at(const struct exporter_table *table, const struct in6_addr *address);

/* The next slot of the same address, or EXPORTER_NONE; from exporter_at(), all come. */
uint32_t exporter_sibling(const struct exporter_table *table, uint32_t slot);
