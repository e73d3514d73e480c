/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Counts packets, bytes, first and last time and TCP flags of every key exactly: FCAP in Zha et
 * al. 2022.
 */

#include <stdint.h>

#include "config/option.h"
#include "sketch/flow_table/flow_entries.h"

struct flow_table_options {
	uint64_t buckets;      /* used instead of width; 0: not set */
	uint64_t idle_timeout; /* ns without a packet after which a record ends; 0: never */
	uint32_t expired_keys; /* keys of ended records kept for --output */
	enum flow_depth deep;  /* deepest state of flows */
	uint32_t deep_after, deep_flows;
	double deep_share;
};

OPTION_OWNER_OF_MEASUREMENT(flow_table)
