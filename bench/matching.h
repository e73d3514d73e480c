/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Packets to monitored hosts, each a rule of its own, in random order. */

#include <stddef.h>
#include <stdint.h>

struct matching;

/* `rules` hosts at random addresses, matched on the destination. EAL must be up. NULL where memory
 * is missing. */
struct matching *matching_create(uint32_t rules, uint64_t hash_seed);
void matching_destroy(struct matching *matching);
/* Bytes of EAL's memory that it takes. */
size_t matching_bytes(uint32_t rules);

enum matching_part {
	MATCHING_KEYS,   /* makes bursts of keys, no more */
	MATCHING_MATCH,  /* and looks them up */
	MATCHING_CREDIT, /* and credits their rules */
};

/* A multiple of 64 packets, on one thread. Returns how many had a rule. */
uint64_t matching_run(struct matching *matching, uint64_t packets, enum matching_part part);
