/* SPDX-License-Identifier: BSD-3-Clause */
#include "collect/exporters/losses.h"

#include <stddef.h>

#include "base/assertion.h"
#include "base/random.h"

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Returns the part of one exporter. The parts of all exporters add up to `amount`. */
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
		ASSERT(losses[i].lost_socket, <=, gaps);
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

static uint64_t scope_of(const struct option_record *option)
{
	uint64_t scope = random_mix(option->part ^ (uint64_t)option->has << 32);

	scope = random_mix(scope ^ option->sampler);
	return random_mix(
		scope ^ ((uint64_t)option->interface << 32 | option->domain) ^ option->template_id);
}

/* Returns the index of the scope, or a free one; -1: table full. */
static int find_scope(const struct reported_losses *reported, uint64_t scope)
{
	for (int i = 0; i < REPORTED_SCOPES; i++)
		if (reported->scopes[i].has == 0 || reported->scopes[i].scope == scope)
			return i;
	return -1;
}

struct reported_loss losses_reported(
	struct reported_losses *reported, const struct option_record *option)
{
	uint64_t grown[LOSS_COUNTER_COUNT] = {0};
	struct reported_loss loss = {0};
	uint64_t scope = scope_of(option);
	int place = option->has_lost != 0 ? find_scope(reported, scope) : -1;

	if (place < 0)
		return loss;
	reported->scopes[place].scope = scope;
	for (uint32_t i = 0; i < LOSS_COUNTER_COUNT; i++) {
		uint64_t *before = &reported->scopes[place].counts[i];

		if ((option->has_lost & 1U << i) == 0)
			continue;
		/* A count that is smaller than before restarted at 0. */
		if (reported->scopes[place].has & 1U << i)
			grown[i] = option->lost[i] - (option->lost[i] >= *before ? *before : 0);
		*before = option->lost[i];
		reported->scopes[place].has |= 1U << i;
	}
	loss.packets = grown[LOSS_COUNTER_IGNORED_PACKETS] + grown[LOSS_COUNTER_PACKETS];
	loss.unknown =
		grown[LOSS_COUNTER_IGNORED_PACKETS] == 0 && grown[LOSS_COUNTER_IGNORED_BYTES] > 0;
	if (grown[LOSS_COUNTER_PACKETS] == 0 &&
		grown[LOSS_COUNTER_FLOWS] + grown[LOSS_COUNTER_BYTES] > 0) {
		loss.packets += grown[LOSS_COUNTER_FLOWS];
		loss.unknown = true;
	}
	return loss;
}
