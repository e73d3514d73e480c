/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Processes datagrams like one lcore of sketchtap collect, up to a chosen step. */

#include <stdbool.h>
#include <stdint.h>

#include "bench/exported.h"
#include "collect/datagram.h"

#define COLLECT_BENCH_ROUTERS_MAX 16

enum collect_bench_depth {
	COLLECT_BENCH_RECORDS,
	COLLECT_BENCH_OBSERVATIONS,
	COLLECT_BENCH_BEST,
	COLLECT_BENCH_COUNTED,
};

struct collect_bench_counts {
	uint64_t records;
	uint64_t packets, bytes;
	uint64_t measured; /* counted after deduplication */
};

struct collect_bench;

struct collect_bench *collect_bench_create(
	enum collect_bench_depth depth, uint64_t flows, uint64_t seed);
void collect_bench_destroy(struct collect_bench *bench);

void collect_bench_take(struct collect_bench *bench, const struct datagram *datagram);

/* Processes the records that wait. Call it when no datagram is ready. */
void collect_bench_flush(struct collect_bench *bench);

void collect_bench_end_epoch(struct collect_bench *bench, int64_t now);

/* The datagrams arrive within one second from *now. Then the epoch ends, and *now advances. */
void collect_bench_run(struct collect_bench *bench, const struct exported *exported, int64_t *now);

struct collect_bench_counts collect_bench_counts(const struct collect_bench *bench);
