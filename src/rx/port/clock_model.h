/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Model of a device clock against UTC, from pairs of readings, about one per second. The newest
 * pair gives the offset, the oldest and the newest give the rate. So the model follows an
 * oscillator that drifts, and a system clock that is slewed. Used by one thread.
 *
 *   poor     A pair whose clocks were not read at the same time is ignored.
 *   odd      A pair far from the line is ignored, unless the next one agrees with it. Then the
 * system clock was set, or the device clock was reset, and the model restarts.
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
	uint32_t n; /* number of pairs on the line, oldest first */
	struct clock_pair pairs[CLOCK_MODEL_PAIRS];
	bool has_odd;
	struct clock_pair odd; /* last pair that is not on the line */
};

enum clock_verdict {
	CLOCK_FITS,
	CLOCK_POOR,
	CLOCK_ODD,  /* ignored for now */
	CLOCK_ANEW, /* model restarted with this pair and the previous one */
};

/* Adds a pair. An empty model is all zero; the line exists from the second pair on. */
enum clock_verdict clock_model_add(struct clock_model *model, const struct clock_pair *pair);
