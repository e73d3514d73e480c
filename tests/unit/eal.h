/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* EAL for a test: once per process, without hugepages and devices, and without leftovers. */

#include <stdio.h>
#include <unistd.h>

#include <rte_eal.h>

/* Returns 0 or -1, as a group's set-up function. */
static inline int eal_begin(const char *test, unsigned int megabytes)
{
	char text[][64] = {"", "--no-huge", "--no-pci", "--no-shconf", "--no-telemetry",
		"--iova-mode=va", "--log-level=emergency", "-m", "", ""};
	enum { ARGUMENTS = sizeof(text) / sizeof(text[0]) };
	char *argv[ARGUMENTS + 1] = {NULL};

	for (int i = 0; i < ARGUMENTS; i++)
		argv[i] = text[i];
	snprintf(text[0], sizeof(text[0]), "%s", test);
	snprintf(text[ARGUMENTS - 2], sizeof(text[0]), "%u", megabytes);
	snprintf(
		text[ARGUMENTS - 1], sizeof(text[0]), "--file-prefix=%s_%ld", test, (long)getpid());
	return rte_eal_init(ARGUMENTS, argv) >= 0 ? 0 : -1;
}

static inline int eal_end(void)
{
	rte_eal_cleanup();
	return rmdir(rte_eal_get_runtime_dir());
}
