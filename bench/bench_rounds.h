/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* `ns`: CPU time per packet, less that of reading keys; `ready_ns`: also less that of hashing. */

#include "tune/measure/bench_pass.h"

#define BENCH_ROUNDS_SUBJECTS_MAX 512

struct bench_rounds_result {
	/* pass of the last round; its accuracy is valid only if all rounds are complete */
	struct bench_pass last;
	double ns[BENCH_ROUNDS_MAX];
	double ready_ns[BENCH_ROUNDS_MAX]; /* valid only if the subject accepts hashes */
};

/* Returns false with one line in error[BENCH_PASS_ERROR_MAX] if a subject has a wrong total. */
bool bench_rounds_run(const struct bench_rounds *setup, const struct cpus *cpus,
	const struct bench_subject *subjects, uint32_t nb_subjects, uint32_t rounds,
	struct bench_rounds_result *results, uint32_t *rounds_done, char *error);

/* Runs one more pass. *misses: cache misses per packet. Returns false if they cannot be counted. */
bool bench_rounds_misses(
	const struct bench_rounds *setup, const struct bench_subject *subject, double *misses);
