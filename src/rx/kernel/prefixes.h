/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Rules of --prefixes in the kernel. The program only decides if an address matches any rule.
 * Workers find the rule (rx/filter/prefix_filter.h).
 */

#include <stdint.h>

#include "rx/filter/prefix_file.h"

/* File descriptors of kernel maps. Programs may use the maps after these are closed. */
struct kernel_prefix_maps {
	int ipv4, ipv6;
};

/* Returns NULL with one line in error[PREFIX_ERROR_MAX] on failure. */
struct kernel_prefix_maps *kernel_prefix_maps_create(const struct prefix_list *rules, char *error);
void kernel_prefix_maps_destroy(struct kernel_prefix_maps *rules); /* NULL: no effect */

/* Returns the approximate kernel memory, in bytes. */
uint64_t kernel_prefix_maps_bytes(const struct prefix_list *rules);
