/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Model of a device clock against UTC. A pair is a reading of both clocks, about once a second. The
 * newest pair gives the offset. The oldest and the newest pair give the rate. So the model follows
 * a drifting oscillator and a slewed system clock. Used by one thread.
 *
 * Some pairs are ignored:
 *  - poor: The clocks were not read at the same time.
 *  - odd: The pair is far from the line. If the next pair agrees with it, the system clock was set,
 *    or the device clock was reset. The model then restarts.
 */

#include <stdbool.h>
#include <stdint.h>

#include "rx/packet/clock_line.h"

#define CLOCK_MODEL_PAIRS 16

/* Readings of both clocks at the same time */
struct clock_pair {
	uint64_t ticks;
	int64_t utc;   /* ns since 1970-01-01 */
	int64_t error; /* ns, maximum error of utc */
};

/* Maximum error of a usable pair, in ns */
#define CLOCK_ERROR_MAX INT64_C(100000)

struct clock_model {
	struct clock_line line;
	uint32_t n; /* number of pairs; oldest first, all on the line */
	struct clock_pair pairs[CLOCK_MODEL_PAIRS];
	bool has_odd;
	struct clock_pair odd; /* last pair that is not on the line */
};

enum clock_verdict {
	CLOCK_FITS,
	CLOCK_POOR,
	CLOCK_ODD,  /* ignored for now */
	CLOCK_ANEW, /* model restarted with this pair and the odd one before it */
};

/* Adds a pair. An empty model is all zeros. From the second pair on, it has a line. */
enum clock_verdict clock_model_add(struct clock_model *model, const struct clock_pair *pair);
