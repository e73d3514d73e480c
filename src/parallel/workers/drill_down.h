/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Measurements that look closer: they count only what lies inside keys ("networks") that another
 * measurement has reported as heavy. Which ones those are is part of a generation: what epoch s
 * reported is looked into in epoch s + 2, which has the same generation and begins when that is
 * handed back (parallel/epoch.h). So an epoch is of one set, and it is the same set however many
 * workers there are and whenever they run.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/log_ratelimit.h"
#include "config/config.h"
#include "key/hash.h"
#include "key/key_set.h"

#define WITHIN_NAME_MAX 64 /* of a measurement, with the final 0 */

struct drill_down_options {
	struct within_choice {
		char networks[WITHIN_NAME_MAX]; /* the measurement that names them; empty: none */
		double share;                   /* that a heavy one has at least */
	} within;
	uint64_t stay; /* ns that one is looked into after it was heavy last */
};

OPTION_OWNER_OF_MEASUREMENT(drill_down)

static inline bool drill_down_given(const struct measurement_config *measurement)
{
	return drill_down_options(measurement)->within.networks[0] != '\0';
}

/* Whether one does. */
bool drill_down_any(const struct config *config);

/* Of a measurement that looks closer. The reporter's, but for the set of an open generation. */
struct drill_down {
	uint32_t networks; /* the measurement that names them */
	struct networks heavy;
	struct key_set sets[2];    /* by generation */
	struct log_ratelimit full; /* more were heavy */
};

/* The generation of `epoch`, which belongs to nobody, looks into what is heavy now. */
void drill_down_renew(struct drill_down *closer, const struct hash_key *hash_key, uint64_t epoch);

/* What a measurement counted of what a worker measured, where it does not count all of it. */
struct drill_down_counts {
	uint64_t packets, bytes;
	uint64_t added, added_bytes; /* by weights */
};

/* A generation's: the worker's while the epoch is its own. */
struct drill_down_sets {
	const struct key_set *sets[CONFIG_MEASUREMENTS_MAX]; /* NULL: it counts all */
	struct drill_down_counts inside[CONFIG_MEASUREMENTS_MAX];
};
