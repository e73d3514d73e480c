/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "rx/port/kernel_interface.h"

#define PORT_SEND_DESCRIPTORS 1024

/* The reporter thread writes these limits, and the sending threads read them. */
struct port_send {
	/* Maximum frame bytes without FCS: of any frame, and of one with a VLAN tag */
	_Atomic uint32_t longest, longest_tagged;
	_Atomic bool down;
	bool chains; /* packets may be chains of mbufs */
	/* The driver's packet sockets, which send only on request; empty for most drivers */
	struct kernel_sockets sockets;
};

/* Called by the reporter thread */
static inline void port_send_link(struct port_send *send, bool up)
{
	atomic_store_explicit(&send->down, !up, memory_order_relaxed);
}
