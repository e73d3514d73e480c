/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Merges the sketches of all workers, for one measurement and one closed epoch. The result is a
 * list of flows: the packets and bytes of each key, with bounds. It does not depend on the order in
 * which the workers ran. docs/ESTIMATES.md explains why the bounds hold.
 *
 * A *part* is the sketch of a worker, or of several workers that share it. A part *lists* a key if
 * it is among the part's candidates (struct sketch_candidate): from then on its packets are counted
 * exactly. The *measured metric*, packets or bytes, is the one that the counters of the sketch
 * count.
 */

#include <stdbool.h>
#include <stdint.h>

#include "key/key.h"
#include "report/rows/report.h"
#include "sketch/hyperloglog.h"
#include "sketch/sketch.h"

#define MERGE_PARTS_MAX 128

/*
 * Sketches of a closed epoch. They must not change until the merger is queried for the last time.
 */
struct merge_input {
	struct sketch *const *parts; /* sketches; type, shape, metric and seed are equal */
	uint32_t nb_parts;
	struct hyperloglog *const
		/*
		 * HyperLogLogs of all workers; they count the keys of the same packets as the parts
		 */
		*distinct;
	uint32_t nb_distinct;
	/* Measured packets of unknown keys that are in no part. `largest` is not set. */
	struct sketch_undecoded undecoded;
	const struct ledger *ledger;
	bool loss_known;   /* true: the ledger includes all lost packets */
	double confidence; /* probability that all bounds hold, apart from sampling */
	/* Probability that sampling makes any of the bounds false. 0: there is no sampling. */
	double sampling_risk;
	/* Packets of keys that key sampling did not select, by rank of the key. */
	struct key_sample_counts left_out[KEY_SHARE_MAX];
	/*
	 * Limits for sketch_ops.recover(): number of keys, and smallest count of a key. 0: no
	 * limit.
	 */
	uint32_t wanted;
	uint64_t smallest;
};

struct merge_flow {
	struct key key;
	/* low <= value <= high; `high` includes packets that may have been lost */
	struct report_figure packets, bytes;
	struct report_record record;
	struct flow_figures figures; /* values of --flow-detail */
};

struct merger;

/*
 * Creates a merger of sketches with these parameters. `params` must have passed sketch_ops.check().
 * Returns NULL if out of memory.
 */
struct merger *merger_create(const struct sketch_ops *ops, const struct sketch_params *params);

/* Reserves memory for the listed keys of nb_parts parts. Otherwise the memory grows on demand. */
void merger_reserve(struct merger *merger, uint32_t nb_parts);
void merger_destroy(struct merger *merger); /* NULL is allowed */

/*
 * For a sketch with an idle timeout: adds a flow that has expired in the epoch that
 * merger_collect() will merge next. If the merger already has `max` flows, a new key is dropped;
 * the bounds then include its counts.
 */
void merger_add_expired(
	struct merger *merger, const struct sketch_candidate *candidate, uint32_t max);

/* Drops all expired flows. Call it if merger_collect() is not called for their epoch. */
void merger_drop_expired(struct merger *merger);

/* Returns the packets and bytes of expired flows that exceeded `max`. */
struct sketch_shed merger_forgotten(const struct merger *merger);

/*
 * Merges the parts of an epoch. The result replaces that of the previous epoch. Returns 0, -EINVAL
 * if the parts do not have the same shape, or -ENOMEM.
 */
int merger_collect(struct merger *merger, const struct merge_input *input);

/*
 * Returns an upper bound of each key that should be a flow but is missing, in the measured metric.
 * 0: no key is missing. UINT64_MAX: unknown.
 *
 * Keys are missing if a sketch could not decode or recover all of them, or if expired flows were
 * dropped.
 */
uint64_t merger_unrecovered(const struct merger *merger);

/*
 * Returns the packets that the parts could not assign to keys, and the number of these keys. A key
 * may count once in each part.
 */
struct sketch_undecoded merger_undecoded(const struct merger *merger);

/*
 * Returns the packets for which the parts had no room. The ledger of merger_input() counts them as
 * shed. The ledger of the epoch counts them as measured.
 */
struct sketch_shed merger_shed(const struct merger *merger);

/* Returns the number of flows. Flows are numbered from 0, in no defined order. */
uint32_t merger_nb_flows(const struct merger *merger);

/*
 * Returns the ceiling of flow i: an upper bound of its count in the measured metric. Takes constant
 * time.
 */
uint64_t merger_ceiling(const struct merger *merger, uint32_t i);

/* Returns flow i with its bounds. Queries every part. */
struct merge_flow merger_flow(const struct merger *merger, uint32_t i);

/*
 * Returns an upper bound of flow i in the other metric. It does not include lost and sampled
 * packets. Takes constant time.
 */
uint64_t merger_other_ceiling(const struct merger *merger, uint32_t i);

/*
 * Returns upper bounds that hold for every key that is not a flow, and for every flow whose ceiling
 * is at most `measured`, and at most `other` in the other metric. UINT64_MAX: unknown. Sets only
 * the members `high` and `high_known`.
 */
struct merge_flow merger_unlisted(const struct merger *merger, uint64_t measured, uint64_t other);

/*
 * Returns the number of distinct keys. *exact: true if the number is exact because all keys are
 * listed, false if it is an estimate.
 */
uint64_t merger_distinct_keys(const struct merger *merger, bool *exact);

enum sketch_metric merger_metric(const struct merger *merger);

/*
 * Returns the input of the last merger_collect(). Its ledger is a copy that counts packets without
 * room as shed.
 */
const struct merge_input *merger_input(const struct merger *merger);
