/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* A simulated root directory with the sysfs and proc files that describe a machine. */

#include <ftw.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char tree_root[64];

static void tree_make(void)
{
	/* Prefers memory: a host has a thousand files. */
	snprintf(tree_root, sizeof(tree_root), "%s/test_topology_XXXXXX",
		access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp");
	if (mkdtemp(tree_root) == NULL)
		abort();
}

static int tree_remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

static void tree_remove(void)
{
	nftw(tree_root, tree_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Writes a file of the tree and creates its parent directories. */
__attribute__((format(printf, 2, 3))) static void tree_write(
	const char *file, const char *format, ...)
{
	char path[512];
	va_list args;
	FILE *out;

	snprintf(path, sizeof(path), "%s/%s", tree_root, file);
	for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(path, 0700);
		*slash = '/';
	}
	out = fopen(path, "we");
	if (out == NULL)
		abort();
	va_start(args, format);
	vfprintf(out, format, args);
	va_end(args);
	fclose(out);
}

/* Creates a symbolic link of the tree and its parent directories. */
__attribute__((unused)) static void tree_link(const char *file, const char *target)
{
	char path[512];

	tree_write(file, "%s", "");
	snprintf(path, sizeof(path), "%s/%s", tree_root, file);
	if (unlink(path) != 0 || symlink(target, path) != 0)
		abort();
}

/* Removes a file or an empty directory from the tree. */
__attribute__((unused)) static void tree_delete(const char *file)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", tree_root, file);
	if (remove(path) != 0)
		abort();
}

static void tree_cpu(uint32_t cpu, uint32_t package, uint32_t core)
{
	char file[128];

	snprintf(file, sizeof(file), "sys/devices/system/cpu/cpu%u/topology/core_id", cpu);
	tree_write(file, "%u\n", core);
	snprintf(file, sizeof(file), "sys/devices/system/cpu/cpu%u/topology/physical_package_id",
		cpu);
	tree_write(file, "%u\n", package);
}

static void tree_node(uint32_t node, const char *cpus, const char *distance)
{
	char file[128];

	snprintf(file, sizeof(file), "sys/devices/system/node/node%u/cpulist", node);
	tree_write(file, "%s\n", cpus);
	snprintf(file, sizeof(file), "sys/devices/system/node/node%u/distance", node);
	tree_write(file, "%s\n", distance);
}
