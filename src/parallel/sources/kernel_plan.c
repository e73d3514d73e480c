/* SPDX-License-Identifier: BSD-3-Clause */
#include "parallel/sources/kernel_plan.h"

#include <stdio.h>

#include "base/power_of_two.h"
#include "rx/kernel/program.h"
#include "parallel/plan/design.h"
#include "parallel/plan/plan.h"
#include "parallel/sources/kernel_take.h"
#include "rx/filter/filter.h"
#include "sketch/kernel_layout.h"
#include "sketch/measurement.h"

/* A ring of 1 MB per CPU. At 1.2 Mpps, it fills up in 13 ms. */
#define ENTRIES_DEFAULT 16384

/* Two tables per CPU take 5 MB. Packets of flows that do not fit go to the ring. */
#define BUCKETS_MAX 16384

/* Returns the sketch that the eBPF program can update, or NULL. All measurements must use it. */
static const struct sketch_ops *kept_sketch(const struct config *config)
{
	const struct sketch_ops *ops = measurement_sketch(&config->measurements[0]);

	for (uint32_t m = 1; m < config->nb_measurements; m++)
		if (measurement_sketch(&config->measurements[m]) != ops)
			return NULL;
	return ops->kernel != NULL ? ops : NULL;
}

static bool is_on_path(const struct config *config)
{
	return design_chosen(config) == &design_rss;
}

static uint32_t width_of(const struct config *config, const struct kernel_layout *layout)
{
	uint64_t most = 0;

	for (uint32_t m = 0; m < config->nb_measurements; m++) {
		uint64_t width = measurement_options(&config->measurements[m])->width;

		if (width > most)
			most = width;
	}
	return most > 0 ? (uint32_t)most : layout->default_width;
}

static uint32_t buckets_of(const struct config *config)
{
	uint64_t most = 1;

	for (uint32_t m = 0; m < config->nb_measurements; m++) {
		const struct measurement_config *measurement = &config->measurements[m];
		uint64_t width = measurement_params(measurement).width;

		if (width == 0)
			width = measurement_sketch(measurement)->default_width;
		if (width > most)
			most = width;
	}
	return most < BUCKETS_MAX ? (uint32_t)power_of_two_at_least(most) : BUCKETS_MAX;
}

/* Key fields for which workers need no headers, because the ring entries have them. */
#define ENTRY_FIELDS                                                                               \
	(1U << KEY_TCP_FLAGS | 1U << KEY_VLAN | 1U << KEY_DSCP | 1U << KEY_MPLS |                  \
		1U << KEY_IN_PORT | 1U << KEY_INGRESS | 1U << KEY_EGRESS)

static bool needs_headers(const struct config *config)
{
	if (filter_options(config)->expression != NULL)
		return true;
	for (uint32_t m = 0; m < config->nb_measurements; m++) {
		const struct key_rule *key = measurement_params(&config->measurements[m]).key;

		for (uint32_t f = 0; f < KEY_FIELD_COUNT; f++)
			if (key_rule_has(key, f) && key_fields[f].extra && !(ENTRY_FIELDS >> f & 1))
				return true;
	}
	return false;
}

static bool has_tcp_flags(const struct config *config)
{
	for (uint32_t m = 0; m < config->nb_measurements; m++)
		if (key_rule_has(measurement_params(&config->measurements[m]).key, KEY_TCP_FLAGS))
			return true;
	return false;
}

struct kernel_plan kernel_plan_make(const struct config *config)
{
	bool on_path = is_on_path(config);
	bool all_share = on_path && plan_options(config)->sharing == SHARING_SHARED;
	const struct sketch_ops *sketch = on_path && !all_share ? kept_sketch(config) : NULL;

	return (struct kernel_plan){
		.entries = config_asks(config, NULL, "ring-size") ? async_options(config)->ring_size
								  : ENTRIES_DEFAULT,
		.on_path = on_path,
		.headers = needs_headers(config),
		.buckets = on_path && sketch == NULL ? buckets_of(config) : 0,
		.all_share = all_share,
		.sketch = sketch,
		.width = sketch != NULL ? width_of(config, sketch->kernel) : 0,
		.tcp_flags = on_path && has_tcp_flags(config),
	};
}

static void describe_taker(
	const struct plan *plan, const struct plan_lcore *lcore, char *text, size_t size)
{
	const char *of = "all CPUs";
	char some[48];

	snprintf(some, sizeof(some), "CPUs %u, %u, ...", lcore->worker,
		lcore->worker + plan->nb_workers);
	if (plan->nb_workers > 1)
		of = some;
	if (plan->source.weights)
		snprintf(text, size,
			"reads the counts of the kernel at the end of an interval, else sleeps");
	else
		snprintf(text, size, "reads the kernel rings of %s, updates sketch %u", of,
			plan_instance(plan, lcore->worker));
}

