/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Measures the time per packet of key rules, sketches and HyperLogLog. These parts need keys, not
 * packets, so the input is bursts of generated keys. The time to generate them is not included.
 */

#include <stdbool.h>
#include <stdint.h>

#include "adapt/capacity.h"
#include "adapt/profile.h"
#include "key/hash.h"

struct calibration {
	uint64_t (*clock)(void); /* returns ticks, after earlier instructions have finished */
	double ns;               /* ns per tick of the clock */
	uint64_t cache_bytes;    /* size of the largest cache */
	uint64_t seed;
	struct sketch_allocator allocator; /* for sketches */
	uint64_t samples;                  /* maximum per row */
	uint64_t flows_max;
	uint64_t until; /* deadline in clock ticks; 0: none */
	bool *late; /* set to true if the deadline or a signal stopped a measurement; may be NULL */
	bool singles; /* measure bursts of one packet after the full bursts */
};

/* Returns the size of the largest cache that the kernel reports, or a guess. */
uint64_t calibrate_cache_bytes(void);

/*
 * Measures a sketch and adds its rows to the profile, except rows that exist. Measures each flow
 * state if the sketch has flow states. Returns false if out of memory, out of time, or if there are
 * no samples.
 */
bool calibrate_sketch(const struct calibration *calibration, const struct profile_what *what,
	const struct sketch_params *params, struct profile *profile);

/*
 * Measures the key rules and sketches of a worker, and HyperLogLog. Returns false if a part fails,
 * and stores this part in *missing.
 */
bool calibrate_worker(const struct calibration *calibration, const struct capacity_worker *worker,
	struct profile *profile, struct profile_what *missing);

/*
 * Adds a row to the profile. ns[n] are the samples in ns per packet; the function sorts them. It
 * drops samples above CALIBRATE_LEFT_OUT times the 95th percentile, because another program used
 * the CPU then. Returns false if there are no samples, out of memory, or if the profile is full.
 */
#define CALIBRATE_LEFT_OUT 16
bool calibrate_add(struct profile *profile, struct profile_row *row, double *ns, uint64_t n);
