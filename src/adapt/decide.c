/* SPDX-License-Identifier: BSD-3-Clause */
#include "adapt/decide.h"

#include <math.h>
#include <string.h>

#define DOWN   0.98                   /* of the time: or a slow rise is a change in each window */
#define MUCH   1.5                    /* times the time that was too little: another load */
#define FORGET (10 * DECIDE_CALM_MAX) /* windows without going down, until half is forgotten */

void decide_init(struct step_hysteresis *decider, const struct choose_problem *problem)
{
	choose_full(problem, decider->work, &decider->now);
	decider->calm = 0;
	decider->calm_least = DECIDE_CALM;
	decider->since_down = 0;
	decider->since_up = DECIDE_CALM_MAX;
	decider->tried_ns = decider->failed_ns = 0;
}

static void swap(struct step_hysteresis *decider)
{
	struct choice now = decider->now;

	decider->now = decider->before;
	decider->before = now;
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
	struct step_hysteresis *decider, const struct choose_problem *problem, double target_ns)
{
	bool failed = decider->since_up < DECIDE_CALM_MAX;

	decider->calm = 0;
	swap(decider);
	target_ns *= DOWN;
	if (failed)
		target_ns = fmin(target_ns, decider->left_ns);
	choose(decider->how, problem, target_ns, decider->work, &decider->now);
	if (same(problem, &decider->now, &decider->before))
		return DECIDED_STAY;
	if (failed) {
		decider->calm_least *= 2;
		if (decider->calm_least > DECIDE_CALM_MAX)
			decider->calm_least = DECIDE_CALM_MAX;
		decider->failed_ns = fmax(decider->failed_ns, decider->tried_ns);
	}
	decider->since_up = DECIDE_CALM_MAX;
	decider->since_down = 0;
	return DECIDED_DOWN;
}

/* It has not gone down for long. */
static void forget(struct step_hysteresis *decider)
{
	decider->since_down = 0;
	decider->calm_least /= 2;
	if (decider->calm_least < DECIDE_CALM) {
		decider->calm_least = DECIDE_CALM;
		decider->failed_ns = 0;
	}
}

/* Whether it has fitted for long enough to be tried. */
static bool is_time(const struct step_hysteresis *decider)
{
	return decider->calm >= decider->calm_least ||
	       (decider->calm >= DECIDE_CALM && decider->target_ns > MUCH * decider->failed_ns);
}

static enum decided up(
	struct step_hysteresis *decider, const struct choose_problem *problem, double target_ns)
{
	copy(problem, &decider->before, &decider->now);
	if (!choose_back(decider->how, problem, target_ns, decider->work, &decider->before)) {
		decider->calm = 0;
		return DECIDED_STAY;
	}
	decider->target_ns = decider->calm == 0 ? target_ns : fmin(decider->target_ns, target_ns);
	decider->calm++;
	if (!is_time(decider))
		return DECIDED_STAY;
	decider->calm = 0;
	copy(problem, &decider->before, &decider->now);
	if (!choose_back(
		    decider->how, problem, decider->target_ns, decider->work, &decider->before))
		return DECIDED_STAY;
	swap(decider);
	decider->since_up = 0;
	decider->left_ns = decider->before.ns;
	decider->tried_ns = decider->target_ns;
	return DECIDED_UP;
}

enum decided decide(
	struct step_hysteresis *decider, const struct choose_problem *problem, double target_ns)
{
	if (decider->since_up < DECIDE_CALM_MAX)
		decider->since_up++;
	if (++decider->since_down == FORGET)
		forget(decider);
	choose_predict(problem, target_ns, decider->work, &decider->now);
	return decider->now.fits ? up(decider, problem, target_ns)
				 : down(decider, problem, target_ns);
}
