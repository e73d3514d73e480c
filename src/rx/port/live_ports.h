/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* The ports of a run, all of them, from the words of --port to links that are up. */

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "rx/port/port.h"

/*
 * Resolves every --port before EAL is up, and puts into the names of --port what DPDK is to be asked for.
 * `names` has room for as many as there are. False and one line in error[PORT_DEVICE_MAX] where a name
 * is not to be had or two are one device.
 */
bool live_ports_resolve(struct port_name *names, struct config *config, char *error);

/*
 * Resolves one more port, which may be one of those: then nothing changes, else it is put behind
 * them. As live_ports_resolve(), of which `names` are.
 */
bool live_ports_resolve_beside(
	struct port_name *names, struct config *config, const char *spec, char *error);

/* The largest mbuf that one of them must have, headroom included; 0: any does. */
uint32_t live_ports_mbuf_room(const struct port_name *names, uint32_t nb_ports);

/* Returns the chained mbufs of usual size per frame under --mtu; 1 without it. */
uint32_t live_ports_frame_mbufs(const struct config *config, uint32_t mbuf_bytes);
/*
 * Returns the mbuf bytes, with headroom, for frames of --mtu on a device without scattering; 0
 * without --mtu. Devices report their largest MTU later.
 */
uint32_t live_ports_mtu_room(const struct config *config);

/* Says what is to be known of a port that was probed and started, once. */
void live_ports_say(struct port *port);

/*
 * Waits for links as set by --wait-link, or warns about those that are down. Returns false with one
 * line in error[PORT_ERROR_MAX] on timeout; a signal ends the wait without an error.
 */
bool live_ports_await(
	const struct port *ports, uint32_t nb_ports, const struct config *config, char *error);
