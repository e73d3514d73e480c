/* SPDX-License-Identifier: BSD-3-Clause */
#include "parallel/topology.h"

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static uint32_t sysfs_number(uint32_t cpu, const char *file, uint32_t fallback)
{
	char path[128];
	FILE *stream;
	uint32_t value;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/topology/%s", cpu, file);
	stream = fopen(path, "re");
	if (stream == NULL)
		return fallback;
	if (fscanf(stream, "%u", &value) != 1)
		value = fallback;
	fclose(stream);
	return value;
}

static int sysfs_node(uint32_t cpu)
{
	for (int node = 0; node < 64; node++) {
		char path[128];

		snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/node%d", cpu, node);
		if (access(path, F_OK) == 0)
			return node;
	}
	return 0;
}

void topology_read(struct topology *topology)
{
	cpu_set_t *allowed = CPU_ALLOC(TOPOLOGY_CPUS_MAX);
	size_t size = CPU_ALLOC_SIZE(TOPOLOGY_CPUS_MAX);

	topology->nb_cpus = 0;
	if (allowed != NULL && sched_getaffinity(0, size, allowed) == 0)
		for (uint32_t cpu = 0; cpu < TOPOLOGY_CPUS_MAX; cpu++)
			if (CPU_ISSET_S(cpu, size, allowed))
				topology->cpus[topology->nb_cpus++] = (struct topology_cpu){
					.id = cpu,
					.core = sysfs_number(cpu, "core_id", cpu),
					.package = sysfs_number(cpu, "physical_package_id", 0),
					.node = sysfs_node(cpu),
				};
	CPU_FREE(allowed);
	if (topology->nb_cpus == 0) /* a kernel that does not tell still runs us somewhere */
		topology->cpus[topology->nb_cpus++] = (struct topology_cpu){0};
}

int topology_restrict(struct topology *topology, const char *list, uint32_t *missing)
{
	static _Thread_local bool wanted[TOPOLOGY_CPUS_MAX];
	uint32_t kept = 0;

	for (uint32_t cpu = 0; cpu < TOPOLOGY_CPUS_MAX; cpu++)
		wanted[cpu] = false;
	for (const char *p = list; *p != '\0';) {
		char *end;
		unsigned long first = strtoul(p, &end, 10), last = first;

		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		for (unsigned long cpu = first; cpu <= last; cpu++) {
			if (cpu >= TOPOLOGY_CPUS_MAX) {
				*missing = (uint32_t)cpu;
				return -1;
			}
			wanted[cpu] = true;
		}
		p = *end == ',' ? end + 1 : "";
	}
	for (uint32_t i = 0; i < topology->nb_cpus; i++)
		if (wanted[topology->cpus[i].id]) {
			wanted[topology->cpus[i].id] = false;
			topology->cpus[kept++] = topology->cpus[i];
		}
	topology->nb_cpus = kept;
	for (uint32_t cpu = 0; cpu < TOPOLOGY_CPUS_MAX; cpu++)
		if (wanted[cpu]) {
			*missing = cpu;
			return -1;
		}
	return 0;
}
