/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Chooses which measurements lose detail so that the time per packet meets a target. Algorithms:
 * docs/ADAPTIVE.md.
 *
 * A measurement has steps: step 0 is full detail, higher steps have less detail. Each flow of a
 * flow table has a state, and lower states are cheaper.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHOOSE_STEPS_MAX  8
#define CHOOSE_STATES_MAX 64
#define CHOOSE_RANKS_MAX  254

enum choose_how {
	/* Lower all flows by one state, then all measurements by one step, and repeat. */
	CHOOSE_GREEDY,
	/*
	 * For one measurement after another: lower its flows by one state, those in the lowest
	 * state first; then lower the measurement by one step.
	 */
	CHOOSE_LSF,
	/* Switch measurements off, highest rank first. */
	CHOOSE_QUERIES,
	/* Reduce the highest rank first. Within a rank, add as little error as possible. */
	CHOOSE_BEST,
};

/*
 * Flow states, lowest first. With `ranks`, queries request the states, and are turned off by rank,
 * the highest first, before any other detail is reduced.
 */
struct choose_states {
	uint32_t n;
	double packets[CHOOSE_STATES_MAX]; /* share of the packets, 0 to 1 */
	double ns[CHOOSE_STATES_MAX];      /* extra time per packet compared to the lowest state */
	/*
	 * [CHOOSE_RANKS_MAX + 1]: extra time per packet if queries up to rank r are on, which must
	 * not decrease. NULL: flows have their own states.
	 */
	const double *ranks;
	/* per step: share of the received packets that the flow table processes, 0 to 1 */
	double looked_at[CHOOSE_STEPS_MAX + 1];
};

struct choose_item {
	uint32_t rank;     /* the lowest rank is reduced last */
	uint32_t nb_steps; /* below full detail; 0: never reduced */
	bool ends_off;
	const struct choose_states *states; /* NULL: no flow states */
	/*
	 * Per step: time per received packet, with a part of the work that measurements share. A
	 * later step can take more time than an earlier one.
	 */
	double ns[CHOOSE_STEPS_MAX + 1];
	double error[CHOOSE_STEPS_MAX + 1]; /* per step: width of the error bounds */
};

struct choose_problem {
	double fixed_ns;
	uint32_t nb_items;
	const struct choose_item *items;
};

/*
 * The sketch processes a flow of state s in state to[1][s] if its 32-bit hash is below `share`;
 * otherwise in state to[0][s].
 */
struct choose_flows {
	uint32_t share;
	uint32_t ranks_off; /* the highest ranks, whose queries are off */
	uint8_t to[2][CHOOSE_STATES_MAX];
};

struct choice {
	uint8_t *step;
	/* [nb_items], only set for items with flow states; NULL: no such items */
	struct choose_flows *flows;
	double ns;
	bool fits;
};

/* Returns the bytes of `work` for the functions below; malloc() aligns it. */
size_t choose_work_size(uint32_t nb_items);

/* The caller owns the arrays of *choice. */
void choose(enum choose_how how, const struct choose_problem *problem, double target_ns, void *work,
	struct choice *choice);

void choose_full(const struct choose_problem *problem, void *work, struct choice *choice);

void choose_predict(
	const struct choose_problem *problem, double target_ns, void *work, struct choice *choice);

/* Restores one step or flow state if target_ns allows it, lowest rank first. */
bool choose_back(enum choose_how how, const struct choose_problem *problem, double target_ns,
	void *work, struct choice *choice);
