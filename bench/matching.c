/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/matching.h"

#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>

#include "base/assertion.h"
#include "key/hash.h"
#include "rx/filter/prefix_filter.h"
#include "base/random.h"

#define PACKETS (1u << 20)

struct matching {
	struct prefix_filter *table;
	uint32_t addresses[PACKETS];
	struct key_burst burst;
	struct prefix_matches hits;
};

/* Sorted, as after reading a file. */
static struct prefix_list *random_hosts(uint32_t n, struct random *random)
{
	struct prefix_list *rules = calloc(1, sizeof(*rules) + n * sizeof(rules->rules[0]));
	uint64_t apart = (UINT64_C(1) << 32) / n;

	VERIFY(n, >, 0u);
	for (uint32_t r = 0; rules != NULL && r < n; r++) {
		struct prefix_entry *rule = &rules->rules[r];
		uint32_t address = htonl((uint32_t)(r * apart + random_below(random, apart)));

		memcpy(rule->bits, &address, sizeof(address));
		rule->length = 32;
		rule->parent = PREFIX_NO_ENTRY;
	}
	if (rules != NULL)
		rules->n = n;
	return rules;
}

static void draw_packets(struct matching *matching, struct random *random)
{
	const struct prefix_list *rules = prefix_filter_entries(matching->table);

	for (uint32_t p = 0; p < PACKETS; p++)
		memcpy(&matching->addresses[p], rules->rules[random_below(random, rules->n)].bits,
			sizeof(matching->addresses[p]));
}

struct matching *matching_create(uint32_t rules, uint64_t hash_seed)
{
	struct matching *matching = aligned_alloc(64, (sizeof(*matching) + 63) / 64 * 64);
	struct prefix_list *hosts;
	struct random random;
	struct hash_key key;
	char error[PREFIX_ERROR_MAX];

	if (matching == NULL)
		return NULL;
	memset(matching, 0, sizeof(*matching));
	random_init(&random, 1);
	hosts = random_hosts(rules, &random);
	if (hosts != NULL)
		matching->table = prefix_filter_create(hosts, PREFIX_DST, 1, error);
	if (matching->table == NULL) {
		free(matching);
		return NULL;
	}
	draw_packets(matching, &random);
	matching->burst.n = BURST_MAX;
	hash_key_init(&key, hash_seed);
	hash_burst(&key, &matching->burst);
	return matching;
}

void matching_destroy(struct matching *matching)
{
	prefix_filter_destroy(matching->table);
	free(matching);
}

size_t matching_bytes(uint32_t rules)
{
	struct random random;
	struct prefix_list *hosts;
	size_t bytes;

	random_init(&random, 1);
	hosts = random_hosts(rules, &random);
	bytes = hosts != NULL ? prefix_filter_bytes(hosts) : 0;
	prefix_rules_free(hosts);
	return bytes;
}

uint64_t matching_run(struct matching *matching, uint64_t packets, enum matching_part part)
{
	struct prefix_counts *counts = prefix_filter_counts(matching->table, 0, 0);
	struct key_burst *burst = &matching->burst;
	uint64_t matched = 0;

	VERIFY(packets % BURST_MAX, ==, 0u);
	for (uint64_t p = 0; p < packets; p += BURST_MAX) {
		const uint32_t *addresses = &matching->addresses[p % PACKETS];

		burst->n = BURST_MAX;
		for (uint32_t i = 0; i < BURST_MAX; i++)
			memcpy(burst->key4[i].dst_ip, &addresses[i], sizeof(addresses[i]));
		if (part >= MATCHING_MATCH)
			prefix_match(matching->table, burst, &matching->hits);
		if (part >= MATCHING_CREDIT)
			prefix_credit(matching->table, burst, &matching->hits, counts);
		matched += burst->n;
		/* Prevents the compiler from removing unused results. */
		__asm__ volatile("" : : "r"(burst), "r"(&matching->hits) : "memory");
	}
	return matched;
}
