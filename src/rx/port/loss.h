/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Counters of received and lost packets of a device. drivers.c maps the counters of each driver to
 * ledger columns, as docs/LOSS.md explains.
 */

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
		bool begun;  /* was read at least once */
		bool silent; /* no peer is connected, so the value is not valid */
	} feeds[PORT_FEEDS_MAX];
	uint32_t nb_xstats;
	uint64_t xstats[PORT_FEEDS_MAX]; /* IDs of extended statistics */
	struct kernel_sockets sockets;
	uint64_t unread; /* packets that may be lost and are in no counter */
	/* Some counts of received or lost packets are unknown. The caller clears lost_gap. */
	bool received_gap, lost_gap;
	bool gone;     /* the device is gone and its counters are invalid */
	bool complete; /* driver->complete, and all counters of the driver's row exist */
};

/*
 * Lost packets count from the start, received packets from the opening of the device.
 * meters[nb_meters] are the meters of the previous ports.
 */
void port_meter_start(struct port_meter *meter, const struct port *port,
	const struct port_meter *meters, uint32_t nb_meters);

/* Must be called before any counter advances by half of its range. Once a second is enough. */
void port_meter_read(struct port_meter *meter);

/* Returns packets. PORT_RECEIVED may be UINT64_MAX: unknown. */
uint64_t port_meter_count(const struct port_meter *meter, enum port_column column);

/* Call it if the device is gone, because its registers then read as all ones. */
void port_meter_gone(struct port_meter *meter);

/* Call it if the peer disconnected. The packets in its rings are lost and not counted. */
void port_meter_peer_left(struct port_meter *meter);
