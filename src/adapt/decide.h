/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Reduces detail of measurements at once under overload, and restores it slowly (hysteresis). */

#include <stdbool.h>
#include <stdint.h>

#include "adapt/choose.h"

/*
 * A window of 10 ms is calm if its target time leaves room for more detail. 10 calm windows (0.1 s)
 * restore detail; up to 6000 (60 s) if restored detail did not last.
 */
#define DECIDE_CALM     10
#define DECIDE_CALM_MAX 6000

struct step_hysteresis {
	enum choose_how how;
	struct choice now, before; /* the caller owns their arrays */
	void *work;                /* choose_work_size() bytes, owned by the caller */

	uint32_t calm;
	uint32_t calm_least; /* calm windows that restore detail */
	uint32_t since_down;
	/* windows since detail was restored; DECIDE_CALM_MAX: long ago, or before a reduction */
	uint32_t since_up;
	double target_ns; /* least target time of the calm windows */
	double tried_ns;  /* target_ns when detail was last restored */
	double failed_ns; /* largest tried_ns that a reduction followed */
	double left_ns;   /* time per packet before detail was last restored */
};

enum decided {
	DECIDED_STAY,
	DECIDED_DOWN,
	DECIDED_UP,
};

void decide_init(struct step_hysteresis *hysteresis, const struct choose_problem *problem);

/* If hysteresis->now changes, hysteresis->before is the previous choice. */
enum decided decide(
	struct step_hysteresis *hysteresis, const struct choose_problem *problem, double target_ns);
