/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Measures parts of the packet processing time that need no packets: key rules, sketches,
 * HyperLogLog. The input is generated keys, in bursts; only the measured part is timed.
 */

#include <stdbool.h>
#include <stdint.h>

#include "adapt/capacity.h"
#include "adapt/profile.h"
#include "key/hash.h"

struct calibration {
	uint64_t (*clock)(void); /* serializing: waits for earlier instructions */
	double ns;               /* ns per tick of the clock */
	uint64_t cache_bytes;    /* size of the largest cache */
	uint64_t seed;
	struct sketch_allocator allocator; /* for sketches */
	uint64_t samples;                  /* maximum per row */
	uint64_t flows_max;                /* maximum number of flows for a sketch */
	uint64_t until; /* deadline in clock ticks: later rows are not added; 0: none */
	bool *late;     /* set to true if the deadline stopped a measurement; may be NULL */
	bool singles;   /* also measure single packets */
};

/* Returns the size of the largest cache that the kernel reports, or a guess. */
uint64_t calibrate_cache_bytes(void);

/*
 * Adds the rows that the profile lacks; with flow states, rows of each state. Returns false if out
 * of memory, without samples, or out of time.
 */
bool calibrate_sketch(const struct calibration *calibration, const struct profile_what *what,
	const struct sketch_params *params, struct profile *profile);

/* Measures all parts that a worker needs. Returns false if one fails, with the part in *missing. */
bool calibrate_worker(const struct calibration *calibration, const struct capacity_worker *worker,
	struct profile *profile, struct profile_what *missing);

/*
 * Adds a row from samples in ns per packet; sorts them. Drops samples above CALIBRATE_LEFT_OUT
 * times the 95th percentile: another program used the CPU. Returns false if there are no samples,
 * or the profile is full.
 */
#define CALIBRATE_LEFT_OUT 16
bool calibrate_add(struct profile *profile, struct profile_row *row, double *ns, uint64_t n);
