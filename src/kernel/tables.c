/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernel/tables.h"

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
	sum->packets4 += tally->packets4;
	sum->packets6 += tally->packets6;
	sum->bytes += tally->bytes;
}

struct kernel_tally kernel_tables_take(const struct kernel_tables *tables, uint32_t generation,
	void (*take)(void *arg, const struct kernel_flow *flow), void *arg)
{
	struct kernel_tally sum = {0};

	for (uint32_t cpu = 0; cpu < tables->cpus; cpu++) {
		uint32_t table = generation * tables->cpus + cpu;
		struct kernel_tally *tally = &tables->tallies[table];
		struct kernel_flow *flows = &tables->flows[(uint64_t)table * 2 * tables->buckets];

		if (tally->largest == 0)
			continue; /* nothing came */
		for (uint32_t i = 0; i < tables->buckets + tally->used; i++)
			take_flow(&flows[i], take, arg);
		kernel_tally_add(&sum, tally);
		*tally = (struct kernel_tally){0};
	}
	return sum;
}

uint64_t kernel_tables_bytes(uint32_t cpus, uint32_t buckets)
{
	return (uint64_t)2 * cpus *
	       (2 * (uint64_t)buckets * sizeof(struct kernel_flow) + sizeof(struct kernel_tally));
}
