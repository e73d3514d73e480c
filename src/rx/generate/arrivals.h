/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * When packets come: packet i when the rate, summed up since the start, is i, rounded down to
 * whole ns. With integers only.
 *
 * A ramp, and each period of a sine, is 4096 slices of equal length (to a ns), each at the rate of
 * its middle. With rates up to R, and D for its length, what has been sent is never further than
 * R (D / 4096^2 + 1 ns) packets from the integral.
 */

#include <stdint.h>

#include "rx/generate/synthetic.h"

#define ARRIVALS_SLICES 4096 /* slices of a ramp or a period */

struct arrivals {
	const struct synthetic_spec *spec;
	int64_t time;                   /* time of the next packet */
	uint64_t rest;                  /* remainder of the division by the rate */
	uint64_t rate, step, step_rest; /* rate of this slice; see arrivals.c */
	int64_t start, end;             /* bounds of this slice */
	int64_t begin;                  /* start of the ramp or the period */
	uint64_t slice;
	int64_t cosine, sine; /* angle in the middle of the slice, in Q1.62 */
};

/* The spec must outlive it. */
void arrivals_begin(struct arrivals *arrivals, const struct synthetic_spec *spec, int64_t time);

void arrivals_turn(struct arrivals *arrivals); /* Advances to the slice of the next packet. */

/* On to the next packet. */
static inline void arrivals_step(struct arrivals *arrivals)
{
	arrivals->time += (int64_t)arrivals->step;
	arrivals->rest += arrivals->step_rest;
	if (arrivals->rest >= arrivals->rate) {
		arrivals->rest -= arrivals->rate;
		arrivals->time++;
	}
	if (arrivals->time >= arrivals->end)
		arrivals_turn(arrivals);
}
