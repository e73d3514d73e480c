/* SPDX-License-Identifier: BSD-3-Clause */
#include "rx/monitor.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_errno.h>
#include <rte_fib.h>
#include <rte_fib6.h>
#include <rte_memory.h>
#include <rte_prefetch.h>

/* A next hop is a rule's number + 1; 0 is no rule. */
#define NO_HOP 0

/* Bytes: the first level of a table, a second-level group, and a node of librte_rib's tree. */
#define FIRST_LEVEL ((size_t)4 << 24)
#define GROUP_BYTES ((size_t)4 * 256)
#define NODE_BYTES  ((size_t)192)

struct monitor_table {
	struct monitor_rules *rules;
	enum monitor_side side;
	struct rte_fib *fib;   /* NULL: there are no IPv4 rules */
	struct rte_fib6 *fib6; /* NULL: there are no IPv6 rules */
	uint32_t nb_workers;
	struct monitor_count *counts; /* [2][nb_workers][rules->n] */
};

/* Building */

/*
 * Groups of 256 that librte_fib sets aside for a family's rules: for IPv4 one for every beginning
 * of 24 bits that a longer prefix has (the rules are sorted: equal ones are neighbours); for IPv6
 * one for every byte behind the third of each prefix, as if no two shared one.
 */
static uint32_t groups_of(const struct monitor_rules *rules, bool ipv6)
{
	const struct monitor_rule *last = NULL;
	uint32_t groups = 0;

	for (uint32_t i = 0; i < rules->n; i++) {
		const struct monitor_rule *rule = &rules->rules[i];

		if (rule->ipv6 != ipv6 || rule->length <= 24)
			continue;
		if (ipv6)
			groups += (rule->length - 24 + 7) / 8;
		else
			groups += last == NULL || memcmp(last->bits, rule->bits, 3) != 0;
		last = rule;
	}
	return groups;
}

size_t monitor_table_bytes(const struct monitor_rules *rules)
{
	uint32_t nb_ipv4 = rules->n - rules->nb_ipv6;
	size_t bytes = 2 * (size_t)rules->n * NODE_BYTES;

	if (nb_ipv4 > 0)
		bytes += FIRST_LEVEL + groups_of(rules, false) * GROUP_BYTES;
	if (rules->nb_ipv6 > 0)
		bytes += FIRST_LEVEL + groups_of(rules, true) * GROUP_BYTES;
	return bytes;
}

static uint32_t host_order(const uint8_t *bits)
{
	uint32_t address;

	memcpy(&address, bits, sizeof(address));
	return rte_be_to_cpu_32(address);
}

static bool fill_ipv4(struct monitor_table *table, unsigned int instance)
{
	char name[32];
	const struct monitor_rules *rules = table->rules;
	uint32_t n = rules->n - rules->nb_ipv6;
	struct rte_fib_conf conf = {
		.type = RTE_FIB_DIR24_8,
		.default_nh = NO_HOP,
		.max_routes = (int)n + 1,
		.dir24_8 = {.nh_sz = RTE_FIB_DIR24_8_4B, .num_tbl8 = groups_of(rules, false) + 1},
	};

	if (n == 0)
		return true;
	snprintf(name, sizeof(name), "monitor4_%u", instance);
	table->fib = rte_fib_create(name, SOCKET_ID_ANY, &conf);
	for (uint32_t i = 0; table->fib != NULL && i < n; i++)
		if (rte_fib_add(table->fib, host_order(rules->rules[i].bits),
			    rules->rules[i].length, i + 1) != 0)
			return false;
	return table->fib != NULL;
}

