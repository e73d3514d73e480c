/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Simulates routers on the path of packets, and their flow exports. All choices are integer
 * arithmetic from a seed; time is that of the packets.
 *
 * Each router is linked to all others and has its own networks: each /24 (IPv6: /120) is behind one
 * router. A packet enters at the router of its source network and leaves at that of its destination
 * network or, if they are equal, at the next router. The two networks determine the routers in
 * between and the interfaces.
 */

#include <stdint.h>

#include "flow_protocols/flow_protocol.h"
#include "rx/source.h"

#define ROUTERS_MAX 64

/* Router s, from 0, is at interface s + 1. Interfaces to networks: */
#define ROUTER_EDGE_FIRST 101
#define ROUTER_EDGES      4u

/* Default timers of many routers. */
#define ROUTER_ACTIVE_NS         (10 * INT64_C(1000000000)) /* ns: active timeout of a flow */
#define ROUTER_IDLE_NS           (5 * INT64_C(1000000000))  /* ns: idle timeout of a flow */
#define ROUTER_TICK_NS           INT64_C(1000000000)        /* ns between checks of the flows */
#define ROUTER_COUNTER_TICKS     10                         /* ticks between counter samples */
#define ROUTER_TEMPLATE_MESSAGES 20   /* messages between template definitions */
#define ROUTER_MESSAGE_NS        1000 /* ns between datagrams of all routers */

/* Router r, from 0, has the address 192.0.2.(r + 1) (RFC 5737) and the domain r + 1. */
#define ROUTER_ADDRESS(r) (UINT32_C(0xc0000201) + (r))

struct routers_params {
	enum flow_protocol protocol;
	uint32_t n;        /* 1 to ROUTERS_MAX */
	uint32_t path;     /* number of routers on a path, up to n */
	uint32_t sampling; /* each router samples 1 in N packets at random; 1: all */
	uint64_t seed;
	/* Called for each datagram; times never decrease. */
	void (*send)(void *arg, uint32_t router, const uint8_t *data, uint32_t len, int64_t time);
	void *arg;
};

/* Returns NULL if out of memory. */
struct routers *routers_create(const struct routers_params *params);
void routers_destroy(struct routers *routers);

/*
 * Takes a packet. Call routers_do() first while routers_due() is earlier. The routers start with
 * the first packet.
 */
void routers_take(struct routers *routers, const struct source_packet *packet);

/* Announces the end of the packets. Remaining flows are exported when they are due. */
void routers_end(struct routers *routers);

/*
 * Returns the time of the next due action; INT64_MAX: none, or not started. routers_do() executes
 * it.
 */
int64_t routers_due(const struct routers *routers);
void routers_do(struct routers *routers);
