/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Builds the ledger of an epoch from the counters of workers, receiving cores and devices. */

#include <stdbool.h>
#include <stdint.h>

#include "config/option.h"
#include "parallel/run/run.h"
#include "report/rows/report.h"
#include "rx/port/loss.h"

struct ledger_options {
	/* Shares of packets; above them the exit status is 1. 1: no limit. */
	double max_loss; /* limit of the lost share */
	double max_skip; /* limit of the skipped share */
};

OPTION_OWNER(ledger)

struct ledger_state {
	const struct run *run;
	struct port_meter meters[OPTION_LIST_MAX]; /* [run->nb_ports] */
	uint64_t told[PORT_COLUMN_COUNT]; /* packets; device counters included in ledgers so far */
	int64_t sampled;                  /* monotonic ns; last read of the devices */
};

/* Call it before the run starts. Earlier losses of the devices are not counted. */
void ledger_start(struct ledger_state *state, const struct run *run);

/*
 * Reads the device counters once a second, so that no counter wraps unnoticed in a long epoch. Call
 * it often. now: monotonic ns.
 */
void ledger_sample(struct ledger_state *state, int64_t now);

/*
 * Returns the ledger of a closed epoch. Call it for each epoch, oldest first. `last`: all queues
 * are empty.
 */
struct ledger ledger_epoch(
	struct ledger_state *state, uint64_t epoch, const struct epoch_info *info, bool last);

/* Returns packets that the devices received since they were opened, plus datagrams of sockets. */
uint64_t ledger_devices_received(const struct ledger_state *state);
