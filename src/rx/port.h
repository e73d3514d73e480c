/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Live ports: any ethdev, configured as far as the device offers what is wanted. */

#include <stdbool.h>
#include <stdint.h>

#include <rte_mempool.h>

#include "rx/port_loss.h"

#define PORT_ERROR_MAX 512

struct port {
	uint16_t id;
	char name[64];
	int node; /* -1: unknown */
	const struct port_driver *driver;
	uint16_t nb_queues, descriptors;
	uint32_t largest_frame; /* bytes without FCS that the device may deliver */
	bool started;
	bool silenced; /* the link was taken down */
};

/*
 * True where the name is a PCI address, which EAL has to be told at its start (--allow); any other
 * name is a virtual device that port_probe() makes.
 */
bool port_is_pci(const char *spec);

/* NUMA node of a PCI device, from sysfs, before EAL is up; -1 where it is unknown. */
int port_node(const char *spec);

/*
 * Finds the device of "NAME[,DEVARGS]", making it where it is virtual. EAL must be up. Returns
 * true, or false and one line in error[PORT_ERROR_MAX].
 */
bool port_probe(struct port *port, const char *spec, char *error);

/*
 * Configures and starts it with nb_rx receive queues filled from the pool, steered by symmetric RSS
 * as far as the device can, or with one send queue when nb_rx is 0. What the device cannot do and
 * the user should know is put in warning[PORT_ERROR_MAX], which is empty otherwise.
 */
bool port_start(struct port *port, uint16_t nb_rx, uint32_t descriptors, struct rte_mempool *pool,
	char *warning, char *error);

/*
 * Stops new packets from coming in, where the device can, so that the queues run empty; port_stop()
 * takes the link up again, which on some cards is the kernel's interface too.
 */
void port_silence(struct port *port);
void port_stop(struct port *port);
