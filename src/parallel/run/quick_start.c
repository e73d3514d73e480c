/* SPDX-License-Identifier: BSD-3-Clause */
#include "parallel/run/quick_start.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <rte_config.h>

#define NODE      "/sys/devices/system/node/node"
#define NODES_MAX 64

static _Thread_local struct {
	bool running, without_drivers;
	uint64_t known, absent; /* bits of NUMA nodes */
} start;

void quick_start_begin(bool with_drivers)
{
	start.running = true;
	start.without_drivers = !with_drivers;
	start.known = 0;
}

void quick_start_end(void)
{
	start.running = false;
}

#ifdef __GLIBC__
/* EAL skips its folder of drivers if it does not exist. Other libraries have no stat64(). */
int stat64(const char *restrict path, struct stat64 *restrict facts)
{
	if (!start.running || !start.without_drivers || strcmp(path, RTE_EAL_PMD_PATH) != 0)
		return fstatat64(AT_FDCWD, path, facts, 0);
	errno = ENOENT;
	return -1;
}
#endif

/*
 * If the CPU does not report the frequency of its TSC, EAL measures it during a sleep of 100 ms. In
 * 10 ms, the error is at most 4e-5, because the clock and the TSC are read within less than 1 us.
 */
int nanosleep(const struct timespec *asked, struct timespec *left)
{
	static const struct timespec enough = {.tv_nsec = 10000000};
	bool shorten = start.running && asked->tv_sec == 0 && asked->tv_nsec == 100000000;
	int error = clock_nanosleep(CLOCK_REALTIME, 0, shorten ? &enough : asked, left);

	if (error == 0)
		return 0;
	errno = error;
	return -1;
}

/* path: a file in the folder of a node. */
static bool is_node_absent(const char *path)
{
	char folder[64], *end;
	unsigned long node = strtoul(path + strlen(NODE), &end, 10);

	if (node >= NODES_MAX || *end != '/')
		return false;
	if ((start.known >> node & 1) == 0) {
		uint64_t bit = UINT64_C(1) << node;

		snprintf(folder, sizeof(folder), "%.*s", (int)(end - path), path);
		start.known |= bit;
		start.absent &= ~bit;
		if (faccessat(AT_FDCWD, folder, F_OK, 0) != 0 && errno == ENOENT)
			start.absent |= bit;
	}
	return start.absent >> node & 1;
}

/* EAL searches the folders of 32 NUMA nodes for each of 128 CPUs, although most nodes are absent. */
int access(const char *path, int mode)
{
	if (!start.running || strncmp(path, NODE, strlen(NODE)) != 0 || !is_node_absent(path))
		return faccessat(AT_FDCWD, path, mode, 0);
	errno = ENOENT;
	return -1;
}
