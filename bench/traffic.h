/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Types of synthetic traffic for the flow table bench. */

#include "bench/common.h"
#include "tune/measure/workload.h"

struct traffic {
	const char *name; /* word of --traffic, in its order */
	workload_keys_fn draw;
	uint32_t zipf_e6;
	bool fixed; /* ignores --flows */
};

/* Ends with a row without a name. */
extern const struct traffic traffics[];

/* Returns NULL if out of memory. */
struct workload *traffic_create(
	const struct traffic *traffic, uint64_t flows, uint64_t packets, uint64_t hash_seed);
