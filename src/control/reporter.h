/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Reporter: the thread that ends epochs, merges and ranks the results of workers, checks that every
 * packet is accounted for, and passes the report to the writer. On live ports, it also publishes
 * the time to workers. Sleeps between these tasks; never on the packet path.
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

/* Packets that only this measurement left out under overload, also before it was changed. */
struct reporter_shed {
	char name[64];
	uint64_t packets;
};

struct reporter_result {
	uint64_t epochs;   /* number of epochs with packets */
	struct ledger sum; /* packet counts of the run; not those of `shed` */
	/* The first measurements that left out packets. The last entry sums up all others. */
	struct reporter_shed shed[CONFIG_MEASUREMENTS_MAX + 1];
	uint32_t nb_shed;
	bool several;                   /* there were several measurements in at least one epoch */
	double worst_rate;              /* largest share of lost packets in an epoch, 0 to 1 */
	uint64_t worst_epoch;           /* epoch of worst_rate */
	bool forwards;                  /* --forward is set */
	struct forwarded_sum forwarded; /* result of forwarding */
	bool port_gone;                 /* the run ended because a port was removed */
	bool out_of_memory;             /* an epoch could not be reported */
	bool generated;     /* timestamps are synthetic, so rates by time are meaningless */
	uint64_t wall, cpu; /* wall clock time and CPU time of the run, ns */
};

struct reporter;

/*
 * Allocates all memory for reports. Returns NULL if out of memory. profile: packet costs of this
 * host, for --overload; must outlive the reporter.
 */
struct reporter *reporter_create(struct run *run, const struct profile *profile);
void reporter_destroy(struct reporter *reporter);

/* Runs from run_start() until the last report is passed to the writer. Call once. */
struct reporter_result reporter_run(
	struct reporter *reporter, const struct reporter_params *params);
