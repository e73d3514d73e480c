/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Selects the detail to reduce so that the time per packet stays within a target. A measurement has
 * steps, from full detail (0) downwards, and takes one as a whole. The flows of a flow table have
 * states, and a share of the flows can be moved to a lower state. docs/ADAPTIVE.md has the
 * algorithms.
 *
 * Pure functions: no allocation, no state between calls.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHOOSE_STEPS_MAX  8
#define CHOOSE_STATES_MAX 64

enum choose_how {
	CHOOSE_GREEDY, /* lower all flows by one state, then all measurements by one step, and repeat */
	CHOOSE_LSF, /* low states first: one state after another, one measurement after another */
	CHOOSE_QUERIES, /* switch measurements off, lowest ranked first */
	CHOOSE_BEST,    /* rank by rank; within a rank, the least loss of accuracy */
};

/* States of the flows of a flow table, lowest first. */
struct choose_states {
	uint32_t n;
	double packets[CHOOSE_STATES_MAX]; /* share of packets whose flow is in each state */
	double ns[CHOOSE_STATES_MAX]; /* extra time of such a packet compared to the first state */
	/* Share of the packets that the table processes in each step. */
	double looked_at[CHOOSE_STEPS_MAX + 1];
};

/* A measurement. */
struct choose_item {
	uint32_t rank;                      /* lowest rank is reduced last */
	uint32_t nb_steps;                  /* steps below full detail; 0: never reduced */
	bool ends_off;                      /* true: off in the last step */
	const struct choose_states *states; /* NULL: no flow states */
	/*
	 * Per step: time per received packet including its part of shared work (0 if off), and
	 * width of its bounds. A step need not save time.
	 */
	double ns[CHOOSE_STEPS_MAX + 1];
	double error[CHOOSE_STEPS_MAX + 1];
};

struct choose_problem {
	double fixed_ns; /* time per packet without measurements */
	uint32_t nb_items;
	const struct choose_item *items; /* sorted by rank, ascending */
};

/*
 * Mapping of flow states: a flow of state s is processed in to[1][s] if its 32-bit hash is below
 * share, else in to[0][s].
 */
struct choose_flows {
	uint32_t share;
	uint8_t to[2][CHOOSE_STATES_MAX];
};

struct choice {
	uint8_t *step; /* [nb_items] */
	struct choose_flows
		*flows; /* [nb_items], used for items with states; NULL if no item has states */
	double ns;      /* predicted time per packet */
	bool fits;      /* false: above the target even with all reductions */
};

/* Returns the bytes of the work memory, which must be aligned as from malloc(). */
size_t choose_work_size(uint32_t nb_items);

/* Stores the choice in *choice; the caller owns its arrays. */
void choose(enum choose_how how, const struct choose_problem *problem, double target_ns, void *work,
	struct choice *choice);

/* Stores full detail and its predicted time. */
void choose_full(const struct choose_problem *problem, void *work, struct choice *choice);

/* Updates the predicted time of a choice from the problem, and whether it fits. */
void choose_predict(
	const struct choose_problem *problem, double target_ns, void *work, struct choice *choice);

/*
 * Restores one step of a measurement or its flows: the best ranked that fits in target_ns. Returns
 * false if there is none; *choice is then unchanged.
 */
bool choose_back(enum choose_how how, const struct choose_problem *problem, double target_ns,
	void *work, struct choice *choice);
