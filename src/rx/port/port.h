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
	/* NULL: the driver fills the queues */
	struct socket_queues *sockets;
	/* Bytes per slot and number of slots of a packet socket's ring */
	uint32_t slot, slots;
	/* Set before start */
	bool headers_only;
	uint32_t interface_index;   /* index of the kernel interface; 0: none */
	char name[PORT_NAME_MAX];   /* as given by the user */
	char device[PORT_NAME_MAX]; /* name in DPDK */
	char interface[IFNAMSIZ];   /* "": none */
	int node;                   /* NUMA node; -1: unknown */
	const struct config *config;
	const struct port_driver *driver;
	struct port_messages messages;
	uint16_t nb_queues, descriptors;
	uint32_t interface_mtu; /* MTU of the kernel interface; 0: no interface */
	uint32_t largest_frame; /* maximum bytes of a received frame, without FCS */
	/* Bytes if larger than largest_frame; else 0 */
	uint32_t largest_lost;
	uint32_t mbuf_room;   /* minimum mbuf bytes with headroom; 0: any */
	uint16_t mtu_before;  /* before it was changed; else 0 */
	int promiscuous;      /* file descriptor; -1: not used */
	bool was_promiscuous; /* of the kernel interface before start */
	bool loops;           /* the interface receives the frames sent on it */
	bool started;
	/* Set before start */
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
 * Creates virtual devices. EAL must be initialized; `config` must outlive the port. Returns false
 * with one line in error[PORT_ERROR_MAX].
 */
bool port_probe(struct port *port, const struct port_name *name, const struct config *config,
	uint16_t nb_rx, char *error);

/* Minimum bytes with headroom. Other ports need `room`. */
uint32_t port_mbuf_room(const struct port *port, uint32_t room);

/* True if packets may be mbuf chains, with `room` bytes per mbuf */
bool port_chains(const struct port *port, uint32_t room);

static inline uint16_t port_sender(const struct port *port)
{
	return port->has_sender ? port->sender : port->id;
}

/* 0: none */
uint32_t port_interface_index(const struct port *port);

/*
 * Starts nb_rx receive queues, and at least one queue. Adds messages for the user to
 * port->messages. Returns false with one line in error[PORT_ERROR_MAX].
 */
bool port_start(struct port *port, uint16_t nb_rx, uint32_t descriptors, struct rte_mempool *pool,
	char *error);

static inline bool port_is_leaving(const struct port *port)
{
	return atomic_load_explicit(&port->leaving, memory_order_relaxed);
}

/* Also checks /sys, because a driver may not detect that its PCI card was removed. */
bool port_is_plugged(const struct port *port);

/* Stops reception so that the queues can be drained, if the device supports it. */
void port_silence(struct port *port);

void ports_close(struct port *ports, uint32_t nb_ports);
