/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * A run whose packets a program in the kernel tells of (--kernel): it writes what it knows of each
 * into the ring of its CPU, and workers take it from there. A worker has the rings of every n-th
 * CPU. What the program could not parse comes as the packet's first bytes, and goes through the
 * filter and parse_packet() here.
 *
 * Epochs are those of every live run (parallel/epoch.h): what a worker takes after it has read
 * which epoch is open belongs to that. A ring that is full costs packets, which the program counts
 * and the worker of that ring puts into the epoch in which it sees it.
 *
 * Joined packets come as one entry and are counted as the packets that they are on the wire.
 */

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "parallel/plan/plan.h"
#include "parallel/workers/worker.h"
#include "rx/kernel/program.h"

struct kernel_source;

struct kernel_source_params {
	const struct config *config;
	const struct plan *plan;
	struct worker *const *workers; /* [nb_workers], which are told of it */
	uint32_t nb_workers;
};

/* Loads the program and attaches it. NULL with one line in error[KERNEL_ERROR_MAX]. */
struct kernel_source *kernel_source_create(const struct kernel_source_params *params, char *error);
void kernel_source_destroy(struct kernel_source *input); /* NULL: nothing */

/* For whoever has rules. */
const struct kernel_program *kernel_source_program(const struct kernel_source *input);

/* From here on packets count, and wait for the workers. */
void kernel_source_start(struct kernel_source *input);
/* From here on packets do not count; what did is in rings and tables. */
void kernel_source_stop(struct kernel_source *input);

/* Packets that the program saw so far. Any thread. */
uint64_t kernel_source_received(const struct kernel_source *input);

/* What the interfaces lost since that was last asked (the reporter). */
struct kernel_losses {
	uint64_t missed, errors;
	uint32_t largest_frame; /* bytes, that there can be */
};

struct kernel_losses kernel_source_losses(struct kernel_source *input);

/* Once all workers have ended: packets that the program saw and no worker took, or the reverse. */
uint64_t kernel_source_difference(const struct kernel_source *input);

/*
 * Call often; it looks twice a second whether interfaces are there, and says so. now: monotonic ns;
 * epoch: the number of the open one. Returns false, once, when one is gone.
 */
bool kernel_source_look(struct kernel_source *input, int64_t now, uint64_t epoch);
