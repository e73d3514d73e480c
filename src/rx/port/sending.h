/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "rx/port/port.h"

/* Call it after the start of the port. Adds warnings to port->messages. */
void port_sending_start(struct port *port);

/* Follows changes of the MTU. Called by the reporter thread. */
void port_sending_look(struct port *port);

void port_sending_sockets(
	const struct port *port, uint32_t interface, struct kernel_sockets *sockets);

struct port_sent {
	const struct port *port;
	bool begun;
	bool gap; /* a counter was reset or could not be read, so some counts are lost */
	uint64_t sent_read, unsent_read;
	/* Packets since the start. The device accepted `unsent` packets, but discarded them. */
	uint64_t sent, unsent;
};

void port_sent_start(struct port_sent *sent, const struct port *port);
void port_sent_read(struct port_sent *sent);

/* Returns true if the device counts packets as soon as it accepts them. */
bool port_sent_is_exact(const struct port_sent *sent);
