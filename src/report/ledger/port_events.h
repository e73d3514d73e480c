/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Polls the live ports of a run and logs link changes and removals. */

#include <stdbool.h>
#include <stdint.h>

#include "report/ledger/ledger.h"
#include "rx/port/link_monitor.h"

struct port_events {
	struct link_monitor watches[OPTION_LIST_MAX]; /* [run->nb_ports] */
	const struct run *run;
	int64_t looked; /* monotonic ns; last check */
};

void port_events_start(struct port_events *log, const struct run *run);

/*
 * Checks the links twice a second. Logs changes and updates the loss counters in `state`. Call it
 * often. now: monotonic ns. epoch: number of the open epoch. If a port was removed, returns false;
 * later calls return true again.
 */
bool port_events_look(
	struct port_events *log, int64_t now, uint64_t epoch, struct ledger_state *state);
