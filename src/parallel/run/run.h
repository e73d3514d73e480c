/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * All parts of a run, created from the plan: packet source, workers with sketches, epochs. Starts
 * and stops them; the reporter (control/reporter.h) reads their counters.
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
#include "rx/port/port.h"
#include "rx/source.h"

#define RUN_ERROR_MAX 512

/* Progress of run_recycle() with an epoch. */
struct recycling {
	bool begun;
	bool used[PLAN_WORKERS_MAX]; /* by instance: used since the last reset */
	uint32_t renewed;            /* sketches, of all instances and measurements */
};

struct run {
	const struct config *config;
	const struct plan *plan;
	const struct design_ops *design;
	struct hash_key hash_key;
	struct epochs *epochs;
	struct feeder *feeder; /* on a replay, else NULL */
	uint32_t nb_ports;     /* live ones; 0 on a replay */
	struct port *ports;    /* [nb_ports], probed by the caller */
	bool blocks;           /* threads sleep until a packet comes */
	uint32_t nb_workers;
	struct worker *workers[PLAN_WORKERS_MAX];
	uint32_t nb_rx_cores; /* one a group; 0 where workers receive */
	struct rx_core *rx_cores[PLAN_GROUPS_MAX];
	struct rte_mempool *pools[PLAN_GROUPS_MAX]; /* packet pools of live ports, by group */
	struct filter *filter;                      /* NULL: everything is measured */
	struct prefix_reload monitor;               /* no tables: there are no rules */
	struct shed_schedule *decisions; /* what is given up and when; NULL: nothing is decided */
	struct steps steps[CONFIG_MEASUREMENTS_MAX]; /* steps of these measurements */
	struct collector_source *collect;            /* NULL: packets are the input */
	struct kernel_source *kernel;                /* NULL: they come from elsewhere */
	struct measurements *measurements[2];        /* set of each generation */
	struct measurements *next;   /* what generations get from now on; measurements[] or newer */
	uint64_t next_from;          /* the first epoch that has next; UINT64_MAX: none yet */
	struct measurements *unused; /* sets that no generation uses */
	struct recycling recycling;
};

/*
 * Puts a run together; nothing moves yet. EAL must be up with the plan's lcores. `source` is read
 * on a replay; `ports` are probed ones otherwise. Returns NULL with one line in
 * error[RUN_ERROR_MAX].
 */
struct run *run_create(const struct config *config, const struct plan *plan, struct source *source,
	struct port *ports, uint32_t nb_ports, char *error);

/*
 * Before run_start(): what states-from says is given up. Returns false with one line in
 * error[RUN_ERROR_MAX]; *mistake: it is one in the file's text.
 */
bool run_decide(struct run *run, bool *mistake, char *error);

/*
 * Sets the filters before run_start(); none: everything is measured. The set must outlive the run.
 * Returns false if out of memory.
 */
bool run_filter(struct run *run, const struct filter_set *set);

/*
 * Before run_start(): measures only what matches the rules, which it takes over; NULL: everything.
 * From here on a program in the kernel counts.
 * Returns false with one line in error[RUN_ERROR_MAX].
 */
bool run_monitor(struct run *run, struct prefix_list *rules, char *error);

/* Returns the measurements of an epoch. */
static inline struct measurements *run_measurements(const struct run *run, uint64_t epoch)
{
	return run->measurements[epoch & 1];
}

/* Logs the warnings of the plan. */
void run_say_warnings(const struct plan *plan);

/*
 * Prepares the measurements of a plan with all their memory. Any thread. Returns NULL if out of
 * memory.
 */
struct measurements *run_prepare(const struct run *run, const struct plan *plan);

/*
 * Switches to the measurements `next` from the epoch after next on, and owns them. Called by the
 * reporter. run_take_unused() returns each unused set once, linked by `next`.
 */
void run_change(struct run *run, struct measurements *next);
struct measurements *run_take_unused(struct run *run);

/* Returns true if the source waits for workers and outputs: a capture or the generator, unpaced. */
bool run_waits(const struct run *run);

/* Returns true if workers shed load by themselves. */
bool run_sheds_load(const struct run *run);

/* On the log: where --overload can do little, or has nothing to do. */
void run_log_overload(const struct run *run);

/* Starts the workers, then the feeder. */
void run_start(struct run *run);
/* Ends the replay, or silences the ports; the reporter ends the epochs. */
void run_stop(struct run *run);

/* Wakes workers that sleep, so that they enter an epoch which was opened. */
void run_wake(struct run *run);
/* True when no lcore of the run works any more. */
bool run_finished(const struct run *run);
/* Waits for the lcores. */
void run_join(struct run *run);
/* Frees all but source and probed ports, which it stops. */
void run_destroy(struct run *run);

/*
 * Clears what a closed epoch left, so that epoch + 2 may use it (the reporter). An instance of
 * another width takes long to put in place: returns false after each, to be called again.
 */
bool run_recycle(struct run *run, uint64_t epoch);
