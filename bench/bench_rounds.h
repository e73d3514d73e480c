/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Measures subjects in turns on one workload, round by round: a disturbance of the machine affects
 * all of them, and ratios are taken within a round.
 *
 * Each round also has two passes that only read the keys, and read and hash them; their times are
 * subtracted. So the cost of reading the workload is excluded, and
 *
 *     ns        is the time from a key to the updated subject, including its hash
 *     ready_ns  is the time from a hashed key; invalid for a subject that hashes by itself
 *
 * both per packet of the counting thread, in CPU time of that thread.
 */

#include "tune/measure/bench_pass.h"

#define BENCH_ROUNDS_SUBJECTS_MAX 512

struct bench_rounds_result {
	struct bench_pass
		last; /* pass of the last round; its accuracy only if the rounds are complete */
	double ns[BENCH_ROUNDS_MAX];
	double ready_ns[BENCH_ROUNDS_MAX]; /* valid if the subject takes hashes */
};

/*
 * Runs all rounds and fills results[nb_subjects]. Returns false with one line in
 * error[BENCH_PASS_ERROR_MAX] if a subject has a wrong total: then all figures are invalid. Stops
 * early on a signal; *rounds_done is the number of complete rounds.
 */
bool bench_rounds_run(const struct bench_rounds *setup, const struct cpus *cpus,
	const struct bench_subject *subjects, uint32_t nb_subjects, uint32_t rounds,
	struct bench_rounds_result *results, uint32_t *rounds_done, char *error);

/*
 * Runs one more pass on the calling thread, and stores its cache misses per packet, without those
 * of reading the workload. Returns false if they cannot be counted.
 */
bool bench_rounds_misses(
	const struct bench_rounds *setup, const struct bench_subject *subject, double *misses);
