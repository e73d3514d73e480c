/* SPDX-License-Identifier: BSD-3-Clause */
#include "sketch/listed.h"

#include "base/assertion.h"

static void pass_packets(struct listed_passed *passed, const uint8_t *packets, uint32_t n)
{
	for (uint32_t k = 0; passed != NULL && k < n; k++)
		passed->packets |= UINT64_C(1) << packets[k];
}

static void pass_part(struct listed_passed *passed, const struct candidate_evicted *part)
{
	if (passed == NULL)
		return;
	ASSERT(passed->nb_parts, <, 2 * BURST_MAX);
	passed->parts[passed->nb_parts++] = *part;
}

static void pass_evicted(const struct counter_rows *rows, const struct candidate_evicted *evicted,
	enum counter_policy policy, struct listed_passed *passed)
{
	if (evicted->amount == 0)
		return;
	counter_rows_add_key(rows, &evicted->hash, evicted->amount, policy);
	pass_part(passed, evicted);
}

static inline bool submit_packet(struct candidates *list, const struct counter_rows *rows,
	const struct key_burst *burst, uint32_t i, uint64_t before, enum counter_policy policy,
	struct listed_passed *passed)
{
	struct candidate_evicted evicted;

	if (candidates_offer(list, burst, i, burst->wire_len[i], before, &evicted)) {
		pass_evicted(rows, &evicted, policy, passed);
		return true;
	}
	counter_rows_add_key(rows, &burst->hash[i],
		rows->metric == SKETCH_PACKETS ? 1 : burst->wire_len[i], policy);
	return false;
}

/*
 * Adds the first packet of a weight to the counters, or the whole weight if the estimate is
 * saturated. Returns the amount added.
 */
static uint64_t add_turned_away(const struct counter_rows *rows, const struct key_hash *hash,
	struct weight *weight, uint64_t before, enum counter_policy policy)
{
	struct weight added = weight_take(weight, before == UINT64_MAX ? weight->packets : 1);
	uint64_t amount = weight_amount(&added, rows->metric);

	counter_rows_add_key(rows, hash, amount, policy);
	return amount;
}

/* Offers packets of entry i one by one until the list admits the key. Returns true if it does. */
static bool submit_weight(struct candidates *list, const struct counter_rows *rows,
	const struct key_burst *burst, uint32_t i, enum counter_policy policy,
	struct listed_passed *passed)
{
	const struct key_hash *hash = &burst->hash[i];
	struct weight left = weight_of(burst, i, true);
	struct candidate_evicted evicted, part = {.hash = *hash};

	while (left.packets > 0) {
		uint64_t before, admission = list->admission[hash->hi >> list->bucket_shift];
		struct weight rest;

		part.amount +=
			counter_rows_offer_key(rows, hash, &left, admission, policy, &before);
		if (left.packets < burst->weights->packets[i])
			candidates_turn_away(list);
		if (left.packets == 0)
			break;
		rest = left;
		if (candidates_offer(
			    list, burst, i, weight_take(&rest, 1).bytes, before, &evicted)) {
			candidates_count_key(list, hash, &rest);
			pass_evicted(rows, &evicted, policy, passed);
			part.key = key_burst_get(burst, i);
			if (part.amount > 0)
				pass_part(passed, &part);
			return true;
		}
		part.amount += add_turned_away(rows, hash, &left, before, policy);
	}
	return false;
}

static inline __attribute__((always_inline)) void count_listed(const struct key_burst *burst,
	const struct candidates_split *split, uint32_t from, uint32_t until, const bool weighted)
{
	if (weighted)
		candidates_count_weighted(burst, split, from, until);
	else
		candidates_count(burst, split, from, until);
}

/*
 * Stops after a packet whose key becomes listed, because later packets may belong to this key or
 * to the key that it replaced. Returns the next packet to count.
 */
static inline __attribute__((always_inline)) uint32_t count_from(struct candidates *list,
	const struct counter_rows *rows, const struct key_burst *burst, uint32_t start,
	enum counter_policy policy, struct listed_passed *passed, const bool weighted)
{
	struct candidates_split split;
	struct counter_offer offer = {
		.burst = burst,
		.admission = list->admission,
		.admission_shift = list->bucket_shift,
	};
	uint32_t offered = 0, counted = 0, until;

	candidates_split(list, burst, start, &split);
	while (offered < split.nb_others) {
		uint64_t before;
		uint32_t i, k;
		bool listed;

		offer.packets = &split.others[offered];
		offer.n = split.nb_others - offered;
		k = weighted ? counter_rows_offer_weighted(rows, &offer, policy)
			     : counter_rows_offer(rows, &offer, policy, &before);
		pass_packets(passed, offer.packets, k);
		if (k > 0)
			candidates_turn_away(list);
		if (k == offer.n)
			break;
		i = offer.packets[k];
		until = candidates_before(&split, counted, i);
		count_listed(burst, &split, counted, until, weighted);
		counted = until;
		listed = weighted ? submit_weight(list, rows, burst, i, policy, passed)
				  : submit_packet(list, rows, burst, i, before, policy, passed);
		if (listed)
			return i + 1;
		pass_packets(passed, &offer.packets[k], 1);
		offered += k + 1;
	}
	count_listed(burst, &split, counted, split.nb_listed, weighted);
	return burst->n;
}

static inline __attribute__((always_inline)) void add(struct candidates *list,
	const struct counter_rows *rows, const struct key_burst *burst, enum counter_policy policy,
	struct listed_passed *passed, const bool weighted)
{
	if (passed != NULL) {
		passed->packets = 0;
		passed->nb_parts = 0;
	}
	for (uint32_t start = 0; start < burst->n;)
		start = count_from(list, rows, burst, start, policy, passed, weighted);
}

void listed_add(struct candidates *list, const struct counter_rows *rows,
	const struct key_burst *burst, enum counter_policy policy, struct listed_passed *passed)
{
	add(list, rows, burst, policy, passed, false);
}

void listed_add_weighted(struct candidates *list, const struct counter_rows *rows,
	const struct key_burst *burst, enum counter_policy policy, struct listed_passed *passed)
{
	add(list, rows, burst, policy, passed, true);
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
