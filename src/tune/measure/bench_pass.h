/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * A pass is one reading of a workload by one subject, which starts empty like an epoch. Its heaviest
 * keys are compared to the exact counts of the workload.
 */

#include "tune/measure/bench_subject.h"
#include "tune/measure/cpus.h"

#define BENCH_PASS_ERROR_MAX 256
#define BENCH_ROUNDS_MAX     101

/* Statistics of a figure that was measured several times. */
struct bench_stats {
	double median; /* mean of the middle two for an even number of values */
	double min, max;
};

/* Returns the statistics of values[n]; n is 1 to BENCH_ROUNDS_MAX. */
struct bench_stats bench_stats_of(const double *values, uint32_t n);

struct bench_accuracy {
	bool known;            /* false: no key has a second packet, so none is heavy */
	double recall;         /* reported keys of the top / keys of the top */
	double precision;      /* reported keys of the top / reported keys */
	double relative_error; /* mean of |estimate - truth| / truth of the reported keys */
	double top_error;      /* same for the keys of the top; 1 for a key not reported */
};

struct bench_pass {
	const char *missing; /* reason why it was not measured; NULL: measured */
	double ns;           /* CPU time per packet, over all threads */
	size_t memory;       /* bytes */
	uint64_t no_room;    /* packets that it had no room for */
	bool keeps_keys;
	/* Valid if it keeps keys: accuracy for WORKLOAD_TOP and WORKLOAD_TOP_MOST keys. */
	struct bench_accuracy accuracy, accuracy_most;
};

/*
 * Compares with the `top` heaviest keys of the workload, at most WORKLOAD_TOP_MOST, or with all if
 * there are fewer. Any key with as many packets as the last of them belongs to the top: ties for
 * the last place are all correct.
 */
struct bench_accuracy bench_accuracy(const struct workload *workload, uint32_t top,
	const struct bench_subject_flow *flows, uint32_t nb_flows);

/* Feeds one thread's share of the workload, consecutive bursts, to an open subject. */
void bench_feed(const struct bench_subject *subject, const struct workload *workload, void *state,
	uint32_t thread);

/*
 * Runs a pass; sets the accuracy only if `judged`. Returns false with one line in
 * error[BENCH_PASS_ERROR_MAX] if the subject has a wrong total: then all figures are invalid.
 */
bool bench_pass_run(const struct bench_rounds *setup, const struct cpus *cpus,
	const struct bench_subject *subject, bool judged, struct bench_pass *pass, char *error);
