/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Resolves the text of --port: a PCI address, the name of a virtual device such as
 * net_tap0,iface=probe0, or a kernel interface. "vdev:" before a name selects the virtual device.
 * mlx5 interfaces select their card, other interfaces use packet sockets (packet_socket.h).
 */

#include <stdbool.h>
#include <stdint.h>

#include "rx/port/drivers.h"
#include "rx/port/interface.h"
#include "config/option.h"

struct port_options {
	struct option_list names;
	uint64_t wait_link;   /* ns; 0: do not wait */
	uint32_t descriptors; /* entries of each receive ring; 0: default of the source */
};

OPTION_OWNER(port)

/* Ports are the source, or the destination of the generator. */
static inline bool port_given(const struct config *config)
{
	return port_options(config)->names.n > 0;
}

#define PORT_NAME_MAX   64 /* limit of DPDK */
#define PORT_DEVICE_MAX 512
#define PORT_NOTICE_MAX 320

struct port_name {
	/* Text of the user without DEVARGS, for messages */
	char called[PORT_NAME_MAX];
	char device[PORT_DEVICE_MAX]; /* text for EAL: NAME[,DEVARGS] */
	bool pci;                     /* false: virtual, or known only to DPDK */
	bool known;               /* PCI address, existing interface, or name of a virtual device */
	char interface[IFNAMSIZ]; /* kernel interface that receives the packets; "": none */
	struct port_interface facts;
	uint32_t slot, slots; /* bytes per slot and number of slots of a packet socket's ring */
	uint32_t mbuf_room;   /* minimum mbuf bytes; 0: any */
	char notice[PORT_NOTICE_MAX];
	char warning[PORT_NOTICE_MAX];
};

/* port_interface_read(), or a fake in tests */
typedef bool (*port_interface_fn)(const char *name, struct port_interface *interface);

/*
 * Resolves "NAME[,DEVARGS]" before EAL starts. Slots of a packet socket have room for `mtu` (--mtu,
 * or 0) and the MTU of the interface. Returns false with one line in error[PORT_DEVICE_MAX].
 */
bool port_name_resolve(struct port_name *name, const char *spec, uint32_t mtu,
	port_interface_fn lookup, char *error);

/* Returns true for a PCI address, which EAL needs at its start (--allow). */
bool port_is_pci(const char *spec);

bool port_through_kernel(const struct port_name *name);

/* Returns true if the device, with its DEVARGS, has a destination for sent packets. */
bool port_can_send(const struct port_driver *driver, const char *device);

/* Returns VALUE of key=VALUE in DEVARGS and its length, or NULL. */
const char *port_devarg(const char *device, const char *key, int *length);

bool port_check_names(const struct config *config, const struct measurement_config *measurement,
	struct option_fault *fault);
