/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * What counts the keys of a workload: our sketches, and what they are compared with. All are opened
 * empty before a pass, fed every burst once, asked for their total and their heaviest keys, and
 * closed.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/config.h"
#include "key/key_burst.h"
#include "tune/measure/workload.h"
#include "sketch/sketch.h"

#define BENCH_SUBJECT_THREADS_MAX 64

/* What all contestants of a group have in common. */
struct bench_rounds {
	const struct workload *workload;
	uint32_t depth; /* rows, where a contestant has rows; 0: its default */
	uint64_t width; /* counters of a row, or buckets */
	uint64_t seed;  /* of the hash */
};

struct bench_subject_ops;

struct bench_subject {
	const char *name;
	const struct bench_subject_ops *ops;
	const struct sketch_ops *sketch; /* of ours; else NULL */
	enum sketch_sharing sharing;
	enum sketch_atomic atomic;
	bool locked; /* the sketch is one of sketchtap-bench, whose threads take turns */
	enum sketch_metric metric;
	uint32_t threads;
	uint64_t width; /* 0: the contest's */
};

static inline uint64_t bench_subject_width(
	const struct bench_subject *subject, const struct bench_rounds *setup)
{
	return subject->width > 0 ? subject->width : setup->width;
}

struct bench_subject_flow {
	struct key4 key;
	uint64_t packets; /* as the contestant estimates */
};

struct bench_subject_ops {
	/* Wants burst->hash filled; else it hashes keys itself. */
	bool takes_hashes;
	/* NULL where memory is missing. NULL in the table: nothing is to be opened. */
	void *(*open)(const struct bench_subject *subject, const struct bench_rounds *setup);
	/* Counts a burst; thread t of subject->threads calls it with its own t. NULL: does
	 * nothing, which is what reading the keys costs. */
	void (*feed)(void *state, uint32_t thread, const struct key_burst *burst);
	size_t (*memory)(const void *state); /* bytes that a pass touches */
	/* *total: packets that are in it, as its own structure tells; UINT64_MAX where its parts
	 * contradict each other. False where it cannot tell. */
	bool (*total)(const void *state, uint64_t *total);
	/* Packets that it found no room for. NULL: it has room for all. */
	uint64_t (*refused)(const void *state);
	/* Its heaviest keys, at most `wanted`. Returns their number. NULL: it keeps none. */
	uint32_t (*top)(void *state, const struct workload *workload,
		struct bench_subject_flow *flows, uint32_t wanted);
	uint32_t top_most; /* keys that it keeps; 0: as many as are wanted */
	void (*close)(void *state);
};

extern const struct bench_subject_ops bench_subject_keys;   /* baselines.c: reads keys, no more */
extern const struct bench_subject_ops bench_subject_hashes; /* baselines.c: and hashes them */
extern const struct bench_subject_ops
	bench_subject_floor; /* baselines.c: and increments counters */
extern const struct bench_subject_ops bench_subject_sketch; /* bench_sketches.c */
extern const struct bench_subject_ops bench_subject_table;  /* bench_sketches.c: a flow-table */
extern const struct bench_subject_ops
	bench_subject_table_hashing; /* bench_sketches.c: that needs no hash but its own */
