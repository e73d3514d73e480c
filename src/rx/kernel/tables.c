/* SPDX-License-Identifier: BSD-3-Clause */
#include "rx/kernel/tables.h"

#include "rx/kernel/shared_map.h"

static void take_flow(struct kernel_flow *flow,
	void (*take)(void *arg, const struct kernel_flow *flow), void *arg)
{
	if (flow->packets == 0)
		return;
	take(arg, flow);
	flow->packets = 0;
	flow->next = 0;
}

void kernel_tally_add(struct kernel_tally *sum, const struct kernel_tally *tally)
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

/* Reads and clears the table of one CPU. */
static void take_cpu(const struct kernel_tables *tables, uint32_t table,
	void (*take)(void *arg, const struct kernel_flow *flow), void *arg)
{
	struct kernel_flow *flows = &tables->flows[(uint64_t)table * 2 * tables->buckets];
	uint32_t n = tables->buckets + tables->tallies[table].used;

	for (uint32_t i = 0; i < n; i++)
		take_flow(&flows[i], take, arg);
}

struct kernel_tally kernel_tables_take(const struct kernel_tables *tables, uint32_t generation,
	void (*take)(void *arg, const struct kernel_flow *flow), void *arg)
{
	struct kernel_tally sum = {0};

	for (uint32_t cpu = 0; cpu < tables->cpus; cpu++) {
		uint32_t table = generation * tables->cpus + cpu;
		struct kernel_tally *tally = &tables->tallies[table];

		if (tally->largest == 0)
			continue; /* no packets */
		if (!tables->all_share)
			take_cpu(tables, table, take, arg);
		kernel_tally_add(&sum, tally);
		*tally = (struct kernel_tally){0};
	}
	if (tables->all_share && sum.largest > 0)
		shared_map_take(tables->shared[generation], take, arg);
	return sum;
}

uint64_t kernel_tables_bytes(uint32_t cpus, uint32_t buckets, bool all_share)
{
	/* the kernel stores its own key and some pointers per flow */
	uint64_t flow =
		sizeof(struct kernel_flow) + (all_share ? 2 * sizeof(struct kernel_shared_key) : 0);

	return (uint64_t)2 * cpus * (2 * (uint64_t)buckets * flow + sizeof(struct kernel_tally));
}
