/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Merges the sketches of all workers for one measurement and one closed epoch: sums the counters,
 * unites the listed keys, and gives packets and bytes of each key with bounds. The result does not
 * depend on the order in which workers ran.
 *
 * docs/ESTIMATES.md explains why the bounds hold.
 */

#include <stdbool.h>
#include <stdint.h>

#include "key/key.h"
#include "report/rows/report.h"
#include "sketch/hyperloglog.h"
#include "sketch/sketch.h"

#define MERGE_PARTS_MAX 128

/* Input: a closed epoch. The parts must not change until the last query of the merger. */
struct merge_input {
	struct sketch *const *parts; /* sketches of the same kind, shape, metric and seed */
	uint32_t nb_parts;
	struct hyperloglog *const
		*distinct; /* distinct counts of each worker, over the same keys */
	uint32_t nb_distinct;
	/* Measured packets of unknown flows, not in any part; without `largest`. */
	struct sketch_undecoded undecoded;
	const struct ledger *ledger;
	bool loss_known;   /* false: the ledger may not include all lost packets */
	double confidence; /* probability that all bounds hold for the parts' counts */
	/* With sampling: probability that it causes any bound to miss the truth. */
	double sampling_risk;
	/* Keys left out by key sampling, by rank: only their totals are known. */
	struct key_sample_counts left_out[KEY_SHARE_MAX];
	/* Limits for a sketch that recovers its keys (sketch_ops.recover); 0: no limit. */
	uint32_t wanted;
	uint64_t smallest;
};

struct merge_flow {
	struct key key;
	struct report_figure packets, bytes; /* low <= value <= high; high includes losses */
	struct report_record record;
	struct flow_figures figures; /* values of --flow-detail */
};

struct merger;

/* Creates a merger for parts with these validated params. Returns NULL if out of memory. */
struct merger *merger_create(const struct sketch_ops *ops, const struct sketch_params *params);

/* Reserves memory for the flow lists of nb_parts parts. Without it, the lists grow on demand. */
void merger_reserve(struct merger *merger, uint32_t nb_parts);
void merger_destroy(struct merger *merger); /* NULL is allowed */

/*
 * For a sketch with an idle timeout: adds a flow that expired in the epoch to be collected next.
 * Keeps the first `max` keys; the bounds include the rest.
 */
void merger_add_expired(
	struct merger *merger, const struct sketch_candidate *candidate, uint32_t max);

/* Drops the expired flows, if their epoch is not collected. */
void merger_drop_expired(struct merger *merger);

/* Returns packets and bytes dropped by this limit. */
struct sketch_shed merger_forgotten(const struct merger *merger);

/*
 * Merges an epoch and replaces the previous one. The parts must not change while its flows are
 * queried. Returns 0, -EINVAL if a part does not fit, or -ENOMEM.
 */
int merger_collect(struct merger *merger, const struct merge_input *input);

/*
 * Returns an upper bound of the measured metric for keys that are not among the flows. 0 for a
 * sketch that lists its keys; UINT64_MAX: unknown. Above 0 if a sketch that recovers its keys could
 * not decode all, or expired flows were dropped.
 */
uint64_t merger_unrecovered(const struct merger *merger);

/* Returns counts of the parts without a known flow. A flow may occur once per part. */
struct sketch_undecoded merger_undecoded(const struct merger *merger);

/*
 * Returns packets for which the parts had no room. The ledger of merger_input() includes them, that
 * of the epoch does not.
 */
struct sketch_shed merger_shed(const struct merger *merger);

/* Returns the number of flows. Flows are numbered from 0, in no defined order. */
uint32_t merger_nb_flows(const struct merger *merger);

/* Returns an upper bound of the value of flow i in the measured metric. Constant time. */
uint64_t merger_ceiling(const struct merger *merger, uint32_t i);

/* Returns flow i, by a query of every part. */
struct merge_flow merger_flow(const struct merger *merger, uint32_t i);

/* Returns an upper bound of flow i in the other metric, before loss and sampling. Constant time. */
uint64_t merger_other_ceiling(const struct merger *merger, uint32_t i);

/*
 * Returns upper bounds for all keys that are not flows, and for flows whose ceilings are at most
 * `measured` and `other`. UINT64_MAX: unknown. Sets only `high`.
 */
struct merge_flow merger_unlisted(const struct merger *merger, uint64_t measured, uint64_t other);

/*
 * Returns the number of distinct keys. Sets *exact if all keys are listed and few, so that the
 * number is not an estimate.
 */
uint64_t merger_distinct_keys(const struct merger *merger, bool *exact);

enum sketch_metric merger_metric(const struct merger *merger);

/* Returns the input of the last merger_collect(), with a copy of its ledger. */
const struct merge_input *merger_input(const struct merger *merger);
