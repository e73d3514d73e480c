/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Maximum frame length of a port and its requirements: an MTU, chained mbufs, or larger mbufs. Pure
 * functions of device properties.
 */

#include <stdbool.h>
#include <stdint.h>

#include <rte_ethdev.h>

#include "config/option.h"
#include "rx/port/drivers.h"
#include "rx/port/messages.h"

#define PORT_MTU_MAX UINT32_MAX /* --mtu max */

struct frames_options {
	uint32_t mtu; /* 0: as the device has it; PORT_MTU_MAX: as much as it takes */
};

OPTION_OWNER(frames)

/*
 * Of the cards in docs/PORTS.md, about. --mtu max is no more where a frame has to fit one mbuf:
 * that memory is reserved before the device is asked.
 */
#define PORT_MTU_MAX_UNCHAINED 9978

struct port_frame_plan {
	uint16_t mtu;           /* to configure the device with */
	bool set_mtu;           /* must be set on the device, because the user gave it */
	uint64_t offloads;      /* receive offloads */
	uint32_t largest_frame; /* bytes without FCS; 0: any */
	uint32_t mbuf_room;     /* bytes that an mbuf must have, headroom included; 0: any */
};

/*
 * `current` is the MTU that the device has, `wanted` --mtu, `room` the bytes of an mbuf with its
 * headroom. Returns true, or false and one line in error[PORT_MESSAGE_MAX]: a wanted MTU that is not
 * the device's to have.
 */
bool port_frames_plan(struct port_frame_plan *plan, const char *port,
	const struct port_driver *driver, const struct rte_eth_dev_info *info, uint16_t current,
	uint32_t wanted, uint32_t room, struct port_messages *messages, char *error);
