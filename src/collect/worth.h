/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* A record on its way to be counted, and what it is worth. */

#include <stdbool.h>
#include <stdint.h>

#include "collect/observation.h"
#include "collect/observed_flows.h"

/* A record, its packets and bytes multiplied by the sampling interval, totals differenced. */
struct record {
	const struct observation *observation;
	struct flow *flow; /* NULL where the method keeps none */
	struct share *share;
	uint32_t number; /* of the share */
	uint32_t now;    /* ticks */
	bool moved;      /* the observer saw the flow at other interfaces before */
	bool held;       /* what it brings is said at the epoch's end */
	uint64_t packets, bytes;
	uint64_t route; /* the key of its route, where it was looked up already; else 0 */
};

/*
 * The largest frame that is expected where no size is told: 1500 bytes behind an Ethernet header.
 * Of sampled packets that share a record only the mean size is, and any may have been larger.
 */
#define FRAME_EXPECTED 1514

static inline bool hides_frames(const struct observation *observation)
{
	return observation->sampling > 1 && observation->packets > 1;
}

/* What it brings: packets <= those of the record. */
struct worth {
	uint64_t packets, bytes;
	double sampling; /* as struct dedup_counts */
};
