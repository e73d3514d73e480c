/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/queue_model.h"

#include <math.h>
#include <stddef.h>

#define IDLE_S 2e-6 /* until an empty queue is looked at again */

struct state {
	const struct queue_model *model;
	struct queue_result result;
	double now, backlog;
	double window_arrived, window_end;
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
		state->result.lost_from = fmin(state->result.lost_from, state->now);
		state->result.lost += lost;
		state->backlog -= lost;
	}
	state->result.backlog_max = fmax(state->result.backlog_max, state->backlog);
	state->now += seconds;
}

static double burst_ns(const struct state *state, double n)
{
	const struct queue_model *model = state->model;

	if (model->valve == NULL)
		return n * state->packet_ns;
	return model->valve(model->context, state->backlog, n, state->packet_ns);
}

struct queue_result queue_model_run(const struct queue_model *model)
{
	struct state state = {.model = model, .result = {.lost_from = INFINITY}};

	while (state.now < model->seconds) {
		double n = fmin(floor(state.backlog), QUEUE_MODEL_BURST);

		if (state.now >= state.window_end)
			decide(&state);
		state.backlog -= n;
		pass(&state, n > 0 ? burst_ns(&state, n) * 1e-9 : IDLE_S);
	}
	return state.result;
}