static bool fill_ipv6(struct monitor_table *table, unsigned int instance)
{
	char name[32];
	const struct monitor_rules *rules = table->rules;
	struct rte_fib6_conf conf = {
		.type = RTE_FIB6_TRIE,
		.default_nh = NO_HOP,
		.max_routes = (int)rules->nb_ipv6 + 1,
		.trie = {.nh_sz = RTE_FIB6_TRIE_4B, .num_tbl8 = groups_of(rules, true) + 1},
	};

	if (rules->nb_ipv6 == 0)
		return true;
	snprintf(name, sizeof(name), "monitor6_%u", instance);
	table->fib6 = rte_fib6_create(name, SOCKET_ID_ANY, &conf);
	/* The type of an address changed in DPDK 24.11, its bytes did not: no type suits both. */
	for (uint32_t i = rules->n - rules->nb_ipv6; table->fib6 != NULL && i < rules->n; i++)
		if (rte_fib6_add(table->fib6, (const void *)rules->rules[i].bits,
			    rules->rules[i].length, i + 1) != 0)
			return false;
	return table->fib6 != NULL;
}

struct monitor_table *monitor_table_create(
	struct monitor_rules *rules, enum monitor_side side, uint32_t nb_workers, char *error)
{
	static unsigned int instance; /* names are unique in the process */
	struct monitor_table *table = calloc(1, sizeof(*table));
	size_t counts = (size_t)2 * nb_workers * rules->n * sizeof(struct monitor_count);

	if (table == NULL) {
		monitor_rules_free(rules);
		snprintf(error, MONITOR_ERROR_MAX, "no memory for the rules");
		return NULL;
	}
	table->rules = rules;
	table->side = side;
	table->nb_workers = nb_workers;
	/* Not touched here: a page lies where the worker is that first writes to it. */
	table->counts = calloc(1, counts + 64);
	instance++;
	if (table->counts != NULL && fill_ipv4(table, instance) && fill_ipv6(table, instance))
		return table;
	snprintf(error, MONITOR_ERROR_MAX,
		"no memory for %u rules: %zu MB for their tables, %zu MB for their counters: %s",
		rules->n, monitor_table_bytes(rules) >> 20, counts >> 20, rte_strerror(rte_errno));
	monitor_table_destroy(table);
	return NULL;
}

void monitor_table_destroy(struct monitor_table *table)
{
	if (table == NULL)
		return;
	rte_fib_free(table->fib);
	rte_fib6_free(table->fib6);
	free(table->counts);
	monitor_rules_free(table->rules);
	free(table);
}

const struct monitor_rules *monitor_table_rules(const struct monitor_table *table)
{
	return table->rules;
}

struct monitor_count *monitor_table_counts(
	struct monitor_table *table, uint64_t epoch, uint32_t worker)
{
	struct monitor_count *first = RTE_PTR_ALIGN(table->counts, 64);

	return first + ((epoch & 1) * table->nb_workers + worker) * (size_t)table->rules->n;
}

/* Matching */

/* One side of all packets: IPv4 and IPv6 apart, each in one call. */
static void look_up(const struct monitor_table *table, const struct key_burst *burst, bool source,
	uint32_t *hits)
{
	uint32_t addresses[BURST_MAX], at[BURST_MAX], at6[BURST_MAX], n = 0, n6 = 0;
	uint8_t addresses6[BURST_MAX][16];
	uint64_t hops[BURST_MAX];

	for (uint32_t i = 0; i < burst->n; i++) {
		const struct key4 *key4 = &burst->key4[i];
		const struct key6 *key6 = &burst->key6[i];

		hits[i] = MONITOR_NO_RULE;
		if (burst->v6 >> i & 1) {
			memcpy(addresses6[n6], source ? key6->src_ip : key6->dst_ip, 16);
			at6[n6++] = i;
		} else {
			addresses[n] = host_order(source ? key4->src_ip : key4->dst_ip);
			at[n++] = i;
		}
	}
	if (table->fib != NULL && n > 0) {
		rte_fib_lookup_bulk(table->fib, addresses, hops, (int)n);
		for (uint32_t i = 0; i < n; i++)
			hits[at[i]] = (uint32_t)hops[i] - 1; /* no hop becomes no rule */
	}
	if (table->fib6 != NULL && n6 > 0) {
		rte_fib6_lookup_bulk(table->fib6, (void *)addresses6, hops, (int)n6);
		for (uint32_t i = 0; i < n6; i++)
			hits[at6[i]] = (uint32_t)hops[i] - 1;
	}
}

_Static_assert((uint32_t)NO_HOP - 1 == MONITOR_NO_RULE, "see look_up()");

