/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Measures the time per packet of key rules, sketches and HyperLogLog with generated keys. The time
 * to generate them is not included.
 */

#include <stdbool.h>
#include <stdint.h>

#include "adapt/capacity.h"
#include "adapt/profile.h"
#include "key/hash.h"

struct calibration {
	uint64_t (*clock)(void); /* returns ticks after earlier instructions have finished */
	double ns;
	uint64_t cache_bytes;
	uint64_t seed;
	struct sketch_allocator allocator;
	uint64_t samples;
	uint64_t flows_max;
	uint64_t until; /* deadline in clock ticks; 0: none */
	bool *late;     /* set if the deadline or a signal stopped a measurement; may be NULL */
	bool singles;   /* also measure bursts of one packet */
};

/* Returns the size of the largest cache; a guess if the kernel does not report it. */
uint64_t calibrate_cache_bytes(void);

/*
 * Adds the missing profile rows of a sketch, in each flow state. Returns false if memory or time
 * ran out or there are no samples.
 */
bool calibrate_sketch(const struct calibration *calibration, const struct profile_what *what,
	const struct sketch_params *params, struct profile *profile);

/* *missing: the part that failed. */
bool calibrate_worker(const struct calibration *calibration, const struct capacity_worker *worker,
	struct profile *profile, struct profile_what *missing);

/*
 * Adds a row for the samples ns[n], in ns per packet, and sorts them. Drops samples above
 * CALIBRATE_LEFT_OUT times the 95th percentile: another program used the CPU then. Returns false if
 * there are no samples, memory ran out or the profile is full.
 */
#define CALIBRATE_LEFT_OUT 16
bool calibrate_add(struct profile *profile, struct profile_row *row, double *ns, uint64_t n);
