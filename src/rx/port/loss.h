/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * What a device counts of the packets that it got, and what it lost of them. Which of its counters
 * feeds which column of the ledger depends on the driver: the table in port_loss.c, with its
 * reasons in docs/LOSS.md.
 */

#include <stdbool.h>
#include <stdint.h>

#include "rx/port/device_counter.h"
#include "rx/port/kernel_interface.h"

struct port;

enum port_column {
	PORT_RECEIVED, /* handed to a queue that we poll */
	PORT_MISSED,   /* lost: no room */
	PORT_ERRORS,   /* lost: damaged */
	PORT_NO_MBUF,  /* lost: no buffer. Not an allocation that is tried again */
	PORT_DOUBTFUL, /* may have been lost, or counted elsewhere, or never ours */
	PORT_COLUMN_COUNT,
};

#define PORT_FEEDS_MAX 24

/* A counter and the column that it feeds. */
struct port_feed {
	const char *counter; /* NULL ends a driver's list */
	enum port_column column;
	uint8_t bits; /* after which it wraps; 0: 64 */
	bool derived; /* see rx/port/device_counter.h */
};

struct port_driver {
	const char *name;
	const struct port_feed *feeds;
	bool complete;      /* its feeds tell every packet that it lost */
	bool polled;        /* it counts received packets as they are polled, in software; else
			       the device does, as they come */
	bool per_queue;     /* it adds up what its first RTE_ETHDEV_QUEUE_STAT_CNTRS queues count */
	bool has_peer;      /* a process that may leave: its counters read 0 then, and what it had
			       put on the rings is lost */
	bool on_interface;  /* of the kernel, which knows its link */
	uint16_t late_ms;   /* its counters are up to so much behind */
	const char *unsaid; /* what the user is told where it is not complete */
};

/* Never NULL: a driver that is not known is not trusted to count all its losses. */
const struct port_driver *port_driver_find(const char *name);

/* A device's counters from the start of a run on. */
struct port_meter {
	const struct port *port;
	uint32_t interface; /* the kernel's index of it; 0: none */
	uint32_t nb_feeds;
	struct port_meter_feed {
		const struct port_feed *feed;
		uint32_t source; /* which kind of counter, port_loss.c */
		uint64_t place;  /* of it among those */
		struct device_counter counter;
		bool begun;  /* it could be read, once */
		bool silent; /* its peer is away, and it with it */
	} feeds[PORT_FEEDS_MAX];
	uint32_t nb_xstats;
	uint64_t xstats[PORT_FEEDS_MAX]; /* ids of extended statistics that feeds name */
	struct kernel_sockets sockets;
	uint64_t unread; /* packets that may be lost and that no counter tells */
	/* Some counts are lost for good: of received packets, of lost ones. Who asks clears the
	   second. */
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

/* Its peer went away: what it had put on the rings and nobody received is lost and not counted. */
void port_meter_peer_left(struct port_meter *meter);
