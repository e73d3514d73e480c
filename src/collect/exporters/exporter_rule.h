/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* What --exporter says: who may send, under which name, how it samples, which interfaces are edges. */

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "collect/exporters/collector_rows.h"

/* One --exporter. */
struct exporter_rule {
	uint8_t prefix[16]; /* as an IPv6 address; IPv4 is mapped */
	uint32_t bits;      /* of 128 */
	char name[EXPORTER_NAME_MAX];
	uint32_t sampling; /* 0: not said */
	uint32_t nb_edges;
	uint32_t edges[64]; /* interfaces; ascending */
	bool all_edges;     /* edge=all */
};

/*
 * Reads PREFIX[=NAME][,sampling=N][,edge=IF-LIST]; IF-LIST is I+J+K, with ranges I-J, or all.
 * False with a phrase in why[OPTION_WHY_MAX].
 */
bool exporter_rule_parse(const char *text, struct exporter_rule *rule, char *why);

/* Whether two rules are of one prefix: what the second one says would never hold. */
bool exporter_rule_same(const struct exporter_rule *a, const struct exporter_rule *b);

/* Returns true if the rule is for every address of IPv4 or IPv6. */
bool exporter_rule_is_any(const struct exporter_rule *rule);

/* The rule with the longest prefix that holds the address; or NULL. */
const struct exporter_rule *exporter_rule_find(
	const struct exporter_rule *rules, uint32_t nb_rules, const struct in6_addr *address);

bool exporter_rule_edge(const struct exporter_rule *rule, uint32_t interface);
