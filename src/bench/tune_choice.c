/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/tune_choice.h"

static bool counts(const struct tune_figures *figures, bool comparable)
{
	return figures->fits && figures->comparable == comparable && figures->pps > 0;
}

/* Whether a is to be preferred to b, which is as fast. */
static bool is_better(const struct tune_figures *a, const struct tune_figures *b)
{
	if (a->threads != b->threads)
		return a->threads < b->threads;
	if (a->memory != b->memory)
		return a->memory < b->memory;
	return a->error < b->error;
}

static uint32_t choose_of(const struct tune_figures *figures, uint32_t n, bool comparable)
{
	uint32_t chosen = n;
	double highest = 0;

	for (uint32_t i = 0; i < n; i++)
		if (counts(&figures[i], comparable) && figures[i].pps > highest)
			highest = figures[i].pps;
	for (uint32_t i = 0; i < n; i++)
		if (counts(&figures[i], comparable) && figures[i].pps >= TUNE_AS_FAST * highest &&
			(chosen == n || is_better(&figures[i], &figures[chosen])))
			chosen = i;
	return chosen;
}

uint32_t tune_choose(const struct tune_figures *figures, uint32_t n)
{
	uint32_t chosen = choose_of(figures, n, true);

	return chosen < n ? chosen : choose_of(figures, n, false);
}
