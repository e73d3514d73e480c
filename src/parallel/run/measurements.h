/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Set of measurements of a run, with the sketches and counters of all workers. Each generation has
 * one set, which may differ from that of the other generation. It changes only while no other
 * thread uses the generation (parallel/epoch.h), so each epoch has one set. A set is immutable: a
 * change of measurements makes another set.
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
	uint64_t number;  /* unique in the process; not 0 */
	struct plan plan; /* plan of the run with these measurements */
	const struct hash_key *hash_key;
	bool waits;
	bool kept_up; /* load shedding: measurements may skip packets, and packets have weights */
	/* Indexed by generation. plan_instance() returns the instance of a worker. */
	struct sketch *sketches[2][PLAN_WORKERS_MAX][CONFIG_MEASUREMENTS_MAX];
	struct hyperloglog *distinct[2][PLAN_WORKERS_MAX][CONFIG_MEASUREMENTS_MAX];
	/*
	 * Indexed by generation, because keys may differ (measurements_step()). The pointed-to
	 * objects are shared.
	 */
	struct counting *counting[2][PLAN_WORKERS_MAX];
	uint32_t nb_bursts;  /* bursts per worker */
	struct steps *steps; /* steps of measurements if some change keys, from malloc() */
	/* Key rules of each generation, and those of generations that become clean from now on. */
	const struct key_rule *keys[2][CONFIG_MEASUREMENTS_MAX];
	const struct key_rule *next_keys[CONFIG_MEASUREMENTS_MAX];
	/*
	 * Best width for the last epoch in which the instance was used; at the start its first
	 * width.
	 */
	uint64_t fitting[PLAN_WORKERS_MAX][CONFIG_MEASUREMENTS_MAX];
	/* warning: out of memory for the best width */
	struct log_ratelimit narrow[CONFIG_MEASUREMENTS_MAX];
	struct drill_down *drill_down[CONFIG_MEASUREMENTS_MAX]; /* NULL: counts all packets */
	/* owned by the reporter (measurement_report.h); NULL: none */
	struct measured_epoch *measured;
	/* configuration that was read for the set, from malloc(); NULL: that of the run */
	struct config *config;
	struct measurements *next; /* next in the list of unused sets */
};

/*
 * Allocates and touches the memory of the planned measurements on its nodes. Returns NULL if out of
 * memory. `waits`: workers wait for the reporter to take the output of sketches. `kept_up`: as in
 * struct measurements.
 */
struct measurements *measurements_create(
	const struct plan *plan, const struct hash_key *hash_key, bool waits, bool kept_up);
void measurements_destroy(struct measurements *measurements); /* NULL is allowed */

/*
 * Returns the measurements of less than the highest priority, which load shedding skips first; one
 * bit per measurement.
 */
uint32_t measurements_low_ranked(const struct plan *plan);

/*
 * Called by the reporter. Selects the keys of measurement m after `steps` of its steps, for
 * generations that become clean from now on. Does nothing if no step changes keys.
 */
void measurements_step(struct measurements *measurements, uint32_t m, uint32_t steps);

/* Applies the selected keys to the clean generation of `epoch`. */
void measurements_rekey(struct measurements *measurements, uint64_t epoch);

/* Returns the key rule of measurement m in an epoch. */
static inline const struct key_rule *measurements_key(
	const struct measurements *measurements, uint32_t m, uint64_t epoch)
{
	return measurements->keys[epoch & 1][m];
}

/* Attaches the set to a worker's generation of `epoch`, which no thread owns. */
void measurements_give(const struct measurements *measurements, struct generation *generation,
	uint32_t worker, uint64_t epoch);

/* Updates the heavy keys of drill-down in the generation of `epoch`, which no thread owns. */
void measurements_update_drill_down(struct measurements *measurements, uint64_t epoch);
/* Copies the heavy keys of the previous set, for equal drill-downs. */
void measurements_follow(struct measurements *measurements, const struct measurements *before);

/*
 * Clears an instance of the generation of `epoch`, which ended at `end`. Chooses the larger of the
 * best widths for the last two epochs, so that one quiet epoch has no effect. Returns true if it
 * replaced the instance, which must then be given to the workers.
 */
bool measurements_renew(struct measurements *measurements, uint64_t epoch, uint32_t instance,
	uint32_t m, int64_t end);
