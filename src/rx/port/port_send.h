/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Limits of the packets that a port can send (--forward) */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "rx/port/kernel_interface.h"

/* all drivers support this number */
#define PORT_SEND_DESCRIPTORS 1024

/* Written by the reporter thread, read by the sending threads */
struct port_send {
	/* Maximum frame bytes without FCS: of any frame, and of one with a VLAN tag */
	_Atomic uint32_t longest, longest_tagged;
	_Atomic bool down; /* its link is down */
	bool chains;       /* packets may be chains of mbufs */
	/* Packet sockets of the driver, which send only on request; empty for other drivers */
	struct kernel_sockets sockets;
};

/* Called by the reporter thread */
static inline void port_send_link(struct port_send *send, bool up)
{
	atomic_store_explicit(&send->down, !up, memory_order_relaxed);
}
