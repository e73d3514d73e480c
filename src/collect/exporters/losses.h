/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Splits gaps in sequence numbers into losses of the socket and of the network. The kernel counts
 * the datagrams that a socket dropped, but not their senders, so they are divided in proportion to
 * the gaps. A gap appears only with the next datagram: drops beyond all gaps are counted without an
 * exporter, and a later gap for them is not counted again.
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
	uint64_t dropped;
	uint64_t counted; /* datagrams of earlier epochs counted without an exporter */
	uint32_t epochs;  /* epochs since `counted` last grew */
};

/* losses[n]: all exporters of the socket. Returns the dropped datagrams without a gap. */
uint64_t losses_share(struct socket_loss *socket, struct exporter_loss *losses, uint32_t n);

/* Initialize with 0. */
#define REPORTED_SCOPES 4
struct reported_losses {
	struct {
		uint64_t scope;
		uint64_t counts[LOSS_COUNTER_COUNT];
		uint32_t has; /* enum loss_counter bits; 0: unused */
	} scopes[REPORTED_SCOPES];
};

struct reported_loss {
	uint64_t packets; /* flows if packets are not reported */
	bool unknown;     /* more may be lost than `packets` */
};

/* The first record of a scope returns no losses, because they may be old. */
struct reported_loss losses_reported(
	struct reported_losses *reported, const struct option_record *option);
