/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Counters of received and lost packets of a device. The driver determines which counter belongs to
 * which column of the ledger: the table in drivers.c, explained in docs/LOSS.md.
 */

#include <stdbool.h>
#include <stdint.h>

#include "rx/port/device_counter.h"
#include "rx/port/drivers.h"
#include "rx/port/kernel_interface.h"

struct port;

#define PORT_FEEDS_MAX 24

/* A device's counters from the start of a run on. */
struct port_meter {
	const struct port *port;
	uint32_t interface; /* the kernel's index of it; 0: none */
	uint32_t nb_feeds;
	struct port_meter_feed {
		const struct counter_mapping *feed;
		uint32_t source; /* kind of counter, loss.c */
		uint64_t place;  /* index among counters of this kind */
		struct device_counter counter;
		bool begun;  /* it could be read, once */
		bool silent; /* its peer is away, and it with it */
	} feeds[PORT_FEEDS_MAX];
	uint32_t nb_xstats;
	uint64_t xstats[PORT_FEEDS_MAX]; /* ids of extended statistics that feeds name */
	struct kernel_sockets sockets;
	uint64_t unread; /* packets that may be lost and that no counter tells */
	/* Counts were lost: of received packets, of lost ones. The reader clears the second. */
	bool received_gap, lost_gap;
	bool gone;     /* its device is: its counters mean nothing any more */
	bool complete; /* the driver is, and every counter of its row was found */
};

/*
 * Takes the port's counters as they are: lost packets count from here on, received ones since the
 * device was opened. Logs what the user has to know of them. meters[nb_meters]: the ports before.
 */
void port_meter_start(struct port_meter *meter, const struct port *port,
	const struct port_meter *meters, uint32_t nb_meters);

/* Reads all counters. At least once while half of the narrowest passes: each second will do. */
void port_meter_read(struct port_meter *meter);

/* Packets so far; UINT64_MAX for PORT_RECEIVED where the device does not tell. */
uint64_t port_meter_count(const struct port_meter *meter, enum port_column column);

/* The device is gone: its registers, which read as all ones, are not read any more. */
void port_meter_gone(struct port_meter *meter);

/* The peer disconnected: packets in its rings are lost and not counted. */
void port_meter_peer_left(struct port_meter *meter);
