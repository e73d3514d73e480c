/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * One measurement's view of a closed epoch, from the sketch instances of its workers: the merged
 * counters, the union of what the instances list, and for each listed key both figures with their
 * intervals. Nothing in it depends on the order in which workers ran.
 *
 * docs/ESTIMATES.md says why the intervals hold.
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
	struct sketch *const *parts; /* sketches of one kind, shape, metric and seed */
	uint32_t nb_parts;
	struct hyperloglog *const
		*distinct; /* distinct counts of every worker, over the same keys */
	uint32_t nb_distinct;
	/* Measured packets of unknown flows, in no part; without `largest`. */
	struct sketch_undecoded undecoded;
	const struct ledger *ledger;
	bool loss_known; /* false: packets may have been lost that the ledger does not count */
	double confidence; /* probability that all bounds of the epoch together hold the counts of the parts */
	/* With sampling: probability that any of the bounds misses the truth because of it. */
	double sampling_risk;
	/* Keys that were not counted, by rank: their totals are known, not their flows. */
	struct key_sample_counts left_out[KEY_SHARE_MAX];
	/* Limits for a sketch that recovers its keys (sketch_ops.recover); 0: all. */
	uint32_t wanted;
	uint64_t smallest;
};

struct merge_flow {
	struct key key;
	struct report_figure packets, bytes; /* low <= value <= high; loss is in high */
	struct report_record record;
	struct flow_figures figures; /* figures of parts with --flow-detail */
};

struct merger;

/* For parts that were created with these checked params. NULL where memory is missing. */
struct merger *merger_create(const struct sketch_ops *ops, const struct sketch_params *params);

/* Reserves memory for the lists of nb_parts parts before the first epoch. Otherwise it grows. */
void merger_reserve(struct merger *merger, uint32_t nb_parts);
void merger_destroy(struct merger *merger); /* NULL is allowed */

/*
 * For a sketch with an idle timeout: adds a flow that a part expired in the epoch to be collected
 * next. Keeps the first `max` keys; bounds include the rest.
 */
void merger_add_expired(
	struct merger *merger, const struct sketch_candidate *candidate, uint32_t max);

/* Gives up what was taken in so where its epoch is not collected after all. */
void merger_drop_expired(struct merger *merger);

/* Returns packets and bytes dropped by this limit. */
struct sketch_shed merger_forgotten(const struct merger *merger);

/*
 * Replaces the last epoch by this one. The parts must not change while flows of it are queried.
 * Returns 0, -EINVAL if a part does not fit, or -ENOMEM.
 */
int merger_collect(struct merger *merger, const struct merge_input *input);

/*
 * Returns an upper bound of the measured metric for keys that are not among the flows, if the
 * sketch recovers its keys and could not decode all, or some were dropped; UINT64_MAX: unknown. 0
 * for sketches that list their keys.
 */
uint64_t merger_unrecovered(const struct merger *merger);

/* Returns counts of the parts without a known flow. A flow may be among them once per part. */
struct sketch_undecoded merger_undecoded(const struct merger *merger);

/*
 * Returns packets for which the parts had no room. The ledger of merger_input() includes them, that
 * of the epoch does not.
 */
struct sketch_shed merger_shed(const struct merger *merger);

/* The flows are numbered from 0 in no useful order. */
uint32_t merger_nb_flows(const struct merger *merger);

/* Not below flow i's value in the measured metric; costs nothing. */
uint64_t merger_ceiling(const struct merger *merger, uint32_t i);

/* Asks every part about flow i. */
struct merge_flow merger_flow(const struct merger *merger, uint32_t i);

/* Not below what flow i has in the other metric, before loss and sampling; costs little. */
uint64_t merger_other_ceiling(const struct merger *merger, uint32_t i);

/*
 * Returns upper bounds for all keys that are not flows, and for flows whose ceilings in the
 * measured and the other metric are at most these; UINT64_MAX: unknown. Only `high` is set.
 */
struct merge_flow merger_unlisted(const struct merger *merger, uint64_t measured, uint64_t other);

/*
 * Returns the number of distinct keys. *exact: few keys, all of them listed, so that it is no
 * estimate.
 */
uint64_t merger_distinct_keys(const struct merger *merger, bool *exact);

enum sketch_metric merger_metric(const struct merger *merger);

/* Returns the input of the last merger_collect(), with a copy of its ledger. */
const struct merge_input *merger_input(const struct merger *merger);
