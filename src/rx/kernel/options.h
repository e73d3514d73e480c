/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include "config/option.h"

struct kernel_options {
	struct option_list places;
};

OPTION_OWNER(kernel)

enum kernel_hook {
	KERNEL_HOOK_TC,
	KERNEL_HOOK_XDP,
};

enum kernel_direction {
	KERNEL_IN = 1,
	KERNEL_OUT = 2,
};

struct attach_point {
	char interface[IFNAMSIZ];
	enum kernel_hook hook;
	uint32_t directions;
};

/*
 * Parses IFACE[,hook=tc|xdp][,direction=both|in|out]. Returns false and sets why[OPTION_WHY_MAX].
 */
bool attach_point_parse(const char *text, struct attach_point *point, char *why);
