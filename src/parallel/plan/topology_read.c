/* SPDX-License-Identifier: BSD-3-Clause */

/* Reads the machine from sysfs and procfs. */

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "parallel/plan/cgroup.h"
#include "parallel/plan/topology.h"

static uint32_t cpu_number(const char *root, uint32_t cpu, const char *file, uint32_t fallback)
{
	int64_t value;

	if (sys_number(root, &value, "/sys/devices/system/cpu/cpu%u/topology/%s", cpu, file) !=
		SYS_READ)
		return fallback;
	return (uint32_t)value;
}

/* Reads the affinity; allows every CPU if procfs does not have it. */
static void read_affinity(struct cpu_set *allowed, const char *root)
{
	FILE *file = sys_open(root, "/proc/self/status");
	char line[CPU_SET_LINE_MAX];

	memset(allowed, 0xff, sizeof(*allowed));
	if (file == NULL)
		return;
	while (fgets(line, sizeof(line), file) != NULL)
		if (strncmp(line, "Cpus_allowed_list:", 18) == 0) {
			cpu_set_parse(allowed, line + 18 + strspn(line + 18, " \t"));
			break;
		}
	fclose(file);
}

/*
 * isolcpus removes CPUs from the default affinity. A process that may use all other CPUs was
 * therefore not restricted and may also use these, within its cpuset.
 */
static void read_allowed(struct cpu_set *allowed, const char *root, const struct cpu_set *online,
	const struct cpu_set *isolated)
{
	struct cpu_set cpuset;

	read_affinity(allowed, root);
	if (!cgroup_cpus(&cpuset, root))
		cpuset = *online;
	for (uint32_t cpu = 0; cpu < TOPOLOGY_CPUS_MAX; cpu++)
		if (cpu_set_has(online, cpu) && cpu_set_has(&cpuset, cpu) &&
			!cpu_set_has(isolated, cpu) && !cpu_set_has(allowed, cpu))
			return;
	for (uint32_t cpu = 0; cpu < TOPOLOGY_CPUS_MAX; cpu++)
		if (cpu_set_has(isolated, cpu) && cpu_set_has(&cpuset, cpu))
			cpu_set_add(allowed, cpu);
}

/* Returns the free bytes of a node. Lines are like "Node 0 MemFree: 5 kB". */
static uint64_t node_memory(const char *root, uint32_t node)
{
	FILE *file = sys_open(root, "/sys/devices/system/node/node%u/meminfo", node);
	uint64_t kilobytes, sum = 0;
	char line[256];

	if (file == NULL)
		return 0;
	while (fgets(line, sizeof(line), file) != NULL) {
		char name[64];

		/* the kernel reclaims the page cache on demand */
		if (sscanf(line, "Node %*u %63[^:]: %" SCNu64, name, &kilobytes) == 2 &&
			(strcmp(name, "MemFree") == 0 || strcmp(name, "Inactive(file)") == 0 ||
				strcmp(name, "Active(file)") == 0))
			sum += kilobytes * 1024;
	}
	fclose(file);
	return sum;
}

/* Returns the bytes of free hugepages of all sizes. */
static uint64_t hugepages(const char *root, const char *folder)
{
	DIR *sizes = sys_directory(root, "%s", folder);
	uint64_t bytes = 0;
	struct dirent *entry;

	if (sizes == NULL)
		return 0;
	while ((entry = readdir(sizes)) != NULL) {
		uint64_t kilobytes;
		int64_t pages;

		if (sscanf(entry->d_name, "hugepages-%" SCNu64 "kB", &kilobytes) == 1 &&
			sys_number(root, &pages, "%s/%.64s/free_hugepages", folder,
				entry->d_name) == SYS_READ)
			bytes += (uint64_t)pages * kilobytes * 1024;
	}
	closedir(sizes);
	return bytes;
}

/* Distances are in the order of the online nodes. */
static void read_distances(
	struct topology *topology, const char *root, uint32_t node, const struct cpu_set *nodes)
{
	char line[CPU_SET_LINE_MAX], *at = line;

