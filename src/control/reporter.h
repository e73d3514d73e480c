/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * The reporter lcore: tells the time on live ports, closes epochs, merges and ranks what the
 * workers counted, balances the ledger, and hands the result to the writer. It sleeps between; it
 * is never on the packet path.
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
	struct recent *recent;       /* recent epochs; NULL: not needed */
	const struct notify *notify; /* the service manager; NULL: there is none */
	uint64_t first_epoch;        /* the number that the first epoch gets */
};

/* Packets shed by the sketches of a measurement, over all its keys and sketches. */
struct reporter_shed {
	char name[64];
	uint64_t packets;
};

struct reporter_result {
	uint64_t epochs;   /* epochs with packets */
	struct ledger sum; /* sum of their ledgers, without packets shed by sketches */
	/* The first that did; the last entry is of all others. */
	struct reporter_shed shed[CONFIG_MEASUREMENTS_MAX + 1];
	uint32_t nb_shed;
	bool several;                   /* an epoch had several measurements */
	double worst_rate;              /* the largest share of its packets that an epoch lost */
	uint64_t worst_epoch;           /* number of that epoch */
	bool forwards;                  /* --forward, */
	struct forwarded_sum forwarded; /* result of forwarding */
	bool port_gone;                 /* a port vanished, which ended the run */
	bool out_of_memory;             /* an epoch could not be reported */
	bool generated;                 /* time stamps are, so that no rate follows from them */
	uint64_t wall, cpu;             /* ns from the first packet to the last, and of all CPUs */
};

struct reporter;

/*
 * Allocates all memory of reporting. Returns NULL if out of memory. profile: known packet costs for
 * --overload; must outlive the reporter.
 */
struct reporter *reporter_create(struct run *run, const struct profile *profile);
void reporter_destroy(struct reporter *reporter);

/* Runs from run_start() until the last epoch is handed over. Once. */
struct reporter_result reporter_run(
	struct reporter *reporter, const struct reporter_params *params);
