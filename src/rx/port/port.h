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
	bool has_sender; /* true: `sender` sends; false: `id` sends */
	/* Packet sockets that fill the queues; NULL: the driver fills them */
	struct socket_queues *sockets;
	/* Bytes per slot and number of slots of a packet socket's ring */
	uint32_t slot, slots;
	/* Only headers are needed. Set before start. */
	bool headers_only;
	/* Packet sockets collect frames in blocks, at a lower cost. Set before start. */
	bool in_blocks;
	uint32_t interface_index;   /* index of the kernel interface; 0: none */
	char name[PORT_NAME_MAX];   /* name given by the user */
	char device[PORT_NAME_MAX]; /* name in DPDK */
	char interface[IFNAMSIZ];   /* kernel interface of its packets; "": none */
	int node;                   /* NUMA node; -1: unknown */
	const struct config *config;
	const struct port_driver *driver;
	struct port_messages messages;
	uint16_t nb_queues, descriptors;
	uint32_t interface_mtu; /* MTU of the kernel interface; 0: no interface */
	uint32_t largest_frame; /* maximum bytes of a received frame, without FCS */
	/* Maximum bytes of a lost frame if larger than largest_frame; else 0 */
	uint32_t largest_lost;
	uint32_t mbuf_room;   /* minimum mbuf bytes with headroom; 0: any */
	uint16_t mtu_before;  /* original MTU of the device if it was changed; else 0 */
	int promiscuous;      /* descriptor that keeps the kernel interface promiscuous; -1: none */
	bool was_promiscuous; /* promiscuous flag of the kernel interface before start */
	bool loops;           /* the interface receives the frames sent on it */
	bool started;
	/* Set before start, in addition to receive queues */
	uint16_t send_queues;
	bool sends_chains; /* packets may be chains of mbufs */
	struct port_send send;
	bool sends;
	bool dealt; /* the receiving core distributes packets to workers by flow hash */
	bool silenced;
	atomic_bool leaving; /* removal requested (rx/port/interrupts.h) */
	struct port_clock clock;
};

/*
 * Finds the device of a resolved name, or creates it if virtual. EAL must be initialized, and
 * `config` must outlive the port. Returns false with one line in error[PORT_ERROR_MAX].
 */
bool port_probe(struct port *port, const struct port_name *name, const struct config *config,
	uint16_t nb_rx, char *error);

/* Returns the minimum mbuf bytes with headroom, at least `room`. */
uint32_t port_mbuf_room(const struct port *port, uint32_t room);

/* Returns true if received packets may be chains of mbufs with `room` bytes each. */
bool port_chains(const struct port *port, uint32_t room);

static inline uint16_t port_sender(const struct port *port)
{
	return port->has_sender ? port->sender : port->id;
}

/* Returns 0 if the port has no kernel interface. */
uint32_t port_interface_index(const struct port *port);

/*
 * Starts nb_rx receive queues, and one send queue if nb_rx is 0. Adds messages for the user to
 * port->messages. Returns false with one line in error[PORT_ERROR_MAX].
 */
bool port_start(struct port *port, uint16_t nb_rx, uint32_t descriptors, struct rte_mempool *pool,
	char *error);

static inline bool port_is_leaving(const struct port *port)
{
	return atomic_load_explicit(&port->leaving, memory_order_relaxed);
}

/* A driver may not detect that its card was removed, so this also checks /sys. */
bool port_is_plugged(const struct port *port);

/* Stops the reception of new packets if the device supports it, so that queues can be drained. */
void port_silence(struct port *port);

void ports_close(struct port *ports, uint32_t nb_ports);
