/* SPDX-License-Identifier: BSD-3-Clause */
#include "adapt/capacity.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>

#include "base/assertion.h"

#define ANY_KEY UINT32_MAX

struct capacity_state capacity_full(void)
{
	struct capacity_state state = {.name = "full"};

	for (uint32_t m = 0; m < CONFIG_MEASUREMENTS_MAX; m++)
		state.of[m] = (struct capacity_detail){.looked_at = 1, .counted = 1};
	return state;
}

struct capacity_state capacity_count_only(void)
{
	return (struct capacity_state){.name = "count only"};
}

static uint32_t add_rule(struct capacity_worker *worker, const struct key_rule *rule)
{
	struct profile_what *what;
	uint32_t k = 0;

	while (k < worker->nb_keys && !key_rule_equal(worker->rules[k], rule))
		k++;
	if (k < worker->nb_keys)
		return k;
	VERIFY(k, <, (uint32_t)COSTS_KEYS_MAX);
	worker->rules[worker->nb_keys] = rule;
	what = &worker->keys[worker->nb_keys++];
	*what = (struct profile_what){.part = PROFILE_KEY};
	snprintf(what->key, sizeof(what->key), "%s", rule->name);
	return k;
}

void capacity_add(struct capacity_worker *worker, const struct sketch_ops *ops,
	const struct sketch_params *params, enum sketch_sharing sharing)
{
	uint32_t m = worker->nb_measurements++;
	struct profile_what *what = &worker->sketches[m];

	VERIFY(m, <, (uint32_t)CONFIG_MEASUREMENTS_MAX);
	if (worker->nb_keys == 0)
		add_rule(worker, &key_rules[0]);
	worker->params[m] = params;
	worker->key_of[m] = add_rule(worker, params->key);
	*what = (struct profile_what){
		.part = PROFILE_SKETCH,
		.sketch = ops,
		.depth = params->depth,
		.width = params->width,
		.sharing = sharing,
		.metric = params->metric,
		.state = params->deep.deepest,
	};
	snprintf(what->key, sizeof(what->key), "%s", params->key->name);
}

struct capacity_sum {
	const struct profile *profile;
	double ns;
	struct profile_what *missing;
};

/* share: part of the packets, 0 to 1. */
static bool add_cost(struct capacity_sum *sum, const struct profile_what *what, double share)
{
	const struct profile_row *row = profile_find(sum->profile, what);

	if (row == NULL) {
		*sum->missing = *what;
		return false;
	}
	sum->ns += row->times.mean * share;
	return true;
}

static bool add_part(struct capacity_sum *sum, enum profile_part part, double share)
{
	const struct profile_what what = {.part = part};

	return add_cost(sum, &what, share);
}

static double share_with_key(
	const struct capacity_worker *worker, const struct capacity_state *state, uint32_t key)
{
	double share = 0;

	for (uint32_t m = 0; m < worker->nb_measurements; m++)
		if (key == ANY_KEY || worker->key_of[m] == key)
			share = fmax(share, state->of[m].looked_at);
	return share;
}

static bool add_key(struct capacity_sum *sum, const struct capacity_worker *worker,
	const struct capacity_state *state, uint32_t key)
{
	/* Key 0 of every packet that a measurement processes is hashed. */
	double share = share_with_key(worker, state, key == 0 ? ANY_KEY : key);

	return share <= 0 || add_cost(sum, &worker->keys[key], share);
}

static bool add_measurement(struct capacity_sum *sum, const struct profile_what *sketch,
	const struct capacity_detail *detail, enum profile_traffic traffic)
{
	struct profile_what what = *sketch;

	what.traffic = detail->coarser ? PROFILE_CACHED : traffic;
	if (what.traffic == PROFILE_NEW)
		what.state = FLOW_COUNT;
	if (detail->counted < 1)
		sum->ns += CAPACITY_SHARE_NS * detail->looked_at;
	return add_cost(sum, &what, detail->looked_at * detail->counted) &&
	       add_part(sum, PROFILE_DISTINCT, detail->looked_at);
}

bool capacity_ns(const struct profile *profile, const struct capacity_worker *worker,
	const struct capacity_state *state, enum profile_traffic traffic, double *ns,
	struct profile_what *missing)
{
	struct capacity_sum sum = {.profile = profile, .missing = missing};
	double share = share_with_key(worker, state, ANY_KEY);

	if ((worker->receives && !add_part(&sum, PROFILE_RECEIVE, 1)) ||
		!add_part(&sum, PROFILE_FREE, 1))
		return false;
	if (share > 0 && !add_part(&sum, PROFILE_PARSE, share))
		return false;
	for (uint32_t k = 0; k < worker->nb_keys; k++)
		if (!add_key(&sum, worker, state, k))
			return false;
	for (uint32_t m = 0; m < worker->nb_measurements; m++)
		if (state->of[m].looked_at > 0 &&
			!add_measurement(&sum, &worker->sketches[m], &state->of[m], traffic))
			return false;
	*ns = sum.ns;
	return true;
}
