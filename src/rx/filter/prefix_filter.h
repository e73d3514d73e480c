/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Selects the packets of a burst whose addresses match a rule, and counts them per rule. The
 * longest match is found by rx/filter/prefix_table.h for IPv4 and librte_fib for IPv6. Shorter
 * prefixes that contain it are found by the parents of the rules, and are credited too.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/config.h"
#include "key/key_burst.h"
#include "rx/filter/prefix_file.h"

/* HyperLogLog (Flajolet et al. 2007) with few registers: standard error 1.04 / sqrt(112) = 9.8 % */
#define PREFIX_REGISTERS 112

/* Counts of a rule by one worker in one epoch */
struct prefix_counts {
	_Alignas(64) uint64_t packets;
	uint64_t bytes;                      /* wire bytes without FCS */
	uint8_t registers[PREFIX_REGISTERS]; /* HyperLogLog of 5-tuples */
};

/*
 * Lookup tables of the rules, and counters for every worker and both generations. A worker writes
 * its counters of an epoch while it owns them (parallel/epoch.h).
 */
struct prefix_filter;

/*
 * Takes ownership of `rules`, and frees them on failure. Returns NULL with one line in
 * error[PREFIX_ERROR_MAX] on failure. EAL must be initialized. Any thread, one at a time.
 */
struct prefix_filter *prefix_filter_create(
	struct prefix_list *rules, enum prefix_side side, uint32_t nb_workers, char *error);
void prefix_filter_destroy(struct prefix_filter *table);
/*
 * Return the memory of a filter for these rules, in bytes: EAL memory, ordinary memory, and
 * ordinary memory per worker.
 */
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
 * Keeps the packets of the burst that match a rule, with keys, lengths and details in their order,
 * and sets `hits` for them. Returns the bytes of the other packets.
 */
uint64_t prefix_match(
	const struct prefix_filter *table, struct key_burst *burst, struct prefix_matches *hits);

/*
 * As prefix_match(), for a burst with weights. *left_out is the sum of the weights of the entries
 * that do not match.
 */
struct prefix_unmatched {
	uint64_t packets, bytes;
};

void prefix_match_weights(const struct prefix_filter *table, struct key_burst *burst,
	struct prefix_matches *hits, struct prefix_unmatched *left_out);

/* Adds the packets of a burst with hashes to their rules, once per packet and rule. */
void prefix_credit(const struct prefix_filter *table, const struct key_burst *burst,
	const struct prefix_matches *hits, struct prefix_counts *counts);

void prefix_credit_weights(const struct prefix_filter *table, const struct key_burst *burst,
	const struct prefix_matches *hits, struct prefix_counts *counts);

/*
 * Returns the estimated number of flows. To merge registers of several workers, take the maximum of
 * each.
 */
uint64_t prefix_flows(const uint8_t *registers);
