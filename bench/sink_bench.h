/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* What outlets take of others: of a worker's time, of memory, of who scrapes; and Kafka's share. */

#include "bench/rounds.h"

/* False with a line in error, or where a stop was requested. */
bool sink_bench_worker(struct rounds_bench *bench);
bool sink_bench_memory(struct rounds_bench *bench);
bool sink_bench_scrape(struct rounds_bench *bench);
bool sink_bench_kafka(struct rounds_bench *bench);
