/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Packet i arrives when the integral of the rate since the start reaches i.
 *
 * A ramp, and each period of a sine, has 4096 slices of equal length (to 1 ns). The rate of a slice
 * is that of its middle. For length D and rates up to R, the number of packets differs from the
 * integral by at most R (D / 4096^2 + 1 ns).
 */

#include <stdint.h>

#include "rx/generate/synthetic.h"

#define ARRIVALS_SLICES 4096

struct arrivals {
	const struct synthetic_spec *spec;
	int64_t time;             /* ns, time of the next packet */
	uint64_t rest;            /* the exact time is `time` + rest / rate */
	uint64_t rate;            /* in 2^-30 packets per second */
	uint64_t step, step_rest; /* ns per packet: step + step_rest / rate */
	int64_t start, end;       /* ns, bounds of this slice */
	int64_t begin;            /* ns, start of the ramp or the period */
	uint64_t slice;           /* number of the slice in the ramp or period */
	int64_t cosine, sine;     /* in Q1.62, at the middle of the slice */
};

/* The first packet is at `time`. `spec` must outlive arrivals. */
void arrivals_begin(struct arrivals *arrivals, const struct synthetic_spec *spec, int64_t time);

/* Advances to the slice in which the next packet arrives. */
void arrivals_change_slice(struct arrivals *arrivals);

static inline void arrivals_step(struct arrivals *arrivals)
{
	arrivals->time += (int64_t)arrivals->step;
	arrivals->rest += arrivals->step_rest;
	if (arrivals->rest >= arrivals->rate) {
		arrivals->rest -= arrivals->rate;
		arrivals->time++;
	}
	if (arrivals->time >= arrivals->end)
		arrivals_change_slice(arrivals);
}
