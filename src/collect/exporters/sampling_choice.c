/* SPDX-License-Identifier: BSD-3-Clause */
#include "collect/exporters/sampling_choice.h"

#include <math.h>

/* A change aims at this part of a limit, so that chance does not exceed the limit. */
#define AIM          0.8
/* Smaller changes are not worth a command or a row. */
#define LEAST_CHANGE 1.25
/* Largest factor of a change to finer sampling: after a quiet time, traffic returns at once. */
#define FINER_MOST   4

static uint32_t to_interval(double interval)
{
	if (interval < 1)
		return 1;
	return interval < SAMPLING_COARSEST ? (uint32_t)interval : SAMPLING_COARSEST;
}

/*
 * Stores the records per second that the exporter would send at 1:1. Records grow at most in
 * proportion to samples: a sample is an sFlow record, and adds at most one flow record. If N has
 * just changed, some records have the former N.
 */
static void remember(struct sampling_chooser *chooser, const struct sampling_seen *seen)
{
	if (chooser->interval == 0 || chooser->interval == seen->interval)
		chooser->load = fmax(chooser->load, seen->interval * seen->records);
	chooser->interval = seen->interval;
	if (++chooser->age < SAMPLING_MEMORY)
		return;
	chooser->former_load = chooser->load;
	chooser->load = chooser->age = 0;
}

/* Returns the finest interval within the budget for a load; 0: any. */
static double finest_of(const struct sampling_limits *limits, double load)
{
	return limits->budget > 0 ? load / (AIM * limits->budget) : 0;
}

static bool is_finer(uint32_t interval, uint32_t now)
{
	return (double)interval * LEAST_CHANGE <= now;
}

static bool is_coarser(uint32_t interval, uint32_t now)
{
	return (double)interval >= now * LEAST_CHANGE;
}

bool sampling_differs(uint32_t interval, uint32_t now)
{
	return is_finer(interval, now) || is_coarser(interval, now);
}

/* Returns the change that one measurement interval wants. */
static struct sampling_choice wanted(const struct sampling_chooser *chooser,
	const struct sampling_limits *limits, const struct sampling_seen *seen)
{
	double load = seen->interval * seen->records, aim = AIM * seen->tolerable;
	double recent = fmax(load, fmax(chooser->load, chooser->former_load));
	uint32_t now = seen->interval, least = to_interval(ceil(finest_of(limits, load)));
	struct sampling_choice choice = {.reason = SAMPLING_STAYS, .interval = now};
	bool too_wide = limits->error && seen->tolerable > 0 && seen->tolerable < now;

	if (limits->budget > 0 && seen->records > limits->budget) {
		choice.over_budget = now >= SAMPLING_COARSEST;
		choice.over_error = too_wide;
		choice.interval = least;
		if (least > now)
			choice.reason = SAMPLING_BUDGET;
		return choice;
	}
	least = to_interval(ceil(fmax(finest_of(limits, recent), (double)now / FINER_MOST)));
	if (least > now)
		least = now;
	if (limits->error) {
		if (seen->tolerable <= 0)
			return choice;
		choice.interval = to_interval(aim) > least ? to_interval(aim) : least;
		choice.over_error = too_wide && !is_finer(choice.interval, now);
		if (too_wide && !choice.over_error)
			choice.reason = SAMPLING_ERROR;
		else if (is_coarser(choice.interval, now))
			choice.reason = SAMPLING_CALM;
		return choice;
	}
	choice.interval = least;
	if (seen->records > 0 && is_finer(least, now))
		choice.reason = SAMPLING_ROOM;
	return choice;
}

static uint32_t smaller_change(uint32_t a, uint32_t b, uint32_t now)
{
	bool a_is_smaller = a > now ? a < b : a > b;

	return a_is_smaller ? a : b;
}

static void restart(struct sampling_chooser *chooser)
{
	chooser->reason = SAMPLING_STAYS;
	chooser->agreed = chooser->cautious = 0;
}

struct sampling_choice sampling_choose(struct sampling_chooser *chooser,
	const struct sampling_limits *limits, const struct sampling_seen *seen)
{
	struct sampling_choice choice = wanted(chooser, limits, seen);
	bool same = choice.reason == chooser->reason;

	remember(chooser, seen);
	if (choice.reason == SAMPLING_STAYS || choice.reason == SAMPLING_BUDGET) {
		restart(chooser);
	} else {
		chooser->cautious =
			same ? smaller_change(chooser->cautious, choice.interval, seen->interval)
			     : choice.interval;
		chooser->agreed = same ? chooser->agreed + 1 : 1;
		chooser->reason = choice.reason;
		choice.interval = chooser->cautious;
		if (chooser->agreed < SAMPLING_PATIENCE)
			choice.reason = SAMPLING_STAYS;
		else
			restart(chooser);
	}
	if (choice.reason == SAMPLING_STAYS)
		choice.interval = seen->interval;
	return choice;
}

const char *sampling_reason_word(enum sampling_reason reason)
{
	static const char *const words[] = {
		[SAMPLING_STAYS] = "stays",
		[SAMPLING_BUDGET] = "budget",
		[SAMPLING_ERROR] = "error",
		[SAMPLING_CALM] = "calm",
		[SAMPLING_ROOM] = "room",
	};

	return words[reason];
}
