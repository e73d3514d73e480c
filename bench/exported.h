/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Export datagrams of simulated routers, in memory, with the true sums of their flows. */

#include <stdbool.h>
#include <stdint.h>

#include "flow_protocols/flow_protocol.h"

#define EXPORTED_TEMPLATE_MESSAGES 20 /* messages from one template message to the next */
#define EXPORTED_SAMPLING          1000

struct exported_spec {
	enum flow_protocol protocol;
	uint64_t flows;
	uint32_t routers; /* each reports every flow in its own order */
	uint32_t cycles;  /* times that each router reports all flows */
	uint64_t seed;
};

struct exported_datagram {
	uint64_t at;
	uint32_t router;
	uint32_t len;
	uint32_t sequence; /* 0 in the first datagram of each router */
	uint64_t records;
};

struct exported {
	struct exported_spec spec;
	uint8_t *bytes;
	struct exported_datagram *datagrams;
	uint32_t n;
	uint32_t sequence_end;
	uint64_t records;
	/* sums over all flows, as each router reports them; not set for sFlow */
	uint64_t packets, octets;
};

struct exported *exported_create(const struct exported_spec *spec);
void exported_destroy(struct exported *exported);

/* The first datagram of each router gets sequence number `first`. */
void exported_number(struct exported *exported, uint32_t first);
