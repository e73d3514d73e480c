/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * CPUs that this process may use, NUMA nodes, and free memory of the nodes. Reads sysfs and procfs,
 * or a copy of their files.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "parallel/plan/cpu_set.h"

#define TOPOLOGY_CPUS_MAX  CPU_SET_MAX
#define TOPOLOGY_NODES_MAX 64

/* Distances between NUMA nodes, in the units of the SLIT of ACPI. */
#define TOPOLOGY_DISTANCE_LOCAL  10 /* distance of a node to itself */
#define TOPOLOGY_DISTANCE_REMOTE 20 /* used if the distance is unknown */

struct topology_cpu {
	uint32_t id; /* number of the CPU in the kernel */
	uint32_t package;
	uint32_t die;  /* number of the die in its package */
	uint32_t core; /* number of the core in its die; hyperthreads have the same core */
	int node;      /* NUMA node */
	bool isolated; /* true: in the kernel parameter isolcpus or nohz_full */
};

/* Unknown values are 0. */
struct topology_node {
	bool known;                           /* true: the node exists */
	uint64_t free_memory;                 /* bytes */
	uint64_t free_hugepages;              /* bytes, over all page sizes */
	uint8_t distance[TOPOLOGY_NODES_MAX]; /* distance to each node, indexed by its number */
};

struct topology {
	uint32_t nb_cpus;
	struct topology_cpu cpus[TOPOLOGY_CPUS_MAX];    /* usable CPUs, sorted by id */
	struct topology_node nodes[TOPOLOGY_NODES_MAX]; /* indexed by node number */
	uint64_t memory;                                /* result of topology_memory() */
	double cpu_quota; /* CPUs whose time the control group may use, such as 1.5; 0: no limit */
};

/*
 * Reads the machine from its files under the directory `root`; "": this machine. Includes only CPUs
 * that the affinity and the cpuset of this process allow. There is always at least one CPU.
 */
void topology_read(struct topology *topology, const char *root);

/* Returns true if `root` has the files of a machine. */
bool topology_exists(const char *root);

/* Returns the NUMA node of a device, or -1 if unknown. `folder` is its sysfs directory. */
int topology_device_node(const char *root, const char *folder);

/*
 * Returns the bytes that this process can allocate without swapping, or 0 if unknown. The machine
 * and the control groups of the process limit them.
 */
uint64_t topology_memory(const char *root);

/*
 * Removes the CPUs that are not in a list such as "0-3,6". If the list has a CPU that the topology
 * does not have, stores its number in *missing and returns -1. Else returns 0.
 */
int topology_restrict(struct topology *topology, const char *list, uint32_t *missing);

/* Returns the distance from the CPUs of node a to the memory of node b. */
uint32_t topology_distance(const struct topology *topology, int a, int b);

static inline bool topology_same_core(const struct topology_cpu *a, const struct topology_cpu *b)
{
	return a->package == b->package && a->die == b->die && a->core == b->core;
}
