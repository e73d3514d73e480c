/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Ports that packets leave by (--forward): what they send, and what their devices say of it. */

#include <stdbool.h>
#include <stdint.h>

#include "rx/port/port.h"

/*
 * Once the port is started: finds out what it can send, and says in port->messages what of the
 * packets will not get out as it came.
 */
void port_sending_start(struct port *port);

/* The reporter: looks again at its MTU, which may change. */
void port_sending_look(struct port *port);

/* Finds the sockets of the port's sending driver on interface number `interface`. */
void port_sending_sockets(
	const struct port *port, uint32_t interface, struct kernel_sockets *sockets);

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
