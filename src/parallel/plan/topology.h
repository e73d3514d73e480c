/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * CPUs that this process may use, NUMA nodes, and their free memory. Reads the kernel's files, or a
 * copy of them.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "parallel/plan/cpu_set.h"

#define TOPOLOGY_CPUS_MAX  CPU_SET_MAX
#define TOPOLOGY_NODES_MAX 64

#define TOPOLOGY_DISTANCE_LOCAL  10 /* distance as in the SLIT of ACPI */
#define TOPOLOGY_DISTANCE_REMOTE 20 /* distance if unknown */

struct topology_cpu {
	uint32_t id; /* CPU number of the kernel */
	uint32_t package;
	uint32_t die;  /* die in its package */
	uint32_t core; /* core in its die; CPUs of one core are hyperthreads */
	int node;      /* NUMA node */
	bool isolated; /* isolated from other threads (isolcpus) or from the tick (nohz_full) */
};

/* Unknown values are 0. */
struct topology_node {
	bool known;                           /* the node is present */
	uint64_t free_memory;                 /* bytes */
	uint64_t free_hugepages;              /* bytes in pages of all sizes */
	uint8_t distance[TOPOLOGY_NODES_MAX]; /* distances to all nodes, by node number */
};

struct topology {
	uint32_t nb_cpus;
	struct topology_cpu cpus[TOPOLOGY_CPUS_MAX];    /* online and allowed, by id */
	struct topology_node nodes[TOPOLOGY_NODES_MAX]; /* indexed by node number */
	uint64_t memory;                                /* bytes: see topology_memory() */
	double cpu_quota; /* limit of CPU time by the control group, in CPUs; 0: no limit */
};

/*
 * Reads the machine described by the files under `root` ("": this one): sysfs, the affinity of this
 * process from procfs, limited by its cpuset, and the limits of its control groups. There is always
 * at least one CPU.
 */
void topology_read(struct topology *topology, const char *root);

/* Returns true if `root` has the files of a machine. */
bool topology_exists(const char *root);

/* Returns the NUMA node of a device by its sysfs directory; -1: unknown. */
int topology_device_node(const char *root, const char *folder);

/*
 * Returns the bytes available without swapping, for the machine and its control groups; 0: unknown.
 */
uint64_t topology_memory(const char *root);

/*
 * Keeps only the CPUs of a list such as "0-3,6". Returns 0, or -1 with the first absent CPU of the
 * list in *missing.
 */
int topology_restrict(struct topology *topology, const char *list, uint32_t *missing);

/* Returns the distance from CPUs of node a to memory of node b; 10 if they are equal. */
uint32_t topology_distance(const struct topology *topology, int a, int b);

/* Returns true if both are hyperthreads of one core, or equal. */
static inline bool topology_same_core(const struct topology_cpu *a, const struct topology_cpu *b)
{
	return a->package == b->package && a->die == b->die && a->core == b->core;
}
