/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Kinds of synthetic traffic that a flow table is measured with. */

#include "tune/measure/workload.h"

struct traffic {
	const char *name; /* a word of --traffic, in its order */
	workload_keys_fn draw;
	uint32_t zipf_e6;
	bool fixed; /* its keys are what they are, whatever --flows says */
};

/* A row without a name ends them. */
extern const struct traffic traffics[];

/* NULL where memory is missing. */
struct workload *traffic_create(
	const struct traffic *traffic, uint64_t flows, uint64_t packets, uint64_t hash_seed);
