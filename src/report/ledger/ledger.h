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
	/*
	 * Limits of the shares of lost and of skipped packets. If a share is above its limit, the
	 * exit status is 1. A limit of 1 never applies.
	 */
	double max_loss;
	double max_skip;
};

OPTION_OWNER(ledger)

struct ledger_state {
	const struct run *run;
	struct port_meter meters[OPTION_LIST_MAX]; /* [run->nb_ports] */
	/* values of the device counters at the previous ledger, in packets */
	uint64_t told[PORT_COLUMN_COUNT];
	int64_t sampled; /* monotonic ns; last read of the devices */
};

/* Call it before the run starts. Packets that the devices lost before this call do not count. */
void ledger_start(struct ledger_state *state, const struct run *run);

/*
 * Reads the device counters if the last time was at least a second ago, so that no counter wraps
 * unnoticed in a long epoch. Call it often. now: monotonic ns.
 */
void ledger_sample(struct ledger_state *state, int64_t now);

/*
 * Returns the ledger of a closed epoch. Call it for each epoch, oldest first. last: true if all
 * queues are empty, at the end of the run.
 */
struct ledger ledger_epoch(
	struct ledger_state *state, uint64_t epoch, const struct epoch_info *info, bool last);

/*
 * Returns the packets that the devices received since they were opened, plus the datagrams that
 * sockets received.
 */
uint64_t ledger_devices_received(const struct ledger_state *state);
