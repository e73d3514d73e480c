/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Worker of a run with an eBPF program (parallel/sources/kernel_source.c). */

#include "parallel/plan/design.h"
#include "rx/kernel/program.h"
#include "rx/kernel/ring.h"

struct worker;

struct kernel_origin {
	struct kernel_program *program;
	uint32_t entries; /* entries of each ring */
	bool on_path;     /* the program counts; rings have only packets that it could not count */
	enum kernel_times stamps; /* kind of timestamps, if a measurement needs them */
	uint32_t nb_interfaces;
	uint32_t interfaces[OPTION_LIST_MAX]; /* interface index of each --kernel option */
};

struct kernel_taker {
	const struct kernel_origin *origin;
	struct worker *worker;
	uint32_t nb_readers;
	struct kernel_reader *readers; /* [nb_readers] */
	/* [nb_readers]: values of the counters of each ring that are already in an epoch. */
	uint64_t *ring_full;
	uint64_t (*filtered)[2];
	uint32_t empty_rounds;    /* successive rounds without entries */
	uint64_t taken;           /* packets in the whole run */
	int64_t utc_of_monotonic; /* CLOCK_REALTIME minus CLOCK_MONOTONIC, ns */
	int64_t compared;         /* CLOCK_MONOTONIC when utc_of_monotonic was measured, ns */
};

/* On failure, the caller must still call kernel_taker_free(). */
bool kernel_taker_start(struct kernel_taker *taker, const struct kernel_origin *origin,
	struct worker *worker, uint32_t nb_workers);
void kernel_taker_free(struct kernel_taker *taker); /* does not free `taker` */

extern const struct design_ops design_kernel_rss, design_kernel_async;
