/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Contestants that take turns on one workload, round by round: what disturbs the machine disturbs
 * all of them, and ratios are taken within a round.
 *
 * A pass is one reading of the workload by one contestant, from empty, as an epoch begins. Beside
 * the contestants run two passes that only read the keys, and read and hash them; what they take is
 * subtracted. So reading the workload costs nobody anything, and
 *
 *     ns        is from a key to what the contestant keeps of it, its hash included
 *     ready_ns  is from a key whose hash is there already; not known of who hashes by itself
 *
 * both per packet of the thread that counts it, in CPU time of that thread.
 */

#include "tune/measure/accuracy.h"
#include "tune/measure/bench_subject.h"
#include "tune/measure/cpus.h"
#include "tune/measure/stats.h"

#define BENCH_ROUNDS_SUBJECTS_MAX 512
#define BENCH_ROUNDS_ERROR_MAX    256

struct bench_rounds_result {
	const char *missing; /* why it was not measured; NULL: it was */
	double ns[BENCH_ROUNDS_MAX];
	double ready_ns[BENCH_ROUNDS_MAX]; /* where the contestant takes hashes */
	size_t memory;                     /* bytes */
	uint64_t refused;                  /* packets, of a round */
	bool keeps_keys;
	/* Where it keeps keys, of the last round: of the top WORKLOAD_TOP, and WORKLOAD_TOP_MOST. */
	struct bench_accuracy accuracy, accuracy_most;
};

/*
 * Runs all rounds and fills results[nb_contestants]. Returns false with one line in
 * error[BENCH_ROUNDS_ERROR_MAX] where a contestant did not count what it was fed: then no figure is
 * worth anything. Ends early, with 0 in *rounds_done or more, when a signal asks for the end.
 */
bool bench_rounds_run(const struct bench_rounds *setup, const struct cpus *cpus,
	const struct bench_subject *subjects, uint32_t nb_subjects, uint32_t rounds,
	struct bench_rounds_result *results, uint32_t *rounds_done, char *error);

/*
 * One more pass, on the calling thread, with its cache misses counted: those of a packet, without
 * those of reading the workload. False where nobody counts them.
 */
bool bench_rounds_misses(
	const struct bench_rounds *setup, const struct bench_subject *subject, double *misses);
