/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * In a pass, one subject counts all packets of a workload once. It starts empty, like a sketch at
 * the start of an interval. Afterwards, its heaviest keys are compared with the exact counts.
 */

#include "tune/measure/bench_subject.h"
#include "tune/measure/cpus.h"

#define BENCH_PASS_ERROR_MAX 256
#define BENCH_ROUNDS_MAX     101

/* Statistics of a figure that was measured several times. */
struct bench_stats {
	double median; /* for an even number of values, the mean of the two in the middle */
	double min, max;
};

/* Returns the statistics of values[n]; n is 1 to BENCH_ROUNDS_MAX. */
struct bench_stats bench_stats_of(const double *values, uint32_t n);

struct bench_accuracy {
	bool known;            /* false: no key is heavy, because each has only one packet */
	double recall;         /* share of the true top keys that are reported */
	double precision;      /* share of the reported keys that are true top keys */
	double relative_error; /* mean of |estimate - truth| / truth over the reported keys */
	double top_error; /* same mean over the true top keys; a key that is not reported counts as 1 */
};

struct bench_pass {
	const char *missing; /* reason if the subject was not measured, else NULL */
	double ns;           /* CPU time per packet, over all threads */
	size_t memory;       /* bytes */
	uint64_t no_room;    /* packets for which the subject had no room */
	bool keeps_keys;
	/* Accuracy for WORKLOAD_TOP and for WORKLOAD_TOP_MOST keys. Valid if keeps_keys. */
	struct bench_accuracy accuracy, accuracy_most;
};

/*
 * Compares flows[nb_flows] with the `top` heaviest keys of the workload, at most WORKLOAD_TOP_MOST.
 * Keys with as many packets as the last of these keys also belong to the top, so that ties count as
 * correct.
 */
struct bench_accuracy bench_accuracy(const struct workload *workload, uint32_t top,
	const struct bench_subject_flow *flows, uint32_t nb_flows);

/* Passes one thread's share of the workload, consecutive bursts, to an open subject. */
void bench_feed(const struct bench_subject *subject, const struct workload *workload, void *state,
	uint32_t thread);

/*
 * Runs a pass. Computes the accuracy only if `judged`. Returns false with one line in
 * error[BENCH_PASS_ERROR_MAX] if the total of the subject is wrong. Then all its figures are
 * invalid.
 */
bool bench_pass_run(const struct bench_rounds *setup, const struct cpus *cpus,
	const struct bench_subject *subject, bool judged, struct bench_pass *pass, char *error);
