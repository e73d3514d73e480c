/* SPDX-License-Identifier: BSD-3-Clause */
#include "parallel/count.h"

static void count(const struct counting *counting, const sketch_update_fn *update,
	struct sketch *const *sketch, struct hyperloglog *const *distinct)
{
	struct key_burst *full = &counting->bursts[0];

	for (uint32_t r = 0; r < counting->nb_key_rules; r++) {
		if (r > 0)
			key_burst_mask(&counting->bursts[r], full, counting->key_rules[r]);
		if (r > 0 && counting->details)
			key_burst_copy_details(&counting->bursts[r], full);
		hash_burst(counting->hash_key, &counting->bursts[r]);
	}
	for (uint32_t m = 0; m < counting->nb_measurements; m++) {
		const struct key_burst *burst = &counting->bursts[counting->key_rule_of[m]];

		update[m](sketch[m], burst);
		hyperloglog_update(distinct[m], burst);
	}
}

void count_keys(const struct counting *counting, struct sketch *const *sketch,
	struct hyperloglog *const *distinct)
{
	count(counting, counting->update, sketch, distinct);
}

/* Leaves the entries that have packets, in their order. */
static void leave_empty_out(struct key_burst *burst)
{
	struct key_weights *weights = burst->weights;
	uint32_t kept = 0;
	uint64_t v6;

	while (kept < burst->n && weights->packets[kept] > 0)
		kept++;
	if (kept == burst->n)
		return;
	v6 = burst->v6 & ((UINT64_C(1) << kept) - 1);
	for (uint32_t i = kept + 1; i < burst->n; i++) {
		if (weights->packets[i] == 0)
			continue;
		v6 |= (burst->v6 >> i & 1) << kept;
		key_burst_move(burst, kept, i);
		weights->packets[kept] = weights->packets[i];
		weights->bytes[kept] = weights->bytes[i];
		kept++;
	}
	burst->n = kept;
	burst->v6 = v6;
}

void count_weighted_keys(const struct counting *counting, struct sketch *const *sketch,
	struct hyperloglog *const *distinct)
{
	leave_empty_out(&counting->bursts[0]);
	for (uint32_t r = 1; r < counting->nb_key_rules; r++)
		counting->bursts[r].weights = counting->bursts[0].weights;
	count(counting, counting->update_weighted, sketch, distinct);
}
