/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * The packets of a burst whose addresses are monitored, and what each rule saw of them. The longest
 * prefix of IPv4 is found by rx/filter/prefix_table.h, of IPv6 by librte_fib; those that hold it
 * follow from the rules' parents, and are credited too.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/config.h"
#include "key/key_burst.h"
#include "rx/filter/prefix_file.h"

/* HyperLogLog (Flajolet et al. 2007) with few registers: 1.04 / sqrt(112) is 9.8 %. */
#define MONITOR_REGISTERS 112

/* What a worker saw of a rule in one epoch. */
struct monitor_count {
	_Alignas(64) uint64_t packets;
	uint64_t bytes;                       /* on the wire without FCS */
	uint8_t registers[MONITOR_REGISTERS]; /* of 5-tuples */
};

/*
 * Rules ready to be matched, with counters for every worker and both generations. A worker writes
 * its counters of an epoch while that is its own (parallel/epoch.h).
 */
struct monitor_table;

/*
 * Takes over `rules`, and frees them where it fails. NULL with one line in
 * error[MONITOR_ERROR_MAX]. EAL must be up; any thread, one at a time.
 */
struct monitor_table *monitor_table_create(
	struct monitor_rules *rules, enum monitor_side side, uint32_t nb_workers, char *error);
void monitor_table_destroy(struct monitor_table *table);
/* Bytes that a table of these rules takes of EAL's memory; of ordinary memory; and of that for each
 * worker. */
size_t monitor_table_bytes(const struct monitor_rules *rules);
size_t monitor_ordinary_bytes(const struct monitor_rules *rules);
size_t monitor_worker_bytes(const struct monitor_rules *rules);

const struct monitor_rules *monitor_table_rules(const struct monitor_table *table);
/* [rules->n] */
struct monitor_count *monitor_table_counts(
	struct monitor_table *table, uint64_t epoch, uint32_t worker);

/* Which rules a burst's packets matched; MONITOR_NO_RULE: none on that side. */
struct monitor_hits {
	uint32_t dst[BURST_MAX], src[BURST_MAX];
};

/*
 * Looks all packets of the burst up and leaves the keys, lengths and details of those that match,
 * in their order, with hits to suit. Returns the bytes of those that were left out.
 */
uint64_t monitor_match(
	const struct monitor_table *table, struct key_burst *burst, struct monitor_hits *hits);

/* The same of a burst with weights: *left_out is what the entries that were left out stand for. */
struct monitor_left_out {
	uint64_t packets, bytes;
};

void monitor_match_weights(const struct monitor_table *table, struct key_burst *burst,
	struct monitor_hits *hits, struct monitor_left_out *left_out);

/* Credits the packets of a burst that has hashes to their rules, to each rule once a packet. */
void monitor_credit(const struct monitor_table *table, const struct key_burst *burst,
	const struct monitor_hits *hits, struct monitor_count *counts);

void monitor_credit_weights(const struct monitor_table *table, const struct key_burst *burst,
	const struct monitor_hits *hits, struct monitor_count *counts);

/* Estimated flows of registers, those of several workers being joined by the larger of each. */
uint64_t monitor_flows(const uint8_t *registers);
