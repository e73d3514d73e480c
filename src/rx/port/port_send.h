/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * A port that packets leave by (--forward): what it can send, and what its device says to have sent.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "rx/port/kernel_interface.h"

struct port;
struct rte_eth_dev_info;

/* Entries of a send ring, where there must be one: any number that drivers take. */
#define PORT_SEND_DESCRIPTORS 1024

/* What the next packet may be. Written by the reporter, read by who sends. */
struct port_send {
	/* Bytes without FCS of the longest frame, and of one with a VLAN tag. */
	_Atomic uint32_t longest, longest_tagged;
	_Atomic bool down; /* its link */
	bool chains;       /* it sends chains of segments; else none is given to it */
	/* Of a packet socket, which sends what lies in it only when it is asked; else none. */
	struct kernel_sockets sockets;
};

/* The offloads of a port that is to send what others receive; with `scatters` chains may come. */
uint64_t port_send_offloads(const struct rte_eth_dev_info *info, bool scatters);

/* Once the port is started: says in port->messages what of the packets will not get out as it came. */
void port_send_start(struct port *port, const struct rte_eth_dev_info *info);

/* The reporter: looks again at its MTU, which may change. */
void port_send_look(struct port *port);

/* The reporter: its link is up, or not. */
static inline void port_send_link(struct port_send *send, bool up)
{
	atomic_store_explicit(&send->down, !up, memory_order_relaxed);
}

/* What a device counts of the packets that it was given. */
struct port_sent {
	const struct port *port;
	bool begun;
	bool gap; /* it began again, or did not answer: some of its counts are lost */
	uint64_t sent_read, unsent_read; /* as they were read last */
	uint64_t sent, unsent;           /* since the start; unsent: taken, and given up */
};

void port_sent_start(struct port_sent *sent, const struct port *port);
void port_sent_read(struct port_sent *sent);

/* Whether the device counts all that it took as soon as it took it. */
bool port_sent_is_exact(const struct port_sent *sent);
