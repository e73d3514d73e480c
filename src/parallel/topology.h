/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* The CPUs that this process may use, as the kernel tells. */

#include <stdint.h>

#define TOPOLOGY_CPUS_MAX 1024

struct topology_cpu {
	uint32_t id;   /* the kernel's number */
	uint32_t core; /* of its package; CPUs that share it are hyperthreads of one core */
	uint32_t package;
	int node; /* NUMA node */
};

struct topology {
	uint32_t nb_cpus;
	struct topology_cpu cpus[TOPOLOGY_CPUS_MAX]; /* by id */
};

/* Fills the topology from the affinity of the calling thread and from sysfs. */
void topology_read(struct topology *topology);

/*
 * Keeps only the CPUs of a list such as "0-3,6". Returns 0, or the first CPU of the list that is
 * not there in *missing and -1.
 */
int topology_restrict(struct topology *topology, const char *list, uint32_t *missing);