void kernel_plan_source(const struct config *config, struct plan_source *source)
{
	const struct kernel_plan plan = kernel_plan_make(config);
	uint32_t workers = plan_options(config)->workers;
	char counts[PLAN_TEXT_MAX / 2] = "";

	*source = (struct plan_source){
		.design = plan.on_path ? &design_kernel_rss : &design_kernel_async,
		.workers = workers > 0 ? workers : 1,
		.inputs = kernel_options(config)->places.n,
		.weights = plan.on_path,
		.bytes = kernel_program_bytes(&(struct kernel_program_params){
			.slots = plan.entries,
			.buckets = plan.buckets,
			.all_share = plan.all_share,
			.sketch = plan.sketch,
			.width = plan.width,
		}),
		.describe = describe_taker,
		.queues = "rings of a program in the kernel",
		.no_packets = "they stay in the kernel",
		.user = "rings and tables of the kernel",
		.less = "ring-size or --width",
	};
	if (plan.buckets > 0)
		snprintf(counts, sizeof(counts), ", and tables of %u flows%s per generation",
			2 * plan.buckets, plan.all_share ? " per CPU, shared by all CPUs," : "");
	if (plan.sketch != NULL)
		snprintf(counts, sizeof(counts),
			", and %s sketches of %u x %u cells per generation", plan.sketch->name,
			plan.sketch->kernel->rows, plan.width);
	snprintf(source->memory, sizeof(source->memory),
		"eBPF program: rings of %u entries per CPU%s", plan.entries, counts);
}

bool kernel_plan_takes(const struct config *running, const struct config *config, char *why)
{
	const struct kernel_plan plan = kernel_plan_make(running);

	if (plan.sketch != NULL && kept_sketch(config) != plan.sketch)
		snprintf(why, OPTION_WHY_MAX,
			"the running eBPF program counts for %s only; restart to use another sketch",
			plan.sketch->name);
	else if (!plan.headers && needs_headers(config))
		snprintf(why, OPTION_WHY_MAX,
			"the running eBPF program passes no headers; restart to use this key");
	else if (plan.on_path && !plan.tcp_flags && has_tcp_flags(config))
		snprintf(why, OPTION_WHY_MAX,
			"the running eBPF program counts by 5-tuple; restart to use this key");
	else
		return true;
	return false;
}

static const char *write_exact_only(char why[OPTION_WHY_MAX])
{
	size_t used = (size_t)snprintf(
		why, OPTION_WHY_MAX, "the kernel counts only for exact sketches: ");
	uint32_t n = 0, seen = 0;

	for (uint32_t i = 0; sketches[i] != NULL; i++)
		n += (sketches[i]->caps & SKETCH_EXACT) != 0;
	for (uint32_t i = 0; sketches[i] != NULL && used < OPTION_WHY_MAX; i++)
		if ((sketches[i]->caps & SKETCH_EXACT) != 0)
			used += (size_t)snprintf(why + used, OPTION_WHY_MAX - used, "%s%s",
				++seen == 1 ? ""
				: seen == n ? " and "
					    : ", ",
				sketches[i]->name);
	return why;
}

/* Returns NULL if the kernel can count for the measurement, otherwise the reason. */
static const char *not_on_path(
	const struct measurement_config *measurement, char why[OPTION_WHY_MAX])
{
	struct sketch_params params = measurement_params(measurement);

	/* Other sketches might work, but are not tested. */
	if ((measurement_sketch(measurement)->caps & SKETCH_EXACT) == 0)
		return write_exact_only(why);
	for (uint32_t f = 0; f < KEY_FIELD_COUNT; f++)
		if (key_rule_has(params.key, f) && key_fields[f].extra && f != KEY_TCP_FLAGS)
			return "the kernel counts by 6-tuple, so keys have no other fields";
	if (params.idle_timeout > 0)
		return "the kernel counts per interval, without --idle-timeout";
	return NULL;
}

static bool check_on_path(const struct config *config, struct option_fault *fault)
{
	char buffer[OPTION_WHY_MAX];
	const char *why = NULL;

	for (uint32_t m = 0; m < config->nb_measurements; m++) {
		const struct measurement_config *measurement = &config->measurements[m];

		why = not_on_path(measurement, buffer);
		if (why != NULL)
			return option_fault(fault, "kernel", NULL,
				"--design rss: measurement %.60s: %s; use --design async",
				measurement->name, why);
	}
	if (filter_options(config)->expression != NULL)
		why = "a filter needs packets, but the kernel counts them";
	else if (plan_options(config)->workers > 1)
		why = "the kernel counts, so there is only one worker, which merges counts";
	return why == NULL ||
	       option_fault(fault, "kernel", NULL, "--design rss: %s; use --design async", why);
}

bool kernel_plan_check(const struct config *config, const struct measurement_config *measurement,
	struct option_fault *fault)
{
	const struct design_ops *design = design_chosen(config);

	if (design == &design_async)
		return true;
	if (design == &design_rss)
		return check_on_path(config, fault);
	return option_fault(fault, "kernel", measurement,
		"contradicts --design %s: give rss to count in the kernel, or async to count in "
		"workers",
		design->name);
}
