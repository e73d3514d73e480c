/* SPDX-License-Identifier: BSD-3-Clause */
#include "tune/measure/bench_rounds.h"

#include <stdio.h>
#include <string.h>

#include "parallel/plan/plan.h"
#include "base/signals.h"
#include "tune/measure/cache_misses.h"

struct pass {
	const struct bench_subject *subject;
	const struct workload *workload;
	void *state;
};

/* Feeds one thread's share of a pass: consecutive bursts. */
static void feed_share(void *arg, uint32_t t)
{
	const struct pass *pass = arg;
	const struct bench_subject_ops *ops = pass->subject->ops;
	uint64_t bursts = workload_bursts(pass->workload), threads = pass->subject->threads;
	struct key_burst burst;

	workload_burst_init(&burst);
	burst.writer = t;
	for (uint64_t b = bursts * t / threads; b < bursts * (t + 1) / threads; b++) {
		workload_load(pass->workload, b, &burst);
		if (ops->takes_hashes)
			hash_burst(&pass->workload->hash_key, &burst);
		if (ops->feed != NULL)
			ops->feed(pass->state, t, &burst);
		/* Keeps the compiler from removing unused results. */
		__asm__ volatile("" : : "r"(&burst) : "memory");
	}
}

/* Returns ns per packet over all threads; 0 if threads could not be started. */
static double run_pass(struct pass *pass, const struct cpus *cpus)
{
	double seconds[BENCH_SUBJECT_THREADS_MAX], sum = 0;

	if (!cpus_run(cpus, pass->subject->threads, feed_share, pass, seconds))
		return 0;
	for (uint32_t t = 0; t < pass->subject->threads; t++)
		sum += seconds[t];
	return sum * 1e9 / (double)pass->workload->spec.packets;
}

static bool check_total(const struct pass *pass, char *error)
{
	uint64_t fed = pass->workload->spec.packets, total;

	if (pass->subject->ops->total == NULL || !pass->subject->ops->total(pass->state, &total) ||
		total == fed)
		return true;
	snprintf(error, BENCH_ROUNDS_ERROR_MAX,
		"%s, %s, %u threads: fed %llu packets and counted %llu; its figures are "
		"invalid",
		pass->subject->name, plan_sharing_word(pass->subject->sharing),
		pass->subject->threads, (unsigned long long)fed, (unsigned long long)total);
	return false;
}

/* Reads the size after every round, because each may be the last. */
static void note_size(const struct pass *pass, struct bench_rounds_result *result)
{
	result->memory = pass->subject->ops->memory(pass->state);
	if (pass->subject->ops->refused != NULL)
		result->refused = pass->subject->ops->refused(pass->state);
}

static struct bench_accuracy judge_top(const struct pass *pass, uint32_t top)
{
	const struct bench_subject_ops *ops = pass->subject->ops;
	struct bench_subject_flow flows[WORKLOAD_TOP_MOST];

	if (ops->top == NULL || (ops->top_most > 0 && ops->top_most < top))
		return (struct bench_accuracy){.known = false};
	return bench_accuracy(
		pass->workload, top, flows, ops->top(pass->state, pass->workload, flows, top));
}

static void judge(const struct pass *pass, struct bench_rounds_result *result)
{
	result->keeps_keys = pass->subject->ops->top != NULL;
	result->accuracy = judge_top(pass, WORKLOAD_TOP);
	result->accuracy_most = judge_top(pass, WORKLOAD_TOP_MOST);
}

/* Time per packet to read the keys, and to read and hash them, for a number of threads. */
struct baseline {
	double keys, hashes;
};

static double run_baseline(const struct bench_rounds *setup, const struct cpus *cpus,
	const struct bench_subject_ops *ops, uint32_t threads)
{
	const struct bench_subject subject = {.ops = ops, .threads = threads};
	struct pass pass = {&subject, setup->workload, NULL};

	return run_pass(&pass, cpus);
}

