/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * A machine described in a file, to plan for one that is not there. One fact a line; # begins a
 * comment. CPU lists are "0-3,8" with steps "0-14:2".
 *
 *   node N cpus=LIST [siblings=LIST]... [package=N] [memory=SIZE] [hugepages=SIZE]
 *       A NUMA node. Without `siblings` every CPU is a core. The i-th CPU of each list of siblings
 *       is a hyperthread of the core of the i-th CPU of `cpus`. The package is N where it is not
 *       given. memory: what is free;
 *   distance A B D    between nodes A and B, both ways; 10 is a node's own, 20 where nothing is
 * said isolated LIST     CPUs kept from other threads (isolcpus, nohz_full) offline LIST      CPUs
 * that do not work quota X           CPUs' worth of time that the control group leaves port NAME
 * node=N  where a port that --port names sits
 */

#include <stdbool.h>
#include <stdint.h>

#include "parallel/plan/topology.h"

#define TOPOLOGY_ERROR_MAX 512
#define TOPOLOGY_PORTS_MAX 64

struct topology_port {
	char name[64];
	int node;
};

struct topology_file {
	struct topology topology;
	uint32_t nb_ports;
	struct topology_port ports[TOPOLOGY_PORTS_MAX];
};

enum topology_result {
	TOPOLOGY_OK,
	TOPOLOGY_UNREADABLE, /* the file is not there */
	TOPOLOGY_WRONG,      /* what it says: file and line in the error */
};

/* One line in error[TOPOLOGY_ERROR_MAX] where it is not TOPOLOGY_OK. */
enum topology_result topology_load(struct topology_file *file, const char *path, char *error);

/* The node of NAME[,DEVARGS]; -1 where the file does not say. */
int topology_port_node(const struct topology_file *file, const char *spec);
