/* SPDX-License-Identifier: BSD-3-Clause */
#include "parallel/workers/shed_worker.h"

#include "base/assertion.h"
#include "base/random.h"
#include "parallel/workers/count.h"
#include "sketch/weight.h"

static const struct shed_setting full_detail = SHED_SETTING_WHOLE;

static void decide(struct shed_worker *shed)
{
	const struct shed_schedule_entry *next = shed->decisions;

	for (; next->packet <= shed->packet; next++) {
		shed->stale = true;
		if (next->measurement == SHED_SCHEDULE_ALL)
			shed->level = next->level;
		else if (next->of_flows)
			shed->decided.flows[next->measurement] = next->flows;
		else
			shed_setting_step(
				&shed->decided, shed->steps, next->measurement, next->steps);
	}
	shed->decisions = next;
}

uint32_t shed_worker_take(struct shed_worker *shed, uint32_t n)
{
	decide(shed);
	if (shed->decisions->packet - shed->packet < n)
		n = (uint32_t)(shed->decisions->packet - shed->packet);
	ASSERT(n, >, 0);
	shed->packet += n;
	return n;
}

/* Pairs with the release in publish() (control/shed_controller.c). */
static void take_setting(struct shed_worker *shed, struct shed_mailbox *line)
{
	const struct shed_setting *next = atomic_load_explicit(&line->next, memory_order_acquire);

	if (next == shed->states)
		return;
	shed->states = next;
	shed->stale = true;
	atomic_store_explicit(&line->taken_from, shed->packet, memory_order_relaxed);
	atomic_store_explicit(&line->taken, next->number, memory_order_release);
}

void shed_worker_obey(struct shed_worker *shed, struct shed_counts *counts)
{
	const struct queue_shedding *shedding = &shed->shedding;
	struct burst_shed_level level = queue_shedding_burst_level(shedding);

	if (shed->line != NULL)
		take_setting(shed, shed->line);
	if (!shedding->on)
		return;
	shed->stale |= !burst_shed_level_equal(level, shed->level);
	shed->level = level;
	if (shed->backlog > counts->backlog_max)
		counts->backlog_max = shed->backlog;
	if (shedding->level > counts->level_max)
		counts->level_max = shedding->level;
}

static uint8_t most(uint8_t a, uint8_t b)
{
	return a > b ? a : b;
}

static void make_state(struct shed_worker *shed, const struct counting *counting)
{
	const struct shed_setting *setting =
		shed->states->of == counting->set ? shed->states : &full_detail;
	const struct burst_shed_level *level = &shed->level;
	const uint32_t all = (UINT32_C(1) << counting->nb_measurements) - 1;
	struct burst_shedding *state = &shed->state;
	uint32_t on;

	*state = (struct burst_shedding){
		.off = setting->off |
		       (level->level >= SHED_LEVEL_WAIT ? counting->low_ranked & ~setting->first
							: 0),
		.shift = SHED_SHIFT_MAX,
	};
	on = all & ~state->off;
	state->count_only = level->level == SHED_LEVEL_COUNT || on == 0;
	for (uint32_t left = on; left != 0; left &= left - 1) {
		uint8_t shift = most(setting->shift[__builtin_ctz(left)], level->shift);

		if (shift < state->shift)
			state->shift = shift;
	}
	for (uint32_t left = on; left != 0; left &= left - 1) {
		uint32_t m = (uint32_t)__builtin_ctz(left);
		uint8_t shift = most(setting->shift[m], level->shift);

		state->rarer[m] = (uint8_t)(shift - state->shift);
		state->rare |= (uint32_t)(shift > state->shift) << m;
		state->shifts |= UINT32_C(1) << state->rarer[m];
		state->keys[m] = setting->keys[m];
		state->sifting |= (uint32_t)(setting->keys[m] > 0) << m;
	}
	state->shifts &= ~UINT32_C(1);
	shed->flows = setting->flows;
	shed->whole = setting->off == 0 && state->rare == 0 && state->sifting == 0 &&
		      state->shift == level->shift;
}

const struct burst_shedding *shed_worker_state(
	struct shed_worker *shed, const struct counting *counting, uint64_t epoch)
{
	if (shed->stale || shed->state_of != epoch) {
		if (shed->states == &shed->decided)
			shed->decided.of = counting->set;
		make_state(shed, counting);
		shed->state_of = epoch;
		shed->stale = false;
		shed->remade = true;
	}
	return &shed->state;
}

/*
 * Each entry has a random byte of SplitMix64, and is in the sample if the lowest `shift` bits are
 * 0. So each sample contains the rarer ones, and does not depend on burst boundaries.
 */
static uint64_t choose(uint64_t seed, uint64_t first, uint32_t n, uint32_t shift)
{
	const uint64_t gamma = UINT64_C(0x9e3779b97f4a7c15);
	uint64_t chosen = 0, bytes = 0;
	uint8_t mask = (uint8_t)((1U << shift) - 1);

	for (uint32_t i = 0; i < n; i++) {
		uint64_t number = first + i;

		if (i == 0 || number % 8 == 0)
			bytes = random_mix(seed + number / 8 * gamma);
		chosen |= (uint64_t)((bytes >> number % 8 * 8 & mask) == 0) << i;
	}
	return chosen;
}

uint64_t shed_worker_choose(const struct shed_worker *shed, uint32_t n)
{
	ASSERT(n, <=, 64);
	ASSERT(n, <=, shed->packet);
	return choose(shed->seed, shed->packet - n, n, shed->state.shift);
}

void shed_worker_choose_rarer(
	struct shed_worker *shed, uint32_t n, uint64_t rarer[SHED_SHIFT_MAX + 1])
{
	/* another seed than in shed_worker_choose(), so that the two samples are independent */
	uint64_t seed = ~shed->seed;

