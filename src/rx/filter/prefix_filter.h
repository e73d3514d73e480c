/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Selects packets whose addresses match a rule of --prefixes. A packet counts for the longest match
 * and for all rules that contain it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/config.h"
#include "key/key_burst.h"
#include "rx/filter/prefix_file.h"

/* HyperLogLog (Flajolet et al. 2007) with standard error 1.04 / sqrt(112) = 9.8 % */
#define PREFIX_REGISTERS 112

/* Counts of a rule by one worker in one epoch */
struct prefix_counts {
	_Alignas(64) uint64_t packets;
	uint64_t bytes;                      /* wire bytes without FCS */
	uint8_t registers[PREFIX_REGISTERS]; /* HyperLogLog of 5-tuples */
};

/* Each worker writes its counters of an epoch while it owns them (parallel/epoch.h). */
struct prefix_filter;

/*
 * Takes ownership of `rules`, and frees them on failure. Returns NULL with one line in
 * error[PREFIX_ERROR_MAX]. Any thread may call it, but not two at once.
 */
struct prefix_filter *prefix_filter_create(
	struct prefix_list *rules, enum prefix_side side, uint32_t nb_workers, char *error);
void prefix_filter_destroy(struct prefix_filter *table);
/* Bytes: EAL memory, other memory, and other memory per worker */
size_t prefix_filter_bytes(const struct prefix_list *rules);
size_t prefix_ordinary_bytes(const struct prefix_list *rules);
size_t prefix_worker_bytes(const struct prefix_list *rules);

const struct prefix_list *prefix_filter_entries(const struct prefix_filter *table);
struct prefix_counts *prefix_filter_counts(
	struct prefix_filter *table, uint64_t epoch, uint32_t worker);

/* Index of the rule that each packet matches by destination and by source, or PREFIX_NO_ENTRY */
struct prefix_matches {
	uint32_t dst[BURST_MAX], src[BURST_MAX];
};

/* Removes packets that match no rule, and sets `hits` for the others. Returns the removed bytes. */
uint64_t prefix_match(
	const struct prefix_filter *table, struct key_burst *burst, struct prefix_matches *hits);

/* Sum of the weights of the entries that prefix_match_weights() removes */
struct prefix_unmatched {
	uint64_t packets, bytes;
};

void prefix_match_weights(const struct prefix_filter *table, struct key_burst *burst,
	struct prefix_matches *hits, struct prefix_unmatched *left_out);

/* Count each packet once for every rule that it matches. The burst must have hashes. */
void prefix_credit(const struct prefix_filter *table, const struct key_burst *burst,
	const struct prefix_matches *hits, struct prefix_counts *counts);

void prefix_credit_weights(const struct prefix_filter *table, const struct key_burst *burst,
	const struct prefix_matches *hits, struct prefix_counts *counts);

/* `registers` of several workers must be merged by the maximum of each register. */
uint64_t prefix_flows(const uint8_t *registers);
