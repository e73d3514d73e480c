/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Types of synthetic traffic for `sketchtap-bench flow-table`. */

#include "bench/common.h"
#include "tune/measure/workload.h"

struct traffic {
	const char *name;
	workload_keys_fn draw;
	uint32_t zipf_e6;
	bool fixed;
};

extern const struct traffic traffics[];

struct workload *traffic_create(
	const struct traffic *traffic, uint64_t flows, uint64_t packets, uint64_t hash_seed);
