/* SPDX-License-Identifier: BSD-3-Clause */
#include "parallel/workers/count.h"

#include <rte_cycles.h>

#include "base/assertion.h"
#include "parallel/shed/shed_setting.h"
#include "parallel/workers/stage_timer.h"
#include "sketch/weight.h"

#define ALWAYS_INLINE inline __attribute__((always_inline))

/* Bit r of `rules` selects key rule r. */
static ALWAYS_INLINE void hash_keys(const struct counting *counting, struct key_burst *bursts,
	const uint32_t rules, struct stage_timer *timer)
{
	struct key_burst *full = &bursts[0];

	for (uint32_t r = 0; r < counting->nb_key_rules; r++) {
		if ((rules >> r & 1) == 0)
			continue;
		if (r > 0)
			key_burst_mask(&bursts[r], full, counting->key_rules[r]);
		if (r > 0 && counting->details)
			key_burst_copy_details(&bursts[r], full);
		hash_burst(counting->hash_key, &bursts[r]);
		STAGE_TIMER_END(timer, key[r]);
	}
}

static ALWAYS_INLINE void update(const struct counting *counting, const struct key_burst *bursts,
	const sketch_update_fn *functions, struct sketch *const *sketch,
	struct hyperloglog *const *distinct, struct stage_timer *timer)
{
	for (uint32_t m = 0; m < counting->nb_measurements; m++) {
		const struct key_burst *burst = &bursts[counting->key_rule_of[m]];

		functions[m](sketch[m], burst);
		STAGE_TIMER_END(timer, sketch[m]);
		hyperloglog_update(distinct[m], burst);
		STAGE_TIMER_END(timer, distinct[m]);
	}
}

static void sample_one(struct lookup_sampler *sampler, uint32_t m, const struct sketch *sketch,
	const struct key_burst *burst, uint32_t i)
{
	struct shed_lookups *sums = &sampler->line->lookups[m];
	uint64_t start = rte_rdtsc_precise();
	bool known = sketch_look_up(sketch, burst, i);
	uint64_t cycles = rte_rdtsc_precise() - start;

	shed_mailbox_add(&sums->samples, 1);
	shed_mailbox_add(&sums->new_flows, !known);
	shed_mailbox_add(&sums->hits, cycles <= atomic_load_explicit(&sampler->line->longest_hit[m],
							memory_order_relaxed));
}

static void sample_lookups(const struct counting *counting, struct lookup_sampler *sampler,
	uint32_t m, const struct sketch *sketch, const struct key_burst *burst)
{
	uint32_t next = sampler->next[m];

	if (!counting->samples_lookups || !sketch_has_lookup(sketch->ops))
		return;
	for (; next < burst->n; next += sampler->every)
		sample_one(sampler, m, sketch, burst, next);
	sampler->next[m] = next - burst->n;
}

void count_keys_sampled(const struct counting *counting, struct sketch *const *sketch,
	struct hyperloglog *const *distinct, struct lookup_sampler *sampler)
{
	hash_keys(counting, counting->bursts, UINT32_MAX, NULL);
	for (uint32_t m = 0; m < counting->nb_measurements; m++)
		sample_lookups(counting, sampler, m, sketch[m],
			&counting->bursts[counting->key_rule_of[m]]);
	update(counting, counting->bursts, counting->update, sketch, distinct, NULL);
}

/* Returns the key rules for which all packets must be hashed. Bit r is rule r. */
static uint32_t rules_of(const struct counting *counting, const struct drill_down_sets *sets,
	const struct burst_shedding *state)
{
	uint32_t rules = 0;

	for (uint32_t m = 0; m < counting->nb_measurements; m++) {
		const struct key_set *set = sets->sets[m];
		bool inside = set != NULL && set->n > 0;

		if ((state->off >> m & 1) != 0)
			continue;
		if (inside)
			rules |= counting->needs[m];
		if (set == NULL || (inside && (state->sifting >> m & 1) != 0))
			rules |= UINT32_C(1) << counting->key_rule_of[m];
	}
	return rules;
}

static void weigh(struct key_burst *burst, struct key_weights *weights, uint32_t shift)
{
	burst->weights = weights;
	for (uint32_t i = 0; i < burst->n; i++) {
		weights->packets[i] = UINT64_C(1) << shift;
		weights->bytes[i] = (uint64_t)burst->wire_len[i] << shift;
	}
	weights->shift = shift;
}

uint64_t drill_down_entries(
	const struct counting *counting, const struct drill_down_sets *sets, uint32_t m)
{
	if (sets->sets[m] == NULL)
		return UINT64_MAX;
	return key_set_find(sets->sets[m], &counting->bursts[counting->networks_rule[m]]);
}

