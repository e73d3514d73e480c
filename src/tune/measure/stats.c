/* SPDX-License-Identifier: BSD-3-Clause */
#include "tune/measure/stats.h"

#include <stdlib.h>
#include <string.h>

#include "base/assertion.h"

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

struct bench_stats bench_stats_of(const double *values, uint32_t n)
{
	double sorted[BENCH_ROUNDS_MAX];

	VERIFY(n, >, 0u);
	VERIFY(n, <=, (uint32_t)BENCH_ROUNDS_MAX);
	memcpy(sorted, values, n * sizeof(sorted[0]));
	qsort(sorted, n, sizeof(sorted[0]), compare);
	return (struct bench_stats){
		.median = (sorted[(n - 1) / 2] + sorted[n / 2]) / 2,
		.min = sorted[0],
		.max = sorted[n - 1],
	};
}
