/* SPDX-License-Identifier: BSD-3-Clause */
#include "collect/exporters/exporter_rule.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "config/option.h"

#define EDGES_MAX (sizeof(((struct exporter_rule *)NULL)->edges) / sizeof(uint32_t))
#define PART_MAX  1024

static bool read_number(const char *text, const char *end, uint32_t *number)
{
	uint64_t value = 0;

	if (text == end)
		return false;
	for (; text < end; text++) {
		if (*text < '0' || *text > '9')
			return false;
		value = value * 10 + (uint64_t)(*text - '0');
		if (value > UINT32_MAX)
			return false;
	}
	*number = (uint32_t)value;
	return true;
}

static bool set_error(char *why, const char *phrase, const char *text)
{
	snprintf(why, OPTION_WHY_MAX, "%s: '%.80s'", phrase, text);
	return false;
}

static void clear_host_bits(struct exporter_rule *rule)
{
	for (uint32_t bit = rule->bits; bit < 128; bit++)
		rule->prefix[bit / 8] &= (uint8_t) ~(0x80 >> bit % 8);
}

static bool read_prefix(char *text, struct exporter_rule *rule, char *why)
{
	char *slash = strchr(text, '/');
	uint32_t longest = 128, bits;

	if (slash != NULL)
		*slash++ = '\0';
	if (inet_pton(AF_INET, text, rule->prefix + 12) == 1) {
		rule->prefix[10] = rule->prefix[11] = 0xff;
		longest = 32;
	} else if (inet_pton(AF_INET6, text, rule->prefix) != 1) {
		return set_error(why, "not an address or prefix", text);
	}
	bits = longest;
	if (slash != NULL && (!read_number(slash, slash + strlen(slash), &bits) || bits > longest))
		return set_error(why, "not a prefix length", slash);
	rule->bits = bits + 128 - longest;
	clear_host_bits(rule);
	return true;
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static bool read_edges(const char *text, size_t len, struct exporter_rule *rule, char *why)
{
	const char *end = text + len, *dash = memchr(text, '-', len);
	uint32_t first, last;

	if (!read_number(text, dash != NULL ? dash : end, &first))
		return set_error(why, "edge= needs interfaces such as 1+2+5-7, or all", text);
	last = first;
	if (dash != NULL && (!read_number(dash + 1, end, &last) || last < first))
		return set_error(why, "edge= needs interfaces such as 1+2+5-7, or all", text);
	if (last - first >= EDGES_MAX - rule->nb_edges) {
		snprintf(why, OPTION_WHY_MAX, "edge= is limited to %zu interfaces; give all",
			EDGES_MAX);
		return false;
	}
	for (uint32_t i = 0; i <= last - first; i++)
		rule->edges[rule->nb_edges++] = first + i;
	return true;
}

static bool read_edge_list(const char *text, struct exporter_rule *rule, char *why)
{
	if (strcmp(text, "all") == 0) {
		rule->all_edges = true;
		return true;
	}
	for (;;) {
		size_t len = strcspn(text, "+");

		if (!read_edges(text, len, rule, why))
			return false;
		if (text[len] == '\0')
			break;
		text += len + 1;
	}
	qsort(rule->edges, rule->nb_edges, sizeof(rule->edges[0]), by_number);
	return true;
}

static bool read_sampling(const char *text, struct exporter_rule *rule, char *why)
{
	uint64_t sampling;

	if (units_count(text, &sampling) != NULL || sampling == 0 || sampling > UINT32_MAX)
		return set_error(why, "sampling= needs N, to sample 1 of N packets", text);
	rule->sampling = (uint32_t)sampling;
	return true;
}

static bool read_name(const char *text, struct exporter_rule *rule, char *why)
{
	if (text[0] == '\0' || strlen(text) >= sizeof(rule->name))
		return set_error(why, "a name has 1 to 47 characters", text);
	for (const char *c = text; *c != '\0'; c++)
		if (*c <= ' ' || *c > '~' || strchr(":>/\"", *c) != NULL)
			return set_error(why, "a name must not contain blanks or : > / \"", text);
	snprintf(rule->name, sizeof(rule->name), "%s", text);
	return true;
}

/* Method:rest as in ovs-vsctl(8); ptcp: and pssl: wait for a switch that connects. */
static bool read_ovsdb(const char *text, struct exporter_rule *rule, char *why)
{
	static const char *const methods[] = {"unix:", "tcp:", "ssl:"};

	if (rule->bits != 128)
		return set_error(why, "ovsdb= needs a single address, without prefix length", text);
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
		if (strncmp(text, methods[i], strlen(methods[i])) == 0 &&
			strlen(text) < sizeof(rule->ovsdb)) {
			snprintf(rule->ovsdb, sizeof(rule->ovsdb), "%s", text);
			return true;
		}
	return set_error(why, "ovsdb= needs unix:FILE, tcp:ADDRESS:PORT or ssl:ADDRESS:PORT", text);
}

static bool read_setting(const char *text, struct exporter_rule *rule, char *why)
{
	if (strncmp(text, "sampling=", 9) == 0)
		return read_sampling(text + 9, rule, why);
	if (strncmp(text, "edge=", 5) == 0)
		return read_edge_list(text + 5, rule, why);
	if (strncmp(text, "ovsdb=", 6) == 0)
		return read_ovsdb(text + 6, rule, why);
	return set_error(why, "not sampling=N, edge=LIST or ovsdb=DATABASE", text);
}

bool exporter_rule_parse(const char *text, struct exporter_rule *rule, char *why)
{
	char copy[PART_MAX];
	char *rest = copy, *first, *name;

	memset(rule, 0, sizeof(*rule));
	if (strlen(text) >= sizeof(copy))
		return set_error(why, "too long", text);
	memcpy(copy, text, strlen(text) + 1);
	first = strsep(&rest, ",");
	name = strchr(first, '=');
	if (name != NULL)
		*name++ = '\0';
	if (!read_prefix(first, rule, why) || (name != NULL && !read_name(name, rule, why)))
		return false;
	while (rest != NULL)
		if (!read_setting(strsep(&rest, ","), rule, why))
			return false;
	return true;
}

static bool rule_covers(const struct exporter_rule *rule, const struct in6_addr *address)
{
	uint32_t whole = rule->bits / 8, bits = rule->bits % 8;

	if (memcmp(rule->prefix, address->s6_addr, whole) != 0)
		return false;
	return bits == 0 || (rule->prefix[whole] ^ address->s6_addr[whole]) >> (8 - bits) == 0;
}

bool exporter_rule_same(const struct exporter_rule *a, const struct exporter_rule *b)
{
	struct in6_addr address;

	memcpy(&address, b->prefix, sizeof(address));
	return a->bits == b->bits && rule_covers(a, &address);
}

bool exporter_rule_is_any(const struct exporter_rule *rule)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	return rule->bits == 0 || (rule->bits == 8 * sizeof(mapped) &&
					  memcmp(rule->prefix, mapped, sizeof(mapped)) == 0);
}

const struct exporter_rule *exporter_rule_find(
	const struct exporter_rule *rules, uint32_t nb_rules, const struct in6_addr *address)
{
	const struct exporter_rule *found = NULL;

	for (uint32_t i = 0; i < nb_rules; i++)
		if (rule_covers(&rules[i], address) &&
			(found == NULL || rules[i].bits > found->bits))
			found = &rules[i];
	return found;
}

bool exporter_rule_edge(const struct exporter_rule *rule, uint32_t interface)
{
	uint32_t low = 0, high = rule->nb_edges;

	if (rule->all_edges)
		return true;
	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (rule->edges[middle] == interface)
			return true;
		if (rule->edges[middle] < interface)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}
