/* SPDX-License-Identifier: BSD-3-Clause */
#include "adapt/costs.h"

#include <stddef.h>

#define COSTS_TIMES ((sizeof(struct costs) - offsetof(struct costs, receive)) / sizeof(uint64_t))

_Static_assert(offsetof(struct costs, receive) == 2 * sizeof(uint64_t), "times follow counts");

void costs_add(struct costs *sum, const struct costs *costs, double factor)
{
	uint64_t *to = &sum->receive;
	const uint64_t *from = &costs->receive;

	sum->bursts += costs->bursts;
	sum->packets += costs->packets;
	for (size_t i = 0; i < COSTS_TIMES; i++)
		to[i] += (uint64_t)((double)from[i] * factor + 0.5);
}

uint64_t costs_sum(const struct costs *costs)
{
	const uint64_t *times = &costs->receive;
	uint64_t sum = 0;

	for (size_t i = 0; i < COSTS_TIMES; i++)
		sum += times[i];
	return sum;
}
