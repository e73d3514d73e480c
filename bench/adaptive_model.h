/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * A worker that is offered more than it can measure, in the queue of queue_model.h, fed with what
 * packets cost by the paper's figures or by a host's profile, and adapted in different ways.
 */

#include <stdbool.h>
#include <stdint.h>

#include "adapt/choose.h"
#include "adapt/profile.h"
#include "bench/queue_model.h"

enum way {
	WAY_WITHOUT,
	WAY_GREEDY, /* the paper's, by (4) as it is printed, from full detail in each window */
	WAY_LSF,
	WAY_QUERIES,
	WAY_BEST, /* ours: demand.h with a reserve of 10 %, decide.h */
	WAY_BEST_SHEDDING,
	WAYS,
};

extern const char *const way_names[WAYS]; /* columns */

#define SYSTEM_ITEMS_MAX 16

/* Of what the time of a packet is made. */
struct system {
	char name[PROFILE_TEXT_MAX]; /* whose figures */
	double fixed_ns;             /* whatever is measured, and what finding in a cache takes */
	double memory_ns;            /* more, where nothing is found in a cache */
	double count_ns;             /* of a packet that is only counted */
	double shared_ns;            /* of what measurements share: headers and keys */
	uint32_t nb_items, nb_queries;
	struct choose_item items[SYSTEM_ITEMS_MAX];
	struct choose_item queries[SYSTEM_ITEMS_MAX]; /* the same for WAY_QUERIES */
	struct choose_states states;
	char keys[SYSTEM_ITEMS_MAX][PROFILE_KEY_MAX]; /* of the items */
};

/*
 * The paper's: capacity before it adapts, less the states' mean, is what is fixed. What it does not
 * tell is assumed: where it says so, in memory finding takes as much longer as in its Table I; a
 * packet that is only counted takes 10 ns.
 */
void system_of_paper(struct system *system);

/*
 * A host's: each sketch of its profile is a measurement, ranked as they stand there, with the steps
 * of one in four packets, and off. False where the profile lacks something, or has no sketch.
 */
bool system_of_profile(struct system *system, const struct profile *profile, const char *name);

/* ns of a packet in full detail, of which so many find their entry in no cache. */
double system_full_ns(const struct system *system, double uncached);

struct load {
	double entries, seconds;
	double (*rate)(const struct load *load, double at);
	double peak, period; /* of the rate */
	/* ns by which finding takes longer at a time; NULL: no longer. */
	double (*more_ns)(const struct load *load, double at);
	double uncached;
	const void *arg;
};

struct outcome {
	struct queue_result queue;
	double skipped; /* packets that the valve did not look at */
};

struct outcome system_run(const struct system *system, const struct load *load, enum way way);
