/* SPDX-License-Identifier: BSD-3-Clause */
#include "adapt/decide.h"

#include <math.h>
#include <string.h>

/*
 * A reduction aims 2 % below the target. Otherwise, a slowly rising load needs one in each window.
 */
#define DOWN   0.98
/*
 * Restoring detail has failed if a reduction followed. If the target time is now 1.5 times as long
 * as then, the load has changed, and detail is restored without a long wait.
 */
#define MUCH   1.5
/* After this many windows without a reduction, halves `calm_least`. */
#define FORGET (10 * DECIDE_CALM_MAX)

void decide_init(struct step_hysteresis *hysteresis, const struct choose_problem *problem)
{
	choose_full(problem, hysteresis->work, &hysteresis->now);
	hysteresis->calm = 0;
	hysteresis->calm_least = DECIDE_CALM;
	hysteresis->since_down = 0;
	hysteresis->since_up = DECIDE_CALM_MAX;
	hysteresis->tried_ns = hysteresis->failed_ns = 0;
}

static void swap(struct step_hysteresis *hysteresis)
{
	struct choice now = hysteresis->now;

	hysteresis->now = hysteresis->before;
	hysteresis->before = now;
}

static bool same(
	const struct choose_problem *problem, const struct choice *a, const struct choice *b)
{
	if (memcmp(a->step, b->step, problem->nb_items) != 0)
		return false;
	for (uint32_t i = 0; i < problem->nb_items; i++)
		if (problem->items[i].states != NULL &&
			memcmp(&a->flows[i], &b->flows[i], sizeof(a->flows[i])) != 0)
			return false;
	return true;
}

static void copy(const struct choose_problem *problem, struct choice *to, const struct choice *from)
{
	memcpy(to->step, from->step, problem->nb_items);
	for (uint32_t i = 0; i < problem->nb_items; i++)
		if (problem->items[i].states != NULL)
			to->flows[i] = from->flows[i];
}

static enum decided down(
	struct step_hysteresis *hysteresis, const struct choose_problem *problem, double target_ns)
{
	bool failed = hysteresis->since_up < DECIDE_CALM_MAX;

	hysteresis->calm = 0;
	swap(hysteresis);
	target_ns *= DOWN;
	if (failed)
		target_ns = fmin(target_ns, hysteresis->left_ns);
	choose(hysteresis->how, problem, target_ns, hysteresis->work, &hysteresis->now);
	if (same(problem, &hysteresis->now, &hysteresis->before))
		return DECIDED_STAY;
	if (failed) {
		hysteresis->calm_least *= 2;
		if (hysteresis->calm_least > DECIDE_CALM_MAX)
			hysteresis->calm_least = DECIDE_CALM_MAX;
		hysteresis->failed_ns = fmax(hysteresis->failed_ns, hysteresis->tried_ns);
	}
	hysteresis->since_up = DECIDE_CALM_MAX;
	hysteresis->since_down = 0;
	return DECIDED_DOWN;
}

static void forget(struct step_hysteresis *hysteresis)
{
	hysteresis->since_down = 0;
	hysteresis->calm_least /= 2;
	if (hysteresis->calm_least < DECIDE_CALM) {
		hysteresis->calm_least = DECIDE_CALM;
		hysteresis->failed_ns = 0;
	}
}

static bool is_time(const struct step_hysteresis *hysteresis)
{
	return hysteresis->calm >= hysteresis->calm_least ||
	       (hysteresis->calm >= DECIDE_CALM &&
		       hysteresis->target_ns > MUCH * hysteresis->failed_ns);
}

static enum decided up(
	struct step_hysteresis *hysteresis, const struct choose_problem *problem, double target_ns)
{
	copy(problem, &hysteresis->before, &hysteresis->now);
	if (!choose_back(
		    hysteresis->how, problem, target_ns, hysteresis->work, &hysteresis->before)) {
		hysteresis->calm = 0;
		return DECIDED_STAY;
	}
	hysteresis->target_ns =
		hysteresis->calm == 0 ? target_ns : fmin(hysteresis->target_ns, target_ns);
	hysteresis->calm++;
	if (!is_time(hysteresis))
		return DECIDED_STAY;
	hysteresis->calm = 0;
	copy(problem, &hysteresis->before, &hysteresis->now);
	if (!choose_back(hysteresis->how, problem, hysteresis->target_ns, hysteresis->work,
		    &hysteresis->before))
		return DECIDED_STAY;
	swap(hysteresis);
	hysteresis->since_up = 0;
	hysteresis->left_ns = hysteresis->before.ns;
	hysteresis->tried_ns = hysteresis->target_ns;
	return DECIDED_UP;
}

enum decided decide(
	struct step_hysteresis *hysteresis, const struct choose_problem *problem, double target_ns)
{
	if (hysteresis->since_up < DECIDE_CALM_MAX)
		hysteresis->since_up++;
	if (++hysteresis->since_down == FORGET)
		forget(hysteresis);
	choose_predict(problem, target_ns, hysteresis->work, &hysteresis->now);
	return hysteresis->now.fits ? up(hysteresis, problem, target_ns)
				    : down(hysteresis, problem, target_ns);
}
