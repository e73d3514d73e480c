/* SPDX-License-Identifier: BSD-3-Clause */
#include "rx/filter/prefix_filter.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_errno.h>
#include <rte_fib6.h>
#include <rte_memory.h>
#include <rte_prefetch.h>

#include "base/assertion.h"
#include "base/huge_map.h"
#include "rx/filter/prefix_table.h"

/* Next hop of addresses without a rule. The next hop of a rule is its index + 1. */
#define NO_HOP 0

/* Bytes of librte_fib: its first level, one of its 256-entry groups, one node of librte_rib */
#define FIRST_LEVEL ((size_t)4 << 24)
#define GROUP_BYTES ((size_t)4 * 256)
#define NODE_BYTES  ((size_t)192)

struct prefix_filter {
	struct prefix_list *rules;
	enum prefix_side side;
	struct prefix_table *ipv4; /* NULL: no IPv4 rules */
	struct rte_fib6 *ipv6;     /* NULL: no IPv6 rules */
	/* Compact copy of the parent of each rule, because it is read for each packet */
	uint32_t *parents;
	uint32_t nb_workers;
	struct prefix_counts *counts; /* [2][nb_workers][rules->n] */
};

/* Upper bound: one 256-entry group of librte_fib for every prefix byte after the third */
static uint32_t groups_of(const struct prefix_list *rules)
{
	uint32_t groups = 0;

	for (uint32_t i = rules->n - rules->nb_ipv6; i < rules->n; i++)
		if (rules->rules[i].length > 24)
			groups += (rules->rules[i].length - 24 + 7) / 8;
	return groups;
}

size_t prefix_filter_bytes(const struct prefix_list *rules)
{
	/* A reload of the file can add IPv6 rules, so the first level is always included. */
	return FIRST_LEVEL + groups_of(rules) * GROUP_BYTES +
	       2 * (size_t)rules->nb_ipv6 * NODE_BYTES;
}

size_t prefix_ordinary_bytes(const struct prefix_list *rules)
{
	/* A reload of the file can replace IPv6 rules by IPv4 rules, so all count as IPv4. */
	return prefix_table_bytes(rules->n) +
	       rules->n * (sizeof(rules->rules[0]) + sizeof(uint32_t));
}

static size_t counts_size(uint32_t rules, uint32_t nb_workers)
{
	return (size_t)2 * nb_workers * rules * sizeof(struct prefix_counts);
}

size_t prefix_worker_bytes(const struct prefix_list *rules)
{
	return counts_size(rules->n, 1);
}

_Static_assert(PREFIX_ENTRIES_MAX <= PREFIXES_MAX && PREFIX_NO_ENTRY == PREFIX_NONE,
	"the place of a prefix is the index of its rule");

static uint32_t host_order(const uint8_t *bits)
{
	uint32_t address;

	memcpy(&address, bits, sizeof(address));
	return rte_be_to_cpu_32(address);
}

static bool fill_ipv4(struct prefix_filter *table)
{
	const struct prefix_list *rules = table->rules;
	uint32_t n = rules->n - rules->nb_ipv6;
	struct prefix *prefixes;

	if (n == 0)
		return true;
	prefixes = malloc(n * sizeof(*prefixes));
	for (uint32_t i = 0; prefixes != NULL && i < n; i++)
		prefixes[i] =
			(struct prefix){host_order(rules->rules[i].bits), rules->rules[i].length};
	if (prefixes != NULL)
		table->ipv4 = prefix_table_create(prefixes, n);
	free(prefixes);
	return table->ipv4 != NULL;
}

static bool fill_ipv6(struct prefix_filter *table)
{
	static unsigned int serial; /* table names must be unique in the process */
	char name[32];
	const struct prefix_list *rules = table->rules;
	struct rte_fib6_conf conf = {
		.type = RTE_FIB6_TRIE,
		.default_nh = NO_HOP,
		.max_routes = (int)rules->nb_ipv6 + 1,
		.trie = {.nh_sz = RTE_FIB6_TRIE_4B, .num_tbl8 = groups_of(rules) + 1},
	};

	if (rules->nb_ipv6 == 0)
		return true;
	snprintf(name, sizeof(name), "prefixes6_%u", serial++);
	table->ipv6 = rte_fib6_create(name, SOCKET_ID_ANY, &conf);
	/* DPDK 24.11 changed the type of addresses, but not their bytes. */
	for (uint32_t i = rules->n - rules->nb_ipv6; table->ipv6 != NULL && i < rules->n; i++) {
		int status = rte_fib6_add(table->ipv6, (const void *)rules->rules[i].bits,
			rules->rules[i].length, i + 1);

		if (status == 0)
			continue;
		rte_errno = -status;
		return false;
	}
	return table->ipv6 != NULL;
}

static bool copy_parents(struct prefix_filter *table)
{
	const struct prefix_list *rules = table->rules;

	table->parents = malloc((size_t)rules->n * sizeof(table->parents[0]));
	for (uint32_t r = 0; table->parents != NULL && r < rules->n; r++)
		table->parents[r] = rules->rules[r].parent;
	return table->parents != NULL;
}

