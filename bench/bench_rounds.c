/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/bench_rounds.h"

#include <string.h>

#include "base/assertion.h"
#include "base/signals.h"
#include "bench/baselines.h"
#include "bench/cache_misses.h"

struct baseline {
	double keys, hashes;
};

static double run_baseline(const struct bench_rounds *setup, const struct cpus *cpus,
	const struct bench_subject_ops *ops, uint32_t threads)
{
	const struct bench_subject subject = {.ops = ops, .threads = threads};
	struct bench_pass pass;

	bench_pass_run(setup, cpus, &subject, false, &pass, NULL);
	return pass.ns;
}

static bool run_round(const struct bench_rounds *setup, const struct cpus *cpus,
	const struct bench_subject *subjects, uint32_t nb_subjects, uint32_t round, bool last,
	struct bench_rounds_result *results, char *error)
{
	struct baseline baselines[BENCH_SUBJECT_THREADS_MAX + 1];
	bool known[BENCH_SUBJECT_THREADS_MAX + 1] = {false};

	for (uint32_t c = 0; c < nb_subjects; c++) {
		struct bench_rounds_result *result = &results[c];
		uint32_t threads = subjects[c].threads;

		if (result->last.missing != NULL)
			continue;
		if (!known[threads]) {
			baselines[threads] = (struct baseline){
				.keys = run_baseline(setup, cpus, &bench_subject_keys, threads),
				.hashes = run_baseline(setup, cpus, &bench_subject_hashes, threads),
			};
			known[threads] = true;
		}
		if (!bench_pass_run(setup, cpus, &subjects[c], last, &result->last, error))
			return false;
		result->ns[round] = result->last.ns - baselines[threads].keys;
		result->ready_ns[round] = result->last.ns - baselines[threads].hashes;
	}
	return true;
}

bool bench_rounds_run(const struct bench_rounds *setup, const struct cpus *cpus,
	const struct bench_subject *subjects, uint32_t nb_subjects, uint32_t rounds,
	struct bench_rounds_result *results, uint32_t *rounds_done, char *error)
{
	VERIFY(rounds, <=, (uint32_t)BENCH_ROUNDS_MAX);
	VERIFY(nb_subjects, <=, (uint32_t)BENCH_ROUNDS_SUBJECTS_MAX);
	memset(results, 0, nb_subjects * sizeof(results[0]));
	/* warms up, so that the first subject does not pay for the first access to the keys */
	run_baseline(setup, cpus, &bench_subject_hashes, 1);
	for (*rounds_done = 0; *rounds_done < rounds && !signals_stop_requested(); (*rounds_done)++)
		if (!run_round(setup, cpus, subjects, nb_subjects, *rounds_done,
			    *rounds_done + 1 == rounds, results, error))
			return false;
	return true;
}

static uint64_t count_misses(int counter, const struct bench_subject *subject,
	const struct workload *workload, void *state)
{
	cache_misses_start(counter);
	bench_feed(subject, workload, state, 0);
	return cache_misses_stop(counter);
}

bool bench_rounds_misses(
	const struct bench_rounds *setup, const struct bench_subject *subject, double *misses)
{
	const struct bench_subject reader = {.ops = &bench_subject_keys, .threads = 1};
	int counter = cache_misses_open();
	void *state = counter >= 0 ? subject->ops->open(subject, setup) : NULL;

	if (state != NULL) {
		uint64_t all = count_misses(counter, subject, setup->workload, state),
			 read = count_misses(counter, &reader, setup->workload, NULL);

		subject->ops->close(state);
		*misses = ((double)all - (double)read) / (double)setup->workload->spec.packets;
	}
	cache_misses_close(counter);
	return state != NULL;
}
