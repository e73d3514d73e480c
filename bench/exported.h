/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Export datagrams of simulated routers, in memory, with the true sums of their flows. Used as
 * input by the benches of the collector.
 */

#include <stdbool.h>
#include <stdint.h>

#include "flow_protocols/flow_protocol.h"

#define EXPORTED_TEMPLATE_MESSAGES 20 /* number of messages from one template message to the next */
/* sampling interval of sFlow; the other protocols do not sample */
#define EXPORTED_SAMPLING          1000

struct exported_spec {
	enum flow_protocol protocol;
	uint64_t flows;
	uint32_t routers; /* routers, each of which reports every flow in its own order */
	uint32_t cycles;  /* number of times that each router reports all flows */
	uint64_t seed;    /* seed of the order of flows and their packets, not of the flows */
};

struct exported_datagram {
	uint64_t at; /* offset in bytes[] */
	uint32_t router;
	uint32_t len;
	uint32_t sequence; /* number in the header; 0 in the first datagram of each router */
	uint64_t records;  /* records of this router up to this datagram */
};

struct exported {
	struct exported_spec spec;
	uint8_t *bytes;
	struct exported_datagram *datagrams;
	uint32_t n;
	uint32_t sequence_end; /* next sequence number of each router */
	uint64_t records;
	/* sums over all flows, equal for each router; not set for sFlow */
	uint64_t packets, octets;
};

/* Returns NULL if out of memory. */
struct exported *exported_create(const struct exported_spec *spec);
void exported_destroy(struct exported *exported);

/* Sets the sequence number of the first datagram of each router to `first`. */
void exported_number(struct exported *exported, uint32_t first);
