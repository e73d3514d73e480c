/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Runs the work of one lcore of sketchtap collect on datagrams, up to a chosen step. */

#include <stdbool.h>
#include <stdint.h>

#include "bench/exported.h"
#include "collect/datagram.h"

#define COLLECT_BENCH_ROUTERS_MAX 16

enum collect_bench_depth {
	COLLECT_BENCH_RECORDS,      /* only decoded */
	COLLECT_BENCH_OBSERVATIONS, /* exporters found as well */
	COLLECT_BENCH_BEST,         /* deduplicated as well */
	COLLECT_BENCH_COUNTED,      /* also Count-Min, heavy hitters and distinct keys */
};

/* Counts since creation. */
struct collect_bench_counts {
	uint64_t records;
	uint64_t packets, bytes; /* sums over records */
	uint64_t measured;       /* packets that were counted after deduplication */
};

struct collect_bench;

/* Returns NULL if out of memory. */
struct collect_bench *collect_bench_create(
	enum collect_bench_depth depth, uint64_t flows, uint64_t seed);
void collect_bench_destroy(struct collect_bench *bench);

void collect_bench_take(struct collect_bench *bench, const struct datagram *datagram);

void collect_bench_end_epoch(struct collect_bench *bench, int64_t now);

/*
 * Processes datagrams from memory, as if they arrived within one second from *now. The epoch ends
 * after them. Advances *now.
 */
void collect_bench_run(struct collect_bench *bench, const struct exported *exported, int64_t *now);

struct collect_bench_counts collect_bench_counts(const struct collect_bench *bench);
