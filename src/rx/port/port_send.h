/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* What a port that packets leave by (--forward) can send, for who gives it packets. */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "rx/port/kernel_interface.h"

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

/* The reporter: its link is up, or not. */
static inline void port_send_link(struct port_send *send, bool up)
{
	atomic_store_explicit(&send->down, !up, memory_order_relaxed);
}