/* Runs a pass of one subject. Returns false if its total is wrong. */
static bool take_turn(const struct bench_rounds *setup, const struct cpus *cpus,
	const struct bench_subject *subject, const struct baseline *baseline, uint32_t round,
	bool last, struct bench_rounds_result *result, char *error)
{
	struct pass pass = {subject, setup->workload, NULL};
	double ns;
	bool right;

	pass.state = subject->ops->open(subject, setup);
	if (pass.state == NULL) {
		result->missing = "out of memory";
		return true;
	}
	ns = run_pass(&pass, cpus);
	if (ns <= 0)
		result->missing = "no thread";
	result->ns[round] = ns - baseline->keys;
	result->ready_ns[round] = ns - baseline->hashes;
	right = result->missing != NULL || check_total(&pass, error);
	note_size(&pass, result);
	if (right && last)
		judge(&pass, result);
	subject->ops->close(pass.state);
	return right;
}

static bool run_round(const struct bench_rounds *setup, const struct cpus *cpus,
	const struct bench_subject *subjects, uint32_t nb_subjects, uint32_t round, bool last,
	struct bench_rounds_result *results, char *error)
{
	struct baseline baselines[BENCH_SUBJECT_THREADS_MAX + 1];
	bool known[BENCH_SUBJECT_THREADS_MAX + 1] = {false};

	for (uint32_t c = 0; c < nb_subjects; c++) {
		uint32_t threads = subjects[c].threads;

		if (results[c].missing != NULL)
			continue;
		if (!known[threads]) {
			baselines[threads] = (struct baseline){
				.keys = run_baseline(setup, cpus, &bench_subject_keys, threads),
				.hashes = run_baseline(setup, cpus, &bench_subject_hashes, threads),
			};
			known[threads] = true;
		}
		if (!take_turn(setup, cpus, &subjects[c], &baselines[threads], round, last,
			    &results[c], error))
			return false;
	}
	return true;
}

bool bench_rounds_run(const struct bench_rounds *setup, const struct cpus *cpus,
	const struct bench_subject *subjects, uint32_t nb_subjects, uint32_t rounds,
	struct bench_rounds_result *results, uint32_t *rounds_done, char *error)
{
	memset(results, 0, nb_subjects * sizeof(results[0]));
	for (uint32_t c = 0; c < nb_subjects; c++)
		if (subjects[c].threads > cpus->n)
			results[c].missing = "more threads than CPUs";
	/* Warms up, so that no subject pays for the first access to the keys. */
	run_baseline(setup, cpus, &bench_subject_hashes, 1);
	for (*rounds_done = 0; *rounds_done < rounds && !signals_stop_requested(); (*rounds_done)++)
		if (!run_round(setup, cpus, subjects, nb_subjects, *rounds_done,
			    *rounds_done + 1 == rounds, results, error))
			return false;
	return true;
}

/* Returns the cache misses of a pass on this thread. */
static uint64_t count_misses(int counter, struct pass *pass)
{
	cache_misses_start(counter);
	feed_share(pass, 0);
	return cache_misses_stop(counter);
}

bool bench_rounds_misses(
	const struct bench_rounds *setup, const struct bench_subject *subject, double *misses)
{
	const struct bench_subject reader = {.ops = &bench_subject_keys, .threads = 1};
	struct pass pass = {subject, setup->workload, NULL},
		    reading = {&reader, setup->workload, NULL};
	int counter = cache_misses_open();

	if (counter >= 0)
		pass.state = subject->ops->open(subject, setup);
	if (pass.state != NULL) {
		uint64_t all = count_misses(counter, &pass), read = count_misses(counter, &reading);

		subject->ops->close(pass.state);
		*misses = ((double)all - (double)read) / (double)setup->workload->spec.packets;
	}
	cache_misses_close(counter);
	return pass.state != NULL;
}
