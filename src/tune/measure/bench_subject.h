/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Subjects of a bench, which count the keys of a workload: sketches, and other structures for
 * comparison.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/config.h"
#include "key/key_burst.h"
#include "tune/measure/workload.h"
#include "sketch/sketch.h"

#define BENCH_SUBJECT_THREADS_MAX 64

struct bench_rounds {
	const struct workload *workload;
	uint32_t depth; /* 0: the default */
	uint64_t width; /* counters per row, or buckets */
	uint64_t seed;
};

struct bench_subject_ops;

struct bench_subject {
	const char *name;
	const struct bench_subject_ops *ops;
	const struct sketch_ops *sketch; /* NULL: not a sketch */
	enum sketch_sharing sharing;
	enum sketch_atomic atomic;
	bool locked; /* threads use a lock (only in sketchtap-bench) */
	enum sketch_metric metric;
	uint32_t threads;
	uint64_t width;
	/* As in struct sketch_params: an iblt whose load is not 0 has compact cells. */
	double load;
	uint64_t width6;
};

static inline uint64_t bench_subject_width(
	const struct bench_subject *subject, const struct bench_rounds *setup)
{
	return subject->width > 0 ? subject->width : setup->width;
}

struct bench_subject_flow {
	struct key4 key;
	uint64_t packets;
};

struct bench_subject_ops {
	/* feed() reads burst->hash; false: the subject hashes keys itself */
	bool takes_hashes;
	/* Returns NULL if out of memory, or if the subject has no state (open is NULL). */
	void *(*open)(const struct bench_subject *subject, const struct bench_rounds *setup);
	/* thread: 0 to subject->threads - 1. NULL: the bench only reads the keys. */
	void (*feed)(void *state, uint32_t thread, const struct key_burst *burst);
	/* Prefetches for feed(), before the previous burst is fed. Only for a sketch with fetch(). */
	void (*fetch)(void *state, uint32_t thread, const struct key_burst *burst);
	size_t (*memory)(const void *state);
	/*
	 * Counts packets from the structure of the subject; UINT64_MAX: it is inconsistent. Returns
	 * false if the subject has no total.
	 */
	bool (*total)(const void *state, uint64_t *total);
	/* packets for which the subject had no room; NULL: none */
	uint64_t (*no_room)(const void *state);
	/*
	 * Stores up to `wanted` of the heaviest keys and returns their number. NULL: the subject
	 * stores no keys.
	 */
	uint32_t (*top)(void *state, const struct workload *workload,
		struct bench_subject_flow *flows, uint32_t wanted);
	uint32_t top_most; /* keys that the subject stores; 0: unlimited */
	void (*close)(void *state);
};

extern const struct bench_subject_ops bench_subject_sketch;
