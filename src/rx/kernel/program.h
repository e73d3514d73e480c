/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * The program in the kernel (monitor.bpf.c): loaded with its rings, attached to interfaces, and gone
 * again. It never stays behind: its attachments are links, which the kernel takes off when this
 * process ends, however it ends. Only where the kernel has no such links (before 6.6) is it a
 * filter of a clsact qdisc with a name of ours, which the next start takes over.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rx/kernel/layout.h"
#include "rx/kernel/cells.h"
#include "rx/kernel/options.h"
#include "rx/kernel/prefixes.h"
#include "rx/kernel/tables.h"

#define KERNEL_ERROR_MAX 512

/*
 * `.sz` of options for libbpf: up to the last that is given. What is behind it must be 0, and a
 * compiler need not make padding that.
 */
#define KERNEL_OPTS_SIZE(opts, last) (offsetof(__typeof__(opts), last) + sizeof((opts).last))

struct kernel_program_params {
	uint32_t slots;    /* slots of each ring: a power of two */
	bool headers_only; /* keys do not suffice: a filter looks at packets */
	bool no_links;     /* at tc, as where the kernel has none */
	uint32_t buckets;  /* buckets of flow tables in the kernel, a power of two; 0: none */
	bool all_share;    /* in a table of all CPUs, a map of the kernel's with atomic additions */
	uint32_t cells;    /* cells per row of IBLTs instead of flow tables; 0: none */
	uint64_t seed;     /* seed of their hash */
	uint32_t monitor;  /* enum kernel_monitor: only what rules hold counts; 0: all */
	/* Receives the kernel's messages about a rejected program, one line each; NULL: ignored. */
	void (*log)(const char *line);
};

struct kernel_program;

/* Returns why the program was not built, as the end of "because ..."; NULL: it was built. */
const char *kernel_program_missing(void);

/* NULL with one line in error[KERNEL_ERROR_MAX]. */
struct kernel_program *kernel_program_load(const struct kernel_program_params *params, char *error);

/* At all of its hooks; *index becomes the interface's. False with one line in error. */
bool kernel_program_attach(struct kernel_program *program, const struct attach_point *point,
	uint32_t *index, char *error);

/*
 * Starts or stops counting; initially off. After a stop returns, no packet is on its way into a
 * ring.
 */
void kernel_program_measure(struct kernel_program *program, bool on);

/* Selects the time of packets; initially none. */
void kernel_program_stamp(struct kernel_program *program, enum kernel_times times);

/* Takes it off all interfaces; its rings stay. */
void kernel_program_detach(struct kernel_program *program);
void kernel_program_close(struct kernel_program *program); /* NULL: nothing */

/* One for each CPU that there can be. */
uint32_t kernel_program_rings(const struct kernel_program *program);
struct kernel_ring *kernel_program_ring(const struct kernel_program *program, uint32_t cpu);

/* The tables, the cells; NULL: there are none. */
const struct kernel_tables *kernel_program_tables(const struct kernel_program *program);
const struct kernel_cells *kernel_program_cells(const struct kernel_program *program);

/* Returns when no packet uses the previous setting (kernel_reader_turn()). */
void kernel_program_wait(const struct kernel_program *program);

/* The rules of a generation that no ring has, nor had when that was waited for. */
void kernel_program_rules(const struct kernel_program *program, uint64_t generation,
	const struct kernel_prefix_maps *rules);

/* For who runs it on packets of their own. */
int kernel_program_fd(const struct kernel_program *program, enum kernel_hook hook);

/* Bytes of memory that rings, and tables or cells, take; of this machine. */
uint64_t kernel_program_bytes(const struct kernel_program_params *params);
