/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Export datagrams of simulated routers in memory, with their true sums. Input of collector
 * benches.
 */

#include <stdbool.h>
#include <stdint.h>

#include "flow_protocols/flow_protocol.h"

#define EXPORTED_TEMPLATE_MESSAGES 20   /* interval of template messages */
#define EXPORTED_SAMPLING          1000 /* sampling of sFlow; the other protocols do not sample */

struct exported_spec {
	enum flow_protocol protocol;
	uint64_t flows;
	uint32_t routers; /* routers that report every flow, each in its own order */
	uint32_t cycles;  /* number of times that each router reports all flows */
	uint64_t seed;    /* determines the orders and the packets of flows, but not the flows */
};

struct exported_datagram {
	uint64_t at; /* offset in bytes[] */
	uint32_t router;
	uint32_t len;
	uint32_t sequence; /* number in its header, from 0 for each router */
	uint64_t records;  /* cumulative, this datagram included */
};

struct exported {
	struct exported_spec spec;
	uint8_t *bytes;
	struct exported_datagram *datagrams;
	uint32_t n;
	uint32_t sequence_end; /* next number of each router */
	uint64_t records;
	uint64_t packets, octets; /* sums over flows, the same for each router; not for sFlow */
};

/* Returns NULL if out of memory. */
struct exported *exported_create(const struct exported_spec *spec);
void exported_destroy(struct exported *exported);

/* Lets the sequence numbers of all routers begin at `first`. */
void exported_number(struct exported *exported, uint32_t first);
