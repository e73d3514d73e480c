/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/assertion.h"
#include "parallel/workers/shed_worker.h"
#include "report/merge/merge.h"
#include "sketch/counter.h"
#include "sketch/sampling_bound.h"

#define FIRST_FLOWS    1024
#define RESERVED_FLOWS (UINT32_C(1) << 17) /* limit of merger_reserve() */

/*
 * The error bound of a sketch must hold for all keys of the epoch. Their number is at most the
 * HyperLogLog estimate plus DISTINCT_ERRORS standard errors, except with probability DISTINCT_RISK.
 * A normal distribution would give 2.9e-7.
 */
#define DISTINCT_ERRORS 5
#define DISTINCT_RISK   1e-6

/*
 * The sampling risk is divided among the lower and upper bounds of two metrics, for each weight
 * that may be the largest of the epoch.
 */
#define SAMPLING_RISKS (4 * SHED_SHIFT_MAX)

/* A key that a part listed, or that was recovered from the merged counters. */
struct flow_in_merge {
	struct key key;
	struct key_hash hash;
	/* Exact counts since the key was listed, by metric. */
	uint64_t since[2];
	/* Upper bound of the count before the key was listed, over the parts that list it. */
	uint64_t before;
	uint64_t listed[MERGE_PARTS_MAX / 64]; /* bit p: part p lists it */
	/* From the merged counters. With SKETCH_EXACT: an upper bound from the exact counts. */
	struct sketch_estimate estimate;
	struct report_record record; /* SKETCH_RECORDS only */
};

struct merger {
	const struct sketch_ops *ops;
	struct sketch_params params;
	struct sketch *total; /* NULL for SKETCH_EXACT */
	struct hyperloglog distinct;
	struct merge_input input;
	struct ledger ledger;
	/* bit p: part p lists every key that it counted */
	uint64_t complete[MERGE_PARTS_MAX / 64];
	bool all_complete;
	uint64_t bound; /* error bound of the merged counters; UINT64_MAX: unknown */
	uint64_t unrecovered;
	/* Upper bound of each key that is not a flow, in the measured metric. */
	uint64_t unlisted;
	struct sketch_shed shed;
	/* Over all parts. `largest` is not used. */
	struct sketch_undecoded undecoded;

