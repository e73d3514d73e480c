/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * What the kernel says of one of its interfaces, in the network namespace of this process. Needs no
 * privileges, changes nothing.
 */

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

struct port_interface {
	char driver[32]; /* of the kernel; "" where it does not say, as for lo */
	char bus[32];    /* where the device sits: a PCI address, or "" */
	uint32_t index;  /* whatever it is called: it may have several names */
	uint32_t mtu;
	bool bare;    /* its frames are not Ethernet's: a tunnel, ppp0 */
	bool loops;   /* what is sent on it comes in by it: lo */
	bool merges;  /* the kernel or the card joins packets before anybody sees them (GRO, LRO) */
	bool running; /* up, with a carrier */
	bool promiscuous;    /* because somebody set its flag, with `ip link` for instance */
	bool features_known; /* the next five */
	bool gro, lro, gro_hw, gro_list;
	bool vlan_strip;
	bool ring_known; /* the next two; many virtual interfaces have no ring */
	uint32_t ring, ring_max;
	uint32_t queues; /* that receive; 0 where it does not say */
	bool paired;     /* each with one that sends: `ethtool -L` calls them combined */
};

/* False where there is no such interface. What the kernel does not answer stays unknown. */
bool port_interface_read(const char *name, struct port_interface *interface);

/* What joins packets of it, as `ethtool -K` turns it off, " gro off lro off"; empty: nothing does. */
#define PORT_JOINING_MAX 64
void port_interface_joining(const struct port_interface *interface, char options[PORT_JOINING_MAX]);

/* Whether a text can be the name of an interface, and is safe in a command line. */
bool port_interface_name_valid(const char *name);