/* Moves packet `from` of the burst to `to`, which is not behind it. */
static void move_packet(
	struct key_burst *burst, struct monitor_hits *hits, uint32_t to, uint32_t from)
{
	burst->key4[to] = burst->key4[from];
	if (burst->v6 >> from & 1)
		burst->key6[to] = burst->key6[from];
	burst->wire_len[to] = burst->wire_len[from];
	burst->time[to] = burst->time[from];
	burst->flow_hash[to] = burst->flow_hash[from];
	burst->tcp_flags[to] = burst->tcp_flags[from];
	hits->dst[to] = hits->dst[from];
	hits->src[to] = hits->src[from];
}

uint64_t monitor_match(
	const struct monitor_table *table, struct key_burst *burst, struct monitor_hits *hits)
{
	uint64_t v6 = 0, bytes = 0;
	uint32_t kept = 0;

	if (table->side != MONITOR_SRC)
		look_up(table, burst, false, hits->dst);
	else
		memset(hits->dst, 0xff, sizeof(hits->dst));
	if (table->side != MONITOR_DST)
		look_up(table, burst, true, hits->src);
	else
		memset(hits->src, 0xff, sizeof(hits->src));
	for (uint32_t i = 0; i < burst->n; i++) {
		if ((hits->dst[i] & hits->src[i]) == MONITOR_NO_RULE) {
			bytes += burst->wire_len[i];
			continue;
		}
		v6 |= (burst->v6 >> i & 1) << kept;
		if (kept != i)
			move_packet(burst, hits, kept, i);
		kept++;
	}
	burst->n = kept;
	burst->v6 = v6;
	return bytes;
}

static inline void credit(
	struct monitor_count *count, uint32_t wire_len, const struct key_hash *hash)
{
	uint32_t r = (uint32_t)((hash->lo >> 32) * MONITOR_REGISTERS >> 32);
	uint32_t low = (uint32_t)hash->hi;
	uint8_t rank = (uint8_t)(low == 0 ? 33 : __builtin_clz(low) + 1);

	count->packets++;
	count->bytes += wire_len;
	if (count->registers[r] < rank)
		count->registers[r] = rank;
}

static bool is_above(const struct monitor_rule *rules, uint32_t above, uint32_t rule)
{
	while (rule != MONITOR_NO_RULE && rule != above)
		rule = rules[rule].parent;
	return rule == above;
}

void monitor_credit(const struct monitor_table *table, const struct key_burst *burst,
	const struct monitor_hits *hits, struct monitor_count *counts)
{
	const struct monitor_rule *rules = table->rules->rules;

	for (uint32_t i = 0; i < burst->n; i++) {
		uint32_t hit = hits->dst[i] != MONITOR_NO_RULE ? hits->dst[i] : hits->src[i];

		rte_prefetch0(&counts[hit]);
		rte_prefetch0(&counts[hit].registers[MONITOR_REGISTERS / 2]);
	}
	for (uint32_t i = 0; i < burst->n; i++) {
		for (uint32_t r = hits->dst[i]; r != MONITOR_NO_RULE; r = rules[r].parent)
			credit(&counts[r], burst->wire_len[i], &burst->hash[i]);
		/* Where the two chains meet, they go on as one. */
		for (uint32_t r = hits->src[i];
			r != MONITOR_NO_RULE && !is_above(rules, r, hits->dst[i]);
			r = rules[r].parent)
			credit(&counts[r], burst->wire_len[i], &burst->hash[i]);
	}
}

uint64_t monitor_flows(const uint8_t *registers)
{
	const double m = MONITOR_REGISTERS;
	double sum = 0, estimate;
	uint32_t zeros = 0;

	for (uint32_t r = 0; r < MONITOR_REGISTERS; r++) {
		sum += ldexp(1, -registers[r]);
		zeros += registers[r] == 0;
	}
	estimate = 0.7213 / (1 + 1.079 / m) * m * m / sum;
	/* Linear counting where few registers are taken. */
	if (estimate <= 2.5 * m && zeros > 0)
		estimate = m * log(m / zeros);
	return (uint64_t)llround(estimate);
}
