/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdlib.h>

#include "report/report.h"

struct report_epoch *report_epoch_alloc(uint32_t nb_measurements)
{
	struct report_epoch *epoch = calloc(
		1, sizeof(*epoch) + (size_t)nb_measurements * sizeof(epoch->measurements[0]));

	if (epoch != NULL)
		epoch->nb_measurements = nb_measurements;
	return epoch;
}

void report_epoch_free(struct report_epoch *epoch)
{
	if (epoch == NULL)
		return;
	for (uint32_t m = 0; m < epoch->nb_measurements; m++)
		free(epoch->measurements[m].rows);
	free(epoch);
}

uint64_t report_duration(const struct report_epoch *epoch)
{
	return epoch->end > epoch->start ? (uint64_t)epoch->end - (uint64_t)epoch->start : 0;
}

uint64_t report_per_second(unsigned __int128 amount, uint64_t duration_ns)
{
	unsigned __int128 rate = (amount * 1000000000 + duration_ns / 2) / duration_ns;

	return rate < UINT64_MAX ? (uint64_t)rate : UINT64_MAX;
}
