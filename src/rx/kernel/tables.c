/* SPDX-License-Identifier: BSD-3-Clause */
#include "rx/kernel/tables.h"

#include <string.h>

#include "base/assertion.h"
#include "key/key.h"

static void take_flow(struct kernel_flow *flow,
	void (*take)(void *arg, const struct kernel_flow *flow), void *arg)
{
	if (flow->packets == 0)
		return;
	take(arg, flow);
	flow->packets = 0;
	flow->next = 0;
}

static void add_tally(struct kernel_tally *sum, const struct kernel_tally *tally)
{
	sum->used += tally->used;
	if (tally->largest > sum->largest)
		sum->largest = tally->largest;
	if (tally->smallest < sum->smallest || sum->smallest == 0)
		sum->smallest = tally->smallest;
	sum->packets[0] += tally->packets[0];
	sum->packets[1] += tally->packets[1];
	sum->bytes += tally->bytes;
}

static void take_cpu(const struct kernel_tables *tables, uint32_t table,
	void (*take)(void *arg, const struct kernel_flow *flow), void *arg)
{
	struct kernel_flow *flows = &tables->flows[(uint64_t)table * 2 * tables->buckets];
	uint32_t n = tables->buckets + tables->tallies[table].used;

	VERIFY(tables->tallies[table].used, <=, tables->buckets);
	for (uint32_t i = 0; i < n; i++)
		take_flow(&flows[i], take, arg);
}

struct kernel_tally kernel_tables_take(const struct kernel_tables *tables, uint32_t generation,
	void (*take)(void *arg, const struct kernel_flow *flow), void *arg)
{
	struct kernel_tally sum = {0};

	VERIFY(generation, <, 2u);
	for (uint32_t cpu = 0; cpu < tables->cpus; cpu++) {
		uint32_t table = generation * tables->cpus + cpu;
		struct kernel_tally *tally = &tables->tallies[table];

		if (tally->largest == 0)
			continue;
		if (!tables->all_share)
			take_cpu(tables, table, take, arg);
		add_tally(&sum, tally);
		*tally = (struct kernel_tally){0};
	}
	if (tables->all_share && sum.largest > 0)
		shared_map_take(tables->shared[generation], take, arg);
	return sum;
}

uint64_t kernel_tables_bytes(uint32_t cpus, uint32_t buckets, bool all_share)
{
	/* The kernel also stores a key and some pointers for each flow. */
	uint64_t flow =
		sizeof(struct kernel_flow) + (all_share ? 2 * sizeof(struct kernel_shared_key) : 0);

	return (uint64_t)2 * cpus * (2 * (uint64_t)buckets * flow + sizeof(struct kernel_tally));
}

void kernel_sketch_hash(const void *arg, struct key_burst *burst)
{
	const __u64 *keys = arg;

	for (uint32_t i = 0; i < burst->n; i++) {
		__u64 words[5];

		if (burst->v6 >> i & 1) {
			memcpy(words, &burst->key6[i], sizeof(burst->key6[i]));
			burst->hash[i].lo = kernel_hash(keys, words, 5);
			burst->hash[i].hi = kernel_hash(keys + KERNEL_HASH_KEYS, words, 5);
		} else {
			memcpy(words, &burst->key4[i], sizeof(burst->key4[i]));
			burst->hash[i].lo = kernel_hash(keys, words, 2);
			burst->hash[i].hi = kernel_hash(keys + KERNEL_HASH_KEYS, words, 2);
		}
	}
}

static size_t part_bytes(const struct kernel_part *part)
{
	return part->n * part->bytes;
}

static void take_instance(const struct kernel_sketch *sketch, uint32_t instance, bool has_ipv6,
	sketch_emit_fn take, void *arg, struct sketch_undecoded *undecoded)
{
	const struct kernel_part *parts = sketch->parts.parts;
	void *memory[KERNEL_PARTS_MAX] = {NULL};
	struct sketch_undecoded rest;

	for (uint32_t p = 0; p < KERNEL_PARTS_MAX && parts[p].map != NULL; p++)
		memory[p] = sketch->memory[p] + instance * part_bytes(&parts[p]);
	rest = sketch->layout->decode(sketch->reader, memory, has_ipv6, take, arg);
	undecoded->flows += rest.flows;
	undecoded->packets += rest.packets;
	undecoded->bytes += rest.bytes;
	for (uint32_t p = 0; p < KERNEL_PARTS_MAX && parts[p].map != NULL; p++)
		if (has_ipv6 || !parts[p].ipv6)
			memset(memory[p], 0, part_bytes(&parts[p]));
}

struct kernel_tally kernel_sketch_take(const struct kernel_sketch *sketch, uint32_t generation,
	sketch_emit_fn take, void *arg, struct sketch_undecoded *undecoded)
{
	struct kernel_tally sum = {0};

	VERIFY(generation, <, 2u);
	for (uint32_t cpu = 0; cpu < sketch->cpus; cpu++) {
		uint32_t instance = generation * sketch->cpus + cpu;
		struct kernel_tally *tally = &sketch->tallies[instance];

		if (tally->largest == 0)
			continue;
		take_instance(sketch, instance, tally->packets[1] > 0, take, arg, undecoded);
		add_tally(&sum, tally);
		*tally = (struct kernel_tally){0};
	}
	return sum;
}

uint64_t kernel_sketch_bytes(const struct kernel_layout *layout, uint32_t cpus, uint32_t width)
{
	struct kernel_parts parts = layout->parts(width);
	uint64_t bytes = sizeof(struct kernel_tally);

	for (uint32_t p = 0; p < KERNEL_PARTS_MAX && parts.parts[p].map != NULL; p++)
		bytes += part_bytes(&parts.parts[p]);
	return 2 * cpus * bytes;
}
