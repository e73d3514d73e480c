/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Measures the prefix lookup of packets to monitored hosts, in random order. Each host has one
 * prefix.
 */

#include <stddef.h>
#include <stdint.h>

struct matching;

/*
 * Creates prefixes for `rules` hosts at random addresses, matched on the destination. Requires EAL.
 * Returns NULL if out of memory.
 */
struct matching *matching_create(uint32_t rules, uint64_t hash_seed);
void matching_destroy(struct matching *matching);
/* Returns the bytes of EAL memory needed. */
size_t matching_bytes(uint32_t rules);

enum matching_part {
	MATCHING_KEYS,   /* only generates bursts of keys */
	MATCHING_MATCH,  /* generates keys and looks up the prefixes */
	MATCHING_CREDIT, /* also counts the packets of the prefixes */
};

/*
 * Runs on the calling thread. `packets` is a multiple of 64. Returns the number of packets that
 * matched.
 */
uint64_t matching_run(struct matching *matching, uint64_t packets, enum matching_part part);
