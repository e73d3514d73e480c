/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * A set of measurements, with the sketches and counters of all workers. The set of a generation
 * (parallel/epoch.h) is replaced only while no worker uses the generation.
 */

#include <stdbool.h>
#include <stdint.h>

#include "key/hash.h"
#include "base/log_ratelimit.h"
#include "config/config.h"
#include "parallel/workers/count.h"
#include "parallel/shed/steps.h"
#include "parallel/workers/drill_down.h"
#include "parallel/plan/plan.h"
#include "sketch/hyperloglog.h"
#include "sketch/sketch.h"

struct generation;
struct measured_epoch;

struct measurements {
	uint64_t number; /* unique in the process; not 0 */
	struct plan plan;
	const struct hash_key *hash_key;
	bool waits;   /* workers wait until the reporter has taken the output of a sketch */
	bool kept_up; /* load shedding: packets can be skipped and have weights */
	/* [generation][plan_instance() of the worker][measurement] */
	struct sketch *sketches[2][PLAN_WORKERS_MAX][CONFIG_MEASUREMENTS_MAX];
	/* [generation][worker][measurement] */
	struct hyperloglog *distinct[2][PLAN_WORKERS_MAX][CONFIG_MEASUREMENTS_MAX];
	/* [generation][worker]; equal pointers unless measurements_step() can change keys */
	struct counting *counting[2][PLAN_WORKERS_MAX];
	uint32_t nb_bursts; /* size of counting.bursts[] */
	/* [CONFIG_MEASUREMENTS_MAX], from malloc(); NULL: no step changes keys */
	struct steps *steps;
	const struct key_rule *keys[2][CONFIG_MEASUREMENTS_MAX]; /* [generation][measurement] */
	/* For the next generation that becomes empty. */
	const struct key_rule *next_keys[CONFIG_MEASUREMENTS_MAX];
	/* Best width of a sketch for the last epoch that used it, or the width at the start. */
	struct sketch_shape fitting[PLAN_WORKERS_MAX][CONFIG_MEASUREMENTS_MAX];
	/* Limits the warning that there is no memory for the best width. */
	struct log_ratelimit narrow[CONFIG_MEASUREMENTS_MAX];
	struct drill_down *drill_down[CONFIG_MEASUREMENTS_MAX]; /* NULL: without drill-down */
	struct queries *queries;                                /* NULL: no queries */
	/* Owned by the reporter (report/merge/measurement_report.h). */
	struct measured_epoch *measured;
	/* From malloc(). NULL: the configuration of the run. */
	struct config *config;
	struct measurements *next; /* list of unused sets */
};

/* Touches all memory. Returns NULL if out of memory. */
struct measurements *measurements_create(
	const struct plan *plan, const struct hash_key *hash_key, bool waits, bool kept_up);
void measurements_destroy(struct measurements *measurements); /* NULL is allowed */

/* Bit m: another measurement has a higher priority than m. */
uint32_t measurements_low_ranked(const struct plan *plan);

/* Only the reporter calls this. Applies to generations that become empty from now on. */
void measurements_step(struct measurements *measurements, uint32_t m, uint32_t steps);

/* Applies the keys of measurements_step() to the empty generation of `epoch`. */
void measurements_rekey(struct measurements *measurements, uint64_t epoch);

static inline const struct key_rule *measurements_key(
	const struct measurements *measurements, uint32_t m, uint64_t epoch)
{
	return measurements->keys[epoch & 1][m];
}

/* Sets the sketches of a generation, which no other thread may be using. */
void measurements_give(const struct measurements *measurements, struct generation *generation,
	uint32_t worker, uint64_t epoch);

/* Replaces the networks of drill-downs. No other thread may be using the generation of `epoch`. */
void measurements_update_drill_down(struct measurements *measurements, uint64_t epoch);
/* Copies the heavy keys of the previous set for drill-downs that have not changed. */
void measurements_follow(struct measurements *measurements, const struct measurements *before);

/*
 * Clears a sketch of `epoch`, which ended at `end` (ns since 1970). If its best width in the last
 * two epochs differs, replaces it. Then returns true, and the caller must call measurements_give().
 */
bool measurements_renew(struct measurements *measurements, uint64_t epoch, uint32_t instance,
	uint32_t m, int64_t end);
