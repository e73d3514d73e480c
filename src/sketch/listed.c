/* SPDX-License-Identifier: BSD-3-Clause */
#include "sketch/listed.h"

static void pass_packets(struct listed_passed *passed, const uint8_t *packets, uint32_t n)
{
	for (uint32_t k = 0; passed != NULL && k < n; k++)
		passed->packets |= UINT64_C(1) << packets[k];
}

/*
 * Counts packets from `start` on, up to one that is listed: what comes after it may be its key's or
 * that of the key which lost its place. Returns where that is.
 */
static uint32_t count_from(struct candidates *list, const struct counter_rows *rows,
	const struct key_burst *burst, uint32_t start, enum counter_policy policy,
	struct listed_passed *passed)
{
	struct candidates_split split;
	struct counter_offer offer = {
		.burst = burst,
		.admission = list->admission,
		.admission_shift = list->bucket_shift,
	};
	uint32_t offered = 0, counted = 0;

	candidates_split(list, burst, start, &split);
	while (offered < split.nb_others) {
		struct candidate_evicted evicted;
		uint64_t before;
		uint32_t i, k;

		offer.packets = &split.others[offered];
		offer.n = split.nb_others - offered;
		k = counter_rows_offer(rows, &offer, policy, &before);
		pass_packets(passed, offer.packets, k);
		if (k > 0)
			candidates_turn_away(list);
		if (k == offer.n)
			break;
		i = offer.packets[k];
		counted = candidates_count(burst, &split, counted, i);
		if (candidates_offer(list, burst, i, before, &evicted)) {
			if (evicted.amount > 0) {
				counter_rows_add_key(rows, &evicted.hash, evicted.amount, policy);
				if (passed != NULL)
					passed->evicted[passed->nb_evicted++] = evicted;
			}
			return i + 1;
		}
		counter_rows_add_key(rows, &burst->hash[i],
			rows->metric == SKETCH_PACKETS ? 1 : burst->wire_len[i], policy);
		pass_packets(passed, &offer.packets[k], 1);
		offered += k + 1;
	}
	candidates_count(burst, &split, counted, burst->n);
	return burst->n;
}

void listed_add(struct candidates *list, const struct counter_rows *rows,
	const struct key_burst *burst, enum counter_policy policy, struct listed_passed *passed)
{
	if (passed != NULL) {
		passed->packets = 0;
		passed->nb_evicted = 0;
	}
	for (uint32_t start = 0; start < burst->n;)
		start = count_from(list, rows, burst, start, policy, passed);
}

struct sketch_estimate listed_query(const struct candidates *lists, uint32_t nb_lists,
	const struct counter_rows *rows, const struct key_hash *hash)
{
	struct sketch_estimate estimate = counter_rows_query(rows, hash);
	uint64_t most = counter_rows_max(rows);

	for (uint32_t l = 0; l < nb_lists; l++) {
		uint64_t since = candidates_since(&lists[l], hash);

		estimate.value = since < most - estimate.value ? estimate.value + since : most;
	}
	estimate.saturated = estimate.value == most;
	return estimate;
}

bool listed_nothing(const struct candidates *lists, uint32_t nb_lists)
{
	for (uint32_t l = 0; l < nb_lists; l++)
		if (!candidates_empty(&lists[l]))
			return false;
	return true;
}
