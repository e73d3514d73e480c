/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Reduces detail of measurements at once under overload, and restores it slowly (hysteresis).
 * Called once per window of 10 ms with the target time per packet.
 */

#include <stdbool.h>
#include <stdint.h>

#include "adapt/choose.h"

/*
 * A window is calm if its target time leaves room for more detail. Detail is restored after 10
 * consecutive calm windows (0.1 s), or after up to 6000 (60 s) if restored detail did not last.
 */
#define DECIDE_CALM     10
#define DECIDE_CALM_MAX 6000

struct step_hysteresis {
	enum choose_how how;
	struct choice now, before; /* the caller owns their arrays */
	void *work;                /* choose_work_size() bytes, owned by the caller */

	uint32_t calm;       /* consecutive calm windows until now */
	uint32_t calm_least; /* calm windows required before detail is restored */
	uint32_t since_down;
	/*
	 * Windows since the last restoration. DECIDE_CALM_MAX: long ago, or before the last
	 * reduction.
	 */
	uint32_t since_up;
	double target_ns; /* least target time of the calm windows */
	double tried_ns;  /* target_ns at the last restoration */
	double failed_ns; /* largest tried_ns of a restoration that a reduction followed */
	double left_ns;   /* time per packet before the last restoration */
};

enum decided {
	DECIDED_STAY,
	DECIDED_DOWN,
	DECIDED_UP,
};

/* Starts with full detail. */
void decide_init(struct step_hysteresis *hysteresis, const struct choose_problem *problem);

/*
 * Updates hysteresis->now for this window. If it changes, hysteresis->before is the previous
 * choice. Times, errors and shares of the problem may differ in each call; its measurements must
 * not.
 */
enum decided decide(
	struct step_hysteresis *hysteresis, const struct choose_problem *problem, double target_ns);
