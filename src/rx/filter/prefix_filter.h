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
#define PREFIX_REGISTERS 112

/* Counts of a rule by one worker in one epoch. */
struct prefix_counts {
	_Alignas(64) uint64_t packets;
	uint64_t bytes;                      /* on the wire without FCS */
	uint8_t registers[PREFIX_REGISTERS]; /* HyperLogLog of 5-tuples */
};

/*
 * Rules ready to be matched, with counters for every worker and both generations. A worker writes
 * its counters of an epoch while that is its own (parallel/epoch.h).
 */
struct prefix_filter;

/*
 * Takes over `rules`, and frees them where it fails. NULL with one line in
 * error[PREFIX_ERROR_MAX]. EAL must be up; any thread, one at a time.
 */
struct prefix_filter *prefix_filter_create(
	struct prefix_list *rules, enum prefix_side side, uint32_t nb_workers, char *error);
void prefix_filter_destroy(struct prefix_filter *table);
/* Bytes that a table of these rules takes of EAL's memory; of ordinary memory; and of that for each
 * worker. */
size_t prefix_filter_bytes(const struct prefix_list *rules);
size_t prefix_ordinary_bytes(const struct prefix_list *rules);
size_t prefix_worker_bytes(const struct prefix_list *rules);

const struct prefix_list *prefix_filter_entries(const struct prefix_filter *table);
/* [rules->n] */
struct prefix_counts *prefix_filter_counts(
	struct prefix_filter *table, uint64_t epoch, uint32_t worker);

/* Rules matched by the packets of a burst; PREFIX_NO_ENTRY: none on that side. */
struct prefix_matches {
	uint32_t dst[BURST_MAX], src[BURST_MAX];
};

/*
 * Looks all packets of the burst up and leaves the keys, lengths and details of those that match,
 * in their order, with hits to suit. Returns the bytes of those that were left out.
 */
uint64_t prefix_match(
	const struct prefix_filter *table, struct key_burst *burst, struct prefix_matches *hits);

/* The same of a burst with weights: *left_out is what the entries that were left out stand for. */
struct prefix_unmatched {
	uint64_t packets, bytes;
};

void prefix_match_weights(const struct prefix_filter *table, struct key_burst *burst,
	struct prefix_matches *hits, struct prefix_unmatched *left_out);

/* Credits the packets of a burst that has hashes to their rules, to each rule once a packet. */
void prefix_credit(const struct prefix_filter *table, const struct key_burst *burst,
	const struct prefix_matches *hits, struct prefix_counts *counts);

void prefix_credit_weights(const struct prefix_filter *table, const struct key_burst *burst,
	const struct prefix_matches *hits, struct prefix_counts *counts);

/* Estimated flows of registers, those of several workers being joined by the larger of each. */
uint64_t prefix_flows(const uint8_t *registers);
