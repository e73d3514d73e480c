/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Builds the packet counts of an epoch from the counters of workers, receiving cores and devices.
 */

#include <stdbool.h>
#include <stdint.h>

#include "config/option.h"
#include "parallel/run/run.h"
#include "report/rows/report.h"
#include "rx/port/loss.h"

struct ledger_options {
	/* The exit status is 1 if a share of lost or skipped packets is above its limit. */
	double max_loss;
	double max_skip;
};

OPTION_OWNER(ledger)

struct ledger_state {
	const struct run *run;
	struct port_meter meters[OPTION_LIST_MAX];
	/* device counters at the end of the previous epoch, in packets */
	uint64_t told[PORT_COLUMN_COUNT];
	int64_t sampled; /* monotonic ns; last read of the devices */
};

/* Call it before the run starts. Earlier losses of the devices do not count. */
void ledger_start(struct ledger_state *state, const struct run *run);

/*
 * Reads the device counters once a second, so that no counter wraps unnoticed. now: monotonic ns.
 */
void ledger_sample(struct ledger_state *state, int64_t now);

/* Call it for each closed epoch, oldest first. last: the run has ended and all queues are empty. */
struct ledger ledger_epoch(
	struct ledger_state *state, uint64_t epoch, const struct epoch_info *info, bool last);

/* Returns the packets of devices since they were opened, plus the datagrams of sockets. */
uint64_t ledger_devices_received(const struct ledger_state *state);