	if (sys_line(root, line, sizeof(line), "/sys/devices/system/node/node%u/distance", node) !=
		SYS_READ)
		return;
	for (uint32_t other = 0; other < TOPOLOGY_NODES_MAX; other++) {
		unsigned int distance;
		int length;

		if (!cpu_set_has(nodes, other))
			continue;
		if (sscanf(at, "%u%n", &distance, &length) != 1)
			return;
		topology->nodes[node].distance[other] =
			(uint8_t)(distance < UINT8_MAX ? distance : UINT8_MAX);
		at += length;
	}
}

static void read_nodes(struct topology *topology, const char *root, int node_of[TOPOLOGY_CPUS_MAX])
{
	struct cpu_set nodes;

	memset(node_of, 0, TOPOLOGY_CPUS_MAX * sizeof(node_of[0]));
	if (cpu_set_read(&nodes, root, "/sys/devices/system/node/online") != SYS_READ) {
		topology->nodes[0].known = true;
		topology->nodes[0].free_hugepages = hugepages(root, "/sys/kernel/mm/hugepages");
		return;
	}
	for (uint32_t node = 0; node < TOPOLOGY_NODES_MAX; node++) {
		char path[128];
		struct cpu_set cpus;

		if (!cpu_set_has(&nodes, node))
			continue;
		topology->nodes[node].known = true;
		topology->nodes[node].free_memory = node_memory(root, node);
		snprintf(path, sizeof(path), "/sys/devices/system/node/node%u/hugepages", node);
		topology->nodes[node].free_hugepages = hugepages(root, path);
		read_distances(topology, root, node, &nodes);
		cpu_set_read(&cpus, root, "/sys/devices/system/node/node%u/cpulist", node);
		for (uint32_t cpu = 0; cpu < TOPOLOGY_CPUS_MAX; cpu++)
			if (cpu_set_has(&cpus, cpu))
				node_of[cpu] = (int)node;
	}
}

uint64_t topology_memory(const char *root)
{
	uint64_t left = cgroup_memory_left(root), memory;
	int64_t kilobytes;

	if (sys_field(root, "/proc/meminfo", "MemAvailable:", &kilobytes) != SYS_READ ||
		kilobytes <= 0)
		return left == UINT64_MAX ? 0 : left;
	memory = (uint64_t)kilobytes * 1024;
	return memory < left ? memory : left;
}

bool topology_exists(const char *root)
{
	struct cpu_set online;

	return cpu_set_read(&online, root, "/sys/devices/system/cpu/online") == SYS_READ &&
	       cpu_set_count(&online) > 0;
}

int topology_device_node(const char *root, const char *folder)
{
	int64_t node;

	if (sys_number(root, &node, "%s/numa_node", folder) != SYS_READ)
		return -1;
	return node >= 0 && node < TOPOLOGY_NODES_MAX ? (int)node : -1;
}

void topology_read(struct topology *topology, const char *root)
{
	struct cpu_set online, allowed, isolated, tickless;
	static _Thread_local int node_of[TOPOLOGY_CPUS_MAX];

	memset(topology, 0, sizeof(*topology));
	read_nodes(topology, root, node_of);
	if (cpu_set_read(&online, root, "/sys/devices/system/cpu/online") != SYS_READ)
		read_affinity(&online, root);
	cpu_set_read(&isolated, root, "/sys/devices/system/cpu/isolated");
	cpu_set_read(&tickless, root, "/sys/devices/system/cpu/nohz_full");
	read_allowed(&allowed, root, &online, &isolated);
	for (uint32_t cpu = 0; cpu < TOPOLOGY_CPUS_MAX; cpu++)
		if (cpu_set_has(&online, cpu) && cpu_set_has(&allowed, cpu))
			topology->cpus[topology->nb_cpus++] = (struct topology_cpu){
				.id = cpu,
				.package = cpu_number(root, cpu, "physical_package_id", 0),
				.die = cpu_number(root, cpu, "die_id", 0),
				.core = cpu_number(root, cpu, "core_id", cpu),
				.node = node_of[cpu],
				.isolated =
					cpu_set_has(&isolated, cpu) || cpu_set_has(&tickless, cpu),
			};
	if (topology->nb_cpus == 0) /* the process runs on some CPU */
		topology->nb_cpus = 1;
	topology->memory = topology_memory(root);
	topology->cpu_quota = cgroup_cpu_quota(root);
}
