/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * A measurement with drill-down counts only packets that match a heavy key of another measurement.
 * These keys are its networks. Heavy keys of epoch s are the networks of epoch s + 2.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/log_ratelimit.h"
#include "config/config.h"
#include "key/hash.h"
#include "key/key_set.h"

#define DRILL_DOWN_NAME_MAX 64 /* bytes, including the final 0 */

struct drill_down_options {
	struct drill_down_source {
		/* Name of the measurement whose heavy keys are the networks; "": no drill-down. */
		char networks[DRILL_DOWN_NAME_MAX];
		double share; /* minimum share of a heavy key, 0 to 1 */
	} within;
	uint64_t stay; /* ns for which a key remains a network after it was last heavy */
};

OPTION_OWNER_OF_MEASUREMENT(drill_down)

static inline bool drill_down_given(const struct measurement_config *measurement)
{
	return drill_down_options(measurement)->within.networks[0] != '\0';
}

bool drill_down_any(const struct config *config);

/* Owned by the reporter. Workers only read sets[]. */
struct drill_down {
	uint32_t networks; /* number of the measurement whose heavy keys are the networks */
	struct heavy_keys heavy;
	struct key_set sets[2]; /* indexed by generation */
	struct log_ratelimit full;
};

/* Replaces the networks in the generation of `epoch`, which no worker may be using. */
void drill_down_renew(struct drill_down *down, const struct hash_key *hash_key, uint64_t epoch);

struct drill_down_counts {
	uint64_t packets, bytes;
	/* Packets and bytes that sampled packets represent besides themselves. */
	uint64_t added, added_bytes;
};

/* Owned by the worker until it leaves the epoch. */
struct drill_down_sets {
	/* NULL: the measurement counts all packets */
	const struct key_set *sets[CONFIG_MEASUREMENTS_MAX];
	struct drill_down_counts inside[CONFIG_MEASUREMENTS_MAX];
};
