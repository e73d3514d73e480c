/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Everything that a run is made of, put together from the plan: packet source, workers with their
 * sketches, epochs. It starts and stops them; the reporter (report/reporter.h) reads what they
 * count.
 */

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "base/hash.h"
#include "base/rarely.h"
#include "parallel/plan/design.h"
#include "parallel/epoch.h"
#include "parallel/monitoring.h"
#include "parallel/plan/plan.h"
#include "parallel/receiver.h"
#include "parallel/worker.h"
#include "parallel/feeder.h"
#include "rx/port/port.h"
#include "rx/capture/source.h"

#define RUN_ERROR_MAX 512

/* How far run_recycle() has come with an epoch. */
struct recycling {
	bool begun;
	bool used[CONFIG_WORKERS_MAX]; /* by instance; what was not is clean */
	uint32_t renewed;              /* sketches, of all instances and measurements */
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
	uint32_t nb_workers;
	struct worker *workers[CONFIG_WORKERS_MAX];
	uint32_t nb_receivers; /* one a group; 0 where workers receive */
	struct receiver *receivers[PLAN_GROUPS_MAX];
	struct rte_mempool *pools[PLAN_GROUPS_MAX]; /* of the live ports, by group */
	struct filter *filter;                      /* NULL: everything is measured */
	struct monitoring monitoring;               /* no tables: there are no rules */
	/* Of each generation; which one a worker updates: plan_instance(). */
	struct sketch *sketches[2][CONFIG_WORKERS_MAX][CONFIG_MEASUREMENTS_MAX];
	/* The width that would have suited the last epoch in which the instance was used; the first
	 * one's at the start. */
	uint64_t fitting[CONFIG_WORKERS_MAX][CONFIG_MEASUREMENTS_MAX];
	struct rarely narrow[CONFIG_MEASUREMENTS_MAX]; /* no memory for the width that fits */
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
 * Before run_start(): measures only what the set's programs match; none: everything. The set must
 * outlive the run. Returns false where there is no memory.
 */
bool run_filter(struct run *run, const struct filter_set *set);

/*
 * Before run_start(): measures only what matches the rules, which it takes over; NULL: everything.
 * Returns false with one line in error[RUN_ERROR_MAX].
 */
bool run_monitor(struct run *run, struct monitor_rules *rules, char *error);

/* Starts the workers, then the feeder. */
void run_start(struct run *run);
/* Ends the replay, or silences the ports; the reporter ends the epochs. */
void run_stop(struct run *run);
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
