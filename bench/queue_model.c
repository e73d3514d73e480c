/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/queue_model.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

struct state {
	const struct queue_model *model;
	struct queue_result result;
	double now, backlog;
	double window_arrived, window_end;
	uint32_t windows; /* begun */
	double packet_ns;
};

static void decide(struct state *state)
{
	const struct queue_model *model = state->model;
	struct demand_window window = {.seconds = model->window,
		.packets = (uint64_t)state->window_arrived,
		.backlog = (uint64_t)state->backlog};

	state->packet_ns = model->decide(model->context, &window);
	state->window_arrived = 0;
	state->window_end += model->window;
	state->windows++;
}

static void pass(struct state *state, double seconds)
{
	double come = state->model->rate(state->model->context, state->now) * seconds;
	double lost;

	state->result.arrived += come;
	state->window_arrived += come;
	state->backlog += come;
	lost = state->backlog - state->model->entries;
	if (lost > 0) {
		if (state->result.lost <= 0)
			state->result.lost_from = state->now;
		state->result.lost += lost;
		if (state->windows <= state->model->nb_windows)
			state->model->lost[state->windows - 1] += lost;
		state->backlog -= lost;
	}
	if (state->backlog > state->result.backlog_max)
		state->result.backlog_max = state->backlog;
	state->now += seconds;
}

static double burst_ns(const struct state *state, double n)
{
	const struct queue_model *model = state->model;

	if (model->shedding == NULL)
		return n * state->packet_ns;
	return model->shedding(model->context, state->backlog, n, state->packet_ns);
}

struct queue_result queue_model_run(const struct queue_model *model)
{
	struct state state = {.model = model, .result = {.lost_from = INFINITY}};

	while (state.now < model->seconds) {
		bool whole = state.backlog >= model->burst;
		double n = whole ? model->burst : floor(state.backlog), seconds;

		if (state.now >= state.window_end)
			decide(&state);
		state.backlog -= n;
		state.result.served += n;
		state.result.bursts += n > 0;
		seconds = burst_ns(&state, n) * 1e-9;
		pass(&state, whole || seconds > model->poll ? seconds : model->poll);
	}
	return state.result;
}
