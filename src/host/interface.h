/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* What the kernel tells about an interface by ioctl only. Needs no privileges, changes nothing. */

#include <stdbool.h>
#include <stdint.h>

#define INTERFACE_NAME_MAX 16 /* IFNAMSIZ */

struct interface_settings {
	uint32_t index;      /* in the network namespace of this process; 0: it is not there */
	bool features_known; /* the next five */
	bool gro, lro, gro_hw, gro_list;
	bool vlan_strip;
	bool ring_known; /* the next two; many virtual interfaces have no ring */
	uint32_t ring, ring_max;
};

/* Fills what the kernel answers; what it does not stays unknown. */
void interface_read(const char *name, struct interface_settings *settings);

/* Whether a text can be the name of an interface, and is safe in a command line. */
bool interface_name_valid(const char *name);
