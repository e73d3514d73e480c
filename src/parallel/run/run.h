/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Creates all parts of a run from the plan: source, receivers, workers, sketches and epochs. Starts
 * and stops them. The reporter (control/reporter.h) reads their counters.
 */

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
	bool used[PLAN_WORKERS_MAX]; /* true: the sketches were updated; index: plan_instance() */
	uint32_t renewed;            /* number of cleared sketches, over all measurements */
};

struct run {
	const struct config *config;
	const struct plan *plan;
	const struct design_ops *design;
	struct hash_key hash_key;
	struct epochs *epochs;
	struct feeder *feeder; /* NULL: not a replay */
	uint32_t nb_ports;     /* number of live ports; 0 on a replay */
	struct port *ports;    /* [nb_ports], probed by the caller */
	bool blocks;           /* true: threads sleep until a packet arrives */
	uint32_t nb_workers;
	struct worker *workers[PLAN_WORKERS_MAX];
	uint32_t nb_rx_cores; /* one per group; 0: workers receive packets */
	struct rx_core *rx_cores[PLAN_GROUPS_MAX];
	struct rte_mempool *pools[PLAN_GROUPS_MAX];  /* packet pools of live ports, by group */
	struct filter *filter;                       /* NULL: all packets are measured */
	struct prefix_reload monitor;                /* all 0 without --prefixes */
	struct shed_schedule *decisions;             /* NULL: without a schedule */
	struct steps steps[CONFIG_MEASUREMENTS_MAX]; /* steps that `decisions` names */
	const struct source_ops *ops;                /* source_no_ops if workers receive packets */
	void *source;                                /* argument of ops; NULL: not created */
	struct measurements *measurements[2];        /* set of each generation */
	/* Newest set, for the next generation that becomes clean. */
	struct measurements *next;
	uint64_t next_from; /* first epoch with the set `next`; UINT64_MAX: not known yet */
	struct measurements *unused; /* list of sets that no generation uses any more */
	struct recycling recycling;
};

/*
 * Creates a run without starting it. EAL must be running with the lcores of the plan. On a replay,
 * packets come from `source`. On live ports, ports[nb_ports] must be probed. Returns NULL on error,
 * with one line in error[RUN_ERROR_MAX].
 */
struct run *run_create(const struct config *config, const struct plan *plan, struct source *source,
	struct port *ports, uint32_t nb_ports, char *error);

/*
 * Reads the schedule of load shedding, if there is one (states-from). Call before run_start().
 * Returns false on error, with one line in error[RUN_ERROR_MAX]. Then *mistake is true if the
 * contents of the file are wrong, and false for other errors.
 */
bool run_decide(struct run *run, bool *mistake, char *error);

/*
 * Sets the filters. An empty set selects all packets. The set must outlive the run. Call before
 * run_start(). Returns false if out of memory.
 */
bool run_filter(struct run *run, const struct filter_set *set);

/*
 * Sets the rules of --prefixes, or none if `rules` is NULL. Takes ownership of the rules. Starts a
 * source that has its own input, such as an eBPF program. Call before run_start(). Returns false on
 * error, with one line in error[RUN_ERROR_MAX].
 */
bool run_monitor(struct run *run, struct prefix_list *rules, char *error);

/* Returns the measurements of an epoch. */
static inline struct measurements *run_measurements(const struct run *run, uint64_t epoch)
{
	return run->measurements[epoch & 1];
}

/* Logs the warnings of the plan. */
void run_say_warnings(const struct plan *plan);

/* Creates the measurements of a plan. Any thread. Returns NULL if out of memory. */
struct measurements *run_prepare(const struct run *run, const struct plan *plan);

/*
 * Changes the measurements of the run to the set `next`, from the epoch after next on. Takes
 * ownership of the set. Called by the reporter.
 */
void run_change(struct run *run, struct measurements *next);
/*
 * Returns the list of sets that became unused since the last call, linked by `next`. The caller
 * owns them. Called by the reporter.
 */
struct measurements *run_take_unused(struct run *run);

/* Returns true if the reporter ends epochs by the clock, false if the feeder ends them. */
static inline bool run_is_live(const struct run *run)
{
	return run->feeder == NULL;
}

/* Returns true if the source waits for workers and outputs: a replay without --pace. */
bool run_waits(const struct run *run);

/* Returns true if the run has queue shedding: with --overload, and if the source does not wait. */
bool run_sheds_load(const struct run *run);

/* Logs a message if --overload has little or no effect in this run. */
void run_log_overload(const struct run *run);

/* Starts the workers, then the feeder. */
void run_start(struct run *run);
/* Stops the input: the feeder or the ports. The reporter ends the last epoch afterwards. */
void run_stop(struct run *run);

/* Wakes sleeping workers. Call this after epochs_open(), so that they enter the epoch. */
void run_wake(struct run *run);
/* Returns true if the loops of all lcores have ended. */
bool run_finished(const struct run *run);
void run_join(struct run *run);
/* Stops the ports and frees the run, but not the source and the ports. */
void run_destroy(struct run *run);

/*
 * Clears the generation of a closed epoch, so that epoch + 2 can use it. Returns true when this is
 * done. Returns false after it has replaced a sketch by one of another width, because this takes
 * long: call it again. Called by the reporter.
 */
bool run_recycle(struct run *run, uint64_t epoch);

/* Reads the capabilities of the probed ports of the plan into devices[plan->nb_ports]. */
void devices_ask(const struct plan *plan, const struct port *ports, struct plan_device *devices);
