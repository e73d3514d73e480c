/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Runs collectors as processes that receive from a loopback socket. */

#include <stdbool.h>
#include <stdint.h>

#include "bench/exported.h"
#include "config/config.h"

#define COLLECTORS_ERROR_MAX 256
#define COLLECTORS_BUFFER    (4u << 20)

enum collectors_kind {
	COLLECTORS_NFCAPD,
	COLLECTORS_GOFLOW2,
	COLLECTORS_RECEIVED,  /* sketchtap's collector: receive and decode */
	COLLECTORS_COUNTED,   /* sketchtap's collector on one thread: also count */
	COLLECTORS_SKETCHTAP, /* `sketchtap collect` in its own process */
};

struct collectors_sample {
	double ns; /* CPU time per record in user and kernel mode, of all threads */
	uint64_t lost;
};

/* Returns true if the collector is installed. */
bool collectors_has(enum collectors_kind kind);

/* `rate`: records per second. Returns false with one line in error[COLLECTORS_ERROR_MAX]. */
bool collectors_run(const struct config *config, enum collectors_kind kind,
	const struct exported *exported, uint64_t records, uint64_t rate,
	struct collectors_sample *sample, char *error);

/* Returns the MB by which a process grows when it counts all datagrams; 0: unknown. */
double collectors_growth(const struct exported *exported);

/* Returns the MB by which a collector grows for the templates; 0: unknown, or they did not fit. */
double collectors_templates_growth(uint32_t exporters, uint32_t templates);
