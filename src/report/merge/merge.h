/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Merges the sketches of all workers for one measurement and one closed epoch into flows: packets
 * and bytes of each key, with bounds. docs/ESTIMATES.md explains the bounds. A *part* is the sketch
 * of a worker, or of several workers that share it. A part *lists* the keys among its candidates,
 * whose packets are counted exactly from then on. The *measured metric*, packets or bytes, is
 * counted by the sketch.
 */

#include <stdbool.h>
#include <stdint.h>

#include "key/key.h"
#include "report/rows/report.h"
#include "sketch/hyperloglog.h"
#include "sketch/sketch.h"

#define MERGE_PARTS_MAX 128

/* Sketches of a closed epoch. They must not change before the last query of the merger. */
struct merge_input {
	struct sketch *const *parts; /* type, shape, metric and seed are equal */
	uint32_t nb_parts;
	struct hyperloglog *const *distinct;
	uint32_t nb_distinct;
	/* Measured packets of unknown keys in no part. `largest` is not set. */
	struct sketch_undecoded undecoded;
	const struct ledger *ledger;
	bool loss_known;   /* the ledger includes all lost packets */
	double confidence; /* probability that all bounds hold, apart from sampling */
	/* Probability that sampling breaks any bound. 0: there is no sampling. */
	double sampling_risk;
	/* Packets of keys that key sampling did not select, by rank of the key. */
	struct key_sample_counts left_out[KEY_SHARE_MAX];
	/* Limits for sketch_ops.recover(): number of keys, smallest count of a key. 0: no limit */
	uint32_t wanted;
	uint64_t smallest;
};

struct merge_flow {
	struct key key;
	/* low <= value <= high; `high` includes packets that may have been lost */
	struct report_figure packets, bytes;
	struct report_record record;
	struct flow_figures figures;
};

struct merger;

/* `params` must have passed sketch_ops.check(). Returns NULL if out of memory. */
struct merger *merger_create(const struct sketch_ops *ops, const struct sketch_params *params);

/* Reserves memory for the listed keys of nb_parts parts; else it grows on demand. */
void merger_reserve(struct merger *merger, uint32_t nb_parts);
void merger_destroy(struct merger *merger); /* NULL is allowed */

/*
 * Adds an expired flow of the epoch that merger_collect() will merge next. If there are already
 * `max` flows, a new key is dropped, and the bounds include its counts.
 */
void merger_add_expired(
	struct merger *merger, const struct sketch_candidate *candidate, uint32_t max);

/* Call it if merger_collect() is not called for the epoch of the expired flows. */
void merger_drop_expired(struct merger *merger);

struct sketch_shed merger_forgotten(const struct merger *merger);

/* Replaces the flows of the last epoch. Returns -EINVAL if parts differ in shape, or -ENOMEM. */
int merger_collect(struct merger *merger, const struct merge_input *input);

/*
 * Returns an upper bound of each key that was not decoded or recovered, or was dropped as expired,
 * in the measured metric. 0: no key is missing. UINT64_MAX: unknown.
 */
uint64_t merger_unrecovered(const struct merger *merger);

/*
 * Returns the packets that parts could not assign to keys, and the number of these keys. A key may
 * count once in each part.
 */
struct sketch_undecoded merger_undecoded(const struct merger *merger);

/*
 * Returns the packets for which the parts had no room. They are measured in the ledger of the
 * epoch, and shed in that of merger_input().
 */
struct sketch_shed merger_shed(const struct merger *merger);

/* Flows are numbered from 0, in no defined order. */
uint32_t merger_nb_flows(const struct merger *merger);

/* Returns an upper bound of the flow's count in the measured metric, in constant time. */
uint64_t merger_ceiling(const struct merger *merger, uint32_t i);

/* Queries every part. */
struct merge_flow merger_flow(const struct merger *merger, uint32_t i);

/* Exact counts of a flow since it was listed, and the packets with details. */
struct merge_counts {
	const struct key *key;
	uint64_t packets, bytes, deep_packets;
};

struct merge_counts merger_counts(const struct merger *merger, uint32_t i);

/*
 * Returns the figures of a set of flows that have these sums. `flows`: their number, whose bounds
 * assume that each packet that was not counted may be of another flow of the set. For sketches
 * with SKETCH_EXACT.
 */
struct merge_set {
	struct report_figure packets, bytes, flows;
};

struct merge_set merger_set(
	const struct merger *merger, uint64_t packets, uint64_t bytes, uint64_t flows);

/*
 * Returns an upper bound in the other metric, without lost and sampled packets, in constant time.
 */
uint64_t merger_other_ceiling(const struct merger *merger, uint32_t i);

/*
 * Returns upper bounds, in `high` and `high_known`, for all keys that are not flows, and for flows
 * with ceilings of at most `measured` and `other`. UINT64_MAX: unknown.
 */
struct merge_flow merger_unlisted(const struct merger *merger, uint64_t measured, uint64_t other);

/* The number is exact if all keys are listed, else an estimate. */
uint64_t merger_distinct_keys(const struct merger *merger, bool *exact);

enum sketch_metric merger_metric(const struct merger *merger);

/* The ledger of the result counts packets without room as shed. */
const struct merge_input *merger_input(const struct merger *merger);
