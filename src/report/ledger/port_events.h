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
 * Checks the links twice a second, and records effects on the ledger. Call it often. now: monotonic
 * ns; epoch: number of the open epoch. Returns false once when a port is removed.
 */
bool port_events_look(
	struct port_events *log, int64_t now, uint64_t epoch, struct ledger_state *state);
