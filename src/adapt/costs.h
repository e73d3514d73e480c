/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Time that a worker spends in each part of packet processing. The worker times one burst of 64,
 * because reading the clock takes as long as counting one or two packets.
 */

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"

#define COSTS_EVERY    64 /* the worker times one of 64 bursts */
#define COSTS_KEYS_MAX (CONFIG_MEASUREMENTS_MAX + 1)

/* Times are sums over the timed bursts. A worker stores clock cycles, a report nanoseconds. */
struct costs {
	uint64_t bursts, packets; /* number of timed bursts, and of their packets */
	uint64_t receive, filter, parse, rules, free;
	uint64_t key[COSTS_KEYS_MAX];               /* to mask and hash keys, per key rule */
	uint64_t sketch[CONFIG_MEASUREMENTS_MAX];   /* to update the sketch, per measurement */
	uint64_t distinct[CONFIG_MEASUREMENTS_MAX]; /* to update the HyperLogLog, per measurement */
};

/*
 * Returns true if the worker must time the next burst, and increments *bursts. The first timed
 * burst is number 32: the caches are warm then, and a short run also has a timed burst.
 */
static inline bool costs_due(uint64_t *bursts)
{
	return ((*bursts)++ & (COSTS_EVERY - 1)) == COSTS_EVERY / 2;
}

/* Adds `costs` to *sum. Multiplies times by `factor`, such as ns per cycle. */
void costs_add(struct costs *sum, const struct costs *costs, double factor);

uint64_t costs_sum(const struct costs *costs);
