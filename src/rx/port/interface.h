/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* What the kernel says of one of its interfaces, in the network namespace of this process. */

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

struct port_interface {
	char driver[32]; /* of the kernel; "" where it does not say, as for lo */
	char bus[32];    /* where the device sits: a PCI address, or "" */
	uint32_t index;  /* whatever it is called: it may have several names */
	uint32_t mtu;
	bool merges;  /* the kernel or the card joins packets before anybody sees them (GRO, LRO) */
	bool running; /* up, with a carrier */
	bool promiscuous; /* because somebody set its flag, with `ip link` for instance */
};

/* False where there is no such interface. */
bool port_interface_read(const char *name, struct port_interface *interface);
