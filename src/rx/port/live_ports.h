/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* All ports of a run, from the texts of --port until their links are up */

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "rx/port/port.h"

/*
 * Resolves every --port before EAL starts. Replaces the names in --port by those for DPDK. `names`
 * has room for all ports. Returns false with one line in error[PORT_DEVICE_MAX] if a name is not
 * available, or two names are the same device.
 */
bool live_ports_resolve(struct port_name *names, struct config *config, char *error);

/*
 * Resolves one more port. Appends it to `names`, which live_ports_resolve() filled, unless it is
 * already there. Returns false with an error like live_ports_resolve().
 */
bool live_ports_resolve_beside(
	struct port_name *names, struct config *config, const char *spec, char *error);

/* Returns the minimum mbuf bytes for all ports, with headroom; 0: any. */
uint32_t live_ports_mbuf_room(const struct port_name *names, uint32_t nb_ports);

/* Returns the number of chained mbufs per frame with --mtu; 1 without it. */
uint32_t live_ports_frame_mbufs(const struct config *config, uint32_t mbuf_bytes);
/*
 * Returns the mbuf bytes, with headroom, for frames of --mtu on a device without scattering.
 * Returns 0 without --mtu. For --mtu max, assumes PORT_MTU_MAX_UNCHAINED.
 */
uint32_t live_ports_mtu_room(const struct config *config);

/* Logs the messages of a started port. A second call logs nothing. */
void live_ports_say(struct port *port);

/*
 * Waits for links as set by --wait-link, or warns about links that are down. Returns false with one
 * line in error[PORT_ERROR_MAX] on timeout. A signal ends the wait without an error.
 */
bool live_ports_await(
	const struct port *ports, uint32_t nb_ports, const struct config *config, char *error);
