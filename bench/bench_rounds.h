/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Measures subjects in turns on one workload, round by round. A disturbance of the machine then
 * affects all of them, and a ratio compares times of one round.
 *
 * Each round also has a pass that only reads the keys, and one that reads and hashes them. Their
 * times are subtracted, so that times exclude reading the workload:
 *
 *     ns        time from a key to the updated subject, with its hash
 *     ready_ns  time from a hashed key; invalid if the subject hashes by itself
 *
 * Both are CPU time of the counting thread, per packet.
 */

#include "tune/measure/bench_pass.h"

#define BENCH_ROUNDS_SUBJECTS_MAX 512

struct bench_rounds_result {
	/* the last round; its accuracy is valid only if the rounds are complete */
	struct bench_pass last;
	double ns[BENCH_ROUNDS_MAX];
	double ready_ns[BENCH_ROUNDS_MAX]; /* valid only if the subject accepts hashes */
};

/*
 * Runs all rounds and fills results[nb_subjects]. Returns false with one line in
 * error[BENCH_PASS_ERROR_MAX] if the total of a subject is wrong: then no figure is valid. Stops
 * early on a signal. *rounds_done is the number of complete rounds.
 */
bool bench_rounds_run(const struct bench_rounds *setup, const struct cpus *cpus,
	const struct bench_subject *subjects, uint32_t nb_subjects, uint32_t rounds,
	struct bench_rounds_result *results, uint32_t *rounds_done, char *error);

/*
 * Runs one more pass on the calling thread, and stores its cache misses per packet. Misses of
 * reading the workload are subtracted. Returns false if misses cannot be counted.
 */
bool bench_rounds_misses(
	const struct bench_rounds *setup, const struct bench_subject *subject, double *misses);
