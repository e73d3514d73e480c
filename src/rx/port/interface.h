/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Properties of a kernel interface in the network namespace of this process. Needs no privileges
 * and changes nothing.
 */

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

struct port_interface {
	char driver[32]; /* kernel driver; "": unknown, as for lo */
	char bus[32];    /* where the device sits: a PCI address, or "" */
	uint32_t index;  /* whatever it is called: it may have several names */
	uint32_t mtu;
	bool bare;    /* its frames are not Ethernet's: a tunnel, ppp0 */
	bool loops;   /* sent packets are received on it: lo */
	bool merges;  /* the kernel or the NIC joins packets before they are received (GRO, LRO) */
	bool running; /* up, with a carrier */
	bool promiscuous;    /* the flag was set, for example with `ip link` */
	bool features_known; /* the next five */
	bool gro, lro, gro_hw, gro_list;
	bool vlan_strip;
	bool ring_known; /* the next two; many virtual interfaces have no ring */
	uint32_t ring, ring_max;
	uint32_t queues; /* receive queues; 0: unknown */
	bool paired;     /* each with one that sends: `ethtool -L` calls them combined */
};

/* Returns false if there is no such interface. Unanswered queries stay unknown. */
bool port_interface_read(const char *name, struct port_interface *interface);

/*
 * Writes ethtool -K options that stop the joining of packets, " gro off lro off"; empty: none
 * needed.
 */
#define PORT_JOINING_MAX 64
void port_interface_joining(const struct port_interface *interface, char options[PORT_JOINING_MAX]);

/* Returns true if a text is a valid interface name and safe in a command line. */
bool port_interface_name_valid(const char *name);
