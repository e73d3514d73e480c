/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Simulates routers on the path of packets, and their flow exports. The clock is that of the
 * packets.
 *
 * Each router has a link to every other router, and each /24 (IPv6: /120) belongs to one router. A
 * packet enters at the router of its source network and leaves at the router of its destination
 * network, or at the next router if both are the same.
 */

#include <stdint.h>

#include "flow_protocols/flow_protocol.h"
#include "rx/source.h"

#define ROUTERS_MAX 64

/* SNMP indexes of interfaces to networks. The interface to router s has index s + 1. */
#define ROUTER_EDGE_FIRST 101
#define ROUTER_EDGES      4u

#define ROUTER_ACTIVE_NS         (10 * INT64_C(1000000000))
#define ROUTER_IDLE_NS           (5 * INT64_C(1000000000))
#define ROUTER_TICK_NS           INT64_C(1000000000)
#define ROUTER_COUNTER_TICKS     10
#define ROUTER_TEMPLATE_MESSAGES 20
#define ROUTER_MESSAGE_NS        1000

/* Address 192.0.2.(r + 1) (RFC 5737) of router r. */
#define ROUTER_ADDRESS(r) (UINT32_C(0xc0000201) + (r))

struct routers_params {
	enum flow_protocol protocol;
	uint32_t n;
	uint32_t path;     /* routers per packet, at most n */
	uint32_t sampling; /* each router samples 1 in `sampling` packets at random */
	uint64_t seed;
	/* `time` never decreases. */
	void (*send)(void *arg, uint32_t router, const uint8_t *data, uint32_t len, int64_t time);
	void *arg;
};

struct routers *routers_create(const struct routers_params *params);
void routers_destroy(struct routers *routers);

/* Call routers_do() before, while routers_due() is earlier than the packet. */
void routers_take(struct routers *routers, const struct source_packet *packet);

/* No packets follow. Remaining flows are exported when they are due. */
void routers_end(struct routers *routers);

/* Time of the next action of routers_do(); INT64_MAX: none. */
int64_t routers_due(const struct routers *routers);
void routers_do(struct routers *routers);
