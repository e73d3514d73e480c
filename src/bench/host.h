/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* What has to stand beside every figure: on what machine, with what, when, and by which command. */

#include "report/output/text.h"

#define HOST_FACT_MAX 256

struct host_facts {
	char machine[HOST_FACT_MAX]; /* CPU model, CPUs, caches */
	char kernel[HOST_FACT_MAX];
	char dpdk[HOST_FACT_MAX];     /* version, and what its memory is made of */
	char compiler[HOST_FACT_MAX]; /* with the flags that matter */
	char date[HOST_FACT_MAX];     /* UTC */
	char command[HOST_FACT_MAX];
};

/* Fills the facts. argv[argc] is the command line. */
void host_facts_read(struct host_facts *facts, int argc, char *const argv[]);

/* After EAL's start: adds what its memory is made of. */
void host_facts_add_memory(struct host_facts *facts);
