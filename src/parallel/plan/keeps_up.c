/* SPDX-License-Identifier: BSD-3-Clause */

/* What a plan's workers keep up with, by a profile of the host. */

#include <stdio.h>

#include "parallel/plan/plan.h"

/* For which the times of a packet are said. */
static const enum profile_traffic traffics[] = {PROFILE_CACHED, PROFILE_UNCACHED, PROFILE_NEW};
#define NB_TRAFFICS (sizeof(traffics) / sizeof(traffics[0]))

struct capacity_worker plan_worker(const struct plan *plan)
{
	struct capacity_worker worker = {.receives = !plan->design->receiver};

	for (uint32_t m = 0; m < plan->nb_measurements; m++)
		capacity_add(&worker, plan->measurements[m].ops, &plan->measurements[m].params,
			plan->sharing);
	return worker;
}

static void print_missing(const struct profile_what *missing, const char *name, FILE *out)
{
	char text[PROFILE_WHAT_MAX];

	profile_describe(missing, text);
	fprintf(out, "not known: %s has no figure of %s; sketchtap-bench profile makes one\n", name,
		text);
}

/* Returns false where the profile lacks something, which is said. */
static bool print_state(const struct plan *plan, const struct capacity_worker *worker,
	const struct profile *profile, const char *name, const struct capacity_state *state,
	FILE *out)
{
	double ns[NB_TRAFFICS];

	for (size_t t = 0; t < NB_TRAFFICS; t++) {
		struct profile_what missing;

		if (!capacity_ns(profile, worker, state, traffics[t], &ns[t], &missing)) {
			print_missing(&missing, name, out);
			return false;
		}
	}
	fprintf(out, "%-11s", state->name);
	for (size_t t = 0; t < NB_TRAFFICS; t++)
		fprintf(out, "  %8.1f %7.2f %7.2f", ns[t], 1e3 / ns[t],
			1e3 / ns[t] * plan->nb_workers);
	fprintf(out, "\n");
	return true;
}

void plan_print_capacity(
	const struct plan *plan, const struct profile *profile, const char *name, FILE *out)
{
	const struct capacity_worker worker = plan_worker(plan);

	fprintf(out,
		"\nwhat this host keeps up with, by %s: ns a packet, Mpps of a worker and of all "
		"%u\n",
		name, plan->nb_workers);
	fprintf(out, "%-11s", "state");
	for (size_t t = 0; t < NB_TRAFFICS; t++)
		fprintf(out, "  %8s %7s %7s", profile_traffic_names[traffics[t]], "worker", "all");
	fprintf(out, "\n");
	for (const struct capacity_state *state = capacity_states; state->name != NULL; state++)
		if (!print_state(plan, &worker, profile, name, state, out))
			return;
	fprintf(out, "cached, uncached: flows that are known; new: nothing but new flows\n");
	if (!worker.receives)
		fprintf(out, "what a receiver keeps up with is not in a profile\n");
	if (plan->sharing == SHARING_SHARED && plan->nb_workers > 1)
		fprintf(out,
			"workers that compete for a sketch take longer: a profile is of one\n");
	if (plan->oversubscribed)
		fprintf(out, "workers share CPUs, and take turns: all of them do less\n");
}
