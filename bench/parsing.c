/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/parsing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_mbuf.h>

#include "base/assertion.h"
#include "key/hash.h"
#include "rx/packet/parse_burst.h"
#include "rx/generate/synthetic.h"

#define POOL_SIZE 127

struct parsing {
	bool ipv6;
	struct rte_mempool *pool;
	struct rte_mbuf *pkts[BURST_MAX];
	struct hash_key hash_key;
};

static bool fill_packets(struct parsing *parsing, struct source *source)
{
	if (rte_pktmbuf_alloc_bulk(parsing->pool, parsing->pkts, BURST_MAX) != 0)
		return false;
	for (uint32_t i = 0; i < BURST_MAX; i++) {
		struct source_packet packet;
		char *data;

		if (source->next(source, &packet) <= 0)
			return false;
		data = rte_pktmbuf_append(parsing->pkts[i], (uint16_t)packet.captured);
		if (data == NULL)
			return false;
		memcpy(data, packet.data, packet.captured);
	}
	return true;
}

struct parsing *parsing_create(bool ipv6_vlan, uint64_t seed)
{
	struct parsing *parsing = aligned_alloc(64, (sizeof(*parsing) + 63) / 64 * 64);
	char name[RTE_MEMPOOL_NAMESIZE], error[SOURCE_ERROR_MAX];
	struct synthetic_spec spec;
	struct source *source;
	bool filled = false;

	if (parsing == NULL)
		return NULL;
	memset(parsing, 0, sizeof(*parsing));
	parsing->ipv6 = ipv6_vlan;
	hash_key_init(&parsing->hash_key, seed);
	snprintf(name, sizeof(name), "parsing%d", ipv6_vlan);
	parsing->pool = rte_pktmbuf_pool_create(
		name, POOL_SIZE, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	synthetic_parse(ipv6_vlan ? "flows=1K,ipv6=1,vlan=1" : "flows=1K", &spec, error);
	source = generate_open(&spec, error);
	if (source != NULL) {
		filled = parsing->pool != NULL && fill_packets(parsing, source);
		source->close(source);
	}
	if (!filled) {
		parsing_destroy(parsing);
		return NULL;
	}
	return parsing;
}

void parsing_destroy(struct parsing *parsing)
{
	rte_pktmbuf_free_bulk(parsing->pkts, BURST_MAX);
	rte_mempool_free(parsing->pool);
	free(parsing);
}

struct rte_mbuf *const *parsing_packets(const struct parsing *parsing)
{
	return parsing->pkts;
}

bool parsing_run(struct parsing *parsing, uint64_t packets)
{
	enum parse_verdict expected = parsing->ipv6 ? PARSE_IPV6 : PARSE_IPV4;
	struct parse_counts counts;
	struct key_burst burst;

	VERIFY(packets % BURST_MAX, ==, 0u);
	parse_counts_reset(&counts);
	for (uint64_t i = 0; i < packets; i += BURST_MAX) {
		parse_burst_port(
			parsing->pkts, BURST_MAX, &burst, &counts, PARSE_KEYS, false, NULL, NULL);
		hash_burst(&parsing->hash_key, &burst);
		/* Prevents the compiler from removing unused results. */
		__asm__ volatile("" : : "r"(&burst) : "memory");
	}
	return counts.verdicts[expected] == packets;
}
