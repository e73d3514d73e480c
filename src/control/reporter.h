/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Reporter lcore: publishes the time for live ports, closes epochs, merges and ranks the results of
 * workers, balances the ledger, and passes the report to the writer. Sleeps in between; never on
 * the packet path.
 */

#include <stdbool.h>
#include <stdint.h>

#include "adapt/profile.h"
#include "parallel/run/run.h"
#include "report/ledger/forwarded.h"
#include "report/metrics/metrics.h"
#include "report/formats/progress.h"
#include "control/service.h"
#include "report/sinks/writer.h"

struct reporter_params {
	struct writer *writer;
	struct progress *progress;
	struct metrics *metrics;     /* metrics to update; NULL: none */
	struct recent *recent;       /* recent epochs; NULL: disabled */
	const struct notify *notify; /* service manager; NULL: none */
	uint64_t first_epoch;        /* number of the first epoch */
};

/* Packets shed by the sketches of a measurement, over all its keys and sketches. */
struct reporter_shed {
	char name[64];
	uint64_t packets;
};

struct reporter_result {
	uint64_t epochs;   /* number of epochs with packets */
	struct ledger sum; /* sum of their ledgers, without packets shed by sketches */
	/* The first measurements that shed; the last entry is the sum of all others. */
	struct reporter_shed shed[CONFIG_MEASUREMENTS_MAX + 1];
	uint32_t nb_shed;
	bool several;                   /* some epoch had several measurements */
	double worst_rate;              /* largest share of packets lost in an epoch, 0 to 1 */
	uint64_t worst_epoch;           /* epoch of worst_rate */
	bool forwards;                  /* --forward is set */
	struct forwarded_sum forwarded; /* result of forwarding */
	bool port_gone;                 /* removal of a port ended the run */
	bool out_of_memory;             /* an epoch could not be reported */
	bool generated;                 /* time stamps are generated; rates are meaningless */
	uint64_t wall, cpu;             /* ns from the first to the last packet; ns of all CPUs */
};

struct reporter;

/*
 * Allocates all memory for reports. Returns NULL if out of memory. profile: known packet costs for
 * --overload; must outlive the reporter.
 */
struct reporter *reporter_create(struct run *run, const struct profile *profile);
void reporter_destroy(struct reporter *reporter);

/* Runs from run_start() until the last report is passed to the writer. Call once. */
struct reporter_result reporter_run(
	struct reporter *reporter, const struct reporter_params *params);
