/* SPDX-License-Identifier: BSD-3-Clause */
#include "parallel/plan/topology.h"

int topology_restrict(struct topology *topology, const char *list, uint32_t *missing)
{
	struct cpu_set wanted;
	uint32_t kept = 0;

	if (!cpu_set_parse(&wanted, list)) {
		*missing = TOPOLOGY_CPUS_MAX;
		return -1;
	}
	for (uint32_t i = 0; i < topology->nb_cpus; i++)
		if (cpu_set_has(&wanted, topology->cpus[i].id)) {
			cpu_set_remove(&wanted, topology->cpus[i].id);
			topology->cpus[kept++] = topology->cpus[i];
		}
	topology->nb_cpus = kept;
	for (uint32_t cpu = 0; cpu < TOPOLOGY_CPUS_MAX; cpu++)
		if (cpu_set_has(&wanted, cpu)) {
			*missing = cpu;
			return -1;
		}
	return 0;
}

uint32_t topology_distance(const struct topology *topology, int a, int b)
{
	uint32_t distance = 0;

	if (a == b)
		return TOPOLOGY_DISTANCE_LOCAL;
	if (a >= 0 && a < TOPOLOGY_NODES_MAX && b >= 0 && b < TOPOLOGY_NODES_MAX)
		distance = topology->nodes[a].distance[b];
	return distance > 0 ? distance : TOPOLOGY_DISTANCE_REMOTE;
}
