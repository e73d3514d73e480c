/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * What is measured at a time: the measurements of a run, and all that counts them. A generation has
 * one such set, which may be another than the other generation's; it changes where nobody else
 * touches the generation (parallel/epoch.h), so every epoch is of one set. What is asked never
 * changes in a set; another question is another set.
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
struct measured;

struct measurements {
	uint64_t number;  /* no other set of the process has had it; not 0 */
	struct plan plan; /* the run's, with these measurements */
	const struct hash_key *hash_key;
	bool waits;
	bool kept_up; /* measurements may wait, and packets stand for others */
	/* By generation. Which instance a worker updates: plan_instance(). */
	struct sketch *sketches[2][PLAN_WORKERS_MAX][CONFIG_MEASUREMENTS_MAX];
	struct hyperloglog *distinct[2][PLAN_WORKERS_MAX][CONFIG_MEASUREMENTS_MAX];
	/* By generation, too: keys may be other ones (measurements_step()). What they point to is of
	 * both. */
	struct counting *counting[2][PLAN_WORKERS_MAX];
	uint32_t nb_bursts;  /* of each */
	struct steps *steps; /* of measurements, from malloc(), where some step to other keys */
	/* The keys of each generation, and those that generations get from now on. */
	const struct key_rule *keys[2][CONFIG_MEASUREMENTS_MAX];
	const struct key_rule *next_keys[CONFIG_MEASUREMENTS_MAX];
	/* The width that would have suited the last epoch in which the instance was used; the first
	 * one's at the start. */
	uint64_t fitting[PLAN_WORKERS_MAX][CONFIG_MEASUREMENTS_MAX];
	struct log_ratelimit
		narrow[CONFIG_MEASUREMENTS_MAX];            /* no memory for the width that fits */
	struct drill_down *closer[CONFIG_MEASUREMENTS_MAX]; /* NULL: it counts everything */
	struct measured *measured; /* the reporter's (measurement_report.h); NULL: there is none */
	struct config *config;     /* what was read for them, from malloc(); NULL: the run's */
	struct measurements *next; /* in a list of those that nobody uses any more */
};

/*
 * All memory that the plan's measurements need, touched, on its nodes; NULL where there is none.
 * `waits`: a worker waits for the reporter, who takes what a sketch gives out. `kept_up`: as in
 * struct measurements.
 */
struct measurements *measurements_create(
	const struct plan *plan, const struct hash_key *hash_key, bool waits, bool kept_up);
void measurements_destroy(struct measurements *measurements); /* NULL is allowed */

/* Those of a worse priority than the best, which may wait for the others: a bit each. */
uint32_t measurements_low_ranked(const struct plan *plan);

/*
 * The reporter: whatever is handed back from now on has the keys of measurement m after so many of
 * its steps. Nothing is done where no step is of keys.
 */
void measurements_step(struct measurements *measurements, uint32_t m, uint32_t steps);

/* The generation of `epoch`, whose instances are clean, gets the keys that are next. */
void measurements_rekey(struct measurements *measurements, uint64_t epoch);

/* What measurement m counts in an epoch. */
static inline const struct key_rule *measurements_key(
	const struct measurements *measurements, uint32_t m, uint64_t epoch)
{
	return measurements->keys[epoch & 1][m];
}

/* The worker's generation of `epoch`, which belongs to nobody, counts these. */
void measurements_give(const struct measurements *measurements, struct generation *generation,
	uint32_t worker, uint64_t epoch);

/* The generation of `epoch`, which belongs to nobody, looks into what is heavy now. */
void measurements_look_closer(struct measurements *measurements, uint64_t epoch);
/* They come after `before`, and what both look into stays known. */
void measurements_follow(struct measurements *measurements, const struct measurements *before);

/*
 * Clears an instance of the generation of `epoch`, which ended at `end`. Its size is for the larger
 * of the last two epochs: from one quiet one nothing follows. Returns whether it is another
 * instance now, that is to be given.
 */
bool measurements_renew(struct measurements *measurements, uint64_t epoch, uint32_t instance,
	uint32_t m, int64_t end);
