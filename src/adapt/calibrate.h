/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Measures parts of a packet's time that need no packets: key rules, sketches, HyperLogLog. They
 * are fed keys that are made up, burst by burst; only what is measured is timed.
 */

#include <stdbool.h>
#include <stdint.h>

#include "adapt/capacity.h"
#include "adapt/profile.h"
#include "key/hash.h"

struct calibration {
	uint64_t (*clock)(void); /* that waits for what was begun before */
	double ns;               /* of one of its ticks */
	uint64_t cache_bytes;    /* of the largest cache */
	uint64_t seed;
	struct sketch_allocator allocator; /* of sketches */
	uint64_t samples;                  /* of each row, at most */
	uint64_t flows_max;                /* that are fed to a sketch */
	uint64_t until; /* clock: a row that is not measured by then is not added; 0: no end */
	bool *late;     /* set where that was why; NULL: nobody asks */
	bool singles;   /* packets one by one, too */
};

/* The biggest cache that is said to be there; a guess where nothing is. */
uint64_t calibrate_cache_bytes(void);

/*
 * Each adds to the profile the rows that it lacks. False where there is no memory, no sample, or no
 * time left for them.
 */
bool calibrate_timer(const struct calibration *calibration, struct profile *profile);
bool calibrate_key(const struct calibration *calibration, const struct key_rule *rule,
	struct profile *profile);
bool calibrate_distinct(const struct calibration *calibration, struct profile *profile);
/* Where flows have states: rows of each. */
bool calibrate_sketch(const struct calibration *calibration, const struct profile_what *what,
	const struct sketch_params *params, struct profile *profile);

/* All of these that a worker needs. False, with what could not be measured, where one is false. */
bool calibrate_worker(const struct calibration *calibration, const struct capacity_worker *worker,
	struct profile *profile, struct profile_what *missing);

/*
 * A row of times in ns a packet, which are sorted. Those of more than CALIBRATE_LEFT_OUT times what
 * 95 % of them stay below are left out: another program had the CPU. False where there are none, or
 * the profile has no room.
 */
#define CALIBRATE_LEFT_OUT 16
bool calibrate_add(struct profile *profile, struct profile_row *row, double *ns, uint64_t n);
