/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Simulated machines, described by a few lists and read from sysfs files like real ones. */

#include <stdint.h>
#include <string.h>

#include "parallel/plan/topology.h"
#include "sysfs_tree.h"

#define MACHINE_NODES_MAX 8

struct machine_node {
	const char *cpus;
	const char *
		siblings; /* list whose i-th CPU is a hyperthread of the i-th CPU's core; NULL: none */
	const char *distance; /* distances to all nodes; NULL: not reported by the kernel */
	uint32_t memory_mb, hugepages_mb; /* free memory */
};

struct machine_made {
	struct machine_node nodes[MACHINE_NODES_MAX]; /* ends at the first node without CPUs */
	uint32_t nodes_per_package;                   /* 0: 1 */
	const char *online;                           /* NULL: all CPUs */
	const char *isolated;
	const char *cpu_max; /* cpu.max of the control group; NULL: no limit */
};

static struct topology topology;
static char error[512];

static void write_cpus(const char *list, const char *cores, uint32_t package)
{
	struct cpu_set cpus, first;
	int cpu, core;

	assert_true(cpu_set_parse(&cpus, list) && cpu_set_parse(&first, cores));
	assert_int_equal(cpu_set_count(&cpus), cpu_set_count(&first));
	for (cpu = cpu_set_next(&cpus, 0), core = cpu_set_next(&first, 0); cpu >= 0;
		cpu = cpu_set_next(&cpus, (uint32_t)cpu + 1),
	    core = cpu_set_next(&first, (uint32_t)core + 1))
		tree_cpu((uint32_t)cpu, package, (uint32_t)core);
}

static void write_node(const struct machine_made *made, uint32_t n, char *cpus, size_t size)
{
	const struct machine_node *node = &made->nodes[n];
	uint32_t package = n / (made->nodes_per_package > 0 ? made->nodes_per_package : 1);
	char file[128];

	write_cpus(node->cpus, node->cpus, package);
	if (node->siblings != NULL)
		write_cpus(node->siblings, node->cpus, package);
	snprintf(cpus, size, "%s%s%s", node->cpus, node->siblings != NULL ? "," : "",
		node->siblings != NULL ? node->siblings : "");
	tree_node(n, cpus, node->distance != NULL ? node->distance : "");
	snprintf(file, sizeof(file), "sys/devices/system/node/node%u/meminfo", n);
	tree_write(file, "Node %u MemFree: %u kB\n", n, node->memory_mb << 10);
	snprintf(file, sizeof(file),
		"sys/devices/system/node/node%u/hugepages/hugepages-2048kB/free_hugepages", n);
	tree_write(file, "%u\n", node->hugepages_mb / 2);
}

__attribute__((unused)) static void read_machine(const struct machine_made *made)
{
	char online[1024] = "";
	uint32_t n = 0, memory_mb = 0;

	tree_make();
	for (; n < MACHINE_NODES_MAX && made->nodes[n].cpus != NULL; n++) {
		size_t used = strlen(online);

		if (used > 0)
			online[used++] = ',';
		write_node(made, n, online + used, sizeof(online) - used);
		memory_mb += made->nodes[n].memory_mb;
	}
	tree_write("sys/devices/system/node/online", "0-%u\n", n - 1);
	tree_write("sys/devices/system/cpu/online", "%s\n",
		made->online != NULL ? made->online : online);
	if (made->isolated != NULL)
		tree_write("sys/devices/system/cpu/isolated", "%s\n", made->isolated);
	if (memory_mb > 0)
		tree_write("proc/meminfo", "MemAvailable: %u kB\n", memory_mb << 10);
	if (made->cpu_max != NULL) {
		tree_write("proc/self/cgroup", "0::/\n");
		tree_write("sys/fs/cgroup/cpu.max", "%s\n", made->cpu_max);
	}
	topology_read(&topology, tree_root);
	tree_remove();
}

/* Example: describe(.nodes = {{.cpus = "0-3"}, {.cpus = "4-7"}}). */
#define describe(...) read_machine(&(const struct machine_made){__VA_ARGS__})

static const struct topology_cpu *cpu_by_id(int id)
{
	for (uint32_t i = 0; i < topology.nb_cpus; i++)
		if ((int)topology.cpus[i].id == id)
			return &topology.cpus[i];
	return NULL;
}
