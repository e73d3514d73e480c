/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * From what the user wrote after --port to the device that DPDK is asked for. Three kinds of names:
 *
 *   0000:3b:00.0  3b:00.0            a PCI address
 *   net_tap0,iface=probe0            a virtual device, which DPDK makes
 *   eth0                             an interface of the kernel
 *
 * An interface of a card whose kernel driver shares it with DPDK (mlx5) stands for the card's PCI
 * address; any other one is received from through packet sockets (packet_socket.h), as is the
 * interface of net_af_packet0,iface=eth0. A name that is an
 * interface and a virtual device is refused: "vdev:" in front says that the device is meant.
 * DEVARGS are passed on.
 */

#include <stdbool.h>
#include <stdint.h>

#include "rx/port/drivers.h"
#include "rx/port/interface.h"
#include "config/option.h"

struct port_options {
	struct option_list names; /* names with DEVARGS */
	uint64_t wait_link;       /* ns; 0: do not wait */
	uint32_t descriptors;     /* entries of each receive ring; 0: what suits the source */
};

OPTION_OWNER(port)

/* Returns true if packets come from live ports or, for the generator, go to one. */
static inline bool port_given(const struct config *config)
{
	return port_options(config)->names.n > 0;
}

/* The option that asks for a source which is opened, and not live; NULL: none does. */
const struct option_row *fed_source(const struct config *config);

#define PORT_NAME_MAX   64 /* DPDK's limit for the name of a device */
#define PORT_DEVICE_MAX 512
#define PORT_NOTICE_MAX 320

struct port_name {
	/* what messages call it: what the user wrote, without DEVARGS */
	char called[PORT_NAME_MAX];
	char device[PORT_DEVICE_MAX]; /* for EAL: NAME[,DEVARGS] */
	bool pci;                     /* else virtual, or known only to DPDK */
	bool known;               /* a PCI address, an interface, or the name of a virtual device */
	char interface[IFNAMSIZ]; /* kernel interface of the packets; "": none */
	struct port_interface facts;   /* of that interface */
	uint32_t slot, slots;          /* of the ring of a packet socket: bytes of each, number */
	uint32_t mbuf_room;            /* bytes that one mbuf must have; 0: any */
	char notice[PORT_NOTICE_MAX];  /* how the name was understood; "" where it says so itself */
	char warning[PORT_NOTICE_MAX]; /* what that means for the result, or "" */
};

/* How an interface is looked up: port_interface_read(), or what a test makes up. */
typedef bool (*port_interface_fn)(const char *name, struct port_interface *interface);

/*
 * Resolves "NAME[,DEVARGS]" before EAL is up. `mtu` is what --mtu asks for, 0 where it does not; a
 * packet socket gets frames that hold it and the interface's. Returns true, or false and one line
 * in error[PORT_DEVICE_MAX] that names the choices.
 */
bool port_name_resolve(struct port_name *name, const char *spec, uint32_t mtu,
	port_interface_fn lookup, char *error);

/*
 * True where the name is a PCI address, which EAL has to be told at its start (--allow); any other
 * name is a virtual device that port_probe() makes.
 */
bool port_is_pci(const char *spec);

/* Its packets come through the kernel: from a socket, or a tap. */
bool port_through_kernel(const struct port_name *name);

/* Whether a device that is asked for so has somewhere to send to. */
bool port_can_send(const struct port_driver *driver, const char *device);

/* The value of key=VALUE in DEVARGS, with its length; NULL where there is none. */
const char *port_devarg(const char *device, const char *key, int *length);

/* The check of the texts of --port, for other owners of it (config/option.h). */
bool port_check_names(const struct config *config, const struct measurement_config *measurement,
	struct option_fault *fault);
/* As lacks() of an option that is for ports. */
const char *port_option_inapplicable(
	const struct config *config, const struct measurement_config *measurement);