/* Copies entries, with their keys for measurement m. Bit r of `hashed`: bursts[r] has hashes. */
static struct key_burst *pick(
	const struct counting *counting, uint32_t m, uint64_t entries, uint32_t hashed)
{
	struct key_burst *tuples = &counting->picked[0], *keys = tuples;
	uint32_t r = counting->key_rule_of[m];

	if ((hashed >> r & 1) != 0) {
		key_burst_pick(keys, &counting->bursts[r], entries, counting->details);
		return keys;
	}
	key_burst_pick(tuples, &counting->bursts[0], entries, counting->details);
	if (r > 0) {
		keys = &counting->picked[1];
		key_burst_mask(keys, tuples, counting->key_rules[r]);
		if (counting->details)
			key_burst_copy_details(keys, tuples);
	}
	hash_burst(counting->hash_key, keys);
	return keys;
}

static void add_inside(
	struct drill_down_counts *inside, const struct key_burst *burst, uint32_t shift)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < burst->n; i++)
		bytes += burst->wire_len[i];
	inside->packets += burst->n;
	inside->bytes += bytes;
	inside->added += ((uint64_t)burst->n << shift) - burst->n;
	inside->added_bytes += (bytes << shift) - bytes;
}

/* Returns the selected entries that are inside the networks of measurement m, or NULL if none. */
static const struct key_burst *burst_of(const struct counting *counting,
	const struct drill_down_sets *sets, uint32_t m, uint32_t hashed, uint64_t entries,
	uint32_t shift)
{
	struct key_burst *burst = &counting->bursts[counting->key_rule_of[m]];

	burst->weights = counting->weights;
	if (entries == UINT64_MAX && sets->sets[m] == NULL)
		return burst;
	entries &= drill_down_entries(counting, sets, m);
	if (entries == 0)
		return NULL;
	burst = pick(counting, m, entries, hashed);
	if (shift > 0)
		weigh(burst, &counting->weights[1], shift);
	return burst;
}

static struct key_sample_counts sum_share(
	const struct key_burst *burst, uint32_t keys, uint32_t shift)
{
	uint32_t packets = 0, bytes = 0;

	for (uint32_t i = 0; i < burst->n; i++) {
		uint32_t in = key_share_has(&burst->hash[i], keys);

		packets += in;
		bytes += burst->wire_len[i] & -in;
	}
	return (struct key_sample_counts){
		packets, bytes, (uint64_t)packets << shift, (uint64_t)bytes << shift};
}

/*
 * Returns the entries whose keys are in a sample of one in 2^keys keys. Adds others to left_out[].
 */
static const struct key_burst *sift(const struct counting *counting, const struct key_burst *burst,
	uint32_t keys, uint32_t shift, struct key_sample_counts left_out[KEY_SHARE_MAX])
{
	struct key_burst *kept = &counting->picked[1];
	struct key_sample_counts sum = sum_share(burst, 0, shift);
	uint64_t entries = 0;

	for (uint32_t i = 0; i < burst->n; i++)
		entries |= (uint64_t)key_share_has(&burst->hash[i], keys) << i;
	for (uint32_t rank = 0; rank < keys; rank++) {
		struct key_sample_counts rest = sum_share(burst, rank + 1, shift);

		key_sample_add(&left_out[rank], &sum);
		key_sample_subtract(&left_out[rank], &rest);
		sum = rest;
	}
	key_burst_pick(kept, burst, entries, counting->details);
	if (shift > 0)
		weigh(kept, &counting->weights[1], shift);
	return kept;
}

void count_some_keys(const struct counting *counting, struct sketch *const *sketch,
	struct hyperloglog *const *distinct, struct drill_down_sets *sets,
	const struct burst_shedding *state, const uint64_t *rarer,
	struct key_sample_counts (*left_out)[KEY_SHARE_MAX], struct lookup_sampler *sampler,
	struct stage_timer *timer)
{
	uint32_t hashed = rules_of(counting, sets, state);

	if (state->shift > 0)
		weigh(&counting->bursts[0], counting->weights, state->shift);
	hash_keys(counting, counting->bursts, hashed, timer);
	for (uint32_t m = 0; m < counting->nb_measurements; m++) {
		uint32_t shift = state->shift + state->rarer[m];
		uint64_t entries =
			(state->rare >> m & 1) != 0 ? rarer[state->rarer[m]] : UINT64_MAX;
		const struct key_burst *burst, *counted;

		if ((state->off >> m & 1) != 0)
			continue;
		burst = counted = burst_of(counting, sets, m, hashed, entries, shift);
		if (burst != NULL && state->keys[m] > 0)
			counted = sift(counting, burst, state->keys[m], shift, left_out[m]);
		if (burst != NULL && sampler != NULL)
			sample_lookups(counting, sampler, m, sketch[m], counted);
		if (burst != NULL && sets->sets[m] != NULL)
			add_inside(&sets->inside[m], counted, shift);
		if (burst != NULL && counted->n > 0)
			(shift > 0 ? counting->update_weighted : counting->update)[m](
				sketch[m], counted);
		STAGE_TIMER_END(timer, sketch[m]);
		if (burst != NULL)
			hyperloglog_update(distinct[m], burst);
		STAGE_TIMER_END(timer, distinct[m]);
	}
}

void count_leave_empty_out(struct key_burst *burst)
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

