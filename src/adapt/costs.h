/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Where the time of a packet goes: the sums of those bursts that a worker timed part by part. To
 * look at the clock costs as much as counting a packet or two, so most bursts are not timed.
 */

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"

#define COSTS_EVERY    64 /* bursts of which one is timed */
#define COSTS_KEYS_MAX (CONFIG_MEASUREMENTS_MAX + 1)

/* In cycles of the clock in a generation, in nanoseconds in a report. */
struct costs {
	uint64_t bursts, packets; /* that were timed */
	uint64_t receive, filter, parse, rules, free;
	uint64_t key[COSTS_KEYS_MAX];               /* of each key rule: mask and hash */
	uint64_t sketch[CONFIG_MEASUREMENTS_MAX];   /* of each measurement: the update */
	uint64_t distinct[CONFIG_MEASUREMENTS_MAX]; /* and its HyperLogLog's */
};

/* Whether the next burst is to be timed, of which *bursts are counted. Not the first of all, which
 * finds nothing in the caches; and a short run has one that is. */
static inline bool costs_due(uint64_t *bursts)
{
	return ((*bursts)++ & (COSTS_EVERY - 1)) == COSTS_EVERY / 2;
}

/* sum += costs, whose times are multiplied by `factor`. */
void costs_add(struct costs *sum, const struct costs *costs, double factor);

/* The times of all parts together. */
uint64_t costs_sum(const struct costs *costs);
