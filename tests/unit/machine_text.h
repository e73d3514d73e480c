/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* A machine that is described in words, as --topology takes them. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "parallel/plan/topology_file.h"

static struct topology_file machine;
static char error[TOPOLOGY_ERROR_MAX];

static enum topology_result load(const char *text)
{
	char path[] = "/tmp/test_placement_XXXXXX";
	int fd = mkstemp(path);
	enum topology_result result;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	result = topology_load(&machine, path, error);
	unlink(path);
	return result;
}

static void describe(const char *text)
{
	if (load(text) != TOPOLOGY_OK)
		fail_msg("%s", error);
}

static const struct topology_cpu *cpu_by_id(int id)
{
	for (uint32_t i = 0; i < machine.topology.nb_cpus; i++)
		if ((int)machine.topology.cpus[i].id == id)
			return &machine.topology.cpus[i];
	return NULL;
}
