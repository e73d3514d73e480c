/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Worker of a run with an eBPF program (parallel/sources/kernel_source.h): reads the rings of every
 * n-th CPU and, if the program counts, its tables.
 */

#include "parallel/plan/design.h"
#include "rx/kernel/program.h"
#include "rx/kernel/ring.h"

struct worker;

/* Shared by all workers. */
struct kernel_origin {
	struct kernel_program *program;
	uint32_t entries;         /* entries of each ring */
	bool on_path;             /* the program counts in tables; rings have only the rest */
	enum kernel_times stamps; /* kind of timestamps, if needed */
	uint32_t nb_interfaces;
	uint32_t interfaces[OPTION_LIST_MAX]; /* kernel index of each --kernel */
};

struct kernel_taker {
	const struct kernel_origin *origin;
	struct worker *worker;
	uint32_t nb_readers;
	struct kernel_reader *readers; /* [nb_readers] */
	/* [nb_readers]; values of the rings' counters that were already added to an epoch. */
	uint64_t *ring_full;
	uint64_t (*filtered)[2];
	uint32_t empty_rounds;    /* successive empty rounds */
	uint64_t taken;           /* packets of all epochs; owned by the worker until it ends */
	int64_t utc_of_monotonic; /* ns: CLOCK_REALTIME minus CLOCK_MONOTONIC */
	int64_t compared;         /* monotonic ns of the last comparison of clocks */
};

/*
 * Initializes the taker of a worker. Returns false if out of memory; call kernel_taker_free() then
 * also.
 */
bool kernel_taker_start(struct kernel_taker *taker, const struct kernel_origin *origin,
	struct worker *worker, uint32_t nb_workers);
void kernel_taker_free(struct kernel_taker *taker); /* Frees the contents. */

extern const struct design_ops design_kernel_rss, design_kernel_async;
