/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Flows of a flow table that one thread updates, looked at more closely than counted (--flow-detail;
 * docs/FLOWTABLE.md has the rules). Details are taken, and states change, strictly in the order of
 * the packets: nothing depends on where bursts were cut.
 */

#include "sketch/flow_table/flow_detail.h"

/* Counts a burst, as flow_update_separate() does without. */
void flow_detail_update(struct flow_table *table, const struct key_burst *burst);
void flow_detail_update_weighted(struct flow_table *table, const struct key_burst *burst);
