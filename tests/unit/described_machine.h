/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Plans for machines that are described in words, as --topology takes them. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "parallel/plan.h"
#include "parallel/topology_file.h"

static struct topology_file machine;
static struct plan plan;
static struct config config;
static struct plan_ports ports;
static char error[TOPOLOGY_ERROR_MAX];

static enum topology_result load(const char *text)
{
	char path[] = "/tmp/test_placement_XXXXXX";
	int fd = mkstemp(path);
	enum topology_result result;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	result = topology_load(&machine, path, error);
	unlink(path);
	return result;
}

static void describe(const char *text)
{
	if (load(text) != TOPOLOGY_OK)
		fail_msg("%s", error);
}

static void set_config(const char *design, uint32_t workers)
{
	config = (struct config){
		.design = design,
		.sharing = "separate",
		.ring_size = 1024,
		.mbuf_cache = 256,
		.workers = workers,
		.nb_measurements = 1,
	};
	config.measurements[0] = (struct measurement_config){
		.name = "main",
		.key = &key_rules[0],
		.sketch = "count-min",
		.top = 100,
		.confidence = 0.999,
	};
}

/* Ports on these nodes; the list ends with -2. No port: a replay. */
static bool make_plan(const char *design, uint32_t workers, const int *nodes)
{
	const char *sharing = config.sharing;

	set_config(design, workers);
	if (sharing != NULL)
		config.sharing = sharing;
	memset(&ports, 0, sizeof(ports));
	for (; *nodes != -2; nodes++)
		ports.ports[ports.nb_ports++].node = *nodes;
	return plan_make(&plan, &config, &machine.topology, &ports, error);
}

#define NODES(...) ((const int[]){__VA_ARGS__, -2})
#define REPLAY     ((const int[]){-2})

static void make(const char *design, uint32_t workers, const int *nodes)
{
	if (!make_plan(design, workers, nodes))
		fail_msg("%s", error);
}

static const struct topology_cpu *cpu_by_id(int id)
{
	for (uint32_t i = 0; i < machine.topology.nb_cpus; i++)
		if ((int)machine.topology.cpus[i].id == id)
			return &machine.topology.cpus[i];
	return NULL;
}

static bool polls(const struct plan_lcore *lcore)
{
	return lcore->role != PLAN_REPORTER && lcore->role != PLAN_SPARE;
}

/* Lcores that poll on the core of a CPU. */
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
