/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Facts that accompany every measured figure: machine, software, date and command. */

#include "adapt/profile.h"

#define FACT_MAX 256

struct host_facts {
	char machine[FACT_MAX]; /* CPU model, CPUs, caches */
	char kernel[FACT_MAX];
	char dpdk[FACT_MAX];     /* version, and whether it uses hugepages */
	char compiler[FACT_MAX]; /* version and relevant flags */
	char date[FACT_MAX];     /* UTC */
	char command[FACT_MAX];
};

/* Fills the facts. argv[argc] is the command line. */
void host_facts_read(struct host_facts *facts, int argc, char *const argv[]);

/* Fills the facts that make a profile valid. */
void host_facts_current(struct profile_host *host);

/* Adds whether DPDK uses hugepages; call it after EAL's start. */
void host_facts_add_memory(struct host_facts *facts);
