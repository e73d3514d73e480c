/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "parallel/workers/shed_worker.h"
#include "report/merge/merge.h"
#include "sketch/counter.h"
#include "sketch/sampling_bound.h"

#define FIRST_FLOWS    1024
#define RESERVED_FLOWS (UINT32_C(1) << 17) /* at most, before they come */

/*
 * The number of keys that the bound has to hold for comes from HyperLogLog, plus this many of its
 * standard errors. The risk that it is still too low is taken from the epoch's; it is over three
 * times a normal distribution's (2.9e-7).
 */
#define DISTINCT_ERRORS 5
#define DISTINCT_RISK   1e-6

/* Ends of the intervals of both metrics, and weights that may turn out to be the largest: each has
 * its share of the risk. */
#define SAMPLING_RISKS (4 * SHED_SHIFT_MAX)

/* A key that at least one part lists. */
struct flow_in_merge {
	struct key key;
	struct key_hash hash;
	uint64_t since[2];                     /* by metric: counted exactly, all parts */
	uint64_t before;                       /* upper bound, of the parts that list it */
	uint64_t listed[MERGE_PARTS_MAX / 64]; /* bit p: part p lists it */
	struct sketch_estimate estimate; /* of the merged counters; of SKETCH_EXACT a ceiling */
	struct report_record record;     /* of SKETCH_RECORDS */
};

struct merger {
	const struct sketch_ops *ops; /* of the parts, as are the params */
	struct sketch_params params;
	struct sketch *total; /* NULL for SKETCH_EXACT */
	struct hyperloglog distinct;
	struct merge_input input;
	struct ledger ledger;
	uint64_t complete[MERGE_PARTS_MAX / 64]; /* bit p: part p lists all its keys */
	bool all_complete;
	uint64_t bound;       /* of the merged counters' error; UINT64_MAX: none */
	uint64_t unrecovered; /* as merger_unrecovered() */
	uint64_t unlisted;    /* no key beside the flows has more, in the measured metric */
	struct sketch_shed shed;
	struct sketch_undecoded undecoded; /* but for largest, which is unrecovered */

