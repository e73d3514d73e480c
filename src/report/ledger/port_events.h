/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Logs link changes and removals of the live ports. */

#include <stdbool.h>
#include <stdint.h>

#include "report/ledger/ledger.h"
#include "rx/port/link_monitor.h"

struct port_events {
	struct link_monitor watches[OPTION_LIST_MAX];
	const struct run *run;
	int64_t looked; /* monotonic ns */
};

void port_events_start(struct port_events *log, const struct run *run);

/*
 * Checks the links twice a second, logs changes, and updates the loss counters in `state`. Returns
 * false once after a port was removed. now: monotonic ns. epoch: number of the open epoch.
 */
bool port_events_look(
	struct port_events *log, int64_t now, uint64_t epoch, struct ledger_state *state);
