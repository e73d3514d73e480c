/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Routers that packets pass, and the datagrams that they export about them. Every choice is made
 * with integers from a seed; time is that of the packets.
 *
 * Each router is joined to each other, and has networks of its own behind its edge: a /24 (IPv6: a
 * /120) is behind one of them. A packet enters at the router of its source's network and leaves at
 * that of its destination's or, where that is the same, at the next router; what is between is
 * fixed by the two networks. So is the edge interface.
 */

#include <stdint.h>

#include "flow_protocols/flow_protocol.h"
#include "rx/source.h"

#define ROUTERS_MAX 64

/* Interface of a router to router s, counted from 0: s + 1. Those to its networks: */
#define ROUTER_EDGE_FIRST 101
#define ROUTER_EDGES      4u

/* As many routers are set up, or nearly. */
#define ROUTER_ACTIVE_NS         (10 * INT64_C(1000000000)) /* a flow is exported after */
#define ROUTER_IDLE_NS           (5 * INT64_C(1000000000))  /* or after so long a silence */
#define ROUTER_TICK_NS           INT64_C(1000000000)        /* between two looks at the flows */
#define ROUTER_COUNTER_TICKS     10   /* between two looks at the interfaces' counters */
#define ROUTER_TEMPLATE_MESSAGES 20   /* from templates to templates */
#define ROUTER_MESSAGE_NS        1000 /* from datagram to datagram, of all routers */

/* Router r, counted from 0, has the address 192.0.2.(r + 1) (RFC 5737) and the domain r + 1. */
#define ROUTER_ADDRESS(r) (UINT32_C(0xc0000201) + (r))

struct routers_params {
	enum flow_protocol protocol;
	uint32_t n;        /* 1 to ROUTERS_MAX */
	uint32_t path;     /* routers that a packet passes, up to n */
	uint32_t sampling; /* each looks at one of so many packets, at random; 1: at all */
	uint64_t seed;
	/* A datagram leaves; times never go back. */
	void (*send)(void *arg, uint32_t router, const uint8_t *data, uint32_t len, int64_t time);
	void *arg;
};

/* NULL: there is no memory. */
struct routers *routers_create(const struct routers_params *params);
void routers_destroy(struct routers *routers);

/* A packet comes; what was due before must have been done. The routers start with the first. */
void routers_take(struct routers *routers, const struct source_packet *packet);

/* No packet comes any more: what is left is exported when it is due. */
void routers_end(struct routers *routers);

/* When something is due that no packet causes; INT64_MAX: never again, or not started. */
int64_t routers_due(const struct routers *routers);
void routers_do(struct routers *routers);
