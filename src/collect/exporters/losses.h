/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Splits gaps in the sequence numbers of exporters into losses of the socket and losses of the
 * network. The kernel reports the number of datagrams that a socket dropped, but not their senders.
 * They are divided among the exporters of the socket in proportion to their gaps. A gap appears
 * only with the next datagram, so the socket may have dropped more than all gaps. The excess is
 * counted without an exporter. A gap that appears later is then not counted again.
 */

#include <stdbool.h>
#include <stdint.h>

#include "flow_protocols/record.h"

struct exporter_loss {
	uint32_t slot;
	uint64_t gaps;                      /* datagrams */
	uint64_t lost_socket, lost_network; /* split of `gaps` */
};

#define LOSSES_REMEMBERED 60 /* epochs in which a late gap may appear */

struct socket_loss {
	uint64_t dropped; /* datagrams dropped in this epoch */
	uint64_t counted; /* datagrams of earlier epochs counted without an exporter */
	uint32_t epochs;  /* epochs since `counted` last grew */
};

/*
 * Splits the gaps of losses[n], all exporters of this socket, and starts the next epoch. Returns
 * the dropped datagrams without a gap.
 */
uint64_t losses_share(struct socket_loss *socket, struct exporter_loss *losses, uint32_t n);

/*
 * Loss counters that an exporter reports in options records, for up to REPORTED_SCOPES scopes. Must
 * be initialized with 0.
 */
#define REPORTED_SCOPES 4
struct reported_losses {
	struct {
		uint64_t scope;
		uint64_t counts[LOSS_COUNTER_COUNT];
		uint32_t has; /* bits of enum loss_counter; 0: unused */
	} scopes[REPORTED_SCOPES];
};

/* Losses of an exporter since its previous options record. */
struct reported_loss {
	uint64_t packets; /* lost packets; lost flows if packets are not reported */
	bool unknown;     /* more may be lost than `packets` */
};

/*
 * Returns the losses since the previous record of the same scope. The first record returns none,
 * because its losses may be old. Scopes beyond REPORTED_SCOPES are ignored.
 */
struct reported_loss losses_reported(
	struct reported_losses *reported, const struct option_record *option);
