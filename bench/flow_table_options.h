/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "config/config.h"

/* Bit masks of choices; 0 selects all. */
struct flow_table_bench_options {
	uint32_t traffics;     /* bit i selects traffics[i] */
	uint32_t collisions;   /* bits of enum flow_structure */
	uint32_t table_hashes; /* bits of enum table_hash */
	/* in addition to widths; not only powers of two */
	struct option_values buckets;
	struct option_values hosts;
};

OPTION_OWNER(flow_table_bench)
