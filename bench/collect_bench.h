/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* What one lcore of sketchtap collect does with datagrams, as far as it is asked to. */

#include <stdbool.h>
#include <stdint.h>

#include "bench/exported.h"
#include "collect/datagram.h"

#define COLLECT_BENCH_ROUTERS_MAX 16

enum collect_bench_depth {
	COLLECT_BENCH_RECORDS,      /* decoded, and no more */
	COLLECT_BENCH_OBSERVATIONS, /* and whose they are */
	COLLECT_BENCH_BEST,         /* and each packet once */
	COLLECT_BENCH_COUNTED, /* and counted by Count-Min, as heavy hitters and distinct keys */
};

/* What came of it, since it was made. */
struct collect_bench_counts {
	uint64_t records;
	uint64_t packets, bytes; /* of records */
	uint64_t measured;       /* packets that counted */
};

struct collect_bench;

/* For so many flows. NULL: there is no memory. */
struct collect_bench *collect_bench_create(
	enum collect_bench_depth depth, uint64_t flows, uint64_t seed);
void collect_bench_destroy(struct collect_bench *bench);

void collect_bench_take(struct collect_bench *bench, const struct datagram *datagram);

/* An epoch ends. */
void collect_bench_end_epoch(struct collect_bench *bench, int64_t now);

/* From memory: the datagrams come within a second from *now on, at the end of which an epoch ends. */
void collect_bench_run(struct collect_bench *bench, const struct exported *exported, int64_t *now);

struct collect_bench_counts collect_bench_counts(const struct collect_bench *bench);
