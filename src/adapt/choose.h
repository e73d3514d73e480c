/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Which detail is given up, so that a packet takes no longer than it may. A measurement has steps,
 * from full detail (0) down, and each is taken whole; a flow table's flows have states, and a share
 * of the flows can be put back to a lower one. docs/ADAPTIVE.md has the algorithms.
 *
 * Pure: nothing is allocated, nothing is kept from one call to the next.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHOOSE_STEPS_MAX  8
#define CHOOSE_STATES_MAX 64

enum choose_how {
	CHOOSE_GREEDY, /* all flows one state lower, all measurements one step down, ... */
	CHOOSE_LSF, /* low states first: one state after another, one measurement after another */
	CHOOSE_QUERIES, /* measurements go off, the lowest ranked first */
	CHOOSE_BEST,    /* rank by rank; within a rank what costs least accuracy */
};

/* The states of a flow table's flows, the lowest first. */
struct choose_states {
	uint32_t n;
	double packets[CHOOSE_STATES_MAX]; /* share of them that meets a flow in each */
	double ns[CHOOSE_STATES_MAX];      /* of such a packet, beyond the first state's */
	/* Share of the packets that the table sees, in each step. */
	double looked_at[CHOOSE_STEPS_MAX + 1];
};

/* A measurement. */
struct choose_item {
	uint32_t rank;                      /* the lowest is given up last */
	uint32_t nb_steps;                  /* beyond full detail; 0: it gives up nothing */
	bool ends_off;                      /* in the last of them it does not run at all */
	const struct choose_states *states; /* NULL: it has none */
	/* In each step: of a received packet (0 where it does not run), with its part of what
	 * measurements share; and the width of its bounds. A step need not save time. */
	double ns[CHOOSE_STEPS_MAX + 1];
	double error[CHOOSE_STEPS_MAX + 1];
};

struct choose_problem {
	double fixed_ns; /* of a packet, whatever is measured */
	uint32_t nb_items;
	const struct choose_item *items; /* ranks do not fall */
};

/* Which state a flow is put into that would be in state s: to[1][s] where its hash (32 bits) is below
 * share, else to[0][s]. */
struct choose_flows {
	uint32_t share;
	uint8_t to[2][CHOOSE_STATES_MAX];
};

struct choice {
	uint8_t *step;              /* [nb_items] */
	struct choose_flows *flows; /* [nb_items], of those with states; NULL where none has any */
	double ns;                  /* of a packet, as predicted */
	bool fits;                  /* else choose() has given up all that it may */
};

/* Bytes that choose() works in; aligned as malloc() does. */
size_t choose_work_size(uint32_t nb_items);

/* Into *choice, whose arrays are the caller's. */
void choose(enum choose_how how, const struct choose_problem *problem, double target_ns, void *work,
	struct choice *choice);

/* Full detail, with its ns. */
void choose_full(const struct choose_problem *problem, void *work, struct choice *choice);

/* What a packet takes with a choice, by these figures, and whether that fits. */
void choose_predict(
	const struct choose_problem *problem, double target_ns, void *work, struct choice *choice);

/*
 * The next step back to full detail, of one measurement or its flows, the best ranked that fits into
 * target_ns. False where there is none; *choice is then as it was.
 */
bool choose_back(enum choose_how how, const struct choose_problem *problem, double target_ns,
	void *work, struct choice *choice);
