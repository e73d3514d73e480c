/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Slots of exporters' domains. They are given in the order 0, 1, ... A domain has one of three
 * ranks: new (one datagram), heard (more datagrams) and proven (EXPORTER_PROOFS good datagrams).
 * An eighth of all slots is never for proven domains, and one address has at most a quarter of the
 * proven ones. If all slots are taken, a domain without a slot gets that of
 *
 * - the new domain that is silent for longest, or else
 * - the proven domain that is silent for longest, if that is more than EXPORTER_SILENCE_NS, or else
 * - the heard domain that is silent for longest, if it sent nothing in this and the last epoch, and
 *   the domain without a slot was heard before.
 *
 * A domain of the datagram that is decoded keeps its slot.
 *
 * So datagrams from random addresses evict each other only, and no number of datagrams evicts a
 * proven domain that sends once an hour.
 */

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "flow_protocols/flow_protocol.h"

struct exporter_id {
	struct in6_addr address;
	uint32_t domain;
	enum flow_protocol protocol;
};

#define EXPORTER_PROOFS     2
#define EXPORTER_SILENCE_NS INT64_C(3600000000000)

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

/* A datagram comes, at this time: ns since 1970-01-01 UTC. */
void exporter_datagram(struct exporter_table *table, int64_t now);

/* Gives a slot to a domain that has none, or EXPORTER_NONE. *evicted: it was another's. */
uint32_t exporter_admit(struct exporter_table *table, const struct exporter_id *id, bool *evicted);

/* It is in this datagram. A second time in the same datagram changes nothing. */
void exporter_heard(struct exporter_table *table, uint32_t slot);

/* The datagram was decoded to its end, and had records or templates. Counts once a datagram. */
void exporter_prove(struct exporter_table *table, uint32_t slot);

/* It was proven in an earlier run. */
void exporter_restore(struct exporter_table *table, uint32_t slot);

bool exporter_is_proven(const struct exporter_table *table, uint32_t slot);

void exporter_end_epoch(struct exporter_table *table);

const struct exporter_id *exporter_id(const struct exporter_table *table, uint32_t slot);

/* The slot of a domain of this address, the one that was there first; or EXPORTER_NONE. */
uint32_t exporter_at(const struct exporter_table *table, const struct in6_addr *address);

/* The next slot of the same address, or EXPORTER_NONE; from exporter_at(), all come. */
uint32_t exporter_sibling(const struct exporter_table *table, uint32_t slot);
