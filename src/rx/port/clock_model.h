/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * How a device's clock runs against UTC, from pairs of readings taken once a second or so: the
 * newest pair says where it stands, the oldest of those kept and the newest how fast it goes. So an
 * oscillator that drifts is followed, and so is a system clock that is slewed. Of one thread.
 *
 *   poor     a pair that was not read at one moment tells nothing and is left out.
 *   odd      a pair far from where the line leads is believed when the next one agrees with it:
 *            then the system's clock was set, or the device's began anew, and so does the model.
 */

#include <stdbool.h>
#include <stdint.h>

#include "rx/packet/clock_line.h"

#define CLOCK_MODEL_PAIRS 16

/* Both clocks at one moment. */
struct clock_pair {
	uint64_t ticks;
	int64_t utc;   /* ns since 1970-01-01 */
	int64_t error; /* ns; largest error of utc */
};

/* A pair whose error is larger is poor. ns. */
#define CLOCK_ERROR_MAX INT64_C(100000)

struct clock_model {
	struct clock_line line;
	uint32_t n; /* pairs that lie on it, oldest first */
	struct clock_pair pairs[CLOCK_MODEL_PAIRS];
	bool has_odd;
	struct clock_pair odd; /* the last pair that did not */
};

enum clock_verdict {
	CLOCK_FITS,
	CLOCK_POOR,
	CLOCK_ODD,  /* left out for now */
	CLOCK_ANEW, /* restart with this pair and the previous one */
};

/* An empty model is all zero. Its line is there from the second pair on. */
enum clock_verdict clock_model_add(struct clock_model *model, const struct clock_pair *pair);
