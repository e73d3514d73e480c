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

#define TOPOLOGY_DISTANCE_LOCAL  10 /* as ACPI's SLIT counts */
#define TOPOLOGY_DISTANCE_REMOTE 20 /* where nobody tells */

struct topology_cpu {
	uint32_t id; /* the kernel's number */
	uint32_t package;
	uint32_t die;  /* of its package */
	uint32_t core; /* of its die; CPUs that share it are hyperthreads of one core */
	int node;      /* NUMA node */
	bool isolated; /* kept free of other threads (isolcpus) or of the tick (nohz_full) */
};

/* Figures are 0 where nobody tells. */
struct topology_node {
	bool known;                           /* the machine has it */
	uint64_t free_memory;                 /* bytes */
	uint64_t free_hugepages;              /* bytes, of every size of page */
	uint8_t distance[TOPOLOGY_NODES_MAX]; /* to the other nodes, by number */
};

struct topology {
	uint32_t nb_cpus;
	struct topology_cpu cpus[TOPOLOGY_CPUS_MAX];    /* online and allowed, by id */
	struct topology_node nodes[TOPOLOGY_NODES_MAX]; /* by number */
	uint64_t memory;                                /* topology_memory() */
	double cpu_quota; /* CPUs' worth of time that a control group leaves us; 0: no limit */
};

/*
 * Reads the machine that the files under `root` tell of ("" is this one): sysfs, and what proc says
 * of this process: its affinity, which a cpuset narrows, and the limits of its control groups.
 * There is always at least one CPU.
 */
void topology_read(struct topology *topology, const char *root);

/* Whether there is a machine under `root`: its list of CPUs. */
bool topology_exists(const char *root);

/* The NUMA node of the device whose folder of sysfs that is; -1 where it does not say. */
int topology_device_node(const char *root, const char *folder);

/*
 * Bytes that can be had without swapping, by the machine's account and the control groups'; 0:
 * nobody tells.
 */
uint64_t topology_memory(const char *root);

/*
 * Keeps only the CPUs of a list such as "0-3,6". Returns 0, or the first CPU of the list that is
 * not there in *missing and -1.
 */
int topology_restrict(struct topology *topology, const char *list, uint32_t *missing);

/* How far memory of node b is from CPUs of node a; 10 where they are one. */
uint32_t topology_distance(const struct topology *topology, int a, int b);

/* True where both are hyperthreads of one core, or one CPU. */
static inline bool topology_same_core(const struct topology_cpu *a, const struct topology_cpu *b)
{
	return a->package == b->package && a->die == b->die && a->core == b->core;
}
