/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Measures the prefix lookup of packets to monitored hosts, in random order. */

#include <stddef.h>
#include <stdint.h>

struct matching;

/* One destination prefix per host. Requires EAL. Returns NULL if out of memory. */
struct matching *matching_create(uint32_t rules, uint64_t hash_seed);
void matching_destroy(struct matching *matching);
/* Returns the bytes of EAL memory needed. */
size_t matching_bytes(uint32_t rules);

enum matching_part {
	MATCHING_KEYS,
	MATCHING_MATCH,
	MATCHING_CREDIT,
};

/* `packets` is a multiple of 64. Returns the number of packets that matched. */
uint64_t matching_run(struct matching *matching, uint64_t packets, enum matching_part part);