	bool begun;          /* flows of the epoch to be collected were taken in already, */
	uint32_t nb_expired; /* so many, of which nothing is forgotten */
	struct sketch_shed forgotten; /* of others */
	struct flow_in_merge *flows;
	struct flow_figures *figures; /* of each, with --flow-detail; else NULL */
	uint32_t nb_flows, max_flows;
	uint32_t *slots;   /* open addressing: number of the flow + 1, or 0 */
	uint32_t nb_slots; /* a power of two, twice max_flows */
	uint32_t part;     /* whose candidates are being taken in */
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

/* a - b, at least 0. */
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

/*
 * By bits that no sketch orders its candidates by: what comes in the order of its slots makes one
 * long run of them.
 */
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

/* Makes room for so many flows, and files them anew. */
static bool make_room(struct merger *merger, uint32_t max_flows)
{
	uint32_t nb_slots = 2 * max_flows;
	struct flow_in_merge *flows = aligned_alloc(64, max_flows * sizeof(*flows));
	uint32_t *slots = calloc(nb_slots, sizeof(*slots));

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
	/* The kernel finds the pages now. */
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

/* The candidate's flow; NULL where no part has listed it yet, and then where it belongs. */
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

/*
 * The candidate's flow, which is new where no part has listed it yet. NULL without memory, or where
 * there are `max` others.
 */
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
 * Whether a part may have shed a key before it listed it. With an idle timeout entries are given
 * back. Where threads share a part, one may find no room for a key that another is just filing, or
 * while another holds an entry that it gives back.
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
	/* Of several threads' emissions each has the same bound of all that none of them
	 * counted. */
	if (!bit_get(flow->listed, merger->part))
		flow->before = counter64_sum(flow->before, candidate->before);
	if (!may_shed_listed(merger))
		bit_set(flow->listed, merger->part);
}

/* The bound that leaves to all keys of the epoch together the risk 1 - confidence. */
static uint64_t joint_bound(const struct merger *merger, double confidence)
{
	double distinct = (double)hyperloglog_estimate(&merger->distinct);
	double upper = distinct * (1 + DISTINCT_ERRORS * HYPERLOGLOG_ERROR) + 1;
	uint64_t keys = merger->ledger.measured; /* there cannot be more keys than packets */

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

/* A key that no part decoded may have its largest share of each. */
static void take_undecoded(struct merger *merger, struct sketch_undecoded undecoded)
{
	merger->undecoded.flows += undecoded.flows;
	merger->undecoded.packets += undecoded.packets;
	merger->undecoded.bytes += undecoded.bytes;
	merger->unrecovered = counter64_sum(merger->unrecovered, undecoded.largest);
}

/* What no key has more of that no part lists. */
static uint64_t unlisted_by_all(const struct merger *merger)
{
	const struct merge_input *input = &merger->input;

	if (merger->all_complete)
		return 0;
	return merger->ops->unlisted != NULL ? merger->ops->unlisted(input->parts, input->nb_parts)
					     : UINT64_MAX;
}

/* The keys that the parts list, or those that are found in their sum. */
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

		/* Before what it says of them: to find the keys may be work. */
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

/* What no part was told of: any key may have all of it. */
static void take_untold(struct merger *merger)
{
	struct sketch_undecoded untold = merger->input.undecoded;

	untold.largest = merger_metric(merger) == SKETCH_PACKETS ? untold.packets : untold.bytes;
	merger->all_complete &= untold.packets == 0;
	take_undecoded(merger, untold);
}

/* In a pass of its own, so that the core overlaps the flows' cache misses. */
static void set_estimates(struct merger *merger)
{
	for (uint32_t i = 0; i < merger->nb_flows; i++)
		merger->flows[i].estimate =
			merger->ops->query(merger->total, &merger->flows[i].hash);
}

/*
 * Nothing is estimated of a sketch that counts exactly: a flow's ceiling is what was counted, and
 * what its parts are not sure of.
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

/* Packets that a sketch shed are no measured ones of its measurement. */
static void account_shed(struct merger *merger)
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
	take_untold(merger);
	if (merger->no_memory) {
		merger->nb_flows = 0;
		return -ENOMEM;
	}
	account_shed(merger);
	merger->all_complete &= merger->forgotten.packets == 0;
	merger->unrecovered = counter64_sum(merger->unrecovered, forgotten(merger));
	merger->unlisted = counter64_sum(merger->unlisted, forgotten(merger));
	if (is_exact(merger))
		set_ceilings(merger);
	else
		set_estimates(merger);
	/* Where all is listed all is exact. */
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

/* Upper bound, in the measured metric, of what a part had of a flow that it does not list. */
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
 * Upper bound of what the flow had, in the measured metric, beside what was counted exactly: before
 * it was listed, and in parts that do not list it. UINT64_MAX: none is known.
 */
static uint64_t uncounted(const struct merger *merger, const struct flow_in_merge *flow)
{
	uint64_t sum = flow->before;

	if (flow >= merger->flows + merger->nb_expired)
		sum = counter64_sum(sum, forgotten(merger));
	/* What was found in the sum has its before from there. */
	for (uint32_t p = 0; merger->ops->recover == NULL && p < merger->input.nb_parts; p++)
		if (!bit_get(flow->listed, p) && !bit_get(merger->complete, p))
			sum = counter64_sum(sum, not_listed(merger, p, flow));
	if (!is_exact(merger) && !flow->estimate.saturated)
		sum = least(sum, flow->estimate.value - flow->since[merger_metric(merger)]);
	return sum;
}

/* The measured metric's figure. */
static struct report_figure measured_figure(
	const struct merger *merger, const struct flow_in_merge *flow)
{
	uint64_t since = flow->since[merger_metric(merger)];
	uint64_t rest = uncounted(merger, flow);
	uint64_t estimate = flow->estimate.value; /* a saturated one is at most the counters' sum */
	struct report_figure figure = {.known = true};

	figure.high = counter64_sum(since, rest);
	figure.high_known = figure.high != UINT64_MAX;
	figure.value = figure.high_known ? figure.high : most(since, estimate);
	/* What may be missing there is no part of a count. */
	if (is_exact(merger))
		figure.value = least(figure.value, counter64_sum(since, flow->before));
	figure.low = estimate > merger->bound ? most(since, estimate - merger->bound) : since;
	figure.low = least(figure.low, figure.value);
	return figure;
}

/* Of bytes, from an interval of packets, or of packets, from one of bytes. */
static uint64_t smallest_other(const struct merger *merger, uint64_t amount)
{
	const struct ledger *ledger = &merger->ledger;

	if (merger_metric(merger) == SKETCH_PACKETS)
		return amount * ledger->smallest_frame;
	return ledger->largest_frame == 0
		       ? 0
		       : amount / ledger->largest_frame + (amount % ledger->largest_frame != 0);
}

/* Saturates to UINT64_MAX: unknown. */
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
 * What the epoch has of the other metric less what its other flows have of that at least. With what
 * was shed, which may have been any flow's.
 */
static uint64_t left_of_other(const struct merger *merger, const struct report_figure *measured)
{
	uint64_t packets = ledger_counted(&merger->ledger) + merger->shed.packets;
	uint64_t bytes = ledger_counted_bytes(&merger->ledger) + merger->shed.bytes;
	bool counts_packets = merger_metric(merger) == SKETCH_PACKETS;
	uint64_t others = excess(counts_packets ? packets : bytes, measured->high);

	return excess(counts_packets ? bytes : packets, smallest_other(merger, others));
}

/* amount * numerator / denominator, rounded to the nearest, saturating. */
static uint64_t scale(uint64_t amount, uint64_t numerator, uint64_t denominator)
{
	unsigned __int128 scaled;

	if (denominator == 0)
		return 0;
	scaled = ((unsigned __int128)amount * numerator + denominator / 2) / denominator;
	return scaled < UINT64_MAX ? (uint64_t)scaled : UINT64_MAX;
}

/*
 * A sketch that counts bytes does not see a packet of none (a capture may say so of one): such
 * packets may be missing from any key's packets, and whole keys from the lists.
 */
static bool weightless(const struct merger *merger)
{
	return !is_exact(merger) && merger_metric(merger) == SKETCH_BYTES &&
	       merger->ledger.smallest_frame == 0;
}

/*
 * The figure of the metric that the counters do not hold: exact since listing, before that and in
 * parts that do not list it as many packets of the mean size as the measured figure has. Its ends
 * take the smallest and the largest frame of the epoch instead, and leave the other flows what is
 * theirs. Where nothing was counted since
 * listing, as of keys that were only found in the counters, it is not known.
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
	figure.high = measured->high_known && !weightless(merger)
			      ? counter64_sum(since,
					largest_other(merger, measured->high - since_measured))
			      : UINT64_MAX;
	figure.high_known = figure.high != UINT64_MAX;
	figure.high = least(figure.high, left_of_other(merger, measured));
	figure.low = least(figure.low, figure.high);
	figure.value = counter64_sum(
		since, scale(measured->value - since_measured, since, since_measured));
	figure.value = least(most(figure.value, figure.low), figure.high);
	return figure;
}

/*
 * The packets that were lost may all have been of this flow, and as large as any; so may those that
 * no part was told of, and those that nobody could look at, whose bytes are known. Bytes that cut
 * packets had may also all be of this flow.
 */
static void add_loss(const struct merger *merger, struct merge_flow *flow)
{
	const struct ledger *ledger = &merger->ledger;
	/* Where a sketch shed packets its parts know, or may not know, whose. */
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

/* What was not counted of the flow has its rank. */
static void add_left_out(
	const struct merger *merger, const struct flow_in_merge *flow, struct merge_flow *result)
{
	uint32_t rank = key_share_rank(&flow->hash);

	if (rank < KEY_SHARE_MAX)
		add_counted(&merger->input.left_out[rank], result);
}

/* Of a key whose rank is not known. */
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
 * From bounds of what was counted to bounds of the truth. Beside those there is what always holds:
 * no more can be missing than was left out (`skipped`), and no more too much than weights added.
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

/* Where not all packets were looked at. After the loss was added. */
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
	struct report_figure measured = measured_figure(merger, flow);
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

/* What a flow may have had beside its ceiling, in the measured metric: that of an exact sketch is
 * what its parts counted. */
static uint64_t beside_ceiling(const struct merger *merger)
{
	return is_exact(merger) ? merger->unlisted : 0;
}

uint64_t merger_other_ceiling(const struct merger *merger, uint32_t i)
{
	enum sketch_metric metric = merger_metric(merger);
	const uint64_t *since = merger->flows[i].since;
	uint64_t ceiling = counter64_sum(merger_ceiling(merger, i), beside_ceiling(merger));

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

	first.high = most(counter64_sum(measured, beside_ceiling(merger)), merger->unlisted);
	first.high = least(first.high, whole);
	second.high = most(least(other, largest_other(merger, first.high)),
		largest_other(merger, merger->unlisted));
	if (weightless(merger))
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

/* A part's buckets hold an eighth of its candidates without one overflowing but once in 10^7. */
#define DISTINCT_LISTED_SHARE 8

uint64_t merger_distinct_keys(const struct merger *merger, bool *exact)
{
	/*
	 * Parts list all their keys the longer the more of them share the stream. The number must
	 * not depend on how many there are, so it is the list's own only far below what one part
	 * alone would hold, too.
	 */
	*exact = is_exact(merger) ? merger->all_complete && merger->ledger.left_out.packets == 0
				  : merger->all_complete && !weightless(merger) &&
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
	total_params.candidates = 1; /* the parts have them */
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
