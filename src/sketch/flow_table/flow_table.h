/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * The flow table: exact packets, bytes, first and last time and TCP flags of every key (FCAP in Zha
 * et al. 2022). docs/FLOWTABLE.md has the reasons. Here are its options; its inside is for the files
 * that find entries and for tests, everybody else uses sketch.h.
 */

#include <stdint.h>

#include "config/option.h"
#include "sketch/flow_table/flow_entries.h"

struct flow_table_options {
	uint64_t buckets;      /* instead of width; 0: not given */
	uint64_t idle_timeout; /* ns after which a record ends; 0: none does */
	uint32_t expired_keys; /* keys of ended records kept for --output */
	enum flow_depth deep;  /* the deepest state of flows */
	uint32_t deep_after, deep_flows;
	double deep_share;
};

OPTION_OWNER_OF_MEASUREMENT(flow_table)
