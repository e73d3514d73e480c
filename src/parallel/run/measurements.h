/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Set of measurements of a run and everything that counts them. Each generation has one set, which
 * may differ from that of the other generation. It changes only while no other thread uses the
 * generation (parallel/epoch.h), so each epoch has one set. A set is immutable; other questions are
 * another set.
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
	uint64_t number;  /* no other set of the process has had it; not 0 */
	struct plan plan; /* the run's, with these measurements */
	const struct hash_key *hash_key;
	bool waits;
	bool kept_up; /* measurements may wait, and packets stand for others */
	/* By generation. plan_instance() has the instance of a worker. */
	struct sketch *sketches[2][PLAN_WORKERS_MAX][CONFIG_MEASUREMENTS_MAX];
	struct hyperloglog *distinct[2][PLAN_WORKERS_MAX][CONFIG_MEASUREMENTS_MAX];
	/*
	 * Also by generation, because keys may differ (measurements_step()). The pointed-to objects
	 * are shared.
	 */
	struct counting *counting[2][PLAN_WORKERS_MAX];
	uint32_t nb_bursts;  /* bursts of each */
	struct steps *steps; /* steps of measurements if some change keys, from malloc() */
	/* The keys of each generation, and those that generations get from now on. */
	const struct key_rule *keys[2][CONFIG_MEASUREMENTS_MAX];
	const struct key_rule *next_keys[CONFIG_MEASUREMENTS_MAX];
	/* The width that would have suited the last epoch in which the instance was used; the first
	 * one's at the start. */
	uint64_t fitting[PLAN_WORKERS_MAX][CONFIG_MEASUREMENTS_MAX];
	struct log_ratelimit
		narrow[CONFIG_MEASUREMENTS_MAX]; /* no memory for the width that fits */
	struct drill_down *drill_down[CONFIG_MEASUREMENTS_MAX]; /* NULL: it counts everything */
	struct measured_epoch
		*measured;         /* the reporter's (measurement_report.h); NULL: there is none */
	struct config *config;     /* what was read for them, from malloc(); NULL: the run's */
	struct measurements *next; /* next in the list of unused sets */
};

/*
 * Allocates and touches the memory of the planned measurements on its nodes. Returns NULL if out of
 * memory. `waits`: workers wait for the reporter, which takes the output of sketches. `kept_up`: as
 * in struct measurements.
 */
struct measurements *measurements_create(
	const struct plan *plan, const struct hash_key *hash_key, bool waits, bool kept_up);
void measurements_destroy(struct measurements *measurements); /* NULL is allowed */

/* Those of a worse priority than the best, which may wait for the others: a bit each. */
uint32_t measurements_low_ranked(const struct plan *plan);

/*
 * Called by the reporter. Gives measurement m the keys after `steps` of its steps, in generations
 * returned from now on. Does nothing if no step changes keys.
 */
void measurements_step(struct measurements *measurements, uint32_t m, uint32_t steps);

/* The generation of `epoch`, whose instances are clean, gets the keys that are next. */
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

/* Gives the generation of `epoch`, which no thread owns, the networks that are heavy now. */
void measurements_update_drill_down(struct measurements *measurements, uint64_t epoch);
/* They come after `before`, and what both look into stays known. */
void measurements_follow(struct measurements *measurements, const struct measurements *before);

/*
 * Clears an instance of the generation of `epoch`, which ended at `end`. Its size is for the larger
 * of the last two epochs: from one quiet one nothing follows. Returns whether it is another
 * instance now, that is to be given.
 */
bool measurements_renew(struct measurements *measurements, uint64_t epoch, uint32_t instance,
	uint32_t m, int64_t end);
