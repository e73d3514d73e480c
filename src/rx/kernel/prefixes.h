/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * The rules of --prefixes as the program sees them: whether an address is in one of them. Which ones
 * it is in workers look up (rx/filter/prefix_filter.h).
 */

#include <stdint.h>

#include "rx/filter/prefix_file.h"

/* Maps of the kernel's, which programs may use longer than this is there. */
struct kernel_rules {
	int ipv4, ipv6;
};

/* NULL with one line in error[MONITOR_ERROR_MAX]. */
struct kernel_rules *kernel_rules_create(const struct prefix_list *rules, char *error);
void kernel_rules_destroy(struct kernel_rules *rules); /* NULL: nothing */

/* About so many bytes, of the kernel's memory. */
uint64_t kernel_rules_bytes(const struct prefix_list *rules);
