/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * A worker of a run whose packets a program in the kernel tells of
 * (parallel/sources/kernel_source.h): it has the rings of every n-th CPU, and on the path what the
 * program counted.
 */

#include "parallel/plan/design.h"
#include "rx/kernel/program.h"
#include "rx/kernel/ring.h"

struct worker;

/* What all of them take from. */
struct kernel_origin {
	struct kernel_program *program;
	uint32_t entries;         /* of a ring */
	bool on_path;             /* the program counts; rings have what it does not take there */
	enum kernel_times stamps; /* where times are asked for */
	uint32_t nb_interfaces;
	uint32_t interfaces[OPTION_LIST_MAX]; /* the kernel's indexes, a --kernel after the other */
};

struct kernel_taker {
	const struct kernel_origin *origin;
	struct worker *worker;
	uint32_t nb_readers;
	struct kernel_reader *readers; /* [nb_readers] */
	/* [nb_readers], as far as they are in an epoch. */
	uint64_t *ring_full;
	uint64_t (*filtered)[2];
	uint32_t empty_rounds;    /* that followed each other */
	uint64_t taken;           /* packets, of all epochs; the worker's until it has ended */
	int64_t utc_of_monotonic; /* ns to add */
	int64_t compared;         /* monotonic ns, when the clocks were */
};

/* The worker's, which is told of it. False: there is no memory. */
bool kernel_taker_start(struct kernel_taker *taker, const struct kernel_origin *origin,
	struct worker *worker, uint32_t nb_workers);
void kernel_taker_free(struct kernel_taker *taker); /* what is in it */

extern const struct design_ops design_kernel_rss, design_kernel_async;
