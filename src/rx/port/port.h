/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

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
	uint16_t id;     /* receiving ethdev */
	uint16_t sender; /* sending ethdev, if has_sender */
	bool has_sender; /* false: `id` also sends */
	/* Packet sockets that fill the queues; NULL: the driver does */
	struct socket_queues *sockets;
	/* Ring of a packet socket: bytes per slot, number of slots */
	uint32_t slot, slots;
	bool headers_only;          /* set before start: only headers are needed */
	uint32_t interface_index;   /* index of the kernel interface; 0: none */
	char name[PORT_NAME_MAX];   /* as given by the user */
	char device[PORT_NAME_MAX]; /* name in DPDK */
	char interface[IFNAMSIZ];   /* kernel interface of its packets; "": none */
	int node;                   /* NUMA node; -1: unknown */
	const struct config *config;
	const struct port_driver *driver;
	struct port_messages messages; /* of port_probe() and port_start() */
	uint16_t nb_queues, descriptors;
	uint32_t interface_mtu; /* MTU of the kernel interface; 0: no interface */
	uint32_t largest_frame; /* maximum bytes of a received frame, without FCS */
	/* Maximum bytes of a lost frame if larger than largest_frame; else 0 */
	uint32_t largest_lost;
	uint32_t mbuf_room;  /* minimum mbuf bytes with headroom; 0: any */
	uint16_t mtu_before; /* original MTU of the device if it was changed; else 0 */
	int promiscuous; /* descriptor that keeps the kernel interface promiscuous; -1: not used */
	bool was_promiscuous; /* flag of the kernel interface before start */
	bool loops;           /* the interface receives the frames sent on it */
	bool started;
	/* Set before start, in addition to receive queues */
	uint16_t send_queues;
	bool sends_chains; /* sent packets may be chains of mbufs */
	struct port_send send;
	bool sends;          /* sent packets have a destination */
	bool dealt;          /* its receiving core distributes packets to workers by flow hash */
	bool silenced;       /* port_silence() took the link down */
	atomic_bool leaving; /* removal requested (rx/port/interrupts.h) */
	struct port_clock clock;
};

/*
 * Finds the device of a resolved name, or creates it if virtual, for nb_rx receive queues. EAL must
 * be initialized; `config` must outlive the port. Returns false with one line in
 * error[PORT_ERROR_MAX] on failure.
 */
bool port_probe(struct port *port, const struct port_name *name, const struct config *config,
	uint16_t nb_rx, char *error);

/* Minimum mbuf bytes with headroom of a probed port, at least the `room` that other ports need */
uint32_t port_mbuf_room(const struct port *port, uint32_t room);

/* Returns true if received packets may be mbuf chains, with `room` bytes per mbuf. */
bool port_chains(const struct port *port, uint32_t room);

static inline uint16_t port_sender(const struct port *port)
{
	return port->has_sender ? port->sender : port->id;
}

/* Returns 0 if the probed port has no kernel interface. */
uint32_t port_interface_index(const struct port *port);

/*
 * Starts nb_rx receive queues, which are filled from the pool, and the send queues (one if nb_rx is
 * 0). Adds messages for the user to port->messages. Returns false with one line in
 * error[PORT_ERROR_MAX] on failure.
 */
bool port_start(struct port *port, uint16_t nb_rx, uint32_t descriptors, struct rte_mempool *pool,
	char *error);

static inline bool port_is_leaving(const struct port *port)
{
	return atomic_load_explicit(&port->leaving, memory_order_relaxed);
}

/*
 * Returns true if the device is present and its removal is not requested. A driver may not detect
 * that its card was removed, so PCI cards are also searched in /sys.
 */
bool port_is_plugged(const struct port *port);

/*
 * Stops the reception of new packets, so that the queues can be drained. Only packet sockets and
 * some devices that count packets before the poll support it.
 */
void port_silence(struct port *port);

/* Also closes ports that were not started */
void ports_close(struct port *ports, uint32_t nb_ports);
