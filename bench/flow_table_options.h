/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "config/config.h"

/* Beside struct bench_options. A set has a bit for each choice; an empty one: all. */
struct flow_table_bench_options {
	uint32_t traffics;            /* bit t: traffics[t] */
	uint32_t collisions;          /* bit c: enum flow_structure */
	uint32_t table_hashes;        /* bit h: enum table_hash */
	struct option_values buckets; /* any number, beside widths */
	struct option_values hosts;   /* monitored ones; none: that is not measured */
};

OPTION_OWNER(flow_table_bench)
