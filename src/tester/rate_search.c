/* SPDX-License-Identifier: BSD-3-Clause */
#include "tester/rate_search.h"

#include "base/assertion.h"

void rate_search_init(struct rate_search *search, double loss, uint64_t highest)
{
	*search = (struct rate_search){.loss = loss, .asked = highest};
}

bool rate_search_goes_on(const struct rate_search *search)
{
	if (search->trials == 0)
		return true;
	return search->trials < RATE_SEARCH_TRIALS_MAX && search->high > 1 &&
	       search->high - search->low > search->high / RATE_SEARCH_RESOLUTION &&
	       search->asked > search->low;
}

bool rate_search_report(struct rate_search *search, uint64_t sent, uint64_t lost, uint64_t rate)
{
	bool passed = sent > 0 && (double)lost <= search->loss * (double)sent;

	VERIFY(lost, <=, sent);
	if (search->asked > 0 && rate > search->asked)
		rate = search->asked;
	if (passed && rate > search->low)
		search->low = rate;
	/* Only in the first trial may the sender be slower than asked: its own rate then failed. */
	if (!passed)
		search->high = search->trials == 0 && (search->asked == 0 || rate < search->asked)
				       ? rate
				       : search->asked;
	search->trials++;
	search->asked = search->low + (search->high - search->low) / 2;
	return passed;
}
