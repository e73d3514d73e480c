/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/packet_costs.h"

#include <math.h>
#include <string.h>

#include "parallel/run/plan_capacity.h"

/* assumed ns per packet for a step that is not in the profile */
#define GUESS_NS 10

static double mean_of(const struct profile *profile, const struct profile_what *what)
{
	const struct profile_row *row = profile_find(profile, what);

	return row != NULL ? row->times.mean : GUESS_NS;
}

static double part_of(const struct profile *profile, enum profile_part part)
{
	const struct profile_what what = {.part = part};

	return mean_of(profile, &what);
}

/*
 * Sets the ns that a packet of each flow detail costs beyond FLOW_COUNT. All flows are assumed to
 * be only counted until an epoch is closed.
 */
static void set_state_costs(struct packet_costs *costs, const struct profile *profile,
	const struct profile_what *sketch, enum flow_depth deepest, uint32_t m)
{
	struct profile_what what = *sketch;
	double first;

	what.traffic = PROFILE_ONE;
	what.state = FLOW_COUNT;
	first = mean_of(profile, &what);
	for (uint32_t state = 0; state < FLOW_STATES; state++) {
		what.state = (enum flow_depth)state;
		costs->met[m][state] = state == FLOW_COUNT;
		costs->state[m][state] =
			state <= deepest ? fmax(mean_of(profile, &what) - first, 0) : 0;
	}
}

void packet_costs_by_profile(
	struct packet_costs *costs, const struct plan *plan, const struct profile *profile)
{
	const struct capacity_worker worker = plan_worker(plan);

	memset(costs->of_rank, 0, sizeof(costs->of_rank));
	costs->has_formula = 0;
	costs->fixed = part_of(profile, PROFILE_RECEIVE) + part_of(profile, PROFILE_FREE);
	costs->parse = part_of(profile, PROFILE_PARSE);
	for (uint32_t k = 0; k < worker.nb_keys; k++)
		costs->parse += mean_of(profile, &worker.keys[k]);
	for (uint32_t m = 0; m < worker.nb_measurements; m++) {
		struct profile_what what = worker.sketches[m];

		what.traffic = PROFILE_CACHED;
		what.state = FLOW_COUNT;
		costs->distinct[m] = part_of(profile, PROFILE_DISTINCT);
		costs->of[m] = mean_of(profile, &what) + costs->distinct[m];
		costs->of_few[m] = costs->of[m];
		set_state_costs(costs, profile, &worker.sketches[m],
			plan->measurements[m].params.deep.deepest, m);
		costs->has_formula |= (uint32_t)formula_times_find(
					      &costs->formula[m], profile, &worker.sketches[m])
				      << m;
	}
}

static void set_state_shares(
	struct packet_costs *costs, const struct run *run, uint64_t epoch, uint32_t m)
{
	double packets[FLOW_STATES] = {0}, sum = 0;

	for (uint32_t w = 0; w < run->nb_workers; w++) {
		const struct sketch *sketch = worker_generation(run->workers[w], epoch)->sketch[m];
		const uint64_t *met = sketch->ops->state_packets != NULL
					      ? sketch->ops->state_packets(sketch)
					      : NULL;

		for (uint32_t state = 0; met != NULL && state < FLOW_STATES; state++) {
			packets[state] += (double)met[state];
			sum += (double)met[state];
		}
	}
	for (uint32_t state = 0; sum > 0 && state < FLOW_STATES; state++)
		costs->met[m][state] = packets[state] / sum;
}

static void set_rank_shares(
	struct packet_costs *costs, const struct run *run, uint64_t epoch, uint32_t m)
{
	double packets[2][FLOW_ALL_RANKS + 2] = {0}, sum = 0;

	for (uint32_t w = 0; w < run->nb_workers; w++) {
		const struct sketch *sketch = worker_generation(run->workers[w], epoch)->sketch[m];
		const struct flow_query_packets *of = sketch->ops->query_packets != NULL
							      ? sketch->ops->query_packets(sketch)
							      : NULL;

		for (uint32_t rank = 0; of != NULL && rank < FLOW_ALL_RANKS + 2; rank++) {
			packets[0][rank] += (double)of->rate[rank];
			packets[1][rank] += (double)of->tcp[rank];
			sum += (double)of->rate[rank];
		}
	}
	for (uint32_t rank = 0; sum > 0 && rank <= FLOW_ALL_RANKS; rank++)
		for (uint32_t s = 0; s < 2; s++)
			costs->of_rank[m][s][rank] = packets[s][rank] / sum;
}

/* Converts a cost averaged over all flow details to the cost of FLOW_COUNT. */
static double without_detail(const struct packet_costs *costs, uint32_t m, double ns)
{
	double beyond = 0;

	for (uint32_t state = 0; state < FLOW_STATES; state++)
		beyond += costs->met[m][state] * costs->state[m][state];
	return fmax(ns - beyond, 0);
}

static void set_measured_costs(
	struct packet_costs *costs, const struct costs *timed, uint32_t nb_measurements)
{
	double packets = (double)timed->packets;
	uint64_t keys = 0;

	for (uint32_t k = 0; k < COSTS_KEYS_MAX; k++)
		keys += timed->key[k];
	costs->fixed =
		(double)(timed->receive + timed->filter + timed->rules + timed->free) / packets;
	costs->parse = (double)(timed->parse + keys) / packets;
	for (uint32_t m = 0; m < nb_measurements; m++) {
		costs->of[m] = without_detail(
			costs, m, (double)(timed->sketch[m] + timed->distinct[m]) / packets);
		costs->distinct[m] = fmin((double)timed->distinct[m] / packets, costs->of[m]);
	}
}

void packet_costs_by_epoch(struct packet_costs *costs, const struct run *run, uint64_t epoch,
	const struct costs *timed)
{
	uint32_t nb_measurements = run_measurements(run, epoch)->plan.nb_measurements;

	for (uint32_t m = 0; m < nb_measurements; m++) {
		set_state_shares(costs, run, epoch, m);
		set_rank_shares(costs, run, epoch, m);
	}
	if (timed->packets >= PACKET_COSTS_LEAST)
		set_measured_costs(costs, timed, nb_measurements);
}
