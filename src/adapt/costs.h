/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Time per packet by part: sums over the bursts that a worker timed. Reading the clock costs as
 * much as counting one or two packets, so most bursts are not timed.
 */

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"

#define COSTS_EVERY    64 /* one of this number of bursts is timed */
#define COSTS_KEYS_MAX (CONFIG_MEASUREMENTS_MAX + 1)

/* In clock cycles in a generation, in nanoseconds in a report. */
struct costs {
	uint64_t bursts, packets; /* timed bursts and their packets */
	uint64_t receive, filter, parse, rules, free;
	uint64_t key[COSTS_KEYS_MAX];               /* per key rule: mask and hash */
	uint64_t sketch[CONFIG_MEASUREMENTS_MAX];   /* per measurement: update of the sketch */
	uint64_t distinct[CONFIG_MEASUREMENTS_MAX]; /* per measurement: update of the HyperLogLog */
};

/*
 * Returns true if the next burst is timed; counts it in *bursts. Skips the very first burst, which
 * runs with cold caches, but times one early enough for a short run.
 */
static inline bool costs_due(uint64_t *bursts)
{
	return ((*bursts)++ & (COSTS_EVERY - 1)) == COSTS_EVERY / 2;
}

/* Adds `costs` to the sum, with times multiplied by `factor`. */
void costs_add(struct costs *sum, const struct costs *costs, double factor);

/* Returns the sum of the times of all parts. */
uint64_t costs_sum(const struct costs *costs);
