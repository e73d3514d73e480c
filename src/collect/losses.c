/* SPDX-License-Identifier: BSD-3-Clause */
#include "collect/losses.h"

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* The first i of them get floor(amount x their gaps / all gaps): so no unit is left over, and none
 * gets more than its gaps. */
static uint64_t part(uint64_t amount, uint64_t gaps_before, uint64_t gaps, uint64_t all)
{
	unsigned __int128 factor = amount;

	if (all == 0)
		return 0;
	return (uint64_t)(factor * (gaps_before + gaps) / all - factor * gaps_before / all);
}

uint64_t losses_share(struct socket_loss *socket, struct exporter_loss *losses, uint32_t n)
{
	uint64_t all = 0, before = 0, rest_before = 0, here, earlier, left;

	for (uint32_t i = 0; i < n; i++)
		all += losses[i].gaps;
	here = smaller(socket->dropped, all);
	earlier = smaller(socket->counted, all - here);
	for (uint32_t i = 0; i < n; i++) {
		uint64_t gaps = losses[i].gaps, rest;

		losses[i].lost_socket = part(here, before, gaps, all);
		rest = gaps - losses[i].lost_socket;
		losses[i].lost_network = rest - part(earlier, rest_before, rest, all - here);
		before += gaps;
		rest_before += rest;
	}
	left = socket->dropped - here;
	socket->counted -= earlier;
	socket->epochs++;
	if (left > 0)
		socket->epochs = 0;
	if (socket->epochs > LOSSES_REMEMBERED)
		socket->counted = 0;
	socket->counted += left;
	socket->dropped = 0;
	return left;
}
