/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "rx/port/port.h"

/* The port must be started. Adds warnings to port->messages. */
void port_sending_start(struct port *port);

/* The MTU may change. Called by the reporter thread. */
void port_sending_look(struct port *port);

void port_sending_sockets(
	const struct port *port, uint32_t interface, struct kernel_sockets *sockets);

struct port_sent {
	const struct port *port;
	bool begun;
	bool gap; /* some counts are lost */
	uint64_t sent_read, unsent_read;
	/* Packets since the start; unsent: accepted, then discarded */
	uint64_t sent, unsent;
};

void port_sent_start(struct port_sent *sent, const struct port *port);
void port_sent_read(struct port_sent *sent);

/* True if the device counts packets as soon as it accepts them */
bool port_sent_is_exact(const struct port_sent *sent);
