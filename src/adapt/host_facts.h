/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Facts to print next to a measured figure: machine, software, date and command. */

#include "adapt/profile.h"

#define FACT_MAX 256

struct host_facts {
	char machine[FACT_MAX]; /* CPU model, CPUs, caches */
	char kernel[FACT_MAX];
	char dpdk[FACT_MAX]; /* version, then "hugepages" or "no hugepages" */
	char compiler[FACT_MAX];
	char date[FACT_MAX];
	char command[FACT_MAX];
};

void host_facts_read(struct host_facts *facts, int argc, char *const argv[]);

void host_facts_current(struct profile_host *host);

/* Adds "hugepages" or "no hugepages" to facts->dpdk. EAL must be running. */
void host_facts_add_memory(struct host_facts *facts);
