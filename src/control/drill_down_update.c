/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/drill_down_update.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"

static const struct report_measurement *find_networks(
	const struct report_epoch *report, const struct plan_measurement *networks)
{
	for (uint32_t m = 0; m < report->nb_measurements; m++)
		if (strcmp(report->measurements[m].name, networks->config->name) == 0 &&
			key_rule_equal(report->measurements[m].key_rule, networks->params.key))
			return &report->measurements[m];
	return NULL;
}

/* Returns the number of keys that did not fit. The rows are sorted by share. */
static uint32_t update_heavy_keys(struct heavy_keys *heavy,
	const struct report_measurement *networks, double share, int64_t end)
{
	uint32_t left_out = 0;

	for (uint32_t r = 0; networks != NULL && r < networks->nb_rows; r++) {
		if (networks->rows[r].share < share)
			break;
		left_out += !heavy_keys_add(heavy, &networks->rows[r].key, end);
	}
	return left_out;
}

static void warn_if_full(struct drill_down *drill_down, const struct report_epoch *report,
	const struct measurement_config *config, uint32_t left_out)
{
	if (left_out == 0 || !log_ratelimit_due(&drill_down->full, report->end, left_out))
		return;
	log_warning("interval %llu, %s: %u heavy keys of %s are beyond the limit of %u: "
		    "their packets are not counted; raise the share of within%s",
		(unsigned long long)report->number, config->name, left_out,
		drill_down_options(config)->within.networks, KEY_SET_MAX, drill_down->full.since);
}

/* Returns the number of keys that did not fit. */
static uint32_t update_sets(
	struct measurements *measurements, uint32_t m, const struct report_epoch *report)
{
	const struct plan *plan = &measurements->plan;
	const struct drill_down_options *options = drill_down_options(plan->measurements[m].config);
	struct drill_down *drill_down = measurements->drill_down[m];
	uint32_t left_out;

	heavy_keys_forget(&drill_down->heavy, report->end, options->stay);
	left_out = update_heavy_keys(&drill_down->heavy,
		find_networks(report, &plan->measurements[drill_down->networks]),
		options->within.share, report->end);
	warn_if_full(drill_down, report, plan->measurements[m].config, left_out);
	return left_out;
}

static bool copy_keys(struct report_inside *inside, const struct heavy_keys *heavy)
{
	inside->keys = aligned_alloc(_Alignof(struct key), (heavy->n + 1) * sizeof(struct key));
	if (inside->keys == NULL)
		return false;
	for (uint32_t i = 0; i < heavy->n; i++)
		inside->keys[i] = heavy->of[i].key;
	inside->nb_keys = heavy->n;
	return true;
}

bool drill_down_update(struct run *run, uint64_t epoch, struct report_epoch *report)
{
	struct measurements *now = run_measurements(run, epoch);
	struct measurements *other = run_measurements(run, epoch + 1);
	bool complete = true;

	if (report == NULL)
		return true;
	for (uint32_t m = 0; m < now->plan.nb_measurements; m++) {
		uint32_t left_out;

		if (now->drill_down[m] == NULL)
			continue;
		left_out = update_sets(now, m, report);
		if (report->nb_measurements == 0)
			continue;
		report->measurements[m].inside.left_out = left_out;
		complete &= copy_keys(&report->measurements[m].inside, &now->drill_down[m]->heavy);
	}
	for (uint32_t m = 0; other != now && m < other->plan.nb_measurements; m++)
		if (other->drill_down[m] != NULL)
			update_sets(other, m, report);
	return complete;
}
