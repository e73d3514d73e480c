/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* What a device's counters mean, and what they say that it lost. */

#include <stdbool.h>
#include <stdint.h>

struct port;

/* Which driver is which: the table in port_loss.c. */
struct port_driver {
	const char *name;
	bool counts_losses;   /* imissed and ierrors tell every packet it lost */
	bool no_mbuf_is_loss; /* rx_nombuf counts packets, not allocations that were tried again */
};

/* The device's counters since it was opened. */
struct port_losses {
	uint64_t received; /* as the device counts */
	bool received_known;
	uint64_t missed, errors, no_mbuf;
};

/* Never NULL: a driver that is not known is like most. */
const struct port_driver *port_driver_find(const char *name);

/* False where the device does not answer. */
bool port_losses(const struct port *port, struct port_losses *losses);
