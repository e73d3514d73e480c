/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "config/config.h"

/*
 * Options of `sketchtap-bench flow-table` in addition to struct bench_options. Each field is a bit
 * mask of choices; 0 selects all.
 */
struct flow_table_bench_options {
	uint32_t traffics;     /* bit i selects traffics[i] */
	uint32_t collisions;   /* bits are values of enum flow_structure */
	uint32_t table_hashes; /* bits are values of enum table_hash */
	/* numbers of buckets, not only powers of two, in addition to widths */
	struct option_values buckets;
	struct option_values hosts; /* monitored hosts; empty without --hosts */
};

OPTION_OWNER(flow_table_bench)
