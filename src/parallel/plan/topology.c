/* SPDX-License-Identifier: BSD-3-Clause */

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <stdbool.h>
#include <stdint.h>

#include "parallel/plan/topology.h"
#include "base/sys_file.h"
#include "parallel/plan/cpu_set.h"

#define PATH_LEN 1024

struct group {
	const char *root; /* root directory of the machine */
	char path[PATH_LEN];
	size_t mount_len; /* length of the mount point in `path` */
	bool v2;
};

static bool lists(const char *list, const char *word)
{
	size_t length = strlen(word);

	for (;; list = strchr(list, ',') + 1) {
		if (strncmp(list, word, length) == 0 &&
			(list[length] == ',' || list[length] == '\0'))
			return true;
		if (strchr(list, ',') == NULL)
			return false;
	}
}

/* Parses a line of /proc/self/cgroup: NUMBER:CONTROLLERS:PATH. */
static bool parse_line(char *line, const char *controller, struct group *group)
{
	char *controllers = strchr(line, ':'), *path;
	int written;

	path = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
	if (path == NULL)
		return false;
	*path++ = '\0';
	path[strcspn(path, "\n")] = '\0';
	group->v2 = strcmp(++controllers, "") == 0;
	if (!group->v2 && !lists(controllers, controller))
		return false;
	written = snprintf(group->path, PATH_LEN, "/sys/fs/cgroup%s%s", group->v2 ? "" : "/",
		group->v2 ? "" : controller);
	group->mount_len = (size_t)written;
	written = snprintf(group->path + written, PATH_LEN - (size_t)written, "%s",
		strcmp(path, "/") == 0 ? "" : path);
	return written >= 0 && group->mount_len + (size_t)written < PATH_LEN;
}

/* Prefers the hierarchy of the controller (version 1) to the unified hierarchy (version 2). */
static bool find_group(const char *root, const char *controller, struct group *found)
{
	FILE *file = sys_open(root, "/proc/self/cgroup");
	char line[PATH_LEN];
	bool any = false;

	if (file == NULL)
		return false;
	while (fgets(line, sizeof(line), file) != NULL) {
		struct group group = {.root = root};

		if (!parse_line(line, controller, &group) || (any && group.v2))
			continue;
		*found = group;
		any = true;
	}
	fclose(file);
	return any;
}

static bool go_up(struct group *group)
{
	char *slash = strrchr(group->path + group->mount_len, '/');

	if (slash == NULL)
		return false;
	*slash = '\0';
	return true;
}

/* Stores UINT64_MAX for "max" and -1 (no limit). Returns the number of values read, at most 2. */
static int read_numbers(const struct group *group, const char *file, uint64_t numbers[2])
{
	FILE *stream = sys_open(group->root, "%s/%s", group->path, file);
	char words[2][32];
	int n;

	if (stream == NULL)
		return 0;
	n = fscanf(stream, "%31s %31s", words[0], words[1]);
	fclose(stream);
	for (int i = 0; i < n; i++)
		if (words[i][0] == '-' || sscanf(words[i], "%" SCNu64, &numbers[i]) != 1)
			numbers[i] = UINT64_MAX;
	return n < 0 ? 0 : n;
}

static double quota_of(const struct group *group)
{
	uint64_t numbers[2], period[2];

	if (group->v2) {
		if (read_numbers(group, "cpu.max", numbers) != 2)
			return 0;
	} else {
		if (read_numbers(group, "cpu.cfs_quota_us", numbers) != 1 ||
			read_numbers(group, "cpu.cfs_period_us", period) != 1)
			return 0;
		numbers[1] = period[0];
	}
	if (numbers[0] == UINT64_MAX || numbers[1] == 0 || numbers[1] == UINT64_MAX)
		return 0;
	return (double)numbers[0] / (double)numbers[1];
}

static double cgroup_cpu_quota(const char *root)
{
	struct group group;
	double least = 0;

	if (!find_group(root, "cpu", &group))
		return 0;
	do {
		double quota = quota_of(&group);

		if (quota > 0 && (least <= 0 || quota < least))
			least = quota;
	} while (go_up(&group));
	return least;
}

static uint64_t cgroup_memory_left(const char *root)
{
	struct group group;
	uint64_t least = UINT64_MAX;

	if (!find_group(root, "memory", &group))
		return UINT64_MAX;
	do {
		uint64_t limit[2], used[2], left;

		if (read_numbers(&group, group.v2 ? "memory.max" : "memory.limit_in_bytes", limit) <
				1 ||
			read_numbers(&group, group.v2 ? "memory.current" : "memory.usage_in_bytes",
				used) < 1 ||
			limit[0] == UINT64_MAX)
			continue;
		left = limit[0] > used[0] ? limit[0] - used[0] : 0;
		least = left < least ? left : least;
	} while (go_up(&group));
	return least;
}

static bool cgroup_cpus(struct cpu_set *cpus, const char *root)
{
	struct group group;
	enum sys_read result;

	if (!find_group(root, "cpuset", &group))
		return false;
	/* If the group does not have the controller, the limits of its parent apply. */
	do
		result = cpu_set_read(cpus, root, "%s/%s", group.path,
			group.v2 ? "cpuset.cpus.effective" : "cpuset.effective_cpus");
	while ((result == SYS_ABSENT || result == SYS_DENIED) && go_up(&group));
	return result == SYS_READ;
}

static uint32_t cpu_number(const char *root, uint32_t cpu, const char *file, uint32_t fallback)
{
	int64_t value;

	if (sys_number(root, &value, "/sys/devices/system/cpu/cpu%u/topology/%s", cpu, file) !=
		SYS_READ)
		return fallback;
	return (uint32_t)value;
}

/* Allows every CPU if the affinity is unknown. */
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
 * isolcpus removes CPUs from the default affinity. If the affinity has all other CPUs, it is this
 * default, and the isolated CPUs of the cpuset are allowed too.
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

/* Lines look like "Node 0 MemFree: 5 kB". */
static uint64_t node_memory(const char *root, uint32_t node)
{
	FILE *file = sys_open(root, "/sys/devices/system/node/node%u/meminfo", node);
	uint64_t kilobytes, sum = 0;
	char line[256];

	if (file == NULL)
		return 0;
	while (fgets(line, sizeof(line), file) != NULL) {
		char name[64];

		/* The kernel can reclaim the page cache. */
		if (sscanf(line, "Node %*u %63[^:]: %" SCNu64, name, &kilobytes) == 2 &&
			(strcmp(name, "MemFree") == 0 || strcmp(name, "Inactive(file)") == 0 ||
				strcmp(name, "Active(file)") == 0))
			sum += kilobytes * 1024;
	}
	fclose(file);
	return sum;
}

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

/* The file has one number per online node, in ascending order. */
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
	if (topology->nb_cpus == 0)
		topology->nb_cpus = 1;
	topology->memory = topology_memory(root);
	topology->cpu_quota = cgroup_cpu_quota(root);
}

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
