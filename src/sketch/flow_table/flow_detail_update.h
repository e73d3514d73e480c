/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Updates the flow details (--flow-detail) of a flow table with a single writer; docs/FLOWTABLE.md
 * has the rules. Details are taken, and states change, strictly in packet order, so nothing depends
 * on burst boundaries.
 */

#include "sketch/flow_table/flow_detail.h"

/* Counts a burst; replaces flow_update_separate() with --flow-detail. */
void flow_detail_update(struct flow_table *table, const struct key_burst *burst);
void flow_detail_update_weighted(struct flow_table *table, const struct key_burst *burst);
