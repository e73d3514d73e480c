/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Creates, starts and stops the parts of a run: source, receivers, workers, sketches, epochs. */

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "key/hash.h"
#include "parallel/plan/design.h"
#include "parallel/epoch.h"
#include "parallel/run/measurements.h"
#include "parallel/run/prefix_reload.h"
#include "parallel/plan/plan.h"
#include "parallel/workers/rx_core.h"
#include "parallel/workers/worker.h"
#include "parallel/sources/feeder.h"
#include "parallel/sources/sources.h"
#include "rx/port/port.h"
#include "rx/source.h"

#define RUN_ERROR_MAX 512

/* Progress of run_recycle(), which clears an epoch in several calls. */
struct recycling {
	bool begun;
	bool used[PLAN_WORKERS_MAX]; /* [plan_instance()]: the sketches were updated */
	uint32_t renewed;            /* number of cleared sketches, over all measurements */
};

struct run {
	const struct config *config;
	const struct plan *plan;
	const struct design_ops *design;
	struct hash_key hash_key;
	struct epochs *epochs;
	struct feeder *feeder; /* NULL: not a replay */
	uint32_t nb_ports;     /* 0 on a replay */
	struct port *ports;    /* [nb_ports], probed by the caller */
	bool blocks;           /* threads sleep until a packet arrives */
	uint32_t nb_workers;
	struct worker *workers[PLAN_WORKERS_MAX];
	uint32_t nb_rx_cores; /* one per group; 0: workers receive packets */
	struct rx_core *rx_cores[PLAN_GROUPS_MAX];
	struct rte_mempool
		*pools[PLAN_GROUPS_MAX]; /* packet pools of live ports, indexed by group */
	struct filter *filter;           /* NULL: all packets are measured */
	struct prefix_reload monitor;    /* all 0 without --prefixes */
	struct shed_schedule *decisions; /* NULL: without a schedule */
	struct steps steps[CONFIG_MEASUREMENTS_MAX]; /* steps that `decisions` names */
	const struct source_ops *ops;                /* source_no_ops if workers receive packets */
	void *source;                                /* argument of ops; NULL: not created */
	struct measurements *measurements[2];        /* [generation] */
	/* For the next generation that becomes empty. */
	struct measurements *next;
	uint64_t next_from; /* first epoch with the set `next`; UINT64_MAX: not known yet */
	struct measurements *unused; /* sets that no generation uses any more */
	struct recycling recycling;
};

/*
 * EAL must be running. `source`: of a replay. ports[nb_ports]: live, and probed. On error, returns
 * NULL with one line in error[RUN_ERROR_MAX].
 */
struct run *run_create(const struct config *config, const struct plan *plan, struct source *source,
	struct port *ports, uint32_t nb_ports, char *error);

/*
 * Must be called before run_start(). On error, returns false with one line in error[RUN_ERROR_MAX].
 * *mistake: the schedule's contents are wrong.
 */
bool run_decide(struct run *run, bool *mistake, char *error);

/* Must be called before run_start(). `set` must outlive the run. Returns false if out of memory. */
bool run_filter(struct run *run, const struct filter_set *set);

/*
 * Must be called before run_start(). Takes ownership of `rules`; NULL: none. On error, returns
 * false with one line in error[RUN_ERROR_MAX].
 */
bool run_monitor(struct run *run, struct prefix_list *rules, char *error);

static inline struct measurements *run_measurements(const struct run *run, uint64_t epoch)
{
	return run->measurements[epoch & 1];
}

void run_say_warnings(const struct plan *plan);

/* Any thread may call this. Returns NULL if out of memory. */
struct measurements *run_prepare(const struct run *run, const struct plan *plan);

/* Takes ownership of `next`, which applies from the epoch after next on. Only for the reporter. */
void run_change(struct run *run, struct measurements *next);
/*
 * Returns the sets that became unused since the last call, linked by `next`. The caller owns them.
 */
struct measurements *run_take_unused(struct run *run);

/* Returns true if the reporter ends epochs by the clock, false if the feeder ends them. */
static inline bool run_is_live(const struct run *run)
{
	return run->feeder == NULL;
}

/* Returns true on a replay without --pace: the source waits for workers and outputs. */
bool run_waits(const struct run *run);

bool run_sheds_load(const struct run *run);

/* Logs a message if --overload has little or no effect in this run. */
void run_log_overload(const struct run *run);

void run_start(struct run *run);
/* Stops the input. The reporter ends the last epoch afterwards. */
void run_stop(struct run *run);

/* Must be called after epochs_open(), so that sleeping workers enter the epoch. */
void run_wake(struct run *run);
bool run_finished(const struct run *run);
void run_join(struct run *run);
/* Does not free the source and the ports. */
void run_destroy(struct run *run);

/* Only the reporter calls this. Returns false if it must be called again to finish. */
bool run_recycle(struct run *run, uint64_t epoch);

/* Reads the capabilities of the plan's ports into devices[plan->nb_ports]. */
void devices_ask(const struct plan *plan, const struct port *ports, struct plan_device *devices);
