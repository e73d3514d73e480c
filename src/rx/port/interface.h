/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Reads properties of kernel interfaces. Needs no privileges. */

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

struct port_interface {
	char driver[32]; /* "": unknown, as for lo */
	char bus[32];    /* PCI address of the device, or "" */
	uint32_t index;  /* unlike names, one per interface */
	uint32_t mtu;
	bool bare;    /* frames have no Ethernet header, as in tunnels and ppp0 */
	bool loops;   /* the interface receives the packets sent on it, as lo */
	bool merges;  /* the kernel or the NIC joins packets before they are received (GRO, LRO) */
	bool running; /* up, with a carrier */
	bool promiscuous;
	bool features_known; /* the next two members are valid */
	bool gro, lro, gro_hw, gro_list;
	bool vlan_strip;
	bool ring_known; /* the next member is valid; many virtual interfaces have no ring */
	uint32_t ring, ring_max;
	uint32_t queues; /* receive queues; 0: unknown */
	bool paired;     /* receive and send queues are pairs ("combined" in `ethtool -L`) */
};

/* Returns false if there is no such interface. */
bool port_interface_read(const char *name, struct port_interface *interface);

/* Writes options of ethtool -K such as " gro off lro off"; "" if none are needed. */
#define PORT_JOINING_MAX 64
void port_interface_joining(const struct port_interface *interface, char options[PORT_JOINING_MAX]);

/* Returns true if `name` is a valid interface name that is safe in a command line. */
bool port_interface_name_valid(const char *name);
