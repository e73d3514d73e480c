/* SPDX-License-Identifier: BSD-3-Clause */
#include "tune/tune_choice.h"

static bool counts(const struct tune_score *score, bool comparable)
{
	return score->fits && score->comparable == comparable && score->pps > 0;
}

static bool is_better(const struct tune_score *a, const struct tune_score *b)
{
	if (a->threads != b->threads)
		return a->threads < b->threads;
	if (a->memory != b->memory)
		return a->memory < b->memory;
	return a->error < b->error;
}

static uint32_t choose_of(const struct tune_score *scores, uint32_t n, bool comparable)
{
	uint32_t chosen = n;
	double highest = 0;

	for (uint32_t i = 0; i < n; i++)
		if (counts(&scores[i], comparable) && scores[i].pps > highest)
			highest = scores[i].pps;
	for (uint32_t i = 0; i < n; i++)
		if (counts(&scores[i], comparable) && scores[i].pps >= TUNE_AS_FAST * highest &&
			(chosen == n || is_better(&scores[i], &scores[chosen])))
			chosen = i;
	return chosen;
}

uint32_t tune_choose(const struct tune_score *scores, uint32_t n)
{
	uint32_t chosen = choose_of(scores, n, true);

	return chosen < n ? chosen : choose_of(scores, n, false);
}
