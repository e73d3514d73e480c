/* SPDX-License-Identifier: BSD-3-Clause */
#include "rx/kernel/kernel_sketch.h"

#include <string.h>

#include "key/key.h"
#include "rx/kernel/tables.h"

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

/* Decodes and clears an instance. */
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

	for (uint32_t cpu = 0; cpu < sketch->cpus; cpu++) {
		uint32_t instance = generation * sketch->cpus + cpu;
		struct kernel_tally *tally = &sketch->tallies[instance];

		if (tally->largest == 0)
			continue; /* no packets */
		take_instance(sketch, instance, tally->packets[1] > 0, take, arg, undecoded);
		kernel_tally_add(&sum, tally);
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
