/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Selects which measurements lose detail so that the time per packet stays within a target.
 * A measurement has steps: step 0 is full detail, higher steps have less detail. Each flow of a
 * flow table has a state, and lower states are cheaper. A choice sets one step per measurement, and
 * lowers the states of all or of a share of the flows. docs/ADAPTIVE.md has the algorithms.
 *
 * Pure functions: no allocation, no state between calls.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHOOSE_STEPS_MAX  8
#define CHOOSE_STATES_MAX 64

enum choose_how {
	/* Lower all flows by one state, then move all measurements by one step, and repeat. */
	CHOOSE_GREEDY,
	/*
	 * Low states first. For one measurement after another: lower the flows by one state,
	 * starting with those in the lowest state, then move the measurement by one step.
	 */
	CHOOSE_LSF,
	/* Switch measurements off, highest rank first. */
	CHOOSE_QUERIES,
	/*
	 * Reduce measurements, highest rank first. Within a rank, add as little error as possible.
	 */
	CHOOSE_BEST,
};

/* States of the flows of a flow table, lowest first. */
struct choose_states {
	uint32_t n;
	double packets[CHOOSE_STATES_MAX]; /* share of the packets of flows in each state, 0 to 1 */
	double ns[CHOOSE_STATES_MAX];      /* extra time per packet compared to the first state */
	/* Share of the received packets that the flow table processes, per step, 0 to 1. */
	double looked_at[CHOOSE_STEPS_MAX + 1];
};

/* A measurement. */
struct choose_item {
	uint32_t rank;                      /* the lowest rank is reduced last */
	uint32_t nb_steps;                  /* steps below full detail; 0: never reduced */
	bool ends_off;                      /* true: the last step switches the measurement off */
	const struct choose_states *states; /* NULL: no flow states */
	/*
	 * Time per received packet, per step. Includes a part of the work that measurements share.
	 * 0 if the measurement is off. A later step can take more time than an earlier one.
	 */
	double ns[CHOOSE_STEPS_MAX + 1];
	double error[CHOOSE_STEPS_MAX + 1]; /* width of the error bounds, per step */
};

struct choose_problem {
	double fixed_ns; /* time per packet without measurements */
	uint32_t nb_items;
	const struct choose_item *items; /* sorted by rank, ascending */
};

/*
 * Maps the state of a flow to the state in which the sketch processes it. A flow of state s is
 * processed in state to[1][s] if its 32-bit hash is below `share`, otherwise in state to[0][s].
 */
struct choose_flows {
	uint32_t share;
	uint8_t to[2][CHOOSE_STATES_MAX];
};

struct choice {
	uint8_t *step; /* [nb_items] */
	/* [nb_items], set only for items with flow states. NULL if no item has flow states. */
	struct choose_flows *flows;
	double ns; /* predicted time per packet */
	bool fits; /* true: the predicted time is within the target */
};

/* Returns the size in bytes of `work`, which the functions below use. Allocate it with malloc(). */
size_t choose_work_size(uint32_t nb_items);

/* Selects steps and flow states that meet the target. The caller owns the arrays of *choice. */
void choose(enum choose_how how, const struct choose_problem *problem, double target_ns, void *work,
	struct choice *choice);

/* Sets *choice to full detail, and predicts its time per packet. */
void choose_full(const struct choose_problem *problem, void *work, struct choice *choice);

/* Updates choice->ns and choice->fits. Steps and flow states do not change. */
void choose_predict(
	const struct choose_problem *problem, double target_ns, void *work, struct choice *choice);

/*
 * Restores one step, or one flow state, of the measurement with the lowest rank for which this
 * stays within target_ns. Returns false, and leaves *choice unchanged, if there is no such
 * measurement.
 */
bool choose_back(enum choose_how how, const struct choose_problem *problem, double target_ns,
	void *work, struct choice *choice);
