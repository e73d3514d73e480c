/* SPDX-License-Identifier: BSD-3-Clause */
#include "parallel/run/plan_capacity.h"

#include <string.h>

#include "parallel/run/measurements.h"
#include "parallel/shed/shed_options.h"
#include "parallel/shed/steps.h"

static const enum profile_traffic traffics[] = {PROFILE_CACHED, PROFILE_UNCACHED, PROFILE_NEW};
#define NB_TRAFFICS (sizeof(traffics) / sizeof(traffics[0]))

struct capacity_worker plan_worker(const struct plan *plan)
{
	struct capacity_worker worker = {.receives = !plan->design->rx_core};

	for (uint32_t m = 0; m < plan->nb_measurements; m++)
		capacity_add(&worker, plan->measurements[m].ops, &plan->measurements[m].params,
			plan->sharing);
	return worker;
}

static void print_missing(const struct profile_what *missing, const char *name, FILE *out)
{
	char text[PROFILE_WHAT_MAX];

	profile_describe(missing, text);
	fprintf(out, "unknown: %s has no figure of %s; create one with sketchtap-bench profile\n",
		name, text);
}

/* Returns false if the profile lacks a time. */
static bool print_state(const struct plan *plan, const struct capacity_worker *worker,
	const struct profile *profile, const char *name, const struct capacity_state *state,
	int width, FILE *out)
{
	double ns[NB_TRAFFICS];

	for (size_t t = 0; t < NB_TRAFFICS; t++) {
		struct profile_what missing;

		if (!capacity_ns(profile, worker, state, traffics[t], &ns[t], &missing)) {
			print_missing(&missing, name, out);
			return false;
		}
	}
	fprintf(out, "%-*s", width, state->name);
	for (size_t t = 0; t < NB_TRAFFICS; t++)
		fprintf(out, "  %8.1f %7.2f %7.2f", ns[t], 1e3 / ns[t],
			1e3 / ns[t] * plan->nb_workers);
	fprintf(out, "\n");
	return true;
}

/* Full detail; each step of each measurement; SHED_LEVEL_WAIT; each sampling rate; count only. */
#define STATES_MAX                                                                                 \
	(1 + CONFIG_MEASUREMENTS_MAX * STEPS_MAX + 1 + SHED_SHIFT_MAX - SHED_SHIFT_MIN + 1 + 1)

struct capacity_states {
	struct capacity_state states[STATES_MAX];
	uint32_t n;
};

static void add_state(struct capacity_states *states, const struct capacity_state *state)
{
	states->states[states->n++] = *state;
}

static uint32_t priority_of(const struct plan *plan, uint32_t m)
{
	return steps_options(plan->measurements[m].config)->priority;
}

/* Updates *state to the last step. */
static void add_steps(struct capacity_states *states, const struct plan *plan, uint32_t m,
	struct capacity_state *state)
{
	const struct measurement_config *config = plan->measurements[m].config;
	char why[STEPS_WHY_MAX];
	struct steps steps;

	if (!steps_parse(&steps, steps_options(config)->steps, why))
		return;
	for (uint32_t n = 1; n <= steps.n; n++) {
		struct detail detail = steps_detail(&steps, n);

		snprintf(state->name, sizeof(state->name), "%s %.60s", config->name,
			steps_word(&steps, n));
		state->of[m] = (struct capacity_detail){
			.looked_at = detail.off ? 0 : 1.0 / (1U << detail.shift),
			.counted = 1.0 / (1U << detail.keys),
			.coarser = detail.key != NULL,
		};
		add_state(states, state);
	}
}

/* Load shedding takes the steps of measurements of the lowest priority first. */
static void add_all_steps(struct capacity_states *states, const struct plan *plan)
{
	struct capacity_state state = capacity_full();
	uint32_t worst = 0;

	for (uint32_t m = 0; m < plan->nb_measurements; m++)
		worst = priority_of(plan, m) > worst ? priority_of(plan, m) : worst;
	for (uint32_t rank = worst; rank > 0; rank--)
		for (uint32_t m = plan->nb_measurements; m-- > 0;)
			if (priority_of(plan, m) == rank)
				add_steps(states, plan, m, &state);
}

/* At SHED_LEVEL_WAIT, measurements of low priority skip packets. Higher levels also sample. */
static void add_levels(struct capacity_states *states, const struct plan *plan)
{
	struct capacity_state state = capacity_full();
	uint32_t waiting = measurements_low_ranked(plan);

	for (uint32_t m = 0; m < plan->nb_measurements; m++)
		state.of[m].looked_at = waiting >> m & 1 ? 0 : 1;
	steps_level_word((struct burst_shed_level){.level = SHED_LEVEL_WAIT}, state.name);
	if (waiting != 0)
		add_state(states, &state);
	for (uint8_t shift = SHED_SHIFT_MIN; shift <= SHED_SHIFT_MAX; shift++) {
		steps_level_word(
			(struct burst_shed_level){.level = SHED_LEVEL_SOME, .shift = shift},
			state.name);
		for (uint32_t m = 0; m < plan->nb_measurements; m++)
			state.of[m].looked_at = waiting >> m & 1 ? 0 : 1.0 / (1U << shift);
		add_state(states, &state);
	}
}

static void make_states(
	struct capacity_states *states, const struct plan *plan, const struct config *config)
{
	const struct capacity_state full = capacity_full(), count = capacity_count_only();

	states->n = 0;
	add_state(states, &full);
	if (shed_policy_needs_controller(config))
		add_all_steps(states, plan);
	if (shed_policy_options(config)->policy != SHED_POLICY_OFF)
		add_levels(states, plan);
	add_state(states, &count);
}

void plan_print_capacity(const struct plan *plan, const struct config *config,
	const struct profile *profile, const char *name, FILE *out)
{
	const struct capacity_worker worker = plan_worker(plan);
	static struct capacity_states states;
	int width = 0;

	make_states(&states, plan, config);
	for (uint32_t s = 0; s < states.n; s++) {
		int len = (int)strlen(states.states[s].name);

		width = len > width ? len : width;
	}

	fprintf(out,
		"\ncapacity estimated from %s: ns per packet, Mpps of a worker, Mpps of all %u\n",
		name, plan->nb_workers);
	fprintf(out, "%-*s", width, "state");
	for (size_t t = 0; t < NB_TRAFFICS; t++)
		fprintf(out, "  %8s %7s %7s", profile_traffic_names[traffics[t]], "worker", "all");
	fprintf(out, "\n");
	for (uint32_t s = 0; s < states.n; s++)
		if (!print_state(plan, &worker, profile, name, &states.states[s], width, out))
			return;
	fprintf(out,
		"cached, uncached: flows that fit, or do not fit, in the CPU caches; new: each packet "
		"belongs to a new flow\n");
	if (!worker.receives)
		fprintf(out, "not included: the receiver\n");
	if (plan->sharing == SHARING_SHARED && plan->nb_workers > 1)
		fprintf(out, "not included: contention of workers for the shared sketch\n");
	if (plan->oversubscribed)
		fprintf(out, "not included: workers share CPUs, so the real rates are lower\n");
}
