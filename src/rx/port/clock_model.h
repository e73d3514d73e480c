/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Compares a device clock with UTC about once a second. The newest reading gives the offset, the
 * oldest and the newest give the rate. One thread uses the model.
 */

#include <stdbool.h>
#include <stdint.h>

#include "rx/packet/clock_line.h"

#define CLOCK_MODEL_PAIRS 16

/* Readings of both clocks at the same time */
struct clock_pair {
	uint64_t ticks;
	int64_t utc;   /* ns since 1970-01-01 */
	int64_t error; /* maximum error of utc in ns */
};

/* ns; worse readings are CLOCK_POOR */
#define CLOCK_ERROR_MAX INT64_C(100000)

struct clock_model {
	struct clock_line line;
	uint32_t n; /* number of pairs, the oldest first */
	struct clock_pair pairs[CLOCK_MODEL_PAIRS];
	bool has_odd;
	struct clock_pair odd; /* last pair that does not fit the line */
};

enum clock_verdict {
	CLOCK_FITS,
	CLOCK_POOR,
	CLOCK_ODD,  /* ignored until a second pair agrees with it, because a clock was set */
	CLOCK_ANEW, /* the model was restarted with this pair and the odd one before it */
};

/* An empty model is all zeros. It has a line from the second pair on. */
enum clock_verdict clock_model_add(struct clock_model *model, const struct clock_pair *pair);
