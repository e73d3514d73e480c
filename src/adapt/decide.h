/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Down at once, and up again slowly. Called once a window, with how long a packet may take.
 */

#include <stdbool.h>
#include <stdint.h>

#include "adapt/choose.h"

/* In windows. A minute, of 10 ms. */
#define DECIDE_CALM     10
#define DECIDE_CALM_MAX 6000

struct step_hysteresis {
	enum choose_how how;
	struct choice now, before; /* their arrays are the caller's, and so is work */
	void *work;                /* of choose_work_size() */

	/* Windows: */
	uint32_t calm;       /* in a row, in which one step back would have fitted */
	uint32_t calm_least; /* that it takes */
	uint32_t since_down;
	uint32_t since_up; /* DECIDE_CALM_MAX: long ago, or down since */
	/* The least time that a packet might take in the calm windows, in those before the last step
	 * up, and before those that failed. */
	double target_ns, tried_ns, failed_ns;
	double left_ns; /* what a packet took before the last step up */
};

enum decided {
	DECIDED_STAY,
	DECIDED_DOWN,
	DECIDED_UP,
};

/* Begins with full detail. */
void decide_init(struct step_hysteresis *hysteresis, const struct choose_problem *problem);

/*
 * Whether hysteresis->now has changed; hysteresis->before then is what it was. The problem's figures may be
 * new in each window, its measurements may not.
 */
enum decided decide(
	struct step_hysteresis *hysteresis, const struct choose_problem *problem, double target_ns);
