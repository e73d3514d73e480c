/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* What has to stand beside every figure: on what machine, with what, when, and by which command. */

#include "adapt/profile.h"

#define FACT_MAX 256

struct host_facts {
	char machine[FACT_MAX]; /* CPU model, CPUs, caches */
	char kernel[FACT_MAX];
	char dpdk[FACT_MAX];     /* version, and what its memory is made of */
	char compiler[FACT_MAX]; /* with the flags that matter */
	char date[FACT_MAX];     /* UTC */
	char command[FACT_MAX];
};

/* Fills the facts. argv[argc] is the command line. */
void host_facts_read(struct host_facts *facts, int argc, char *const argv[]);

/* Of them, those without which a profile is worth nothing. */
void host_facts_current(struct profile_host *host);

/* After EAL's start: adds what its memory is made of. */
void host_facts_add_memory(struct host_facts *facts);
