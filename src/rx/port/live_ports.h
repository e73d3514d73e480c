/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "rx/port/port.h"

/*
 * Resolves every --port before EAL starts, and sets the names in `config` to those for DPDK.
 * `names` has room for all ports. Returns false with one line in error[PORT_DEVICE_MAX].
 */
bool live_ports_resolve(struct port_name *names, struct config *config, char *error);

/* Resolves one more port, and appends it to `names` unless it is there. */
bool live_ports_resolve_beside(
	struct port_name *names, struct config *config, const char *spec, char *error);

/* Returns the minimum mbuf bytes with headroom; 0: any. */
uint32_t live_ports_mbuf_room(const struct port_name *names, uint32_t nb_ports);

/* Returns the number of chained mbufs per frame with --mtu; 1 without --mtu. */
uint32_t live_ports_frame_mbufs(const struct config *config, uint32_t mbuf_bytes);
/* Returns mbuf bytes with headroom for frames of --mtu in one mbuf; 0 without --mtu. */
uint32_t live_ports_mtu_room(const struct config *config);

/* Logs and clears the messages of a started port. */
void live_ports_say(struct port *port);

/* Returns false with one line in error[PORT_ERROR_MAX] if --wait-link timed out. */
bool live_ports_await(
	const struct port *ports, uint32_t nb_ports, const struct config *config, char *error);
