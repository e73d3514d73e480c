/* SPDX-License-Identifier: BSD-3-Clause */
#include "tune/measure/bench_pass.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assertion.h"
#include "parallel/plan/plan.h"

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

struct bench_stats bench_stats_sort(double *values, uint32_t n)
{
	VERIFY(n, >, 0u);
	qsort(values, n, sizeof(values[0]), compare_doubles);
	return (struct bench_stats){
		.median = (values[(n - 1) / 2] + values[n / 2]) / 2,
		.min = values[0],
		.max = values[n - 1],
	};
}

struct bench_stats bench_stats_of(const double *values, uint32_t n)
{
	double sorted[BENCH_ROUNDS_MAX];

	VERIFY(n, <=, (uint32_t)BENCH_ROUNDS_MAX);
	memcpy(sorted, values, n * sizeof(sorted[0]));
	return bench_stats_sort(sorted, n);
}

struct bench_stats bench_stats_of_member(const double *first, size_t size, uint32_t n)
{
	double values[BENCH_ROUNDS_MAX];

	VERIFY(n, <=, (uint32_t)BENCH_ROUNDS_MAX);
	for (uint32_t i = 0; i < n; i++)
		memcpy(&values[i], (const char *)first + i * size, sizeof(values[0]));
	return bench_stats_sort(values, n);
}

struct judged {
	const struct workload *workload;
	uint64_t exact;
};

static void judge(const struct sketch_candidate *candidate, void *arg)
{
	struct judged *judged = arg;

	judged->exact += candidate->packets == workload_truth(judged->workload, &candidate->key.v4);
}

double bench_exact_share(const struct sketch *sketch, const struct workload *workload)
{
	struct judged judged = {.workload = workload};

	sketch->ops->candidates(sketch, judge, &judged);
	return (double)judged.exact / (double)workload->distinct;
}

struct bench_accuracy bench_accuracy(const struct workload *workload, uint32_t top,
	const struct bench_subject_flow *flows, uint32_t nb_flows)
{
	uint32_t nb_top = top < workload->nb_top ? top : workload->nb_top;
	uint64_t smallest = workload->top[nb_top - 1].packets;
	struct bench_accuracy accuracy = {.known = workload->top[0].packets > 1};
	double top_error = 0;
	uint32_t right = 0;

	VERIFY(nb_top, >, 0u);
	for (uint32_t i = 0; i < nb_flows; i++) {
		uint64_t truth = workload_truth(workload, &flows[i].key);

		/* An unknown key counts as one packet. */
		double error = fabs((double)flows[i].packets - (double)truth) /
			       (double)(truth > 0 ? truth : 1);

		accuracy.relative_error += error;
		if (truth >= smallest) {
			right++;
			top_error += error;
		}
	}
	accuracy.recall = (double)right / nb_top;
	accuracy.precision = nb_flows > 0 ? (double)right / nb_flows : 0;
	accuracy.relative_error = nb_flows > 0 ? accuracy.relative_error / nb_flows : 1;
	accuracy.top_error = (top_error + (nb_top - right)) / nb_top;
	return accuracy;
}

static void feed(const struct bench_subject *subject, void *state, uint32_t thread,
	const struct key_burst *burst)
{
	if (subject->ops->feed != NULL)
		subject->ops->feed(state, thread, burst);
	/* The compiler must not remove unused results. */
	__asm__ volatile("" : : "r"(burst) : "memory");
}

/* Like a worker, prefetches for each burst before it counts the previous one. */
void bench_feed(const struct bench_subject *subject, const struct workload *workload, void *state,
	uint32_t thread)
{
	uint64_t bursts = workload_bursts(workload), threads = subject->threads;
	uint64_t first = bursts * thread / threads, end = bursts * (thread + 1) / threads;
	bool late = subject->ops->fetch != NULL && subject->sketch->fetch != NULL;
	struct key_burst turns[2], *burst = &turns[0], *last = &turns[1], *fetched;

	for (uint32_t t = 0; t < 2; t++) {
		workload_burst_init(&turns[t]);
		turns[t].writer = thread;
	}
	for (uint64_t b = first; b < end; b++) {
		workload_load(workload, b, burst);
		if (subject->ops->takes_hashes)
			hash_burst(&workload->hash_key, burst);
		if (!late) {
			feed(subject, state, thread, burst);
			continue;
		}
		subject->ops->fetch(state, thread, burst);
		if (b > first)
			feed(subject, state, thread, last);
		fetched = burst;
		burst = last;
		last = fetched;
	}
	if (late && first < end)
		feed(subject, state, thread, last);
}

struct fed_subject {
	const struct bench_subject *subject;
	const struct workload *workload;
	void *state;
};

static void feed_share(void *arg, uint32_t thread)
{
	const struct fed_subject *fed = arg;

	bench_feed(fed->subject, fed->workload, fed->state, thread);
}

static bool check_total(const struct fed_subject *fed, char *error)
{
	const struct bench_subject *subject = fed->subject;
	uint64_t packets = fed->workload->spec.packets, total;

	if (subject->ops->total == NULL || !subject->ops->total(fed->state, &total) ||
		total == packets)
		return true;
	snprintf(error, BENCH_PASS_ERROR_MAX,
		"%s, %s, %u threads: fed %llu packets and counted %llu; its figures are "
		"invalid",
		subject->name, plan_sharing_word(subject->sharing), subject->threads,
		(unsigned long long)packets, (unsigned long long)total);
	return false;
}

static struct bench_accuracy judge_top(const struct fed_subject *fed, uint32_t top)
{
	const struct bench_subject_ops *ops = fed->subject->ops;
	struct bench_subject_flow flows[WORKLOAD_TOP_MOST];

	if (ops->top == NULL || (ops->top_most > 0 && ops->top_most < top))
		return (struct bench_accuracy){.known = false};
	return bench_accuracy(
		fed->workload, top, flows, ops->top(fed->state, fed->workload, flows, top));
}

bool bench_pass_run(const struct bench_rounds *setup, const struct cpus *cpus,
	const struct bench_subject *subject, bool judged, struct bench_pass *pass, char *error)
{
	const struct bench_subject_ops *ops = subject->ops;
	struct fed_subject fed = {subject, setup->workload, NULL};
	double seconds[BENCH_SUBJECT_THREADS_MAX];
	bool right;

	*pass = (struct bench_pass){0};
	if (subject->threads > cpus->n)
		pass->missing = "more threads than CPUs";
	else if (ops->open != NULL && (fed.state = ops->open(subject, setup)) == NULL)
		pass->missing = "out of memory";
	if (pass->missing != NULL)
		return true;
	if (!cpus_run(cpus, subject->threads, feed_share, &fed, seconds))
		pass->missing = "no thread";
	for (uint32_t t = 0; t < subject->threads && pass->missing == NULL; t++)
		pass->ns += seconds[t] * 1e9 / (double)setup->workload->spec.packets;
	right = pass->missing != NULL || check_total(&fed, error);
	if (ops->memory != NULL)
		pass->memory = ops->memory(fed.state);
	if (ops->no_room != NULL)
		pass->no_room = ops->no_room(fed.state);
	pass->keeps_keys = ops->top != NULL;
	if (right && judged) {
		pass->accuracy = judge_top(&fed, WORKLOAD_TOP);
		pass->accuracy_most = judge_top(&fed, WORKLOAD_TOP_MOST);
	}
	if (ops->close != NULL)
		ops->close(fed.state);
	return right;
}
