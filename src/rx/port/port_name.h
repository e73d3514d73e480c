/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Resolves the text of --port to a device of DPDK. Three kinds of names:
 *
 *   0000:3b:00.0  3b:00.0            PCI address
 *   net_tap0,iface=probe0            virtual device, created by DPDK
 *   eth0                             kernel interface
 *
 * An interface of a card whose kernel driver shares it with DPDK (mlx5) selects the PCI address of
 * the card. Any other interface is received through packet sockets (packet_socket.h). A name of
 * both an interface and a virtual device is rejected, unless "vdev:" before it selects the device.
 */

#include <stdbool.h>
#include <stdint.h>

#include "rx/port/drivers.h"
#include "rx/port/interface.h"
#include "config/option.h"

struct port_options {
	struct option_list names; /* with DEVARGS */
	uint64_t wait_link;       /* ns; 0: do not wait */
	uint32_t descriptors;     /* entries of each receive ring; 0: default of the source */
};

OPTION_OWNER(port)

/* The ports are the source, or the destination of the generator. */
static inline bool port_given(const struct config *config)
{
	return port_options(config)->names.n > 0;
}

#define PORT_NAME_MAX   64 /* limit of DPDK for device names */
#define PORT_DEVICE_MAX 512
#define PORT_NOTICE_MAX 320

struct port_name {
	/* Text of the user without DEVARGS, for messages */
	char called[PORT_NAME_MAX];
	char device[PORT_DEVICE_MAX]; /* text for EAL: NAME[,DEVARGS] */
	bool pci;                     /* false: virtual, or known only to DPDK */
	bool known;               /* PCI address, existing interface, or name of a virtual device */
	char interface[IFNAMSIZ]; /* kernel interface that receives the packets; "": none */
	struct port_interface facts; /* of that interface */
	uint32_t slot, slots; /* ring of the packet socket: bytes per slot, number of slots */
	uint32_t mbuf_room;   /* minimum mbuf bytes; 0: any */
	char notice[PORT_NOTICE_MAX];  /* about the meaning of the name, or "" */
	char warning[PORT_NOTICE_MAX]; /* about an effect on the result, or "" */
};

/* port_interface_read(), or a fake in tests */
typedef bool (*port_interface_fn)(const char *name, struct port_interface *interface);

/*
 * Resolves "NAME[,DEVARGS]" before EAL starts. `mtu` is --mtu, or 0. A slot of a packet socket has
 * room for this MTU and for that of the interface. Returns false with one line in
 * error[PORT_DEVICE_MAX].
 */
bool port_name_resolve(struct port_name *name, const char *spec, uint32_t mtu,
	port_interface_fn lookup, char *error);

/*
 * EAL needs PCI addresses at its start (--allow). port_probe() creates the devices of all other
 * names.
 */
bool port_is_pci(const char *spec);

/* From a socket or a tap */
bool port_through_kernel(const struct port_name *name);

/* Returns true if the device, with its DEVARGS, has a destination for sent packets. */
bool port_can_send(const struct port_driver *driver, const char *device);

/* Returns VALUE of key=VALUE in DEVARGS and its length, or NULL. */
const char *port_devarg(const char *device, const char *key, int *length);

/* Checks the texts of --port. */
bool port_check_names(const struct config *config, const struct measurement_config *measurement,
	struct option_fault *fault);
