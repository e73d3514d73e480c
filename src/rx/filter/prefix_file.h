/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Reads the rules of --prefixes, lines "PREFIX NAME" */

#include <stdbool.h>
#include <stdint.h>
#include "config/option.h"

/* Address of a packet that is compared with the rules */
enum prefix_side {
	PREFIX_DST,
	PREFIX_SRC,
	PREFIX_EITHER,
};

struct prefix_options {
	const char *file; /* NULL: no rules */
	enum prefix_side side;
};

OPTION_OWNER(prefix)

#define PREFIX_ERROR_MAX   512
/* Bytes with the final 0 */
#define PREFIX_NAME_MAX    64
#define PREFIX_TEXT_MAX    56
#define PREFIX_ENTRIES_MAX 1000000

#define PREFIX_NO_ENTRY UINT32_MAX

struct prefix_entry {
	bool ipv6;
	uint8_t length;   /* bits, 0 to 32 or 128 */
	uint8_t bits[16]; /* network byte order; IPv4: first 4 bytes, then zeros */
	/* Index of the longest other prefix that contains this one, or PREFIX_NO_ENTRY */
	uint32_t parent;
	char prefix[PREFIX_TEXT_MAX];
	char name[PREFIX_NAME_MAX];
};

/* Sorted by family (IPv4 first), address and length. Constant after reading. */
struct prefix_list {
	uint32_t n;
	uint32_t nb_ipv6; /* number of IPv6 entries, which are last */
	struct prefix_entry rules[];
};

/* Returns NULL with one line in error[PREFIX_ERROR_MAX]; *mistake is false for a system error. */
struct prefix_list *prefix_rules_read(const char *path, bool *mistake, char *error);

void prefix_rules_free(struct prefix_list *rules);

const char *prefix_option_inapplicable(
	const struct config *config, const struct measurement_config *measurement);
