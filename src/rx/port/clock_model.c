/* SPDX-License-Identifier: BSD-3-Clause */
#include "rx/port/clock_model.h"

#include <math.h>
#include <string.h>

#include "base/assertion.h"

/* Largest relative change between two readings: the system clock is slewed by up to 500 ppm. */
#define RATE_CHANGE 2e-3

static double between(const struct clock_pair *from, const struct clock_pair *to)
{
	return (double)(to->utc - from->utc);
}

/* Returns true if a clock with this rate can have reached reading `to` from reading `from`. */
static bool agrees(const struct clock_pair *from, const struct clock_pair *to, double ns_of_tick,
	double rate_error)
{
	double run = (double)(int64_t)(to->ticks - from->ticks) * ns_of_tick;
	double allowed = (double)(from->error + to->error) + fabs(run) * rate_error;

	return run > 0 && fabs(run - between(from, to)) <= allowed;
}

/* The line goes through the newest reading, with the mean rate since the oldest one. */
static void draw(struct clock_model *model)
{
	const struct clock_pair *oldest = &model->pairs[0], *newest = &model->pairs[model->n - 1];

	model->line = (struct clock_line){
		.ticks = newest->ticks,
		.utc = newest->utc,
		.ns_of_tick =
			between(oldest, newest) / (double)(int64_t)(newest->ticks - oldest->ticks),
	};
}

static void keep(struct clock_model *model, const struct clock_pair *pair)
{
	if (model->n == CLOCK_MODEL_PAIRS)
		memmove(model->pairs, model->pairs + 1, --model->n * sizeof(model->pairs[0]));
	model->pairs[model->n++] = *pair;
}

static bool went_on(const struct clock_pair *from, const struct clock_pair *to)
{
	return (int64_t)(to->ticks - from->ticks) > 0 && to->utc - from->utc > 0;
}

static void restart(struct clock_model *model, const struct clock_pair *pair)
{
	model->pairs[0] = model->odd;
	model->n = 1;
	model->has_odd = false;
	keep(model, pair);
	draw(model);
}

/* Includes reading errors and later changes of the rate, and is relative to the rate. */
static double rate_error_of(const struct clock_model *model)
{
	const struct clock_pair *oldest = &model->pairs[0], *newest = &model->pairs[model->n - 1];

	VERIFY(model->n, >=, 2);
	return RATE_CHANGE + (double)(oldest->error + newest->error) / between(oldest, newest);
}

static enum clock_verdict take_second(struct clock_model *model, const struct clock_pair *pair)
{
	if (!went_on(&model->pairs[0], pair)) {
		model->pairs[0] = *pair;
		return CLOCK_ODD;
	}
	keep(model, pair);
	draw(model);
	return CLOCK_FITS;
}

enum clock_verdict clock_model_add(struct clock_model *model, const struct clock_pair *pair)
{
	double rate_error;

	if (pair->error > CLOCK_ERROR_MAX)
		return CLOCK_POOR;
	if (model->n == 0) {
		keep(model, pair);
		return CLOCK_FITS;
	}
	if (model->n == 1)
		return take_second(model, pair);
	rate_error = rate_error_of(model);
	if (agrees(&model->pairs[model->n - 1], pair, model->line.ns_of_tick, rate_error)) {
		keep(model, pair);
		model->has_odd = false;
		draw(model);
		return CLOCK_FITS;
	}
	if (model->has_odd && went_on(&model->odd, pair) &&
		agrees(&model->odd, pair, model->line.ns_of_tick, rate_error)) {
		restart(model, pair);
		return CLOCK_ANEW;
	}
	model->odd = *pair;
	model->has_odd = true;
	return CLOCK_ODD;
}
