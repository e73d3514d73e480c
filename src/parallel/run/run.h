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
#include "parallel/sources/sources.h"
#include "rx/port/port.h"
#include "rx/source.h"

#define RUN_ERROR_MAX 512

/* Progress of run_recycle() with an epoch. */
struct recycling {
	bool begun;
	bool used[PLAN_WORKERS_MAX]; /* true if the instance was used since the last reset */
	uint32_t renewed; /* number of cleared sketches, over all instances and measurements */
};

struct run {
	const struct config *config;
	const struct plan *plan;
	const struct design_ops *design;
	struct hash_key hash_key;
	struct epochs *epochs;
	struct feeder *feeder; /* a port of rings; NULL: live ports, or none */
	uint32_t nb_ports;     /* number of live ports; 0 on a replay */
	struct port *ports;    /* [nb_ports], probed by the caller */
	bool blocks;           /* threads sleep until a packet comes */
	uint32_t nb_workers;
	struct worker *workers[PLAN_WORKERS_MAX];
	uint32_t nb_rx_cores; /* one per group; 0: workers receive */
	struct rx_core *rx_cores[PLAN_GROUPS_MAX];
	struct rte_mempool *pools[PLAN_GROUPS_MAX];  /* packet pools of live ports, by group */
	struct filter *filter;                       /* NULL: all packets are measured */
	struct prefix_reload monitor;                /* empty without --prefixes */
	struct shed_schedule *decisions;             /* NULL: no schedule */
	struct steps steps[CONFIG_MEASUREMENTS_MAX]; /* steps of these measurements */
	const struct source_ops
		*ops; /* operations of the source; all NULL if workers receive packets */
	void *source; /* argument of ops; NULL: not created */
	struct measurements *measurements[2]; /* set of each generation */
	/* newest set, for generations that become clean from now on; may equal measurements[] */
	struct measurements *next;
	uint64_t next_from;          /* first epoch with `next`; UINT64_MAX: none yet */
	struct measurements *unused; /* sets that no generation uses */
	struct recycling recycling;
};

/*
 * Creates a run without starting it. EAL must be up with the plan's lcores. `source` is read on a
 * replay; otherwise `ports` are probed ones. Returns NULL with one line in error[RUN_ERROR_MAX].
 */
struct run *run_create(const struct config *config, const struct plan *plan, struct source *source,
	struct port *ports, uint32_t nb_ports, char *error);

/*
 * Call before run_start(). Reads the schedule of load shedding if a file is given. Returns false
 * with one line in error[RUN_ERROR_MAX]; *mistake: the cause is the text of the file.
 */
bool run_decide(struct run *run, bool *mistake, char *error);

/*
 * Sets the filters; an empty set selects all packets. Call before run_start(). The set must outlive
 * the run. Returns false if out of memory.
 */
bool run_filter(struct run *run, const struct filter_set *set);

/*
 * Call before run_start(). Restricts the run to packets that match the rules (NULL: all packets),
 * and owns the rules. Starts the counts of an eBPF program. Returns false with one line in
 * error[RUN_ERROR_MAX].
 */
bool run_monitor(struct run *run, struct prefix_list *rules, char *error);

/* Returns the measurements of an epoch. */
static inline struct measurements *run_measurements(const struct run *run, uint64_t epoch)
{
	return run->measurements[epoch & 1];
}

/* Logs the warnings of the plan. */
void run_say_warnings(const struct plan *plan);

/* Allocates the measurements of a plan. Any thread. Returns NULL if out of memory. */
struct measurements *run_prepare(const struct run *run, const struct plan *plan);

/*
 * Called by the reporter. Switches to the measurements `next`, from the epoch after next on, and
 * owns them. run_take_unused() returns the unused sets once, linked by `next`.
 */
void run_change(struct run *run, struct measurements *next);
struct measurements *run_take_unused(struct run *run);

/* Returns true if the clock ends intervals; otherwise the feeder ends them, by timestamps. */
static inline bool run_is_live(const struct run *run)
{
	return run->feeder == NULL;
}

/* Returns true if the source waits for workers and outputs: a capture or the generator, unpaced. */
bool run_waits(const struct run *run);

/* Returns true if workers shed load by themselves. */
bool run_sheds_load(const struct run *run);

/* Logs when --overload has little or no effect. */
void run_log_overload(const struct run *run);

/* Starts the workers, then the feeder. */
void run_start(struct run *run);
/* Ends the replay, or stops the ports from receiving. The reporter then ends the epochs. */
void run_stop(struct run *run);

/* Wakes sleeping workers so that they enter an opened epoch. */
void run_wake(struct run *run);
/* Returns true if all lcores of the run have finished. */
bool run_finished(const struct run *run);
void run_join(struct run *run);
/* Frees everything except the source and the probed ports, which it stops. */
void run_destroy(struct run *run);

/*
 * Called by the reporter. Clears the generation of a closed epoch for epoch + 2. Returns false
 * after each instance that it replaced by one of another width, which is slow: call it again.
 */
bool run_recycle(struct run *run, uint64_t epoch);

/* Capabilities of the devices of a plan. */

/* Reads the capabilities of all probed ports of the plan into devices[plan->nb_ports]. */
void devices_ask(const struct plan *plan, const struct port *ports, struct plan_device *devices);
