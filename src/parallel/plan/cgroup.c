/* SPDX-License-Identifier: BSD-3-Clause */
#include "parallel/plan/cgroup.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/sys_file.h"

#define PATH_LEN 1024

/* Directory of a control group, below a root. */
struct group {
	const char *root;
	char path[PATH_LEN];
	size_t mount_len; /* length of the mount point in `path` */
	bool v2;
};

/* Returns true if a comma-separated list contains the word. */
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

/*
 * Finds the group of this process: in the hierarchy of the controller if there is one, else in
 * version 2.
 */
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

/* Moves to the parent group; returns false at the top. */
static bool go_up(struct group *group)
{
	char *slash = strrchr(group->path + group->mount_len, '/');

	if (slash == NULL)
		return false;
	*slash = '\0';
	return true;
}

/*
 * Reads up to two numbers from a file of the group; "max" and -1 are UINT64_MAX. Returns their
 * count.
 */
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

double cgroup_cpu_quota(const char *root)
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

uint64_t cgroup_memory_left(const char *root)
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

bool cgroup_cpus(struct cpu_set *cpus, const char *root)
{
	struct group group;
	enum sys_read result;

	if (!find_group(root, "cpuset", &group))
		return false;
	/* A group without the controller uses the CPUs of its parent. */
	do
		result = cpu_set_read(cpus, root, "%s/%s", group.path,
			group.v2 ? "cpuset.cpus.effective" : "cpuset.effective_cpus");
	while ((result == SYS_ABSENT || result == SYS_DENIED) && go_up(&group));
	return result == SYS_READ;
}
