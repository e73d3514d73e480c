/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Table of exporters. It assigns a slot to each observation domain, in the order 0, 1, ... A domain
 * is new (one datagram), heard (several datagrams) or proven (EXPORTER_PROOFS good datagrams). If
 * all slots are taken, a domain without a slot takes over the slot of the new domain that is silent
 * for longest; else of a proven domain silent for more than EXPORTER_SILENCE_NS; else, if it was
 * heard before, of a heard domain that sent nothing in this and the last epoch. So no number of
 * datagrams evicts a proven domain that sends once an hour.
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

size_t exporter_table_memory(uint32_t max);

/* Returns NULL if out of memory. */
struct exporter_table *exporter_table_create(uint32_t max, uint64_t seed);
void exporter_table_destroy(struct exporter_table *table);

/* Returns the number of slots that were ever used. */
uint32_t exporter_table_used(const struct exporter_table *table);

uint32_t exporter_find(const struct exporter_table *table, const struct exporter_id *id);

/* Starts the next datagram. now: ns since 1970-01-01 UTC. */
void exporter_datagram(struct exporter_table *table, int64_t now);

/* Returns EXPORTER_NONE if all slots are kept. *evicted: another domain lost the slot. */
uint32_t exporter_admit(struct exporter_table *table, const struct exporter_id *id, bool *evicted);

/* The domain is in the current datagram. Repeated calls have no effect. */
void exporter_heard(struct exporter_table *table, uint32_t slot);

/* The current datagram is good: completely decoded, with records or templates. */
void exporter_prove(struct exporter_table *table, uint32_t slot);

void exporter_restore(struct exporter_table *table, uint32_t slot);

bool exporter_is_proven(const struct exporter_table *table, uint32_t slot);

void exporter_end_epoch(struct exporter_table *table);

const struct exporter_id *exporter_id(const struct exporter_table *table, uint32_t slot);

/* Returns the first slot of the address, or EXPORTER_NONE. */
uint32_t exporter_at(const struct exporter_table *table, const struct in6_addr *address);

/* Returns the next slot of the same address after exporter_at(), or EXPORTER_NONE. */
uint32_t exporter_sibling(const struct exporter_table *table, uint32_t slot);
