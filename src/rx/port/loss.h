/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Counters of received and lost packets of a device. Each driver has a table of its counters and
 * their ledger columns: drivers.c, explained in docs/LOSS.md.
 */

#include <stdbool.h>
#include <stdint.h>

#include "rx/port/device_counter.h"
#include "rx/port/drivers.h"
#include "rx/port/kernel_interface.h"

struct port;

#define PORT_FEEDS_MAX 24

/* Counters of a device since the start of a run */
struct port_meter {
	const struct port *port;
	uint32_t interface; /* index of the kernel interface; 0: none */
	uint32_t nb_feeds;
	struct port_meter_feed {
		const struct counter_mapping *feed;
		uint32_t source; /* enum loss_source */
		uint64_t place;  /* offset or index of the counter in its source */
		struct device_counter counter;
		bool begun;  /* it was read at least once */
		bool silent; /* no peer, so no value */
	} feeds[PORT_FEEDS_MAX];
	uint32_t nb_xstats;
	uint64_t xstats[PORT_FEEDS_MAX]; /* IDs of the extended statistics of the feeds */
	struct kernel_sockets sockets;
	uint64_t unread; /* packets that may be lost and are in no counter */
	/*
	 * Some counts are unknown: of received packets, of lost packets. The caller clears
	 * lost_gap.
	 */
	bool received_gap, lost_gap;
	bool gone;     /* the device is gone and its counters are invalid */
	bool complete; /* driver->complete, and all counters of the driver's row exist */
};

/*
 * Starts the counters. Lost packets count from the start, received packets from the opening of the
 * device. Logs warnings about missing counters. meters[nb_meters]: the meters of the previous
 * ports.
 */
void port_meter_start(struct port_meter *meter, const struct port *port,
	const struct port_meter *meters, uint32_t nb_meters);

/*
 * Reads all counters. Must be called before any counter advances by half of its range. Once a
 * second is enough.
 */
void port_meter_read(struct port_meter *meter);

/* Returns the number of packets of a column. PORT_RECEIVED: UINT64_MAX if unknown. */
uint64_t port_meter_count(const struct port_meter *meter, enum port_column column);

/*
 * Must be called if the device is gone: its registers then read as all ones, and are not used
 * again.
 */
void port_meter_gone(struct port_meter *meter);

/* Must be called if the peer disconnected. The packets in its rings are lost and not counted. */
void port_meter_peer_left(struct port_meter *meter);
