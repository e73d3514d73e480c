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

/* A closed epoch. Nobody updates the parts until the merger has been asked all it will be. */
struct merge_input {
	struct sketch *const *parts; /* of one kind, shape, metric and seed */
	uint32_t nb_parts;
	struct hyperloglog *const *distinct; /* of every worker, of the same keys */
	uint32_t nb_distinct;
	/* Measured, and told to no part, as nobody knows whose it is; but for largest. */
	struct sketch_undecoded undecoded;
	const struct ledger *ledger;
	bool loss_known;   /* false: packets may have been lost that the ledger does not count */
	double confidence; /* that all intervals of the epoch together hold what the parts counted */
	/* Where not all packets were looked at: that one of them does not hold the truth besides. */
	double sampling_risk;
	/* Of keys that were not counted, by their rank: of each all is known but whose it is. */
	struct key_sample_counts sifted[KEY_SHARE_MAX];
	/* Of a sketch that searches for its keys (sketch_ops.recover), as it is asked; 0: all. */
	uint32_t wanted;
	uint64_t smallest;
};

struct merge_flow {
	struct key key;
	struct report_figure packets, bytes; /* low <= value <= high; loss is in high */
	struct report_record record;
	struct flow_figures figures; /* of parts with --flow-detail */
};

struct merger;

/* For parts that were created with these checked params. NULL where memory is missing. */
struct merger *merger_create(const struct sketch_ops *ops, const struct sketch_params *params);

/* Before the first epoch: takes the memory for what so many parts list. Without, it grows. */
void merger_reserve(struct merger *merger, uint32_t nb_parts);
void merger_destroy(struct merger *merger); /* NULL is allowed */

/*
 * Of a sketch with an idle timeout: takes in what a part gave out of the epoch that is to be
 * collected next. Of at most `max` keys, which are those that came first; what others had is
 * forgotten, and bounds say so.
 */
void merger_add_expired(
	struct merger *merger, const struct sketch_candidate *candidate, uint32_t max);

/* Gives up what was taken in so where its epoch is not collected after all. */
void merger_drop_expired(struct merger *merger);

/* What was forgotten so. */
struct sketch_shed merger_forgotten(const struct merger *merger);

/*
 * Takes in an epoch in place of the last one; the parts must stay as they are while flows of it
 * are asked for. Returns 0, -EINVAL where a part does not fit, or -ENOMEM.
 */
int merger_collect(struct merger *merger, const struct merge_input *input);

/*
 * What no key beside the flows exceeds in the measured metric, of a sketch that searches for its
 * keys, or could not decode all of them, or where some were forgotten; UINT64_MAX: not known. 0 for
 * a sketch that lists its keys.
 */
uint64_t merger_unrecovered(const struct merger *merger);

/* What the parts counted and cannot say whose it is. A flow may be among them once for each
 * part. */
struct sketch_undecoded merger_undecoded(const struct merger *merger);

/* What the parts had no room for; the ledger of merger_input() has it, that of the epoch does
 * not. */
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
 * The intervals' upper ends for any key that is no flow, and for flows whose ceilings in the measured
 * and in the other metric are no more than these; UINT64_MAX: not known. Of the result only `high`
 * says something.
 */
struct merge_flow merger_unlisted(const struct merger *merger, uint64_t measured, uint64_t other);

/* *exact says whether the keys are few and were all listed, so that the number is no estimate. */
uint64_t merger_distinct_keys(const struct merger *merger, bool *exact);

enum sketch_metric merger_metric(const struct merger *merger);

/* Of the last merger_collect(), with a copy of its ledger. */
const struct merge_input *merger_input(const struct merger *merger);
