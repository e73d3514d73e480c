/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/locked.h"

#include <stdatomic.h>

#include "parallel/plan/plan.h"
#include "sketch/spin_wait.h"

#define CHOICE 2

const char *locked_atomic_word(uint32_t i)
{
	return i == CHOICE ? "lock" : i < CHOICE ? plan_atomic_word(i) : NULL;
}

static _Atomic bool held __attribute__((aligned(64)));

static void lock(void)
{
	uint32_t spins = 0;

	/* pairs with the release in unlock() */
	while (atomic_exchange_explicit(&held, true, memory_order_acquire))
		while (atomic_load_explicit(&held, memory_order_relaxed))
			spin_wait(&spins);
}

static void unlock(void)
{
	/* pairs with the acquire in lock() */
	atomic_store_explicit(&held, false, memory_order_release);
}

static void update(struct sketch *sketch, const struct key_burst *burst)
{
	lock();
	sketch->ops->update[SHARING_SEPARATE](sketch, burst);
	unlock();
}

const struct sketch_ops *locked_sketch(const struct sketch_ops *sketch)
{
	static struct sketch_ops locked[OPTION_VALUES_MAX];
	uint32_t s = sketch_index(sketch);

	locked[s] = *sketch;
	locked[s].update[SHARING_SHARED] = update;
	return &locked[s];
}

uint32_t locked_subjects(const struct bench_options *bench, const struct option_values *threads,
	struct bench_subject *subjects, uint32_t max)
{
	struct bench_options separate = *bench;
	uint32_t n, shared = 0;

	if (!choices_has(bench->sharings, SHARING_SHARED) || !choices_has(bench->atomics, CHOICE))
		return 0;
	separate.sharings = 1u << SHARING_SEPARATE;
	n = choices_subjects(&separate, threads, subjects, max);
	for (uint32_t c = 0; c < n; c++) {
		if (subjects[c].sketch->update[SHARING_SHARED] == NULL)
			continue;
		subjects[shared] = subjects[c];
		subjects[shared].sharing = SHARING_SHARED;
		subjects[shared].sketch = locked_sketch(subjects[c].sketch);
		subjects[shared].locked = true;
		shared++;
	}
	return shared;
}
