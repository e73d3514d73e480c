/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Models an overloaded worker. Each `way` is one method of adapting to load. */

#include <stdbool.h>
#include <stdint.h>

#include "adapt/choose.h"
#include "adapt/profile.h"
#include "bench/queue_model.h"

enum way {
	WAY_WITHOUT,
	WAY_GREEDY, /* equation (4) of the paper as printed; each window starts from full detail */
	WAY_LSF,
	WAY_QUERIES,
	WAY_BEST, /* target of adapt/demand.h, 10 % reserved; recovery of adapt/decide.h */
	WAY_BEST_SHEDDING,
	WAYS,
};

extern const char *const way_names[WAYS];

#define SYSTEM_ITEMS_MAX 16

struct system {
	char name[PROFILE_TEXT_MAX];
	double fixed_ns;  /* ns per packet without `items`, if lookups hit a cache */
	double memory_ns; /* additional ns per packet if no lookup hits a cache */
	double count_ns;  /* ns per packet that is only counted */
	double shared_ns; /* ns of parsing and keys, which measurements share */
	uint32_t nb_items, nb_queries;
	struct choose_item items[SYSTEM_ITEMS_MAX];
	struct choose_item queries[SYSTEM_ITEMS_MAX]; /* items for WAY_QUERIES */
	struct choose_states states;
	char keys[SYSTEM_ITEMS_MAX][PROFILE_KEY_MAX];
};

/*
 * Two values are assumed: lookups in memory take longer by the ratio of Table I, and a packet that
 * is only counted takes 10 ns.
 */
void system_of_paper(struct system *system);

/* Each sketch becomes a measurement. Returns false if the profile lacks a part or a sketch. */
bool system_of_profile(struct system *system, const struct profile *profile, const char *name);

/* Returns ns per packet. `uncached`: fraction of lookups that miss the caches. */
double system_full_ns(const struct system *system, double uncached);

struct load {
	double entries, seconds;
	double (*rate)(const struct load *load, double at);
	double peak, period; /* maximum and period (s) of the packet rate */
	/* additional ns per packet at time `at`; NULL: none */
	double (*more_ns)(const struct load *load, double at);
	double uncached;
	const void *arg;
};

#define ADAPTATIONS_MAX 100
#define WINDOWS_MAX     100

struct outcome {
	struct queue_result queue;
	double skipped;
	double lost[WINDOWS_MAX];            /* packets in each of the first windows */
	uint32_t nb_adaptations;             /* windows with less detail than the previous window */
	double adaptations[ADAPTATIONS_MAX]; /* times (s) of the first ones */
};

struct outcome system_run(const struct system *system, const struct load *load, enum way way);
