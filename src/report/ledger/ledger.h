/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* The account of packets: what workers, receiver and devices counted, as the ledger of an epoch. */

#include <stdbool.h>
#include <stdint.h>

#include "config/option.h"
#include "parallel/run/run.h"
#include "report/rows/report.h"
#include "rx/port/loss.h"

struct ledger_options {
	/* Shares of packets from which on the exit status is 1; 1: any. */
	double max_loss; /* limit of the lost share */
	double max_skip; /* limit of the skipped share */
};

OPTION_OWNER(ledger)

struct ledger_state {
	const struct run *run;
	struct port_meter meters[OPTION_LIST_MAX]; /* [run->nb_ports] */
	uint64_t told[PORT_COLUMN_COUNT];          /* device counters included in ledgers so far */
	int64_t sampled; /* monotonic ns, when the devices were last read */
};

/* Before the run starts: what the devices lost so far belongs to no epoch. */
void ledger_start(struct ledger_state *state, const struct run *run);

/*
 * Reads the devices' counters where a second has passed since that was last done, so that none
 * wraps unseen however long an epoch is. Call often. now: monotonic ns.
 */
void ledger_sample(struct ledger_state *state, int64_t now);

/* The ledger of a closed epoch, oldest first; `last`: all queues are empty. */
struct ledger ledger_epoch(
	struct ledger_state *state, uint64_t epoch, const struct epoch_info *info, bool last);

/* Packets that the devices have counted as received since they were opened, and datagrams of
 * sockets. */
uint64_t ledger_devices_received(const struct ledger_state *state);