	/* Expired flows of the next epoch were added. */
	bool begun;
	/* flows before the first expired flow was dropped */
	uint32_t nb_expired;
	struct sketch_shed forgotten; /* dropped expired flows */
	struct flow_in_merge *flows;
	struct flow_figures *figures; /* NULL without --flow-detail */
	uint32_t nb_flows, max_flows;
	uint32_t *slots;   /* hash table with open addressing: index in flows[] + 1; 0: free */
	uint32_t nb_slots; /* power of two, twice max_flows */
	/* index of the part whose keys are being added */
	uint32_t part;
	bool no_memory;
};

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t excess(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static bool bit_get(const uint64_t *bits, uint32_t i)
{
	return bits[i / 64] >> i % 64 & 1;
}

static void bit_set(uint64_t *bits, uint32_t i)
{
	bits[i / 64] |= UINT64_C(1) << i % 64;
}

/* Sketches emit keys in the order of other bits of the hash. Those would fill a run of slots. */
static uint32_t first_slot(const struct key_hash *hash, uint32_t nb_slots)
{
	return (uint32_t)(hash->lo >> 32) & (nb_slots - 1);
}

static bool is_deep(const struct merger *merger)
{
	return merger->params.deep.deepest != FLOW_COUNT;
}

static bool make_room_for_figures(struct merger *merger, uint32_t max_flows)
{
	struct flow_figures *figures;

	if (!is_deep(merger))
		return true;
	figures = reallocarray(merger->figures, max_flows, sizeof(*figures));
	if (figures == NULL)
		return false;
	merger->figures = figures;
	return true;
}

static bool make_room(struct merger *merger, uint32_t max_flows)
{
	uint32_t nb_slots = 2 * max_flows;
	struct flow_in_merge *flows = aligned_alloc(64, max_flows * sizeof(*flows));
	uint32_t *slots = calloc(nb_slots, sizeof(*slots));

	VERIFY(nb_slots & (nb_slots - 1), ==, 0U);
	VERIFY(merger->nb_flows, <=, max_flows);
	if (flows == NULL || slots == NULL || !make_room_for_figures(merger, max_flows)) {
		free(flows);
		free(slots);
		return false;
	}
	if (merger->nb_flows > 0)
		memcpy(flows, merger->flows, merger->nb_flows * sizeof(*flows));
	for (uint32_t i = 0; i < merger->nb_flows; i++) {
		uint32_t slot = first_slot(&flows[i].hash, nb_slots);

		while (slots[slot] != 0)
			slot = (slot + 1) & (nb_slots - 1);
		slots[slot] = i + 1;
	}
	free(merger->flows);
	free(merger->slots);
	merger->flows = flows;
	merger->slots = slots;
	merger->max_flows = max_flows;
	merger->nb_slots = nb_slots;
	return true;
}

static bool grow(struct merger *merger)
{
	return make_room(merger, merger->max_flows == 0 ? FIRST_FLOWS : 2 * merger->max_flows);
}

void merger_reserve(struct merger *merger, uint32_t nb_parts)
{
	uint64_t flows = (uint64_t)nb_parts * merger->params.candidates;
	uint32_t room = FIRST_FLOWS;

	while (room < flows && room < RESERVED_FLOWS)
		room *= 2;
	if (merger->params.candidates == 0 || !make_room(merger, room))
		return;
	/* Makes the kernel allocate the pages now. */
	memset(merger->flows, 0, room * sizeof(*merger->flows));
	memset(merger->slots, 0, merger->nb_slots * sizeof(*merger->slots));
}

static bool same_key(const struct flow_in_merge *flow, const struct sketch_candidate *candidate)
{
	return flow->hash.lo == candidate->hash.lo && flow->hash.hi == candidate->hash.hi &&
	       key_equal(&flow->key, &candidate->key);
}

static bool is_exact(const struct merger *merger)
{
	return (merger->ops->caps & SKETCH_EXACT) != 0;
}

/* Stores the free slot if the candidate has no flow. */
static struct flow_in_merge *find_flow(
	const struct merger *merger, const struct sketch_candidate *candidate, uint32_t *slot)
{
	*slot = first_slot(&candidate->hash, merger->nb_slots);
	while (merger->slots[*slot] != 0) {
		struct flow_in_merge *flow = &merger->flows[merger->slots[*slot] - 1];

		if (same_key(flow, candidate))
			return flow;
		*slot = (*slot + 1) & (merger->nb_slots - 1);
	}
	return NULL;
}

/* Adds a flow if the candidate has none. Returns NULL if there are already `max` flows. */
static struct flow_in_merge *flow_of(
	struct merger *merger, const struct sketch_candidate *candidate, uint32_t max)
{
	struct flow_in_merge *flow = NULL;
	uint32_t slot = 0;

	if (merger->nb_slots > 0)
		flow = find_flow(merger, candidate, &slot);
	if (flow != NULL || merger->nb_flows >= max)
		return flow;
	if (merger->nb_flows == merger->max_flows) {
		if (!grow(merger))
			return NULL;
		find_flow(merger, candidate, &slot);
	}
	merger->flows[merger->nb_flows] = (struct flow_in_merge){
		.key = candidate->key,
		.hash = candidate->hash,
		.record = {.first = INT64_MAX, .last = INT64_MIN},
	};
	if (is_deep(merger))
		merger->figures[merger->nb_flows] = FLOW_FIGURES_NONE;
	merger->slots[slot] = ++merger->nb_flows;
	return &merger->flows[merger->nb_flows - 1];
}

static void add_counts(const struct merger *merger, struct flow_in_merge *flow,
	const struct sketch_candidate *candidate)
{
	flow->since[SKETCH_PACKETS] += candidate->packets;
	flow->since[SKETCH_BYTES] += candidate->bytes;
	flow->record.known = (merger->ops->caps & SKETCH_RECORDS) != 0;
	flow->record.ip_bytes += candidate->ip_bytes;
	flow->record.tcp_flags |= candidate->tcp_flags;
	if (candidate->first < flow->record.first)
		flow->record.first = candidate->first;
	if (candidate->last > flow->record.last)
		flow->record.last = candidate->last;
	if (is_deep(merger))
		flow_figures_add(&merger->figures[flow - merger->flows], &candidate->figures);
}

/*
 * A full table lists no further keys, so it drops no packets of listed keys. With an idle timeout,
 * entries become free again. If threads share a part, one may also drop packets of a key while
 * another adds it, or holds an entry that it then frees.
 */
static bool may_shed_listed(const struct merger *merger)
{
	const struct sketch_params *params = &merger->params;
	bool at_once = params->writers > 1;

	return merger->ops->shed != NULL && (params->idle_timeout > 0 || at_once);
}

static void take_candidate(const struct sketch_candidate *candidate, void *arg)
{
	struct merger *merger = arg;
	struct flow_in_merge *flow = flow_of(merger, candidate, UINT32_MAX);

	if (flow == NULL) {
		merger->no_memory = true;
		return;
	}
	add_counts(merger, flow, candidate);
	/* A part that threads share emits a key once per thread, with the same bound each time. */
	if (!bit_get(flow->listed, merger->part))
		flow->before = counter64_sum(flow->before, candidate->before);
	if (!may_shed_listed(merger))
		bit_set(flow->listed, merger->part);
}

/* The error bound holds for all keys together with probability `confidence`. */
static uint64_t joint_bound(const struct merger *merger, double confidence)
{
	double distinct = (double)hyperloglog_estimate(&merger->distinct);
	double upper = distinct * (1 + DISTINCT_ERRORS * HYPERLOGLOG_ERROR) + 1;
	uint64_t keys = merger->ledger.measured; /* no epoch has more keys than packets */

	if (1 - confidence > 100 * DISTINCT_RISK && upper < (double)keys) {
		keys = (uint64_t)upper;
		confidence += DISTINCT_RISK;
	}
	return merger->ops->error_bound(merger->total, keys, confidence);
}

static void forget(struct merger *merger)
{
	if (merger->total != NULL)
		merger->ops->reset(merger->total);
	hyperloglog_reset(&merger->distinct);
	memset(merger->complete, 0, sizeof(merger->complete));
	if (merger->nb_slots > 0)
		memset(merger->slots, 0, merger->nb_slots * sizeof(*merger->slots));
	merger->nb_flows = 0;
	merger->all_complete = true;
	merger->unrecovered = merger->unlisted = 0;
	merger->shed = (struct sketch_shed){0};
	merger->undecoded = (struct sketch_undecoded){0};
	merger->no_memory = false;
	merger->nb_expired = 0;
	merger->forgotten = (struct sketch_shed){0};
}

static uint64_t forgotten(const struct merger *merger)
{
	return merger_metric(merger) == SKETCH_PACKETS ? merger->forgotten.packets
						       : merger->forgotten.bytes;
}

void merger_add_expired(
	struct merger *merger, const struct sketch_candidate *candidate, uint32_t max)
{
	struct flow_in_merge *flow;

	if (!merger->begun)
		forget(merger);
	merger->begun = true;
	flow = flow_of(merger, candidate, max);
	if (flow != NULL) {
		add_counts(merger, flow, candidate);
		if (merger->forgotten.packets == 0)
			merger->nb_expired = merger->nb_flows;
		return;
	}
	merger->forgotten.packets += candidate->packets;
	merger->forgotten.bytes += candidate->bytes;
}

void merger_drop_expired(struct merger *merger)
{
	merger->begun = false;
}

struct sketch_shed merger_forgotten(const struct merger *merger)
{
	return merger->forgotten;
}

/* The largest undecoded key may be the same in each part, so its bounds are added. */
static void take_undecoded(struct merger *merger, struct sketch_undecoded undecoded)
{
	merger->undecoded.flows += undecoded.flows;
	merger->undecoded.packets += undecoded.packets;
	merger->undecoded.bytes += undecoded.bytes;
	merger->undecoded.overflown |= undecoded.overflown;
	merger->unrecovered = counter64_sum(merger->unrecovered, undecoded.largest);
}

/* Returns an upper bound of the count of each key that no part lists. */
static uint64_t unlisted_by_all(const struct merger *merger)
{
	const struct merge_input *input = &merger->input;

	if (merger->all_complete)
		return 0;
	return merger->ops->unlisted != NULL ? merger->ops->unlisted(input->parts, input->nb_parts)
					     : UINT64_MAX;
}

/* Adds the keys that parts list, or those recovered from the merged counters. */
static void collect_flows(struct merger *merger)
{
	const struct sketch_ops *ops = merger->ops;
	const struct merge_input *input = &merger->input;

	merger->part = 0;
	if (ops->recover != NULL) {
		merger->all_complete = false;
		merger->unrecovered = ops->recover(
			merger->total, input->wanted, input->smallest, take_candidate, merger);
		merger->unlisted = merger->unrecovered;
		return;
	}
	for (; merger->part < input->nb_parts; merger->part++) {
		const struct sketch *part = input->parts[merger->part];

		/* Must run first: some sketches decode their keys here, as the calls below need. */
		ops->candidates(part, take_candidate, merger);
		if (ops->lists_all_keys(part))
			bit_set(merger->complete, merger->part);
		else
			merger->all_complete = false;
		if (ops->undecoded != NULL)
			take_undecoded(merger, ops->undecoded(part));
		if (ops->shed != NULL) {
			struct sketch_shed shed = ops->shed(part);

			merger->shed.packets += shed.packets;
			merger->shed.bytes += shed.bytes;
			merger->shed.added += shed.added;
			merger->shed.added_bytes += shed.added_bytes;
			merger->shed.details += shed.details;
		}
	}
	merger->unlisted = unlisted_by_all(merger);
}

/* All packets of unknown keys in no part may have the same key. */
static void take_undecoded_of_input(struct merger *merger)
{
	struct sketch_undecoded undecoded = merger->input.undecoded;

	undecoded.largest =
		merger_metric(merger) == SKETCH_PACKETS ? undecoded.packets : undecoded.bytes;
	merger->all_complete &= undecoded.packets == 0;
	take_undecoded(merger, undecoded);
}

/* A loop of its own lets the CPU overlap the cache misses of several queries. */
static void set_estimates(struct merger *merger)
{
	for (uint32_t i = 0; i < merger->nb_flows; i++)
		merger->flows[i].estimate =
			merger->ops->query(merger->total, &merger->flows[i].hash);
}

/*
 * The ceiling of a flow is its exact count, plus the upper bound of its count before it was listed.
 */
static void set_ceilings(struct merger *merger)
{
	for (uint32_t i = 0; i < merger->nb_flows; i++) {
		struct flow_in_merge *flow = &merger->flows[i];

		flow->estimate.value =
			counter64_sum(flow->since[merger_metric(merger)], flow->before);
		flow->estimate.saturated = flow->estimate.value == UINT64_MAX;
	}
}

/* Moves the packets for which the sketch had no room from `measured` to `shed`. */
static void add_shed(struct merger *merger)
{
	const struct sketch_shed *shed = &merger->shed;

	merger->ledger.shed += shed->packets - shed->added;
	merger->ledger.measured -= shed->packets - shed->added;
	merger->ledger.bytes -= shed->bytes - shed->added_bytes;
	merger->ledger.added -= shed->added;
	merger->ledger.added_bytes -= shed->added_bytes;
}

int merger_collect(struct merger *merger, const struct merge_input *input)
{
	const struct sketch_ops *ops = merger->ops;

	if (!merger->begun)
		forget(merger);
	merger->begun = false;
	if (input->nb_parts > MERGE_PARTS_MAX)
		return -EINVAL;
	merger->input = *input;
	merger->ledger = *input->ledger;
	merger->input.ledger = &merger->ledger;

	if (merger->total != NULL && input->nb_parts > 0)
		merger->total->params.key = input->parts[0]->params.key;
	for (uint32_t d = 0; d < input->nb_distinct; d++)
		hyperloglog_merge(&merger->distinct, input->distinct[d]);
	for (uint32_t p = 0; !is_exact(merger) && p < input->nb_parts; p++)
		if (ops->merge(merger->total, input->parts[p]) != 0)
			return -EINVAL;
	collect_flows(merger);
	take_undecoded_of_input(merger);
	if (merger->no_memory) {
		merger->nb_flows = 0;
		return -ENOMEM;
	}
	add_shed(merger);
	merger->all_complete &= merger->forgotten.packets == 0;
	merger->unrecovered = counter64_sum(merger->unrecovered, forgotten(merger));
	merger->unlisted = counter64_sum(merger->unlisted, forgotten(merger));
	if (is_exact(merger))
		set_ceilings(merger);
	else
		set_estimates(merger);
	/* If all keys are listed, counts are exact. */
	merger->bound = merger->all_complete || is_exact(merger)
				? UINT64_MAX
				: joint_bound(merger, input->confidence);
	return 0;
}

struct sketch_shed merger_shed(const struct merger *merger)
{
	return merger->shed;
}

struct sketch_undecoded merger_undecoded(const struct merger *merger)
{
	struct sketch_undecoded undecoded = merger->undecoded;

	undecoded.largest = merger->unrecovered;
	return undecoded;
}

uint64_t merger_unrecovered(const struct merger *merger)
{
	return merger->unrecovered;
}

uint32_t merger_nb_flows(const struct merger *merger)
{
	return merger->nb_flows;
}

uint64_t merger_ceiling(const struct merger *merger, uint32_t i)
{
	const struct sketch_estimate *estimate = &merger->flows[i].estimate;

	return estimate->saturated ? UINT64_MAX : estimate->value;
}

enum sketch_metric merger_metric(const struct merger *merger)
{
	return merger->params.metric;
}

const struct merge_input *merger_input(const struct merger *merger)
{
	return &merger->input;
}

/* Returns an upper bound of the flow's count in a part that does not list it. */
static uint64_t not_listed(
	const struct merger *merger, uint32_t part, const struct flow_in_merge *flow)
{
	const struct sketch *sketch = merger->input.parts[part];
	struct sketch_estimate estimate;

	if (is_exact(merger))
		return merger->ops->missed(sketch, &flow->hash);
	estimate = merger->ops->query(sketch, &flow->hash);
	return estimate.saturated ? UINT64_MAX : estimate.value;
}

/*
 * Returns an upper bound of the flow's count, in the measured metric, before it was listed and in
 * parts that do not list it. UINT64_MAX: unknown.
 */
static uint64_t uncounted(const struct merger *merger, const struct flow_in_merge *flow)
{
	uint64_t sum = flow->before;

	if (flow >= merger->flows + merger->nb_expired)
		sum = counter64_sum(sum, forgotten(merger));
	/* If the sketch recovers keys, `before` includes all parts. */
	for (uint32_t p = 0; merger->ops->recover == NULL && p < merger->input.nb_parts; p++)
		if (!bit_get(flow->listed, p) && !bit_get(merger->complete, p))
			sum = counter64_sum(sum, not_listed(merger, p, flow));
	if (!is_exact(merger) && !flow->estimate.saturated)
		sum = least(sum, flow->estimate.value - flow->since[merger_metric(merger)]);
	return sum;
}

static struct report_figure merged_figure(
	const struct merger *merger, const struct flow_in_merge *flow)
{
	uint64_t since = flow->since[merger_metric(merger)];
	uint64_t rest = uncounted(merger, flow);
	/* A saturated estimate is a lower bound of the true sum. */
	uint64_t estimate = flow->estimate.value;
	struct report_figure figure = {.known = true};

	figure.high = counter64_sum(since, rest);
	figure.high_known = figure.high != UINT64_MAX;
	figure.value = figure.high_known ? figure.high : most(since, estimate);
	/*
	 * With exact counts, the value excludes the bounds of parts that do not list the flow, and
	 * bounds that are unknown.
	 */
	if (is_exact(merger))
		figure.value = flow->before == UINT64_MAX
				       ? since
				       : least(figure.value, counter64_sum(since, flow->before));
	figure.low = estimate > merger->bound ? most(since, estimate - merger->bound) : since;
	figure.low = least(figure.low, figure.value);
	ASSERT(figure.value, <=, figure.high);
	return figure;
}

/* Converts a lower bound in the measured metric to the other metric. */
static uint64_t smallest_other(const struct merger *merger, uint64_t amount)
{
	const struct ledger *ledger = &merger->ledger;

	if (merger_metric(merger) == SKETCH_PACKETS)
		return amount * ledger->smallest_frame;
	return ledger->largest_frame == 0
		       ? 0
		       : amount / ledger->largest_frame + (amount % ledger->largest_frame != 0);
}

/* Converts an upper bound in the measured metric to the other metric. UINT64_MAX: unknown. */
static uint64_t largest_other(const struct merger *merger, uint64_t amount)
{
	const struct ledger *ledger = &merger->ledger;
	uint64_t product;

	if (merger_metric(merger) == SKETCH_PACKETS)
		return __builtin_mul_overflow(amount, ledger->largest_frame, &product) ? UINT64_MAX
										       : product;
	if (amount == 0)
		return 0;
	return ledger->smallest_frame == 0 ? UINT64_MAX : amount / ledger->smallest_frame;
}

/*
 * Returns an upper bound in the other metric: the total of all flows minus the least of the other
 * flows. Packets for which the sketch had no room may all belong to this flow.
 */
static uint64_t left_of_other(const struct merger *merger, const struct report_figure *measured)
{
	uint64_t packets = ledger_counted(&merger->ledger) + merger->shed.packets;
	uint64_t bytes = ledger_counted_bytes(&merger->ledger) + merger->shed.bytes;
	bool counts_packets = merger_metric(merger) == SKETCH_PACKETS;
	uint64_t others = excess(counts_packets ? packets : bytes, measured->high);

	return excess(counts_packets ? bytes : packets, smallest_other(merger, others));
}

/* Rounds to the nearest integer and saturates to UINT64_MAX. */
static uint64_t scale(uint64_t amount, uint64_t numerator, uint64_t denominator)
{
	unsigned __int128 scaled;

	if (denominator == 0)
		return 0;
	scaled = ((unsigned __int128)amount * numerator + denominator / 2) / denominator;
	return scaled < UINT64_MAX ? (uint64_t)scaled : UINT64_MAX;
}

/*
 * A capture may contain packets of 0 bytes. A sketch that counts bytes misses them, and does not
 * list keys that have only such packets.
 */
static bool may_miss_empty_packets(const struct merger *merger)
{
	return !is_exact(merger) && merger_metric(merger) == SKETCH_BYTES &&
	       merger->ledger.smallest_frame == 0;
}

/*
 * Packets after the key was listed are counted exactly in both metrics. The value assumes the mean
 * size for the rest, the bounds assume the smallest and largest frame. The result is unknown if no
 * packet was counted exactly, as for keys recovered from counters.
 */
static struct report_figure other_figure(const struct merger *merger,
	const struct flow_in_merge *flow, const struct report_figure *measured)
{
	enum sketch_metric metric = merger_metric(merger);
	uint64_t since_measured = flow->since[metric];
	uint64_t since = flow->since[metric == SKETCH_PACKETS ? SKETCH_BYTES : SKETCH_PACKETS];
	struct report_figure figure = {.known = since_measured > 0};

	if (!figure.known)
		return figure;
	figure.low = counter64_sum(since, smallest_other(merger, measured->low - since_measured));
	figure.high = measured->high_known && !may_miss_empty_packets(merger)
			      ? counter64_sum(since,
					largest_other(merger, measured->high - since_measured))
			      : UINT64_MAX;
	figure.high_known = figure.high != UINT64_MAX;
	figure.high = least(figure.high, left_of_other(merger, measured));
	figure.low = least(figure.low, figure.high);
	figure.value = counter64_sum(
		since, scale(measured->value - since_measured, since, since_measured));
	figure.value = least(most(figure.value, figure.low), figure.high);
	ASSERT(figure.low, <=, figure.value);
	return figure;
}

/*
 * Raises the upper bounds by what may belong to any flow: lost packets of the largest frame size,
 * measured packets in no part, skipped bursts, and bytes missing from truncated packets.
 */
static void add_loss(const struct merger *merger, struct merge_flow *flow)
{
	const struct ledger *ledger = &merger->ledger;
	/* The bounds already include packets for which the sketch had no room. */
	uint64_t packets =
		ledger_lost_at_most(ledger) - (merger->shed.packets - merger->shed.added);
	uint64_t bytes;

	if (__builtin_mul_overflow(packets, ledger->largest_frame, &bytes))
		bytes = UINT64_MAX;
	packets = counter64_sum(packets + ledger->unseen, merger->input.undecoded.packets);
	bytes = counter64_sum(bytes, merger->input.undecoded.bytes);
	bytes = counter64_sum(bytes, ledger->unseen_bytes);
	bytes = counter64_sum(bytes, ledger->missing_bytes);
	flow->packets.high = counter64_sum(flow->packets.high, packets);
	flow->packets.high_known &= merger->input.loss_known && flow->packets.high != UINT64_MAX;
	flow->bytes.high = counter64_sum(flow->bytes.high, bytes);
	flow->bytes.high_known &= merger->input.loss_known && flow->bytes.high != UINT64_MAX;
}

static void add_counted(const struct key_sample_counts *left_out, struct merge_flow *result)
{
	result->packets.high = counter64_sum(result->packets.high, left_out->counted);
	result->bytes.high = counter64_sum(result->bytes.high, left_out->counted_bytes);
}

/* Raises the upper bounds by the packets that key sampling left out at the flow's rank. */
static void add_left_out(
	const struct merger *merger, const struct flow_in_merge *flow, struct merge_flow *result)
{
	uint32_t rank = key_share_rank(&flow->hash);

	if (rank < KEY_SHARE_MAX)
		add_counted(&merger->input.left_out[rank], result);
}

/* The rank is unknown: takes the largest counts of any rank. */
static void add_all_left_out(const struct merger *merger, struct merge_flow *result)
{
	struct key_sample_counts largest = {0};

	for (uint32_t rank = 0; rank < KEY_SHARE_MAX; rank++) {
		const struct key_sample_counts *left_out = &merger->input.left_out[rank];

		largest.counted = most(largest.counted, left_out->counted);
		largest.counted_bytes = most(largest.counted_bytes, left_out->counted_bytes);
	}
	add_counted(&largest, result);
}

/*
 * Makes bounds of the counted amount hold for the true amount. At most `skipped` was not counted,
 * and weights added at most `added`, so the bounds need not be wider.
 */
static void widen(struct report_figure *figure, const struct sampling_bound *sampling,
	uint64_t skipped, uint64_t added)
{
	if (figure->known)
		figure->low = most(sampling_low(sampling, figure->low), excess(figure->low, added));
	if (figure->high_known)
		figure->high = least(sampling_high(sampling, figure->high),
			counter64_sum(figure->high, skipped));
}

/* Widens the bounds for packets sampled under --overload. Call it after add_loss(). */
static void add_sampling(const struct merger *merger, struct merge_flow *flow)
{
	const struct ledger *ledger = &merger->ledger;
	double risk = merger->input.sampling_risk / SAMPLING_RISKS;
	struct sampling_bound packets = {
		.weight = ledger->weight,
		.unit = 1,
		.whole = (double)ledger->offered,
		.log_inverse = -log(risk),
	};
	struct sampling_bound bytes = packets;
	uint64_t others = ledger->offered - ledger->measured - ledger->skipped;

	if (ledger->weight <= 1)
		return;
	bytes.unit = most(ledger->longest_frame, 1);
	bytes.whole = (double)ledger->bytes + (double)ledger->skipped_bytes +
		      (double)others * ledger->largest_frame;
	widen(&flow->packets, &packets, ledger->skipped - ledger->unseen - ledger->left_out.packets,
		ledger->added + merger->shed.added);
	widen(&flow->bytes, &bytes,
		ledger->skipped_bytes - ledger->unseen_bytes - ledger->left_out.bytes,
		ledger->added_bytes + merger->shed.added_bytes);
}

struct merge_flow merger_flow(const struct merger *merger, uint32_t i)
{
	const struct flow_in_merge *flow = &merger->flows[i];
	struct report_figure measured = merged_figure(merger, flow);
	struct report_figure other = other_figure(merger, flow, &measured);
	bool packets = merger_metric(merger) == SKETCH_PACKETS;
	struct merge_flow result = {
		.key = flow->key,
		.packets = packets ? measured : other,
		.bytes = packets ? other : measured,
		.record = flow->record,
	};

	if (is_deep(merger))
		result.figures = merger->figures[i];
	add_left_out(merger, flow, &result);
	add_loss(merger, &result);
	add_sampling(merger, &result);
	return result;
}

struct merge_counts merger_counts(const struct merger *merger, uint32_t i)
{
	const struct flow_in_merge *flow = &merger->flows[i];

	return (struct merge_counts){
		.key = &flow->key,
		.packets = flow->since[SKETCH_PACKETS],
		.bytes = flow->since[SKETCH_BYTES],
		.deep_packets = is_deep(merger) ? merger->figures[i].packets : 0,
	};
}

/* Raises the upper bounds by all packets that key sampling left out, whatever their rank. */
static void add_every_left_out(const struct merger *merger, struct merge_flow *result)
{
	for (uint32_t rank = 0; rank < KEY_SHARE_MAX; rank++)
		add_counted(&merger->input.left_out[rank], result);
}

/* A figure of a sum that is exact, except that up to `more` may be missing. */
static struct report_figure figure_of_sum(uint64_t sum, uint64_t more)
{
	return (struct report_figure){
		.value = sum,
		.low = sum,
		.high = counter64_sum(sum, more),
		.known = true,
		.high_known = counter64_sum(sum, more) != UINT64_MAX,
	};
}

struct merge_set merger_set(
	const struct merger *merger, uint64_t packets, uint64_t bytes, uint64_t flows)
{
	const struct ledger *ledger = &merger->ledger;
	/* Packets without room, and those of expired flows that were dropped. */
	uint64_t shed = merger->shed.packets + merger->forgotten.packets;
	uint64_t missing = counter64_sum(
		ledger_lost_at_most(ledger) + ledger->skipped, merger->input.undecoded.packets);
	struct merge_flow sums = {
		.packets = figure_of_sum(packets, shed),
		.bytes = figure_of_sum(bytes, merger->shed.bytes + merger->forgotten.bytes),
	};
	struct merge_set set;

	add_every_left_out(merger, &sums);
	add_loss(merger, &sums);
	add_sampling(merger, &sums);
	set.packets = sums.packets;
	set.bytes = sums.bytes;
	set.flows = figure_of_sum(flows, counter64_sum(missing, merger->forgotten.packets));
	set.flows.high_known &= merger->input.loss_known;
	return set;
}

/*
 * Returns an upper bound of a flow's count beyond its ceiling. The ceiling of an exact count
 * excludes parts that do not list the flow.
 */
static uint64_t above_ceiling(const struct merger *merger)
{
	return is_exact(merger) ? merger->unlisted : 0;
}

uint64_t merger_other_ceiling(const struct merger *merger, uint32_t i)
{
	enum sketch_metric metric = merger_metric(merger);
	const uint64_t *since = merger->flows[i].since;
	uint64_t ceiling = counter64_sum(merger_ceiling(merger, i), above_ceiling(merger));

	return counter64_sum(since[metric == SKETCH_PACKETS ? SKETCH_BYTES : SKETCH_PACKETS],
		largest_other(merger, ceiling - since[metric]));
}

struct merge_flow merger_unlisted(const struct merger *merger, uint64_t measured, uint64_t other)
{
	bool packets = merger_metric(merger) == SKETCH_PACKETS;
	const struct ledger *ledger = &merger->ledger;
	uint64_t whole = packets ? ledger_counted(ledger) + merger->shed.packets
				 : ledger_counted_bytes(ledger) + merger->shed.bytes;
	struct report_figure first = {.high_known = true}, second = {.high_known = true};
	struct merge_flow result;

	first.high = most(counter64_sum(measured, above_ceiling(merger)), merger->unlisted);
	first.high = least(first.high, whole);
	second.high = most(least(other, largest_other(merger, first.high)),
		largest_other(merger, merger->unlisted));
	if (may_miss_empty_packets(merger))
		second.high = UINT64_MAX;
	second.high = least(second.high, left_of_other(merger, &first));
	result = (struct merge_flow){
		.packets = packets ? first : second,
		.bytes = packets ? second : first,
	};
	add_all_left_out(merger, &result);
	add_loss(merger, &result);
	add_sampling(merger, &result);
	return result;
}

/* A part that lists at most 1/8 of its capacity overflows with probability 1e-7. */
#define DISTINCT_LISTED_SHARE 8

uint64_t merger_distinct_keys(const struct merger *merger, bool *exact)
{
	/*
	 * More parts can list more keys, but the result must not depend on their number. So listed
	 * keys are counted only if they are far below the capacity of one part.
	 */
	*exact = is_exact(merger) ? merger->all_complete && merger->ledger.left_out.packets == 0
				  : merger->all_complete && !may_miss_empty_packets(merger) &&
					    merger->nb_flows <= merger->params.candidates /
									DISTINCT_LISTED_SHARE;
	return *exact ? merger->nb_flows : hyperloglog_estimate(&merger->distinct);
}

struct merger *merger_create(const struct sketch_ops *ops, const struct sketch_params *params)
{
	struct sketch_params total_params = *params;
	struct merger *merger = aligned_alloc(64, sizeof(*merger));

	if (merger == NULL)
		return NULL;
	memset(merger, 0, sizeof(*merger));
	merger->ops = ops;
	merger->params = *params;
	total_params.candidates = 1; /* only the parts' candidate lists are used */
	if (!is_exact(merger))
		merger->total = ops->create(&total_params);
	if (!is_exact(merger) && merger->total == NULL) {
		free(merger);
		return NULL;
	}
	return merger;
}

void merger_destroy(struct merger *merger)
{
	if (merger == NULL)
		return;
	if (merger->total != NULL)
		merger->ops->destroy(merger->total);
	free(merger->flows);
	free(merger->figures);
	free(merger->slots);
	free(merger);
}
