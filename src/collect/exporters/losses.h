/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * What of the gaps in exporters' sequences was lost on our side. The kernel tells how many
 * datagrams a socket dropped, not whose: they are shared among the socket's exporters by their
 * gaps. What is left over has no gap yet, as at a burst's end; it is counted without an exporter,
 * and a gap that shows later is not counted again.
 */

#include <stdbool.h>
#include <stdint.h>

#include "flow_protocols/record.h"

struct exporter_loss {
	uint32_t slot;
	uint32_t socket;
	uint64_t gaps;                      /* datagrams */
	uint64_t lost_socket, lost_network; /* what they turn out to be */
};

#define LOSSES_REMEMBERED 60 /* epochs in which such a gap may show */

struct socket_loss {
	uint64_t dropped; /* in this epoch */
	uint64_t counted; /* in earlier ones, without an exporter */
	uint32_t epochs;  /* since then */
};

/*
 * Fills what became of the gaps of losses[n], who are all of this socket, and starts the socket's
 * next epoch. Returns what was dropped without a gap.
 */
uint64_t losses_share(struct socket_loss *socket, struct exporter_loss *losses, uint32_t n);

/* Counters of its own losses that an exporter has in options, for a few scopes. Zeroed at the start. */
#define REPORTED_SCOPES 4
struct reported_losses {
	struct {
		uint64_t scope;
		uint64_t counts[WIRE_LOST_COUNT];
		uint32_t has; /* bits of enum wire_lost; 0: unused */
	} scopes[REPORTED_SCOPES];
};

/* Losses of an exporter since the last record of the option. */
struct reported_loss {
	uint64_t packets; /* or flows, if it does not count packets */
	bool unknown;     /* packets are not all that was lost */
};

/* The first record of a scope reports nothing: its losses may be old. Nor do scopes for which there
 * is no room. */
struct reported_loss losses_reported(
	struct reported_losses *reported, const struct option_record *option);