struct prefix_filter *prefix_filter_create(
	struct prefix_list *rules, enum prefix_side side, uint32_t nb_workers, char *error)
{
	struct prefix_filter *table = calloc(1, sizeof(*table));

	if (table == NULL) {
		prefix_rules_free(rules);
		snprintf(error, PREFIX_ERROR_MAX, "out of memory for the rules");
		return NULL;
	}
	table->rules = rules;
	table->side = side;
	table->nb_workers = nb_workers;
	rte_errno = ENOMEM;
	/* The kernel places a page on the NUMA node of the worker that first writes to it. */
	table->counts = huge_map(counts_size(rules->n, nb_workers));
	if (table->counts != NULL && copy_parents(table) && fill_ipv4(table) && fill_ipv6(table))
		return table;
	snprintf(error, PREFIX_ERROR_MAX,
		"out of memory for %u rules: %zu MB for counters, and tables with %zu MB of EAL "
		"memory: %s",
		rules->n, counts_size(rules->n, nb_workers) >> 20, prefix_filter_bytes(rules) >> 20,
		rte_strerror(rte_errno));
	prefix_filter_destroy(table);
	return NULL;
}

void prefix_filter_destroy(struct prefix_filter *table)
{
	if (table == NULL)
		return;
	prefix_table_destroy(table->ipv4);
	rte_fib6_free(table->ipv6);
	huge_unmap(table->counts, counts_size(table->rules->n, table->nb_workers));
	free(table->parents);
	prefix_rules_free(table->rules);
	free(table);
}

const struct prefix_list *prefix_filter_entries(const struct prefix_filter *table)
{
	return table->rules;
}

struct prefix_counts *prefix_filter_counts(
	struct prefix_filter *table, uint64_t epoch, uint32_t worker)
{
	ASSERT(worker, <, table->nb_workers);
	return table->counts + ((epoch & 1) * table->nb_workers + worker) * (size_t)table->rules->n;
}

/* Looks up all packets as if they were IPv4. The results for IPv6 packets are undefined. */
static void look_up_ipv4(
	const struct prefix_table *ipv4, const struct key_burst *burst, bool source, uint32_t *hits)
{
	uint32_t addresses[BURST_MAX];

	for (uint32_t i = 0; i < burst->n; i++) {
		const struct key4 *key = &burst->key4[i];

		addresses[i] = host_order(source ? key->src_ip : key->dst_ip);
	}
	prefix_table_look_up(ipv4, addresses, hits, burst->n);
}

/* The burst must have an IPv6 packet. */
static void look_up_ipv6(
	struct rte_fib6 *ipv6, const struct key_burst *burst, bool source, uint32_t *hits)
{
	uint8_t addresses[BURST_MAX][16];
	uint64_t hops[BURST_MAX];
	uint32_t at[BURST_MAX], n = 0;
	uint64_t left = burst->v6;

	ASSERT(left, !=, 0);
	do {
		const struct key6 *key = &burst->key6[__builtin_ctzll(left)];

		at[n] = (uint32_t)__builtin_ctzll(left);
		memcpy(addresses[n++], source ? key->src_ip : key->dst_ip, 16);
		left &= left - 1;
	} while (left != 0);
	rte_fib6_lookup_bulk(ipv6, (void *)addresses, hops, (int)n);
	for (uint32_t i = 0; i < n; i++)
		hits[at[i]] = (uint32_t)hops[i] - 1;
}

static void look_up(const struct prefix_filter *table, const struct key_burst *burst, bool source,
	uint32_t *hits)
{
	if (table->ipv4 != NULL)
		look_up_ipv4(table->ipv4, burst, source, hits);
	else
		memset(hits, 0xff, burst->n * sizeof(hits[0]));
	for (uint64_t left = burst->v6; left != 0; left &= left - 1)
		hits[__builtin_ctzll(left)] = PREFIX_NO_ENTRY;
	if (table->ipv6 != NULL && burst->v6 != 0)
		look_up_ipv6(table->ipv6, burst, source, hits);
}

_Static_assert((uint32_t)NO_HOP - 1 == PREFIX_NO_ENTRY, "see look_up()");

static void move_packet(
	struct key_burst *burst, struct prefix_matches *hits, uint32_t to, uint32_t from)
{
	ASSERT(to, <=, from);
	key_burst_move(burst, to, from);
	hits->dst[to] = hits->dst[from];
	hits->src[to] = hits->src[from];
}

