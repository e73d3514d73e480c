/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* A record on its way to be counted, and what it is worth. */

#include <stdbool.h>
#include <stdint.h>

#include "collect/dedup/observed_flows.h"
#include "collect/exporters/observation.h"

/* A record, its packets and bytes multiplied by the sampling interval, totals differenced. */
struct record {
	const struct observation *observation;
	struct flow *flow; /* NULL where the method keeps none */
	struct share *share;
	uint32_t number;      /* of the share */
	uint32_t now;         /* ticks */
	bool moved;           /* the observer saw the flow at other interfaces before */
	bool bytes_cut;       /* they were more than a share has room for */
	bool held;            /* what it brings is said at the epoch's end */
	bool is_new;          /* the observer reports the flow for the first time */
	bool joins;           /* that, or it came back after others overtook it */
	bool moves;           /* the flow came to its observer, from others */
	bool aligned;         /* where it begins is known by its time alone */
	bool has_first;       /* `first` is known */
	uint32_t first, last; /* ticks: its packets; */
	uint32_t before;      /* those of the observer's record before it: the last */
	uint64_t begin;       /* packets of the flow in front of it; unsampled */
	uint64_t packets, bytes;
	uint64_t route; /* the key of its route, where it was looked up already; else 0 */
};

static inline uint32_t ticks_of(int64_t time)
{
	return (uint32_t)((uint64_t)time >> TICK_SHIFT);
}

/* `first` and `last`: where the record does not tell them, when it came. */
static inline void record_times(struct record *record)
{
	const struct observation *observation = record->observation;
	const int64_t ms = 1000000;

	record->first = ticks_of(observation->time - (int64_t)observation->first * ms);
	record->last = ticks_of(observation->time - (int64_t)observation->last * ms);
}

/*
 * The largest frame that is expected where no size is told: 1500 bytes behind an Ethernet header.
 * Of sampled packets that share a record only the mean size is, and any may have been larger.
 */
#define FRAME_EXPECTED 1514

static inline bool frame_sizes_unknown(const struct observation *observation)
{
	return observation->sampling > 1 && observation->packets > 1;
}

/* What it brings: packets <= those of the record. */
struct record_value {
	uint64_t packets, bytes;
	double sampling; /* as struct dedup_counts */
};
