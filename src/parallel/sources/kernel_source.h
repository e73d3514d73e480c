/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Source of a run with an eBPF program (--kernel). The program writes a record of each packet into
 * the ring of its CPU; a worker reads the rings of every n-th CPU. If the program cannot parse a
 * packet, it writes its first bytes, which pass the filter and parse_packet() in the worker.
 *
 * Epochs are those of every live run (parallel/epoch.h): entries belong to the open epoch that the
 * worker read before them. The program counts packets that do not fit in a full ring; the worker of
 * that ring adds them to the epoch in which it reads the counter.
 *
 * Packets merged by GSO or GRO are one entry and count as the packets on the wire.
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
	struct worker *const *workers; /* [nb_workers]; the source sets their `taker` */
	uint32_t nb_workers;
};

/*
 * Loads the program and attaches it. Returns NULL with one line in error[KERNEL_ERROR_MAX] on
 * failure.
 */
struct kernel_source *kernel_source_create(const struct kernel_source_params *params, char *error);
void kernel_source_destroy(struct kernel_source *input); /* NULL is allowed */

/* Returns the program, to set rules. */
const struct kernel_program *kernel_source_program(const struct kernel_source *input);

/* Starts counting packets, which wait for the workers. */
void kernel_source_start(struct kernel_source *input);
/* Stops counting packets. Packets counted before are in rings and tables. */
void kernel_source_stop(struct kernel_source *input);

/* Returns the packets that the program received so far. Any thread. */
uint64_t kernel_source_received(const struct kernel_source *input);

/* Losses of the interfaces since the last call by the reporter. */
struct kernel_losses {
	uint64_t missed, errors;
	uint32_t largest_frame; /* largest possible frame, bytes */
};

struct kernel_losses kernel_source_losses(struct kernel_source *input);

/*
 * Returns the difference between the packets that the program received and those that workers took.
 * Call it after all workers have ended.
 */
uint64_t kernel_source_difference(const struct kernel_source *input);

/*
 * Checks the interfaces twice a second and logs changes. Call often. now: monotonic ns; epoch:
 * number of the open epoch. Returns false once when an interface was removed.
 */
bool kernel_source_look(struct kernel_source *input, int64_t now, uint64_t epoch);
