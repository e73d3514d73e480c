/* SPDX-License-Identifier: BSD-3-Clause */
#include "rx/kernel/cells.h"

#include <string.h>

#include "key/key.h"
#include "rx/kernel/tables.h"

_Static_assert(sizeof(struct iblt_sums) + IBLT_LANES4 * sizeof(__u64) == KERNEL_CELL4_BYTES &&
		       sizeof(struct key4) == IBLT_LANES4 * sizeof(__u32) &&
		       sizeof(struct key6) == IBLT_LANES6 * sizeof(__u32),
	"the program adds the words of keys");

void kernel_cells_hash(const void *arg, struct key_burst *burst)
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

static size_t cells4_bytes(uint32_t bits)
{
	return ((size_t)KERNEL_CELL_ROWS << bits) << IBLT_SHIFT4;
}

static size_t cells6_bytes(uint32_t bits)
{
	return ((size_t)KERNEL_CELL_ROWS << (bits - IBLT_LESS6)) << IBLT_SHIFT6;
}

static size_t filter_bytes(uint32_t filter_bits)
{
	return (size_t)KERNEL_CACHE_LINE << filter_bits;
}

/* Decodes and clears the IBLT of one CPU. */
static void take_cpu(const struct kernel_cells *cells, uint32_t table, bool has_ipv6,
	sketch_emit_fn take, void *arg, struct sketch_undecoded *undecoded)
{
	const struct iblt_memory memory = {
		.cells4 = cells->cells4 + table * cells4_bytes(cells->bits),
		.cells6 = cells->cells6 + table * cells6_bytes(cells->bits),
		.filter = cells->filters + table * filter_bytes(cells->filter_bits),
		.has_ipv6 = has_ipv6,
	};
	struct sketch_undecoded rest = iblt_view_decode(cells->view, &memory, take, arg);

	undecoded->flows += rest.flows;
	undecoded->packets += rest.packets;
	undecoded->bytes += rest.bytes;
	memset(memory.cells4, 0, cells4_bytes(cells->bits));
	if (has_ipv6)
		memset(memory.cells6, 0, cells6_bytes(cells->bits));
	memset(memory.filter, 0, filter_bytes(cells->filter_bits));
}

struct kernel_tally kernel_cells_take(const struct kernel_cells *cells, uint32_t generation,
	sketch_emit_fn take, void *arg, struct sketch_undecoded *undecoded)
{
	struct kernel_tally sum = {0};

	for (uint32_t cpu = 0; cpu < cells->cpus; cpu++) {
		uint32_t table = generation * cells->cpus + cpu;
		struct kernel_tally *tally = &cells->tallies[table];

		if (tally->largest == 0)
			continue; /* no packets */
		take_cpu(cells, table, tally->packets6 > 0, take, arg, undecoded);
		kernel_tally_add(&sum, tally);
		*tally = (struct kernel_tally){0};
	}
	return sum;
}

uint64_t kernel_cells_bytes(uint32_t cpus, uint32_t bits)
{
	return (uint64_t)2 * cpus *
	       (cells4_bytes(bits) + cells6_bytes(bits) +
		       filter_bytes(iblt_view_filter_bits(bits)) + sizeof(struct kernel_tally));
}