	for (uint32_t left = shed->state.shifts; left != 0; left &= left - 1) {
		uint32_t shift = (uint32_t)__builtin_ctz(left);

		rarer[shift] = choose(seed, shed->entry, n, shift);
	}
	shed->entry += n;
}

void shed_worker_choose_entries(const struct shed_worker *shed, uint32_t n, uint32_t rarest,
	uint64_t chosen[SHED_SHIFT_MAX + 1])
{
	ASSERT(n, <=, shed->packet);
	for (uint32_t shift = 0; shift <= rarest; shift++)
		chosen[shift] = choose(shed->seed, shed->packet - n, n, shift);
}

static uint32_t entry_shift(uint64_t packets, uint32_t shift)
{
	uint32_t s = shift;

	while (s > 0 && packets > (UINT64_C(1) << shift) >> s)
		s--;
	return s;
}

void entry_sample_make(struct entry_sample *sample, const struct key_burst *burst, uint64_t range,
	bool weighted, const uint64_t chosen[SHED_SHIFT_MAX + 1], uint32_t shift)
{
	*sample = (struct entry_sample){0};
	for (; range != 0; range &= range - 1) {
		uint32_t i = (uint32_t)__builtin_ctzll(range);
		const struct weight weight = weight_of(burst, i, weighted);
		uint32_t s = entry_shift(weight.packets, shift);

		if ((chosen[s] >> i & 1) == 0)
			continue;
		sample->entries[s] |= UINT64_C(1) << i;
		sample->measured += weight.packets;
		sample->bytes += weight.bytes;
		sample->added += (weight.packets << s) - weight.packets;
		sample->added_bytes += (weight.bytes << s) - weight.bytes;
	}
}

void shed_counts_add_entries(struct shed_counts *counts, const struct burst_shedding *state,
	const struct entry_sample *samples, const struct shed_counts_burst *skipped,
	uint32_t nb_measurements)
{
	const struct entry_sample *all = &samples[0];

	counts->skipped += skipped->skipped;
	counts->skipped_bytes += skipped->skipped_bytes;
	counts->added += all->added;
	counts->added_bytes += all->added_bytes;
	for (uint32_t m = 0; m < nb_measurements; m++) {
		const struct entry_sample *own = &samples[state->rarer[m]];
		const uint64_t weight = UINT64_C(1) << (state->shift + state->rarer[m]);
		struct shed_counts_measurement *of = &counts->of[m];

		if ((state->off >> m & 1) != 0) {
			of->measured += all->measured;
			of->bytes += all->bytes;
			of->added += all->added;
			of->added_bytes += all->added_bytes;
			of->unseen += all->measured + skipped->skipped;
			of->unseen_bytes += all->bytes + skipped->skipped_bytes;
			continue;
		}
		of->weight = weight > of->weight ? weight : of->weight;
		of->measured += all->measured - own->measured;
		of->bytes += all->bytes - own->bytes;
		of->added += all->added - own->added;
		of->added_bytes += all->added_bytes - own->added_bytes;
	}
}

void shed_counts_add(struct shed_counts *counts, const struct burst_shedding *state,
	const struct shed_counts_burst *burst, const struct shed_counts_burst *rarer,
	uint32_t nb_measurements)
{
	const uint64_t weight = UINT64_C(1) << state->shift;
	const uint64_t added = burst->measured * (weight - 1),
		       added_bytes = burst->bytes * (weight - 1);

	counts->skipped += burst->skipped;
	counts->skipped_bytes += burst->skipped_bytes;
	counts->added += added;
	counts->added_bytes += added_bytes;
	for (uint32_t m = 0; m < nb_measurements; m++) {
		const struct shed_counts_burst *seen = &rarer[state->rarer[m]];
		const uint64_t own = weight << state->rarer[m];
		struct shed_counts_measurement *of = &counts->of[m];

		if ((state->off >> m & 1) != 0) {
			of->measured += burst->measured;
			of->bytes += burst->bytes;
			of->added += added;
			of->added_bytes += added_bytes;
			of->unseen += burst->measured + burst->skipped;
			of->unseen_bytes += burst->bytes + burst->skipped_bytes;
			continue;
		}
		of->weight = own > of->weight ? own : of->weight;
		if ((state->rare >> m & 1) == 0)
			continue;
		of->measured += burst->measured - seen->measured;
		of->bytes += burst->bytes - seen->bytes;
		of->added += added - seen->measured * (own - 1);
		of->added_bytes += added_bytes - seen->bytes * (own - 1);
	}
}

static const struct shed_schedule_entry no_entry = {.packet = UINT64_MAX};

void shed_worker_init(struct shed_worker *shed, uint64_t seed, uint32_t worker)
{
	/* `seed` also determines the hash key, so ~seed makes the samples independent of hashes. */
	uint64_t state = ~seed;

	*shed = (struct shed_worker){
		.seed = random_split(&state) ^ random_mix(worker),
		.decisions = &no_entry,
		.decided = SHED_SETTING_WHOLE,
		.stale = true,
		.whole = true,
	};
	shed->states = &shed->decided;
}

void shed_worker_decide(struct shed_worker *shed, const struct shed_schedule *schedule,
	const struct steps *steps, uint32_t worker)
{
	shed->decisions = schedule->of[worker].decisions;
	shed->steps = steps;
}

void shed_worker_govern(struct shed_worker *shed, struct shed_mailbox *line, uint64_t interrupted)
{
	atomic_store_explicit(&line->next, shed->states, memory_order_relaxed);
	shed->line = shed->sampler.line = line;
	shed->interrupted = interrupted;
}
