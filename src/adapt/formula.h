/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Time per packet of a flow table by formula (3) of Tangari et al. (2017), sections IV and V:
 * T_pkt = (1 - lambda_f) [T_r^H P + T_r^M (1 - P) + T_p] + lambda_f T_i.
 */

#include <stdbool.h>
#include <stdint.h>

#include "adapt/cache_share.h"
#include "adapt/profile.h"

/* Lookups to sample per window: K of the paper. */
#define FORMULA_SAMPLES 1000

struct formula_times {
	double hit_ns;    /* T_r^H + T_p: the flow is known, and its entry is in a cache */
	double miss_ns;   /* T_r^M + T_p: the flow is known, and its entry is in memory */
	double insert_ns; /* T_i: the flow is new */
	/* lookups of one packet at a time, by which P is estimated */
	double hit_lookup_ns, miss_lookup_ns;
	struct cache_share share;
};

/* Returns false if the profile does not have all times of the sketch. */
bool formula_times_find(struct formula_times *times, const struct profile *profile,
	const struct profile_what *sketch);

/*
 * Differences of sums that another thread increases meanwhile: hits and new_flows may exceed
 * samples by one.
 */
struct formula_lookups {
	uint64_t samples, hits, new_flows;
};

/* Estimated from the lookups of a window. */
struct formula_window {
	double p;      /* share of lookups that hit a cache, 0 to 1 */
	double lambda; /* lambda_f: share of packets that insert a flow, 0 to 1 */
	bool known;    /* false: there were too few samples so far */
};

/* Keeps *window if there are too few samples. */
void formula_estimate(const struct formula_times *times, const struct formula_lookups *lookups,
	struct formula_window *window);

/* Returns ns per packet. */
double formula_ns(const struct formula_times *times, const struct formula_window *window);

/* Returns ns per sampled lookup. */
double formula_lookup_ns(const struct formula_times *times, const struct formula_window *window);
