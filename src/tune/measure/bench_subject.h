/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Subjects of a bench count the keys of a workload: the sketches, and other structures for
 * comparison. Each is opened empty, receives every burst once, returns its total and its heaviest
 * keys, and is closed.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/config.h"
#include "key/key_burst.h"
#include "tune/measure/workload.h"
#include "sketch/sketch.h"

#define BENCH_SUBJECT_THREADS_MAX 64

/* Settings for all subjects of a group. */
struct bench_rounds {
	const struct workload *workload;
	uint32_t depth; /* number of rows, for subjects with rows; 0: the default */
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
	bool locked; /* true: threads use a lock (only in sketchtap-bench) */
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
	/* true: feed() needs burst->hash; false: the subject hashes keys itself. */
	bool takes_hashes;
	/*
	 * Returns the subject's state, or NULL if out of memory. open is NULL if there is no state.
	 */
	void *(*open)(const struct bench_subject *subject, const struct bench_rounds *setup);
	/*
	 * Counts a burst. Each of subject->threads threads calls it with its own number. NULL: the
	 * bench only reads the keys, to measure the time of reading.
	 */
	void (*feed)(void *state, uint32_t thread, const struct key_burst *burst);
	size_t (*memory)(const void *state); /* bytes that a pass accesses */
	/*
	 * Sets *total to the number of packets counted, computed from the subject's structure;
	 * UINT64_MAX if the structure is inconsistent. Returns false if the subject has no total.
	 */
	bool (*total)(const void *state, uint64_t *total);
	/* Returns the packets for which the subject had no room. NULL: there are none. */
	uint64_t (*no_room)(const void *state);
	/*
	 * Stores the heaviest keys of the subject, at most `wanted`. Returns their number. NULL:
	 * the subject stores no keys.
	 */
	uint32_t (*top)(void *state, const struct workload *workload,
		struct bench_subject_flow *flows, uint32_t wanted);
	uint32_t top_most; /* number of keys that the subject stores; 0: unlimited */
	void (*close)(void *state);
};

extern const struct bench_subject_ops bench_subject_sketch; /* bench_sketches.c */
