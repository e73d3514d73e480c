/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* All ports of a run, from the texts of --port until their links are up */

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "rx/port/port.h"

/*
 * Resolves every --port before EAL starts, and replaces the names in `config` by those for DPDK.
 * `names` has room for all ports. Returns false with one line in error[PORT_DEVICE_MAX] if a name
 * is not available, or two names are the same device.
 */
bool live_ports_resolve(struct port_name *names, struct config *config, char *error);

/* Resolves one more port, and appends it to `names` unless it is there. Errors are as above. */
bool live_ports_resolve_beside(
	struct port_name *names, struct config *config, const char *spec, char *error);

/* Minimum mbuf bytes for all ports, with headroom; 0: any */
uint32_t live_ports_mbuf_room(const struct port_name *names, uint32_t nb_ports);

/* Number of chained mbufs per frame with --mtu; 1 without it */
uint32_t live_ports_frame_mbufs(const struct config *config, uint32_t mbuf_bytes);
/*
 * Mbuf bytes, with headroom, for frames of --mtu on a device without scattering; 0 without --mtu.
 * For --mtu max, the frames have PORT_MTU_MAX_UNCHAINED.
 */
uint32_t live_ports_mtu_room(const struct config *config);

/* Logs and clears the messages of a started port. */
void live_ports_say(struct port *port);

/*
 * Waits for links as set by --wait-link, or warns about links that are down. Returns false with one
 * line in error[PORT_ERROR_MAX] on timeout. A signal ends the wait without an error.
 */
bool live_ports_await(
	const struct port *ports, uint32_t nb_ports, const struct config *config, char *error);
