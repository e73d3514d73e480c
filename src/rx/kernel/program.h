/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Loads the eBPF program (monitor.bpf.c) with its rings, attaches it to interfaces and removes it.
 * Its attachments are links, which the kernel removes whenever this process ends. Kernels before
 * 6.6 have no such links for tc. There it is a filter of a clsact qdisc with a fixed name, which
 * the next start replaces.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rx/filter/prefix_file.h"
#include "rx/kernel/layout.h"
#include "rx/kernel/options.h"
#include "rx/kernel/tables.h"

#define KERNEL_ERROR_MAX 512

/*
 * `.sz` of libbpf options: the bytes up to the last option in use. libbpf requires zeros after it,
 * but compilers need not clear padding.
 */
#define KERNEL_OPTS_SIZE(opts, last) (offsetof(__typeof__(opts), last) + sizeof((opts).last))

struct kernel_program_params {
	uint32_t slots;    /* slots per ring, a power of two */
	bool headers_only; /* copy headers instead of keys, for a filter */
	bool no_links;     /* no tcx links, as on kernels before 6.6 */
	uint32_t buckets;  /* buckets of flow tables in the kernel, a power of two; 0: none */
	bool all_share;    /* one flow table for all CPUs: a kernel map with atomic additions */
	const struct sketch_ops *sketch; /* updated instead of flow tables; NULL: none */
	uint32_t width;                  /* width of the sketch */
	uint64_t seed;                   /* seed of the hash keys */
	uint32_t monitor; /* enum kernel_monitor, bits: count only matching packets; 0: all */
	/* Receives the kernel's messages about a rejected program, one line each; NULL: ignored. */
	void (*log)(const char *line);
};

struct kernel_prefix_maps;
struct kernel_program;

/* Returns why the program was not built, as the end of "because ..."; NULL: it was built. */
const char *kernel_program_missing(void);

/* Returns NULL with one line in error[KERNEL_ERROR_MAX] on failure. */
struct kernel_program *kernel_program_load(const struct kernel_program_params *params, char *error);

/*
 * Attaches the program to all hooks of the point, and sets *index to the interface index. Returns
 * false with one line in error on failure.
 */
bool kernel_program_attach(struct kernel_program *program, const struct attach_point *point,
	uint32_t *index, char *error);

/* Starts or stops counting; initially off. After a stop, no running program writes to a ring. */
void kernel_program_measure(struct kernel_program *program, bool on);

/* Selects the time of packets; initially none. */
void kernel_program_stamp(struct kernel_program *program, enum kernel_times times);

/* Detaches from all interfaces. The rings remain. */
void kernel_program_detach(struct kernel_program *program);
void kernel_program_close(struct kernel_program *program); /* NULL: no effect */

/* Returns the number of rings, one for each possible CPU. */
uint32_t kernel_program_rings(const struct kernel_program *program);
struct kernel_ring *kernel_program_ring(const struct kernel_program *program, uint32_t cpu);

/* Return the tables and the sketches; NULL: none. */
const struct kernel_tables *kernel_program_tables(const struct kernel_program *program);
const struct kernel_sketch *kernel_program_sketch(const struct kernel_program *program);

/* Waits until no program uses the previous setting (kernel_reader_turn()). */
void kernel_program_wait(const struct kernel_program *program);

/*
 * Sets the rules of a generation that no ring uses, nor used at the start of the last
 * kernel_program_wait().
 */
void kernel_program_rules(const struct kernel_program *program, uint64_t generation,
	const struct kernel_prefix_maps *rules);

/* Returns the file descriptor of the program, to run it on test packets. */
int kernel_program_fd(const struct kernel_program *program, enum kernel_hook hook);

/* Returns the memory of rings, and tables or sketches, in bytes, for the CPUs of this machine. */
uint64_t kernel_program_bytes(const struct kernel_program_params *params);

/* --- prefixes.c: rules of --prefixes in the kernel --- */

/*
 * File descriptors of kernel maps. Programs may use the maps after these are closed. They only
 * decide if an address matches any rule; workers find the rule (rx/filter/prefix_filter.h).
 */
struct kernel_prefix_maps {
	int ipv4, ipv6;
};

/* Returns NULL with one line in error[PREFIX_ERROR_MAX] on failure. */
struct kernel_prefix_maps *kernel_prefix_maps_create(const struct prefix_list *rules, char *error);
void kernel_prefix_maps_destroy(struct kernel_prefix_maps *rules); /* NULL: no effect */

/* Returns the approximate kernel memory, in bytes. */
uint64_t kernel_prefix_maps_bytes(const struct prefix_list *rules);
