/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Subjects that count the keys of a workload: the sketches, and structures for comparison. Each is
 * opened empty before a pass, receives every burst once, returns its total and its heaviest keys,
 * and is closed.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/config.h"
#include "key/key_burst.h"
#include "tune/measure/workload.h"
#include "sketch/sketch.h"

#define BENCH_SUBJECT_THREADS_MAX 64

/* Settings shared by all subjects of a group. */
struct bench_rounds {
	const struct workload *workload;
	uint32_t depth; /* rows, for subjects with rows; 0: the default */
	uint64_t width; /* counters per row, or buckets */
	uint64_t seed;  /* seed of the hash */
};

struct bench_subject_ops;

struct bench_subject {
	const char *name;
	const struct bench_subject_ops *ops;
	const struct sketch_ops *sketch; /* NULL if the subject is not a sketch */
	enum sketch_sharing sharing;
	enum sketch_atomic atomic;
	bool locked; /* a sketch of sketchtap-bench whose threads use a lock */
	enum sketch_metric metric;
	uint32_t threads;
	uint64_t width; /* 0: bench_rounds.width */
};

static inline uint64_t bench_subject_width(
	const struct bench_subject *subject, const struct bench_rounds *setup)
{
	return subject->width > 0 ? subject->width : setup->width;
}

struct bench_subject_flow {
	struct key4 key;
	uint64_t packets; /* estimate of the subject */
};

struct bench_subject_ops {
	/* Needs burst->hash; false: it hashes keys itself. */
	bool takes_hashes;
	/* Returns NULL if out of memory. A NULL slot: nothing to open. */
	void *(*open)(const struct bench_subject *subject, const struct bench_rounds *setup);
	/*
	 * Counts a burst; called by each of subject->threads with its own number. NULL: does
	 * nothing, to measure reading the keys.
	 */
	void (*feed)(void *state, uint32_t thread, const struct key_burst *burst);
	size_t (*memory)(const void *state); /* bytes accessed by a pass */
	/*
	 * Stores the packets counted, from its own structure, in *total; UINT64_MAX if its parts
	 * are inconsistent. Returns false if it cannot tell.
	 */
	bool (*total)(const void *state, uint64_t *total);
	/* Returns the packets that it had no room for. NULL: none. */
	uint64_t (*no_room)(const void *state);
	/*
	 * Stores its heaviest keys, at most `wanted`. Returns their number. NULL: it keeps no keys.
	 */
	uint32_t (*top)(void *state, const struct workload *workload,
		struct bench_subject_flow *flows, uint32_t wanted);
	uint32_t top_most; /* keys that it keeps; 0: unlimited */
	void (*close)(void *state);
};

extern const struct bench_subject_ops bench_subject_sketch; /* bench_sketches.c */
