/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <rte_ethdev.h>

#include "config/option.h"
#include "rx/port/drivers.h"
#include "rx/port/messages.h"

#define PORT_MTU_MAX UINT32_MAX

struct frames_options {
	uint32_t mtu; /* 0: MTU of the device; PORT_MTU_MAX: the largest one */
};

OPTION_OWNER(frames)

/*
 * Mbufs are allocated before a device reports its limit, so --mtu max uses this limit
 * (docs/PORTS.md).
 */
#define PORT_MTU_MAX_UNCHAINED 9978

struct port_frame_plan {
	uint16_t mtu;
	bool set_mtu; /* the user gave the MTU, so it must be set on the device */
	uint64_t offloads;
	uint32_t largest_frame; /* bytes without FCS; 0: any */
	uint32_t mbuf_room;     /* minimum mbuf bytes with headroom; 0: any */
};

/*
 * `current` is the MTU of the device, `wanted` is --mtu, and `room` are the bytes of an mbuf with
 * headroom. Returns false with one line in error[PORT_MESSAGE_MAX] if the device does not support
 * --mtu.
 */
bool port_frames_plan(struct port_frame_plan *plan, const char *port,
	const struct port_driver *driver, const struct rte_eth_dev_info *info, uint16_t current,
	uint32_t wanted, uint32_t room, struct port_messages *messages, char *error);
