/* SPDX-License-Identifier: BSD-3-Clause */
#include "rx/generate/arrivals.h"

#include "base/units.h"
#include "rx/source.h"

typedef unsigned __int128 uint128;

#define RATE_BITS 30                                 /* rates are in 2^-30 packets per second */
#define PACKET    ((uint64_t)SECOND_NS << RATE_BITS) /* one packet, as product of rate and ns */
#define ONE_Q62   (INT64_C(1) << 62)

/* Cosine and sine in Q1.62 of pi / 4096 (first slice) and 2 pi / 4096 (one slice) */
#define FIRST_COSINE INT64_C(0x3ffffec42c3467de)
#define FIRST_SINE   INT64_C(0x000c90fd957659b0)
#define TURN_COSINE  INT64_C(0x3ffffb10b0ddcc8d)
#define TURN_SINE    INT64_C(0x001921faaee6472e)

static int64_t times_q62(int64_t a, int64_t b)
{
	return (int64_t)((__int128)a * b / ONE_Q62);
}

static uint64_t ramp_rate(const struct synthetic_spec *spec, uint64_t slice)
{
	int64_t rise = (int64_t)spec->rate - (int64_t)spec->rate_from;

	return (spec->rate_from << RATE_BITS) +
	       (uint64_t)(rise * (int64_t)((2 * slice + 1) *
					   ((UINT64_C(1) << RATE_BITS) / ARRIVALS_SLICES / 2)));
}

/* Returns peak / 2 * (1 + sine). */
static uint64_t sine_rate(struct arrivals *arrivals)
{
	int64_t cosine = arrivals->cosine, sine = arrivals->sine;

	if (arrivals->slice == 0) {
		arrivals->cosine = FIRST_COSINE;
		arrivals->sine = FIRST_SINE;
	} else {
		arrivals->cosine = times_q62(cosine, TURN_COSINE) - times_q62(sine, TURN_SINE);
		arrivals->sine = times_q62(sine, TURN_COSINE) + times_q62(cosine, TURN_SINE);
	}
	return (uint64_t)((uint128)(arrivals->spec->rate << (RATE_BITS - 1)) *
				  (uint64_t)(ONE_Q62 + arrivals->sine) >>
			  62);
}

static int64_t slice_begin(const struct arrivals *arrivals, uint64_t slice)
{
	return arrivals->begin + (int64_t)(arrivals->spec->load_time * slice / ARRIVALS_SLICES);
}

/* A steady rate, and the rate after a ramp, have one endless slice. */
static void enter_slice(struct arrivals *arrivals)
{
	const struct synthetic_spec *spec = arrivals->spec;

	if (spec->load == SYNTHETIC_SINE && arrivals->slice == ARRIVALS_SLICES) {
		arrivals->begin += (int64_t)spec->load_time;
		arrivals->slice = 0;
	}
	arrivals->start = slice_begin(arrivals, arrivals->slice);
	arrivals->end = SOURCE_TIME_MAX;
	if (spec->load == SYNTHETIC_STEADY || arrivals->slice == ARRIVALS_SLICES) {
		arrivals->rate = spec->rate << RATE_BITS;
		return;
	}
	if (slice_begin(arrivals, arrivals->slice + 1) < SOURCE_TIME_MAX)
		arrivals->end = slice_begin(arrivals, arrivals->slice + 1);
	arrivals->rate = spec->load == SYNTHETIC_SINE ? sine_rate(arrivals)
						      : ramp_rate(spec, arrivals->slice);
}

static void set_step(struct arrivals *arrivals)
{
	arrivals->step = PACKET / arrivals->rate;
	arrivals->step_rest = PACKET % arrivals->rate;
}

void arrivals_change_slice(struct arrivals *arrivals)
{
	/* Part of the packet that arrives after this slice, as product of rate and ns */
	uint128 left = (uint128)(arrivals->time - arrivals->end) * arrivals->rate + arrivals->rest;
	uint128 room = 0;

	do {
		left -= room;
		if (arrivals->end == SOURCE_TIME_MAX) {
			arrivals->time = SOURCE_TIME_MAX;
			return;
		}
		arrivals->slice++;
		enter_slice(arrivals);
		room = (uint128)arrivals->rate * (uint64_t)(arrivals->end - arrivals->start);
	} while (left >= room);
	arrivals->time = arrivals->start + (int64_t)((uint64_t)left / arrivals->rate);
	arrivals->rest = (uint64_t)left % arrivals->rate;
	set_step(arrivals);
}

void arrivals_begin(struct arrivals *arrivals, const struct synthetic_spec *spec, int64_t time)
{
	*arrivals = (struct arrivals){.spec = spec, .time = time, .begin = time};
	enter_slice(arrivals);
	set_step(arrivals);
}
