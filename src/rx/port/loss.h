/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Counters of received and lost packets of a device (drivers.c, docs/LOSS.md) */

#include <stdbool.h>
#include <stdint.h>

#include "rx/port/device_counter.h"
#include "rx/port/drivers.h"
#include "rx/port/kernel_interface.h"

struct port;

#define PORT_FEEDS_MAX 24

struct port_meter {
	const struct port *port;
	uint32_t interface; /* index of the kernel interface; 0: none */
	uint32_t nb_feeds;
	struct port_meter_feed {
		const struct counter_mapping *feed;
		uint32_t source;
		uint64_t place; /* offset or index of the counter in its source */
		struct device_counter counter;
		bool begun;
		bool silent; /* no peer is connected, so the counter has no value */
	} feeds[PORT_FEEDS_MAX];
	uint32_t nb_xstats;
	uint64_t xstats[PORT_FEEDS_MAX];
	struct kernel_sockets sockets;
	uint64_t unread; /* packets that may be lost and are in no counter */
	/* A count of received or lost packets is unknown. The caller clears lost_gap. */
	bool received_gap, lost_gap;
	bool gone;
	bool complete; /* driver->complete, and all counters of the driver's row exist */
};

/* Lost packets count from the start, received packets from the opening of the device. */
void port_meter_start(struct port_meter *meter, const struct port *port,
	const struct port_meter *meters, uint32_t nb_meters);

/* Call it before any counter advances by half of its range, such as once a second. */
void port_meter_read(struct port_meter *meter);

/* Returns UINT64_MAX if the number of received packets is unknown. */
uint64_t port_meter_count(const struct port_meter *meter, enum port_column column);

/* After this call, counters are not read: the registers of a removed card are all ones. */
void port_meter_gone(struct port_meter *meter);

/* The packets in the rings are lost, and in no counter. */
void port_meter_peer_left(struct port_meter *meter);
