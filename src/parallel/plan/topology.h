/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* The CPUs that this process may use, and NUMA nodes, from sysfs and procfs or a copy of them. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "parallel/plan/cpu_set.h"

#define TOPOLOGY_CPUS_MAX  CPU_SET_MAX
#define TOPOLOGY_NODES_MAX 64

/* ACPI SLIT units */
#define TOPOLOGY_DISTANCE_LOCAL  10
#define TOPOLOGY_DISTANCE_REMOTE 20 /* if unknown */

struct topology_cpu {
	uint32_t id;
	uint32_t package;
	uint32_t die;  /* number of the die in its package */
	uint32_t core; /* number of the core in its die; hyperthreads have the same */
	int node;
	bool isolated; /* in the kernel parameter isolcpus or nohz_full */
};

/* Unknown values are 0. */
struct topology_node {
	bool known;
	uint64_t free_memory;                 /* bytes */
	uint64_t free_hugepages;              /* bytes, over all page sizes */
	uint8_t distance[TOPOLOGY_NODES_MAX]; /* indexed by node number */
};

struct topology {
	uint32_t nb_cpus;
	struct topology_cpu cpus[TOPOLOGY_CPUS_MAX];    /* usable CPUs, sorted by id */
	struct topology_node nodes[TOPOLOGY_NODES_MAX]; /* indexed by node number */
	uint64_t memory;                                /* bytes; 0: unknown */
	/* CPU time that the control group may use, such as 1.5 CPUs; 0: no limit */
	double cpu_quota;
};

/* Reads the files under `root`; "": this machine. Always finds at least one CPU. */
void topology_read(struct topology *topology, const char *root);

bool topology_exists(const char *root);

/* `folder` is the sysfs directory of the device. Returns -1 if the node is unknown. */
int topology_device_node(const char *root, const char *folder);

/* Bytes that this process and its control groups can allocate without swapping; 0: unknown. */
uint64_t topology_memory(const char *root);

/*
 * Keeps the CPUs of a list such as "0-3,6". Returns -1 if one does not exist, with it in *missing.
 */
int topology_restrict(struct topology *topology, const char *list, uint32_t *missing);

/* Distance from the CPUs of node a to the memory of node b. */
uint32_t topology_distance(const struct topology *topology, int a, int b);

static inline bool topology_same_core(const struct topology_cpu *a, const struct topology_cpu *b)
{
	return a->package == b->package && a->die == b->die && a->core == b->core;
}
