/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Datagrams of routers in memory: what a collector is fed, with the truth about it. */

#include <stdbool.h>
#include <stdint.h>

#include "flow_protocols/flow_protocol.h"

#define EXPORTED_TEMPLATE_MESSAGES 20   /* from templates to templates */
#define EXPORTED_SAMPLING          1000 /* of sFlow; the others look at every packet */

struct exported_spec {
	enum flow_protocol protocol;
	uint64_t flows;
	uint32_t routers; /* that report each of them, each in an order of its own */
	uint32_t cycles;  /* reports of all flows by all routers, one after the other */
	uint64_t seed;    /* of the orders and of what flows are worth; flows are always the same */
};

struct exported_datagram {
	uint64_t at; /* in bytes[] */
	uint32_t router;
	uint32_t len;
	uint64_t records; /* in it and those before it */
};

struct exported {
	struct exported_spec spec;
	uint8_t *bytes;
	struct exported_datagram *datagrams;
	uint32_t n;
	uint64_t records;
	uint64_t packets, octets; /* that flows had: the same of each router. Not of sFlow */
};

/* NULL: there is no memory. */
struct exported *exported_create(const struct exported_spec *spec);
void exported_destroy(struct exported *exported);
