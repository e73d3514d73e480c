/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * In a pass, one sketch or other subject counts all packets of a workload once. Its heaviest keys
 * are then compared with the exact counts.
 */

#include "tune/measure/bench_subject.h"
#include "tune/measure/cpus.h"

#define BENCH_PASS_ERROR_MAX 256
#define BENCH_ROUNDS_MAX     101

struct bench_stats {
	double median; /* mean of the two in the middle if their number is even */
	double min, max;
};

struct bench_stats bench_stats_of(const double *values, uint32_t n);

/* Sorts the values, of which there may be any number but 0. */
struct bench_stats bench_stats_sort(double *values, uint32_t n);

/* The values are one member, a double, of samples of `size` bytes. */
struct bench_stats bench_stats_of_member(const double *first, size_t size, uint32_t n);
#define BENCH_STATS(samples, member, n)                                                            \
	bench_stats_of_member(&(samples)[0].member, sizeof((samples)[0]), n)

struct bench_accuracy {
	bool known;            /* false: no key is heavy, because each has only one packet */
	double recall;         /* share of the true top keys that are reported */
	double precision;      /* share of the reported keys that are true top keys */
	double relative_error; /* mean of |estimate - truth| / truth over the reported keys */
	double top_error; /* the same over the true top keys; 1 for a key that is not reported */
};

struct bench_pass {
	const char *missing; /* why the subject was not measured, or NULL */
	double ns;           /* CPU time per packet, over all threads */
	size_t memory;
	uint64_t no_room;
	bool keeps_keys;
	/* for WORKLOAD_TOP and WORKLOAD_TOP_MOST keys; valid if keeps_keys */
	struct bench_accuracy accuracy, accuracy_most;
};

/*
 * Compares flows[nb_flows] with the `top` heaviest keys of the workload. Keys with as many packets
 * as the last of these also belong to the top.
 */
struct bench_accuracy bench_accuracy(const struct workload *workload, uint32_t top,
	const struct bench_subject_flow *flows, uint32_t nb_flows);

/* Returns the share of the keys of the workload that the sketch lists with their exact packets. */
double bench_exact_share(const struct sketch *sketch, const struct workload *workload);

void bench_feed(const struct bench_subject *subject, const struct workload *workload, void *state,
	uint32_t thread);

/*
 * judged: computes the accuracy. Returns false, with a line in error[BENCH_PASS_ERROR_MAX], if the
 * packets of the subject do not sum up to the workload. Its other figures are then invalid.
 */
bool bench_pass_run(const struct bench_rounds *setup, const struct cpus *cpus,
	const struct bench_subject *subject, bool judged, struct bench_pass *pass, char *error);
