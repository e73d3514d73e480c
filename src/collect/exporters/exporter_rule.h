/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "collect/exporters/collector_rows.h"

#define EXPORTER_OVSDB_MAX 200

struct exporter_rule {
	uint8_t prefix[16]; /* IPv4 as ::ffff:a.b.c.d */
	uint32_t bits;      /* length of the prefix, 0 to 128 */
	char name[EXPORTER_NAME_MAX];
	uint32_t sampling;
	uint32_t nb_edges;
	uint32_t edges[64]; /* interface indexes, ascending */
	bool all_edges;
	char ovsdb[EXPORTER_OVSDB_MAX]; /* database of the switch; "": none */
};

/*
 * Parses PREFIX[=NAME][,sampling=N][,edge=IF-LIST][,ovsdb=DATABASE]; IF-LIST is I+J+K, with ranges I-J, or all.
 * Returns false, with a reason in why[OPTION_WHY_MAX], if malformed.
 */
bool exporter_rule_parse(const char *text, struct exporter_rule *rule, char *why);

/* Returns true if the prefixes are equal: the second rule would never match. */
bool exporter_rule_same(const struct exporter_rule *a, const struct exporter_rule *b);

/* Returns true if the rule matches all IPv4 or IPv6 addresses. */
bool exporter_rule_is_any(const struct exporter_rule *rule);

/* Returns the rule with the longest matching prefix, or NULL. */
const struct exporter_rule *exporter_rule_find(
	const struct exporter_rule *rules, uint32_t nb_rules, const struct in6_addr *address);

bool exporter_rule_edge(const struct exporter_rule *rule, uint32_t interface);