/* Weights of the picked entries, in order, times 2^shift. */
static void weigh_entries(struct key_burst *picked, const struct key_burst *from, uint64_t entries,
	bool weighted, uint32_t shift, struct key_weights *weights)
{
	for (uint32_t to = 0; entries != 0; entries &= entries - 1, to++) {
		const struct weight weight =
			weight_of(from, (uint32_t)__builtin_ctzll(entries), weighted);

		weights->packets[to] = weight.packets << shift;
		weights->bytes[to] = weight.bytes << shift;
	}
	weights->shift = shift;
	picked->weights = weights;
}

static void count_group(const struct counting *counting, struct sketch *const *sketch,
	struct drill_down_sets *sets, uint32_t m, const struct key_burst *burst, uint32_t shift)
{
	if (sets->sets[m] != NULL)
		add_inside(&sets->inside[m], burst, shift);
	if (burst->n > 0)
		counting->update_weighted[m](sketch[m], burst);
}

void count_some_entries(const struct counting *counting, struct sketch *const *sketch,
	struct hyperloglog *const *distinct, struct drill_down_sets *sets,
	const struct burst_shedding *state, bool weighted, const struct entry_sample *samples,
	struct key_sample_counts (*left_out)[KEY_SHARE_MAX])
{
	const struct key_burst *full = &counting->bursts[0];
	/* bursts[0] and waiting[0] take turns with the two weights. */
	struct key_weights *free = &counting->weights[full->weights == counting->weights];
	uint32_t hashed = counting->drill_down ? rules_of(counting, sets, state) : 0;

	hash_keys(counting, counting->bursts, hashed, NULL);
	for (uint32_t m = 0; m < counting->nb_measurements; m++) {
		const struct entry_sample *sample = &samples[state->rarer[m]];
		uint64_t inside;

		if ((state->off >> m & 1) != 0)
			continue;
		inside = drill_down_entries(counting, sets, m);
		for (uint32_t s = 0; s <= SHED_SHIFT_MAX; s++) {
			uint64_t entries = sample->entries[s] & inside;
			const struct key_burst *counted;
			struct key_burst *burst;

			if (entries == 0)
				continue;
			counted = burst = pick(counting, m, entries, hashed);
			weigh_entries(burst, full, entries, weighted, s, free);
			hyperloglog_update(distinct[m], burst);
			if (state->keys[m] > 0) {
				ASSERT(weighted, ==, false);
				counted = sift(counting, burst, state->keys[m], s, left_out[m]);
			}
			count_group(counting, sketch, sets, m, counted, s);
		}
	}
}

static void fetch(const struct counting *counting, struct sketch *const *sketch)
{
	for (uint32_t m = 0; m < counting->nb_measurements; m++)
		if (counting->fetch[m] != NULL)
			counting->fetch[m](sketch[m], &counting->bursts[counting->key_rule_of[m]]);
}

static ALWAYS_INLINE void count_waiting(struct counting *counting, struct sketch *const *sketch,
	struct hyperloglog *const *distinct, struct stage_timer *timer)
{
	if (counting->waits == NULL)
		return;
	update(counting, counting->waiting, counting->waits, sketch, distinct, timer);
	counting->waits = NULL;
}

/* Counts the previous burst while the counters of this one are fetched. */
static ALWAYS_INLINE void count_late(struct counting *counting, struct sketch *const *sketch,
	struct hyperloglog *const *distinct, const sketch_update_fn *updates,
	struct stage_timer *timer)
{
	struct key_burst *bursts = counting->bursts;

	if (counting->waiting == NULL) {
		update(counting, bursts, updates, sketch, distinct, timer);
		return;
	}
	fetch(counting, sketch);
	count_waiting(counting, sketch, distinct, timer);
	counting->bursts = counting->waiting;
	counting->waiting = bursts;
	counting->waits = updates;
}

void count_keys(struct counting *counting, struct sketch *const *sketch,
	struct hyperloglog *const *distinct)
{
	hash_keys(counting, counting->bursts, UINT32_MAX, NULL);
	count_late(counting, sketch, distinct, counting->update, NULL);
}

void count_keys_timed(struct counting *counting, struct sketch *const *sketch,
	struct hyperloglog *const *distinct, struct stage_timer *timer)
{
	hash_keys(counting, counting->bursts, UINT32_MAX, timer);
	count_late(counting, sketch, distinct, counting->update, timer);
}

void count_weighted_keys(struct counting *counting, struct sketch *const *sketch,
	struct hyperloglog *const *distinct)
{
	struct key_burst *bursts = counting->bursts;

	count_leave_empty_out(&bursts[0]);
	for (uint32_t r = 1; r < counting->nb_key_rules; r++)
		bursts[r].weights = bursts[0].weights;
	hash_keys(counting, bursts, UINT32_MAX, NULL);
	count_late(counting, sketch, distinct, counting->update_weighted, NULL);
}

void count_waiting_keys(struct counting *counting, struct sketch *const *sketch,
	struct hyperloglog *const *distinct)
{
	count_waiting(counting, sketch, distinct, NULL);
}

void count_waiting_keys_timed(struct counting *counting, struct sketch *const *sketch,
	struct hyperloglog *const *distinct, struct stage_timer *timer)
{
	count_waiting(counting, sketch, distinct, timer);
}
