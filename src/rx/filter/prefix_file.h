/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * The rules of --prefixes: lines "PREFIX NAME", IPv4 and IPv6, an address without a length being a
 * host. A comment begins with #; what ends a line may be CR LF.
 */

#include <stdbool.h>
#include <stdint.h>
#include "config/option.h"

/* Address of a packet that is looked up. */
enum prefix_side {
	PREFIX_DST,
	PREFIX_SRC,
	PREFIX_EITHER,
};

struct prefix_options {
	const char *file; /* file of rules; NULL: everything is measured */
	enum prefix_side side;
};

OPTION_OWNER(prefix)

#define PREFIX_ERROR_MAX   512 /* one line */
#define PREFIX_NAME_MAX    64  /* bytes of a name, with the final 0 */
#define PREFIX_TEXT_MAX    56  /* bytes of a prefix as text, with the final 0 */
#define PREFIX_ENTRIES_MAX 1000000

#define PREFIX_NO_ENTRY UINT32_MAX

struct prefix_entry {
	bool ipv6;
	uint8_t length;   /* bits of the prefix */
	uint8_t bits[16]; /* network byte order; IPv4 in the first four, the rest 0 */
	uint32_t parent;  /* the longest other prefix that holds this one, or PREFIX_NO_ENTRY */
	char prefix[PREFIX_TEXT_MAX];
	char name[PREFIX_NAME_MAX];
};

/* Sorted: IPv4 first, then by address, then the shorter prefix. Not changed once it is read. */
struct prefix_list {
	uint32_t n;
	uint32_t nb_ipv6; /* IPv6 entries, which come last */
	struct prefix_entry rules[];
};

/*
 * Returns NULL with one line in error[PREFIX_ERROR_MAX] that names file and line. *mistake: it is
 * one in the text, and not the machine's.
 */
struct prefix_list *prefix_rules_read(const char *path, bool *mistake, char *error);

void prefix_rules_free(struct prefix_list *rules);

/* As lacks() of an option that is for --prefixes (config/option.h). */
const char *prefix_option_inapplicable(
	const struct config *config, const struct measurement_config *measurement);
