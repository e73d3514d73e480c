/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * The reporter thread ends epochs, merges the results of workers, accounts for every packet, and
 * passes the report to the writer. On live ports, it also publishes the time to workers.
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
	struct metrics *metrics;
	struct recent *recent;
	const struct notify *notify;
	uint64_t first_epoch;
};

/* Packets that only this measurement left out under overload, also before it was changed. */
struct reporter_shed {
	char name[64];
	uint64_t packets;
};

struct reporter_result {
	uint64_t epochs; /* epochs with packets */
	struct ledger sum;
	/* The last entry sums up all measurements for which there was no other. */
	struct reporter_shed shed[CONFIG_MEASUREMENTS_MAX + 1];
	uint32_t nb_shed;
	bool several;      /* an epoch had several measurements */
	double worst_rate; /* largest share of lost packets in an epoch */
	uint64_t worst_epoch;
	bool forwards;
	struct forwarded_sum forwarded;
	bool port_gone;     /* the run ended because a port was removed */
	bool out_of_memory; /* an epoch could not be reported */
	bool generated;     /* time stamps are generated, so rates mean nothing */
	uint64_t wall, cpu; /* wall clock and CPU time, ns */
};

struct reporter;

/* Returns NULL if out of memory. `profile` must outlive the reporter. */
struct reporter *reporter_create(struct run *run, const struct profile *profile);
void reporter_destroy(struct reporter *reporter);

/* Returns when the last report was passed to the writer. Call it once. */
struct reporter_result reporter_run(
	struct reporter *reporter, const struct reporter_params *params);
