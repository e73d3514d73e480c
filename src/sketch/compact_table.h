/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Counts packets, bytes, first and last time and TCP flags of every key exactly, like the flow
 * table, in 54 bytes per IPv4 key. docs/FLOWTABLE.md compares the two.
 */

#include "config/option.h"
#include "sketch/sketch.h"

struct compact_table_options {
	double load; /* share of the records to fill; 0: fixed width */
};

OPTION_OWNER_OF_MEASUREMENT(compact_table)

extern const struct sketch_ops compact_table_ops;
