/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * x86-64 code for classic BPF programs. For some programs, the code of librte_bpf (DPDK 22.11)
 * jumps to addresses without code (docs/FILTER.md). Here, all jumps have 32-bit distances, so code
 * sizes do not depend on distances.
 */

#include <stddef.h>
#include <stdint.h>

#include <pcap/pcap.h>

/* Returns nonzero if the packet matches. Lengths are in bytes; captured < 2^31. */
typedef uint32_t (*filter_native_fn)(const uint8_t *data, uint32_t captured, uint32_t wire_len);

struct filter_native {
	filter_native_fn run; /* NULL: no native code */
	void *code;
	size_t size;
};

/*
 * bpf_validate() must accept the program. Member `run` is NULL if the processor is not x86-64,
 * executable memory is denied, or the program has an instruction that libpcap never generates.
 */
struct filter_native filter_native_create(const struct bpf_program *program);
void filter_native_destroy(struct filter_native *native);
