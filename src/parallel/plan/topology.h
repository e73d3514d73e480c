/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * A machine as a plan needs to know it: the CPUs that this process may use, the NUMA nodes, and
 * what is free on them. It is read from the kernel, or from a copy of its files.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "parallel/plan/cpu_set.h"

#define TOPOLOGY_CPUS_MAX  CPU_SET_MAX
#define TOPOLOGY_NODES_MAX 64

#define TOPOLOGY_DISTANCE_LOCAL  10 /* distance as in the SLIT of ACPI */
#define TOPOLOGY_DISTANCE_REMOTE 20 /* if unknown */

struct topology_cpu {
	uint32_t id; /* the kernel's number */
	uint32_t package;
	uint32_t die;  /* die in its package */
	uint32_t core; /* core in its die; CPUs of one core are hyperthreads */
	int node;      /* NUMA node */
	bool isolated; /* kept free of other threads (isolcpus) or of the tick (nohz_full) */
};

/* Unknown values are 0. */
struct topology_node {
	bool known;                           /* node is present */
	uint64_t free_memory;                 /* bytes */
	uint64_t free_hugepages;              /* bytes, of every size of page */
	uint8_t distance[TOPOLOGY_NODES_MAX]; /* to the other nodes, by number */
};

struct topology {
	uint32_t nb_cpus;
	struct topology_cpu cpus[TOPOLOGY_CPUS_MAX];    /* online and allowed, by id */
	struct topology_node nodes[TOPOLOGY_NODES_MAX]; /* by node number */
	uint64_t memory;                                /* topology_memory() */
	double cpu_quota; /* CPUs' worth of time that a control group leaves us; 0: no limit */
};

/*
 * Reads the machine described by the files under `root` ("" is this one): sysfs, and from procfs
 * the affinity of this process, limited by its cpuset, and the limits of its control groups. Finds
 * at least one CPU.
 */
void topology_read(struct topology *topology, const char *root);

/* Returns true if `root` has a machine: its list of CPUs. */
bool topology_exists(const char *root);

/* Returns the NUMA node of a device by its sysfs directory; -1: unknown. */
int topology_device_node(const char *root, const char *folder);

/*
 * Returns the bytes available without swapping, for the machine and its control groups; 0: unknown.
 */
uint64_t topology_memory(const char *root);

/*
 * Keeps only the CPUs of a list such as "0-3,6". Returns 0, or the first CPU of the list that is
 * not there in *missing and -1.
 */
int topology_restrict(struct topology *topology, const char *list, uint32_t *missing);

/* Returns the distance from CPUs of node a to memory of node b; 10 if they are equal. */
uint32_t topology_distance(const struct topology *topology, int a, int b);

/* Returns true if both are hyperthreads of one core, or equal. */
static inline bool topology_same_core(const struct topology_cpu *a, const struct topology_cpu *b)
{
	return a->package == b->package && a->die == b->die && a->core == b->core;
}
