/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Time that a worker spends in each part of packet processing. It times only one of 64 bursts,
 * because reading the clock takes as long as counting one or two packets.
 */

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"

#define COSTS_EVERY    64
#define COSTS_KEYS_MAX (CONFIG_MEASUREMENTS_MAX + 1)

/* Sums over the timed bursts: clock cycles in a worker, ns in a report. */
struct costs {
	uint64_t bursts, packets;
	uint64_t receive, filter, parse, rules, free;
	uint64_t key[COSTS_KEYS_MAX];
	uint64_t sketch[CONFIG_MEASUREMENTS_MAX];
	uint64_t distinct[CONFIG_MEASUREMENTS_MAX];
};

/* The first timed burst is number 32: caches are warm then, and a short run also has one. */
static inline bool costs_due(uint64_t *bursts)
{
	return ((*bursts)++ & (COSTS_EVERY - 1)) == COSTS_EVERY / 2;
}

void costs_add(struct costs *sum, const struct costs *costs, double factor);

uint64_t costs_sum(const struct costs *costs);
