/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Rules of --prefixes for the program, which only decides whether an address is in one of them.
 * Workers find which (rx/filter/prefix_filter.h).
 */

#include <stdint.h>

#include "rx/filter/prefix_file.h"

/* Maps of the kernel's, which programs may use longer than this is there. */
struct kernel_prefix_maps {
	int ipv4, ipv6;
};

/* NULL with one line in error[PREFIX_ERROR_MAX]. */
struct kernel_prefix_maps *kernel_prefix_maps_create(const struct prefix_list *rules, char *error);
void kernel_prefix_maps_destroy(struct kernel_prefix_maps *rules); /* NULL: nothing */

/* Returns the approximate kernel memory, in bytes. */
uint64_t kernel_prefix_maps_bytes(const struct prefix_list *rules);
