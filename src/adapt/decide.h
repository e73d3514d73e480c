/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Hysteresis of the steps: reduces detail at once, restores it slowly. Called once per window with
 * the target time per packet.
 */

#include <stdbool.h>
#include <stdint.h>

#include "adapt/choose.h"

/* In windows of 10 ms; the maximum is one minute. */
#define DECIDE_CALM     10
#define DECIDE_CALM_MAX 6000

struct step_hysteresis {
	enum choose_how how;
	struct choice now, before; /* arrays owned by the caller, like `work` */
	void *work;                /* choose_work_size() bytes */

	/* Counts of windows: */
	uint32_t calm;       /* consecutive windows in which one restored step would have fitted */
	uint32_t calm_least; /* calm windows required */
	uint32_t since_down;
	uint32_t since_up; /* DECIDE_CALM_MAX: long ago, or reduced since then */
	/*
	 * Least target time of the calm windows, of those before the last restored step, and of
	 * those before restored steps that failed, ns.
	 */
	double target_ns, tried_ns, failed_ns;
	double left_ns; /* time per packet before the last restored step, ns */
};

enum decided {
	DECIDED_STAY,
	DECIDED_DOWN,
	DECIDED_UP,
};

/* Starts with full detail. */
void decide_init(struct step_hysteresis *hysteresis, const struct choose_problem *problem);

/*
 * Returns whether hysteresis->now has changed; hysteresis->before is then the previous choice. The
 * figures of the problem may change in each window, its measurements must not.
 */
enum decided decide(
	struct step_hysteresis *hysteresis, const struct choose_problem *problem, double target_ns);
