/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "config/config.h"

/* Further options, besides struct bench_options. A bit selects one choice; 0 selects all. */
struct flow_table_bench_options {
	uint32_t traffics;            /* bits are indices of traffics[] */
	uint32_t collisions;          /* bits are values of enum flow_structure */
	uint32_t table_hashes;        /* bits are values of enum table_hash */
	struct option_values buckets; /* any number, in addition to widths */
	struct option_values hosts;   /* monitored hosts; empty without --hosts */
};

OPTION_OWNER(flow_table_bench)
