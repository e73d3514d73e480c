/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Worker of a run with an eBPF program (parallel/sources/kernel_source.c). Reads the rings of the
 * program. If the program itself counts packets, also reads its tables.
 */

#include "parallel/plan/design.h"
#include "rx/kernel/program.h"
#include "rx/kernel/ring.h"

struct worker;

/* Shared by all workers. */
struct kernel_origin {
	struct kernel_program *program;
	uint32_t entries;         /* entries of each ring */
	bool on_path;             /* true: the program counts; rings have only other packets */
	enum kernel_times stamps; /* kind of timestamps, if a measurement needs them */
	uint32_t nb_interfaces;
	uint32_t interfaces[OPTION_LIST_MAX]; /* interface index of each --kernel option */
};

struct kernel_taker {
	const struct kernel_origin *origin;
	struct worker *worker;
	uint32_t nb_readers;
	struct kernel_reader *readers; /* [nb_readers] */
	/* [nb_readers]: last values of the counters of each ring, which are in an epoch already. */
	uint64_t *ring_full;
	uint64_t (*filtered)[2];
	uint32_t empty_rounds;    /* number of successive rounds without entries */
	uint64_t taken;           /* packets in the whole run; owned by the worker until it ends */
	int64_t utc_of_monotonic; /* CLOCK_REALTIME minus CLOCK_MONOTONIC, ns */
	int64_t compared;         /* time of this comparison, ns of CLOCK_MONOTONIC */
};

/*
 * Initializes the taker of a worker. Returns false if out of memory. Call kernel_taker_free() also
 * in this case.
 */
bool kernel_taker_start(struct kernel_taker *taker, const struct kernel_origin *origin,
	struct worker *worker, uint32_t nb_workers);
void kernel_taker_free(struct kernel_taker *taker); /* frees its arrays, not `taker` */

extern const struct design_ops design_kernel_rss, design_kernel_async;
