/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Send capabilities of a port (--forward), for the sending threads */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "rx/port/kernel_interface.h"

/* Entries of a send ring; supported by all drivers */
#define PORT_SEND_DESCRIPTORS 1024

/* Limits of the next packet. Written by the reporter. Read by the sending threads. */
struct port_send {
	/* Maximum frame bytes without FCS, and those of a frame with a VLAN tag */
	_Atomic uint32_t longest, longest_tagged;
	_Atomic bool down; /* its link is down */
	bool chains;       /* chains of segments are supported */
	/* Packet sockets, which send their packets only on request; else none */
	struct kernel_sockets sockets;
};

/* Sets the link status. Called by the reporter. */
static inline void port_send_link(struct port_send *send, bool up)
{
	atomic_store_explicit(&send->down, !up, memory_order_relaxed);
}
