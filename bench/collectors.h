/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Collectors that receive from a socket of loopback, each in a process of its own: what they take of
 * a CPU for a record, and what the kernel dropped for them.
 */

#include <stdbool.h>
#include <stdint.h>

#include "bench/exported.h"
#include "config/config.h"

#define COLLECTORS_ERROR_MAX 256
#define COLLECTORS_BUFFER    (4u << 20) /* bytes that the kernel holds for them */

enum collectors_kind {
	COLLECTORS_NFCAPD,
	COLLECTORS_GOFLOW2,
	COLLECTORS_RECEIVED,  /* ours: received and decoded */
	COLLECTORS_COUNTED,   /* ours, and counted, on one thread */
	COLLECTORS_SKETCHTAP, /* sketchtap collect, as a user starts it */
};

struct collectors_sample {
	double ns;     /* of CPU, of user and kernel, for a record; by all its threads */
	uint64_t lost; /* datagrams */
};

/* Whether it is installed. */
bool collectors_has(enum collectors_kind kind);

/*
 * Starts it, sends it the first records at `rate` a second, ends it. False with one line in
 * error[COLLECTORS_ERROR_MAX].
 */
bool collectors_run(const struct config *config, enum collectors_kind kind,
	const struct exported *exported, uint64_t records, uint64_t rate,
	struct collectors_sample *sample, char *error);

/* By how much a process grows that counts them all, in MB; 0 where that is not known. */
double collectors_growth(const struct exported *exported);

/*
 * By how much one grows that is told `templates` templates by each of so many exporters, in MB; 0
 * where that is not known, or where templates had no room.
 */
double collectors_templates_growth(uint32_t exporters, uint32_t templates);
