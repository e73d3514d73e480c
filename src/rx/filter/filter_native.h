/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Native code for a classic BPF program, x86-64 only. It says of a packet what bpf_filter() says,
 * and reads nothing but the captured bytes: every load compares its end with their number first.
 *
 * librte_bpf does the same for mbufs, but some programs that it generates in 22.11 jump to where
 * there is no code (docs/FILTER.md). All jumps here are 32 bits wide,
 * so that no size depends on a distance.
 */

#include <stddef.h>
#include <stdint.h>

#include <pcap/pcap.h>

/* Not 0: the packet matches. Lengths in bytes; captured is below 2^31. */
typedef uint32_t (*filter_native_fn)(const uint8_t *data, uint32_t captured, uint32_t wire_len);

struct filter_native {
	filter_native_fn run; /* NULL: there is none */
	void *code;
	size_t size; /* bytes of the mapping */
};

/*
 * Translates a program that bpf_validate() accepts. run is NULL where the processor is another,
 * executable memory is refused, or the program has an instruction that libpcap never writes.
 */
struct filter_native filter_native_create(const struct bpf_program *program);
void filter_native_destroy(struct filter_native *native);
