/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Drill-down: measurements that count only packets inside keys ("networks") that another
 * measurement reported as heavy. The set of networks belongs to a generation: keys heavy in epoch s
 * are used in epoch s + 2, which has the same generation and starts after it was recycled
 * (parallel/epoch.h). Each epoch therefore has one set, independent of the number and timing of
 * workers.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/log_ratelimit.h"
#include "config/config.h"
#include "key/hash.h"
#include "key/key_set.h"

#define DRILL_DOWN_NAME_MAX 64 /* name of a measurement, with the final 0 */

struct drill_down_options {
	struct drill_down_source {
		/* name of the measurement that provides the networks; empty: no drill-down */
		char networks[DRILL_DOWN_NAME_MAX];
		double share; /* smallest share of a heavy key */
	} within;
	uint64_t stay; /* ns for which a key is kept after it was last heavy */
};

OPTION_OWNER_OF_MEASUREMENT(drill_down)

static inline bool drill_down_given(const struct measurement_config *measurement)
{
	return drill_down_options(measurement)->within.networks[0] != '\0';
}

/* Returns true if a measurement has a drill-down. */
bool drill_down_any(const struct config *config);

/* Drill-down of a measurement. Owned by the reporter, except the set of an open generation. */
struct drill_down {
	uint32_t networks; /* measurement that provides the networks */
	struct heavy_keys heavy;
	struct key_set sets[2];    /* indexed by generation */
	struct log_ratelimit full; /* warning: more keys were heavy than fit */
};

/* Updates the heavy keys in the generation of `epoch`, which no worker owns. */
void drill_down_renew(struct drill_down *down, const struct hash_key *hash_key, uint64_t epoch);

/* Part of a worker's packets that a measurement counted. */
struct drill_down_counts {
	uint64_t packets, bytes;
	uint64_t added, added_bytes; /* packets and bytes added by weights */
};

/* Part of a generation. Owned by the worker until it leaves the epoch. */
struct drill_down_sets {
	/* NULL: the measurement counts all packets */
	const struct key_set *sets[CONFIG_MEASUREMENTS_MAX];
	struct drill_down_counts inside[CONFIG_MEASUREMENTS_MAX];
};