/* Inlined here and below, because callers pass a constant `weighted`. */
static inline __attribute__((always_inline)) struct prefix_unmatched match(
	const struct prefix_filter *table, struct key_burst *burst, struct prefix_matches *hits,
	const bool weighted)
{
	struct prefix_unmatched left_out = {0};
	uint64_t unmatched = 0, matched, v6 = 0;
	uint32_t kept = 0, none = 0;

	ASSERT(burst->n, <=, BURST_MAX);
	if (table->side != PREFIX_SRC)
		look_up(table, burst, false, hits->dst);
	else
		memset(hits->dst, 0xff, sizeof(hits->dst));
	if (table->side != PREFIX_DST)
		look_up(table, burst, true, hits->src);
	else
		memset(hits->src, 0xff, sizeof(hits->src));
	/* The compiler vectorizes this loop, and all packets of most bursts match. */
	for (uint32_t i = 0; i < burst->n; i++)
		none |= (hits->dst[i] & hits->src[i]) == PREFIX_NO_ENTRY;
	if (!none)
		return left_out;
	for (uint32_t i = 0; i < burst->n; i++)
		unmatched |= (uint64_t)((hits->dst[i] & hits->src[i]) == PREFIX_NO_ENTRY) << i;
	matched = ~unmatched & UINT64_MAX >> (BURST_MAX - burst->n);
	for (uint64_t left = unmatched; left != 0; left &= left - 1) {
		uint32_t i = (uint32_t)__builtin_ctzll(left);

		left_out.packets += weighted ? burst->weights->packets[i] : 1;
		left_out.bytes += weighted ? burst->weights->bytes[i] : burst->wire_len[i];
	}
	for (uint64_t left = matched; left != 0; left &= left - 1) {
		uint32_t i = (uint32_t)__builtin_ctzll(left);

		v6 |= (burst->v6 >> i & 1) << kept;
		move_packet(burst, hits, kept, i);
		if (weighted) {
			burst->weights->packets[kept] = burst->weights->packets[i];
			burst->weights->bytes[kept] = burst->weights->bytes[i];
		}
		kept++;
	}
	burst->n = kept;
	burst->v6 = v6;
	return left_out;
}

uint64_t prefix_match(
	const struct prefix_filter *table, struct key_burst *burst, struct prefix_matches *hits)
{
	return match(table, burst, hits, false).bytes;
}

void prefix_match_weights(const struct prefix_filter *table, struct key_burst *burst,
	struct prefix_matches *hits, struct prefix_unmatched *left_out)
{
	*left_out = match(table, burst, hits, true);
}

static inline uint32_t register_of(const struct key_hash *hash)
{
	return (uint32_t)((hash->lo >> 32) * PREFIX_REGISTERS >> 32);
}

static inline void credit(
	struct prefix_counts *count, uint64_t packets, uint64_t bytes, const struct key_hash *hash)
{
	uint32_t r = register_of(hash);
	uint32_t low = (uint32_t)hash->hi;
	uint8_t rank = (uint8_t)(low == 0 ? 33 : __builtin_clz(low) + 1);

	count->packets += packets;
	count->bytes += bytes;
	if (count->registers[r] < rank)
		count->registers[r] = rank;
}

static bool contains_rule(const uint32_t *parents, uint32_t outer, uint32_t rule)
{
	while (rule != PREFIX_NO_ENTRY && rule != outer)
		rule = parents[rule];
	return rule == outer;
}

static inline __attribute__((always_inline)) void credit_all(const struct prefix_filter *table,
	const struct key_burst *burst, const struct prefix_matches *hits,
	struct prefix_counts *counts, const bool weighted)
{
	const uint32_t *parents = table->parents;

	for (uint32_t i = 0; i < burst->n; i++) {
		uint32_t hit = hits->dst[i] != PREFIX_NO_ENTRY ? hits->dst[i] : hits->src[i];

		rte_prefetch0(&counts[hit]);
		rte_prefetch0(&counts[hit].registers[register_of(&burst->hash[i])]);
	}
	for (uint32_t i = 0; i < burst->n; i++) {
		uint64_t packets = weighted ? burst->weights->packets[i] : 1;
		uint64_t bytes = weighted ? burst->weights->bytes[i] : burst->wire_len[i];

		for (uint32_t r = hits->dst[i]; r != PREFIX_NO_ENTRY; r = parents[r])
			credit(&counts[r], packets, bytes, &burst->hash[i]);
		/* Rules that contain both addresses were already counted for the destination. */
		for (uint32_t r = hits->src[i];
			r != PREFIX_NO_ENTRY && !contains_rule(parents, r, hits->dst[i]);
			r = parents[r])
			credit(&counts[r], packets, bytes, &burst->hash[i]);
	}
}

void prefix_credit(const struct prefix_filter *table, const struct key_burst *burst,
	const struct prefix_matches *hits, struct prefix_counts *counts)
{
	credit_all(table, burst, hits, counts, false);
}

void prefix_credit_weights(const struct prefix_filter *table, const struct key_burst *burst,
	const struct prefix_matches *hits, struct prefix_counts *counts)
{
	credit_all(table, burst, hits, counts, true);
}

uint64_t prefix_flows(const uint8_t *registers)
{
	const double m = PREFIX_REGISTERS;
	double sum = 0, estimate;
	uint32_t zeros = 0;

	for (uint32_t r = 0; r < PREFIX_REGISTERS; r++) {
		sum += ldexp(1, -registers[r]);
		zeros += registers[r] == 0;
	}
	estimate = 0.7213 / (1 + 1.079 / m) * m * m / sum;
	/* Linear counting is more exact if few registers are set (Flajolet et al. 2007). */
	if (estimate <= 2.5 * m && zeros > 0)
		estimate = m * log(m / zeros);
	return (uint64_t)llround(estimate);
}
