/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Live ports: any ethdev, configured as far as the device offers what is wanted. */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_mempool.h>

#include "config/config.h"
#include "rx/port/clock.h"
#include "rx/port/drivers.h"
#include "rx/port/port_name.h"
#include "rx/port/messages.h"
#include "rx/port/port_send.h"
#include "rx/port/socket_queues.h"

#define PORT_ERROR_MAX 512

struct port {
	uint16_t id;                   /* receiving ethdev */
	uint16_t sender;               /* sending ethdev, if has_sender */
	bool has_sender;               /* another ethdev sends */
	struct socket_queues *sockets; /* fill the queues; NULL: the driver does */
	uint32_t slot, slots;          /* bytes and number, as in struct packet_socket */
	bool headers_only;             /* headers are enough. Set before start. */
	uint32_t interface_index;      /* the kernel's number; 0: no interface */
	char name[PORT_NAME_MAX];      /* what the user calls it */
	char device[PORT_NAME_MAX];    /* what DPDK calls it */
	char interface[IFNAMSIZ];      /* kernel interface of its packets; "": none */
	int node;                      /* -1: unknown */
	const struct config *config;
	const struct port_driver *driver;
	struct port_messages
		messages; /* what the user should know, once it is probed and started */
	uint16_t nb_queues, descriptors;
	uint32_t interface_mtu; /* the kernel's; 0: there is none */
	uint32_t largest_frame; /* bytes without FCS that the device may deliver */
	uint32_t largest_lost;  /* bytes that a lost frame may have, if more than that; else 0 */
	uint32_t mbuf_room;     /* bytes that an mbuf must have, headroom included; 0: any */
	uint16_t mtu_before;    /* original MTU of the device if it was changed; else 0 */
	int promiscuous; /* what holds the kernel's interface so; -1: the device does, or nothing */
	bool was_promiscuous; /* the kernel's interface, before */
	bool loops;           /* the interface receives the frames that it sends */
	bool started;
	/* Set before it is started: queues that packets leave by, beside those they come by. */
	uint16_t send_queues;
	bool sends_chains; /* chains of segments may be among them */
	struct port_send send;
	bool sends;          /* what is sent on it goes somewhere */
	bool dealt;          /* a receiver deals its packets out by their flow hash */
	bool silenced;       /* the link was taken down */
	atomic_bool leaving; /* DPDK says that it is to be removed (rx/port/hot_unplug.h) */
	struct port_clock clock;
};

/*
 * Finds the device of a resolved name, making it where it is virtual, for so many receive queues.
 * EAL must be up; `config` must outlive the port. Returns true, or false and one line in
 * error[PORT_ERROR_MAX].
 */
bool port_probe(struct port *port, const struct port_name *name, const struct config *config,
	uint16_t nb_rx, char *error);

/* Bytes that an mbuf for a probed port must have, headroom included, where others have `room`. */
uint32_t port_mbuf_room(const struct port *port, uint32_t room);

/* Returns true if received packets may be mbuf chains, with `room` bytes per mbuf. */
bool port_chains(const struct port *port, uint32_t room);

/* Returns the sending ethdev. */
static inline uint16_t port_sender(const struct port *port)
{
	return port->has_sender ? port->sender : port->id;
}

/* The kernel's index of the interface that a port that was probed sits on; 0: none. */
uint32_t port_interface_index(const struct port *port);

/*
 * Configures and starts it with nb_rx receive queues filled from the pool, as its config says, and
 * with its send queues, one where nb_rx is 0. What it cannot do and the user should know is added to
 * port->messages. Returns true, or false and one line in error[PORT_ERROR_MAX].
 */
bool port_start(struct port *port, uint16_t nb_rx, uint32_t descriptors, struct rte_mempool *pool,
	char *error);

/* Returns true if the kernel requests the removal of the device. */
static inline bool port_is_leaving(const struct port *port)
{
	return atomic_load_explicit(&port->leaving, memory_order_relaxed);
}

/* Is its device there, and not asked back? A card that was pulled is forgotten by the kernel, if
 * not by its driver. */
bool port_is_plugged(const struct port *port);

/*
 * Stops new packets from coming in, so that the queues run empty: where the device, or the kernel,
 * counts packets before they are polled, and can. ports_close() takes the link up again.
 */
void port_silence(struct port *port);

/* Stops and closes all of them; those that were not started too. */
void ports_close(struct port *ports, uint32_t nb_ports);
