/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/rows/balance.h"

#include <stddef.h>

#define UNEVEN  1.5
/* share of a worker's time; a worker that spends more of it on packets is overloaded */
#define NO_TIME 0.95

static uint64_t all_received(const struct report_epoch *epoch)
{
	uint64_t sum = 0;

	for (uint32_t w = 0; w < epoch->workers; w++)
		sum += epoch->loads[w].received;
	return sum;
}

const struct report_load *balance_busiest(const struct report_epoch *epoch)
{
	const struct report_load *busiest = epoch->loads;

	for (uint32_t w = 1; w < epoch->workers; w++)
		if (epoch->loads[w].received > busiest->received)
			busiest = &epoch->loads[w];
	return busiest;
}

double balance_share(const struct report_epoch *epoch, const struct report_load *load)
{
	uint64_t sum = all_received(epoch);

	return sum > 0 ? (double)load->received / (double)sum : 0;
}

double balance_ratio(const struct report_epoch *epoch)
{
	return epoch->workers > 0 ? balance_share(epoch, balance_busiest(epoch)) * epoch->workers
				  : 0;
}

double balance_busy(const struct report_epoch *epoch, const struct report_load *load)
{
	uint64_t duration = report_duration(epoch);

	return epoch->live && duration > 0 ? (double)load->busy_ns / (double)duration : -1;
}

static bool is_drowning(const struct report_epoch *epoch)
{
	return epoch->workers > 1 && balance_ratio(epoch) > UNEVEN &&
	       (ledger_lost(&epoch->ledger) > 0 ||
		       balance_busy(epoch, balance_busiest(epoch)) > NO_TIME);
}

bool balance_drowns(struct log_ratelimit *ratelimit, const struct report_epoch *epoch)
{
	return is_drowning(epoch) && log_ratelimit_due(ratelimit, epoch->end, 0);
}
