/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "config/config.h"

/* Options in addition to struct bench_options. A set has one bit per choice; 0 selects all. */
struct flow_table_bench_options {
	uint32_t traffics;            /* bit t: traffics[t] */
	uint32_t collisions;          /* bit c: enum flow_structure */
	uint32_t table_hashes;        /* bit h: enum table_hash */
	struct option_values buckets; /* any number, in addition to widths */
	struct option_values hosts;   /* monitored hosts; empty without --hosts */
};

OPTION_OWNER(flow_table_bench)
