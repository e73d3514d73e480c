/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Costs of sinks: time of a worker, memory, duration of scrapes, rate of Kafka. */

#include "bench/rounds.h"

/* Each function returns false with a line in error if it fails, without one if it is stopped. */
bool sink_bench_worker(struct rounds_bench *bench);
bool sink_bench_memory(struct rounds_bench *bench);
bool sink_bench_scrape(struct rounds_bench *bench);
bool sink_bench_kafka(struct rounds_bench *bench);
