/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Simulates routers on the path of packets, and their flow exports. All choices are integer
 * arithmetic with a seed. The clock is that of the packets.
 *
 * Each router has a link to every other router, and networks of its own: each /24 (IPv6: /120)
 * belongs to one router. A packet enters at the router of its source network. It leaves at the
 * router of its destination network, or at the next router if both networks have the same one. The
 * two networks also determine the interfaces and the routers in between.
 */

#include <stdint.h>

#include "flow_protocols/flow_protocol.h"
#include "rx/source.h"

#define ROUTERS_MAX 64

/* SNMP indexes of the interfaces to networks. The interface to router s has index s + 1. */
#define ROUTER_EDGE_FIRST 101
#define ROUTER_EDGES      4u

/* Timers, as in many routers by default. */
#define ROUTER_ACTIVE_NS         (10 * INT64_C(1000000000)) /* active timeout of a flow, ns */
#define ROUTER_IDLE_NS           (5 * INT64_C(1000000000))  /* idle timeout of a flow, ns */
#define ROUTER_TICK_NS           INT64_C(1000000000) /* time between checks of the flows, ns */
#define ROUTER_COUNTER_TICKS     10                  /* checks between counter samples (sFlow) */
#define ROUTER_TEMPLATE_MESSAGES 20                  /* messages between templates */
#define ROUTER_MESSAGE_NS        1000                /* shortest time between two datagrams, ns */

/* Router r has the address 192.0.2.(r + 1) (RFC 5737) and the observation domain r + 1. */
#define ROUTER_ADDRESS(r) (UINT32_C(0xc0000201) + (r))

struct routers_params {
	enum flow_protocol protocol;
	uint32_t n;        /* 1 to ROUTERS_MAX */
	uint32_t path;     /* number of routers on the path of a packet, at most n */
	uint32_t sampling; /* each router samples 1 in `sampling` packets at random; 1: all */
	uint64_t seed;
	/* Called for each datagram. `time` never decreases. */
	void (*send)(void *arg, uint32_t router, const uint8_t *data, uint32_t len, int64_t time);
	void *arg;
};

/* Returns NULL if out of memory. */
struct routers *routers_create(const struct routers_params *params);
void routers_destroy(struct routers *routers);

/*
 * Processes a packet. While routers_due() is earlier than the packet, call routers_do() first. The
 * first packet starts the clock of the routers.
 */
void routers_take(struct routers *routers, const struct source_packet *packet);

/* Declares that no packets follow. Remaining flows are exported when they are due. */
void routers_end(struct routers *routers);

/*
 * routers_due() returns the time of the next action; INT64_MAX: none, or not started. routers_do()
 * executes that action.
 */
int64_t routers_due(const struct routers *routers);
void routers_do(struct routers *routers);
