/* SPDX-License-Identifier: BSD-3-Clause */
#include "rx/kernel/program.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <linux/bpf.h>

#include <bpf/bpf.h>

#define NODE 256
#define LEAF 8 /* words of a bitmap of 256 addresses */

/* Approximate kernel memory for a node of an LPM trie */
#define TREE_NODE_BYTES 96

/* A rule inside another rule does not change which addresses match. */
static bool is_outer(const struct prefix_list *rules, uint32_t i, bool ipv6)
{
	return rules->rules[i].ipv6 == ipv6 && rules->rules[i].parent == PREFIX_NO_ENTRY;
}

static uint32_t address_of(const struct prefix_entry *rule)
{
	const uint8_t *bits = rule->bits;

	return (uint32_t)bits[0] << 24 | (uint32_t)bits[1] << 16 | (uint32_t)bits[2] << 8 | bits[3];
}

/* The rules are sorted, so rules with the same first bits are adjacent. */
static uint32_t count_entries(const struct prefix_list *rules)
{
	uint32_t entries = KERNEL_PREFIX_FIRSTS;
	int64_t node = -1, leaf = -1;

	for (uint32_t i = 0; i < rules->n; i++) {
		const struct prefix_entry *rule = &rules->rules[i];
		uint32_t address = address_of(rule);

		if (!is_outer(rules, i, false) || rule->length <= 16)
			continue;
		if (node != address >> 16)
			entries += NODE;
		node = address >> 16;
		if (rule->length > 24 && leaf != address >> 8) {
			entries += LEAF;
			leaf = address >> 8;
		}
	}
	return entries;
}

/* Returns the level below entry `at`. If there is none, takes n entries at *used. */
static uint32_t below(uint32_t *entries, uint32_t at, uint32_t n, uint32_t *used)
{
	if (entries[at] == KERNEL_PREFIX_NONE) {
		entries[at] = *used;
		*used += n;
	}
	return entries[at];
}

static void paint(uint32_t *entries, uint32_t from, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		entries[from + i] = KERNEL_PREFIX_ALL;
}

/* Rules inside other rules are skipped, so paint() never overwrites the index of a lower level. */
static void fill_ipv4(uint32_t *entries, const struct prefix_list *rules)
{
	uint32_t used = KERNEL_PREFIX_FIRSTS;

	for (uint32_t i = 0; i < rules->n; i++) {
		uint32_t length = rules->rules[i].length, address = address_of(&rules->rules[i]);
		uint32_t node, leaf;

		if (!is_outer(rules, i, false))
			continue;
		if (length <= 16) {
			paint(entries, address >> 16, UINT32_C(1) << (16 - length));
			continue;
		}
		node = below(entries, address >> 16, NODE, &used) + (address >> 8 & 0xff);
		if (length <= 24) {
			paint(entries, node, UINT32_C(1) << (24 - length));
			continue;
		}
		leaf = below(entries, node, LEAF, &used);
		for (uint32_t host = 0; host < UINT32_C(1) << (32 - length); host++) {
			uint32_t last = (address & 0xff) + host;

			entries[leaf + last / 32] |= UINT32_C(1) << last % 32;
		}
	}
}

static int create_ipv4(const struct prefix_list *rules)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = KERNEL_PREFIX_FLAGS);
	uint32_t elements = count_entries(rules) / KERNEL_PREFIX_ENTRIES;
	size_t bytes = (size_t)elements * sizeof(struct kernel_prefixes);
	int map = bpf_map_create(BPF_MAP_TYPE_ARRAY, "sketchtap_ipv4", sizeof(uint32_t),
		sizeof(struct kernel_prefixes), elements, &opts);
	uint32_t *entries;

	if (map < 0)
		return map;
	entries = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, map, 0);
	if (entries == MAP_FAILED) {
		close(map);
		return -1;
	}
	fill_ipv4(entries, rules);
	munmap(entries, bytes);
	return map;
}

static int create_ipv6(const struct prefix_list *rules)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_NO_PREALLOC);
	int map = bpf_map_create(BPF_MAP_TYPE_LPM_TRIE, "sketchtap_ipv6",
		sizeof(struct kernel_prefix6), sizeof(uint32_t), rules->nb_ipv6 + 1, &opts);

	for (uint32_t i = 0; map >= 0 && i < rules->n; i++) {
		struct kernel_prefix6 prefix = {.length = rules->rules[i].length};
		uint32_t value = 0;

		if (!is_outer(rules, i, true))
			continue;
		memcpy(prefix.bits, rules->rules[i].bits, sizeof(prefix.bits));
		if (bpf_map_update_elem(map, &prefix, &value, BPF_ANY) != 0) {
			close(map);
			return -1;
		}
	}
	return map;
}

struct kernel_prefix_maps *kernel_prefix_maps_create(const struct prefix_list *rules, char *error)
{
	struct kernel_prefix_maps *maps = malloc(sizeof(*maps));

	if (maps != NULL) {
		maps->ipv4 = create_ipv4(rules);
		maps->ipv6 = maps->ipv4 >= 0 ? create_ipv6(rules) : -1;
		if (maps->ipv6 >= 0)
			return maps;
	}
	snprintf(error, PREFIX_ERROR_MAX, "out of kernel memory for %u rules, %llu MB: %s",
		rules->n, (unsigned long long)kernel_prefix_maps_bytes(rules) >> 20,
		strerror(errno));
	if (maps != NULL && maps->ipv4 >= 0)
		close(maps->ipv4);
	free(maps);
	return NULL;
}

void kernel_prefix_maps_destroy(struct kernel_prefix_maps *rules)
{
	if (rules == NULL)
		return;
	close(rules->ipv4);
	close(rules->ipv6);
	free(rules);
}

uint64_t kernel_prefix_maps_bytes(const struct prefix_list *rules)
{
	return (uint64_t)count_entries(rules) * sizeof(uint32_t) +
	       (uint64_t)rules->nb_ipv6 * TREE_NODE_BYTES;
}
