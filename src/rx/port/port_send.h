/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "rx/port/kernel_interface.h"

#define PORT_SEND_DESCRIPTORS 1024

/* Written by the reporter thread, read by the sending threads */
struct port_send {
	/* Bytes without FCS: of any frame, and of one with a VLAN tag */
	_Atomic uint32_t longest, longest_tagged;
	_Atomic bool down;
	bool chains; /* packets may be chains of mbufs */
	/* These packet sockets send only on request. Most drivers have none. */
	struct kernel_sockets sockets;
};

/* Called by the reporter thread */
static inline void port_send_link(struct port_send *send, bool up)
{
	atomic_store_explicit(&send->down, !up, memory_order_relaxed);
}
