/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * A set of measurements, with the sketches and counters of all workers. If the user changes
 * measurements during a run, a new set replaces the old one. Each generation (parallel/epoch.h) has
 * one set. The set of a generation is replaced only while no other thread uses the generation.
 * Therefore all workers use the same set in an epoch.
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
	bool waits;   /* true: workers wait if the reporter has not taken the output of a sketch */
	bool kept_up; /* true: with load shedding; packets can be skipped and have weights */
	/* Indexed by generation, by plan_instance() of a worker, and by measurement. */
	struct sketch *sketches[2][PLAN_WORKERS_MAX][CONFIG_MEASUREMENTS_MAX];
	/* Indexed by generation, worker and measurement. */
	struct hyperloglog *distinct[2][PLAN_WORKERS_MAX][CONFIG_MEASUREMENTS_MAX];
	/*
	 * Indexed by generation and worker. Generations can have different keys, as a result of
	 * measurements_step(). Otherwise both pointers are equal.
	 */
	struct counting *counting[2][PLAN_WORKERS_MAX];
	uint32_t nb_bursts; /* size of counting.bursts[] */
	/* [CONFIG_MEASUREMENTS_MAX], from malloc(). NULL: no step changes keys. */
	struct steps *steps;
	const struct key_rule *keys[2][CONFIG_MEASUREMENTS_MAX]; /* keys of each generation */
	/* Keys for the next generation that becomes clean. */
	const struct key_rule *next_keys[CONFIG_MEASUREMENTS_MAX];
	/* Best width of a sketch for the last epoch that used it, or the width at the start. */
	uint64_t fitting[PLAN_WORKERS_MAX][CONFIG_MEASUREMENTS_MAX];
	/* Limits the warning that there is no memory for the best width. */
	struct log_ratelimit narrow[CONFIG_MEASUREMENTS_MAX];
	struct drill_down *drill_down[CONFIG_MEASUREMENTS_MAX]; /* NULL: without drill-down */
	/* Owned by the reporter (report/merge/measurement_report.h). */
	struct measured_epoch *measured;
	/* Configuration of this set, from malloc(). NULL: the configuration of the run. */
	struct config *config;
	struct measurements *next; /* next set in the list of unused sets */
};

/*
 * Allocates the memory of the planned measurements on the planned NUMA nodes, and touches it.
 * `waits` and `kept_up`: see struct measurements. Returns NULL if out of memory.
 */
struct measurements *measurements_create(
	const struct plan *plan, const struct hash_key *hash_key, bool waits, bool kept_up);
void measurements_destroy(struct measurements *measurements); /* NULL is allowed */

/* Returns a bit per measurement. It is set if another measurement has a higher priority. */
uint32_t measurements_low_ranked(const struct plan *plan);

/*
 * Selects the key of measurement m after the first `steps` of its steps. It applies to generations
 * that become clean from now on. Does nothing if no step changes a key. Called by the reporter.
 */
void measurements_step(struct measurements *measurements, uint32_t m, uint32_t steps);

/* Applies the keys of measurements_step() to the clean generation of `epoch`. */
void measurements_rekey(struct measurements *measurements, uint64_t epoch);

static inline const struct key_rule *measurements_key(
	const struct measurements *measurements, uint32_t m, uint64_t epoch)
{
	return measurements->keys[epoch & 1][m];
}

/* Sets the sketches of a generation of a worker. No other thread must be using the generation. */
void measurements_give(const struct measurements *measurements, struct generation *generation,
	uint32_t worker, uint64_t epoch);

/*
 * Replaces the networks of all drill-downs in the generation of `epoch`. No other thread must be
 * using it.
 */
void measurements_update_drill_down(struct measurements *measurements, uint64_t epoch);
/* Copies the heavy keys of the previous set for each drill-down that has not changed. */
void measurements_follow(struct measurements *measurements, const struct measurements *before);

/*
 * Clears a sketch of the generation of `epoch`, which ended at `end`, in ns since 1970-01-01 UTC.
 * If the sketch has another width than the best one, replaces it by a new sketch. The best width is
 * the larger one of the last two epochs, so that it does not decrease after one quiet epoch.
 * Returns true if the sketch was replaced. The caller must then call measurements_give().
 */
bool measurements_renew(struct measurements *measurements, uint64_t epoch, uint32_t instance,
	uint32_t m, int64_t end);
