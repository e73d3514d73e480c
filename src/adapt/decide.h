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

struct decider {
	enum choose_how how;
	struct choice now;   /* its arrays are the caller's, and so is work */
	void *work;          /* choose_work_size() */
	uint32_t calm;       /* windows in a row in which one step back would have fitted */
	uint32_t calm_least; /* that it takes */
	uint32_t since_up;
	double target_ns; /* the least of these windows */
};

enum decided {
	DECIDED_STAY,
	DECIDED_DOWN,
	DECIDED_UP,
};

/* Begins with full detail. */
void decide_init(struct decider *decider, const struct choose_problem *problem);

/* Changes decider->now, or not. The problem's figures may be new in each window, its items may not. */
enum decided decide(
	struct decider *decider, const struct choose_problem *problem, double target_ns);
