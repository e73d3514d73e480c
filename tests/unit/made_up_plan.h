/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Plans for simulated machines. */

#include <stdint.h>
#include <string.h>

#include "machine_tree.h"
#include "parallel/plan/plan.h"
#include "sketch/measurement.h"
#include "parallel/plan/design.h"

static struct plan plan;
static struct config config;
static struct plan_ports ports;

static void set_config(const char *design, uint32_t workers)
{
	config = (struct config){0};
	edit_design_options(&config)->design = design_index(design);
	edit_async_options(&config)->ring_size = 1024;
	edit_plan_options(&config)->mbuf_cache = 256;
	edit_plan_options(&config)->workers = workers;
	config.nb_measurements = 1;
	config.measurements[0].name = "main";
	*edit_measurement_options(&config.measurements[0]) = (struct measurement_options){
		.key = key_rules[0],
		.sketch = sketch_index(sketch_find("count-min")),
		.top = 100,
		.confidence = 0.999,
	};
}

/* Plans with ports on these nodes; the list ends with -2. Without ports: a replay. */
static bool make_plan(const char *design, uint32_t workers, const int *nodes)
{
	enum sketch_sharing sharing = plan_options(&config)->sharing;

	set_config(design, workers);
	edit_plan_options(&config)->sharing = sharing;
	memset(&ports, 0, sizeof(ports));
	for (; *nodes != -2; nodes++)
		ports.ports[ports.nb_ports++].node = *nodes;
	return plan_make(&plan, &config, &topology, &ports, error);
}

#define NODES(...) ((const int[]){__VA_ARGS__, -2})
#define REPLAY     ((const int[]){-2})

__attribute__((unused)) static void make(const char *design, uint32_t workers, const int *nodes)
{
	if (!make_plan(design, workers, nodes))
		fail_msg("%s", error);
}

static bool polls(const struct plan_lcore *lcore)
{
	return lcore->role != PLAN_REPORTER && lcore->role != PLAN_SPARE;
}

/* Returns the number of polling lcores on the core of a CPU. */
static uint32_t polls_on_core(const struct topology_cpu *cpu)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < plan.nb_lcores; i++)
		if (polls(&plan.lcores[i]) && plan.lcores[i].cpu >= 0 &&
			topology_same_core(cpu_by_id(plan.lcores[i].cpu), cpu))
			n++;
	return n;
}

static bool warned(const char *words)
{
	for (uint32_t i = 0; i < plan.nb_warnings; i++)
		if (strstr(plan.warnings[i], words) != NULL)
			return true;
	return false;
}
