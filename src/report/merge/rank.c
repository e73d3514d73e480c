/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/assertion.h"
#include "report/merge/rank.h"

struct rank_contender {
	uint64_t ceiling; /* upper bound of its count, in the measured metric */
	uint32_t flow;
};

/*
 * The best rows so far, as a heap with the worst row at the root. left_packets, left_bytes: upper
 * bounds of queried flows without a row; UINT64_MAX: unknown.
 */
struct ranking {
	enum sketch_metric metric;
	struct report_row *rows;
	uint32_t nb_rows, max_rows;
	uint64_t left_packets, left_bytes;
};

static uint64_t figure_value(const struct ranking *ranking, const struct report_row *row)
{
	return report_counted(row, ranking->metric == SKETCH_BYTES)->value;
}

static int descending(uint64_t a, uint64_t b)
{
	return (a < b) - (a > b);
}

static int by_packets(const void *a, const void *b)
{
	const struct report_row *x = a, *y = b;
	int order = descending(x->packets.value, y->packets.value);

	if (order == 0)
		order = descending(x->bytes.value, y->bytes.value);
	return order != 0 ? order : key_compare(&x->key, &y->key);
}

static int by_bytes(const void *a, const void *b)
{
	const struct report_row *x = a, *y = b;
	int order = descending(x->bytes.value, y->bytes.value);

	if (order == 0)
		order = descending(x->packets.value, y->packets.value);
	return order != 0 ? order : key_compare(&x->key, &y->key);
}

static bool ranks_lower(
	const struct ranking *ranking, const struct report_row *a, const struct report_row *b)
{
	return (ranking->metric == SKETCH_PACKETS ? by_packets(a, b) : by_bytes(a, b)) > 0;
}

static void insert(struct ranking *ranking, const struct report_row *row)
{
	uint32_t i = ranking->nb_rows++;

	while (i > 0 && ranks_lower(ranking, row, &ranking->rows[(i - 1) / 2])) {
		ranking->rows[i] = ranking->rows[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	ranking->rows[i] = *row;
}

static void replace_worst(struct ranking *ranking, const struct report_row *row)
{
	uint32_t i = 0;

	for (uint32_t child = 1; child < ranking->nb_rows; child = 2 * i + 1) {
		if (child + 1 < ranking->nb_rows &&
			ranks_lower(ranking, &ranking->rows[child + 1], &ranking->rows[child]))
			child++;
		if (!ranks_lower(ranking, &ranking->rows[child], row))
			break;
		ranking->rows[i] = ranking->rows[child];
		i = child;
	}
	ranking->rows[i] = *row;
}

static void raise_to_high(uint64_t *most, const struct report_figure *figure)
{
	uint64_t high = figure->high_known ? figure->high : UINT64_MAX;

	if (high > *most)
		*most = high;
}

static void leave_out(struct ranking *ranking, const struct report_figure *packets,
	const struct report_figure *bytes)
{
	raise_to_high(&ranking->left_packets, packets);
	raise_to_high(&ranking->left_bytes, bytes);
}

static void offer(struct ranking *ranking, const struct merge_flow *flow)
{
	struct report_row row = {
		.key = flow->key,
		.packets = flow->packets,
		.bytes = flow->bytes,
		.record = flow->record,
		.figures = flow->figures,
	};

	if (ranking->nb_rows < ranking->max_rows) {
		insert(ranking, &row);
	} else if (ranks_lower(ranking, &ranking->rows[0], &row)) {
		leave_out(ranking, &ranking->rows[0].packets, &ranking->rows[0].bytes);
		replace_worst(ranking, &row);
	} else {
		leave_out(ranking, &row.packets, &row.bytes);
	}
}

/* A heap is cheaper than sorting, since few flows are queried. */
struct rank_contenders {
	struct rank_contender *heap;
	uint32_t n;
};

static void sift_down(struct rank_contenders *contenders, uint32_t i, struct rank_contender moved)
{
	struct rank_contender *heap = contenders->heap;

	for (uint32_t child = 2 * i + 1; child < contenders->n; child = 2 * i + 1) {
		child += child + 1 < contenders->n && heap[child + 1].ceiling > heap[child].ceiling;
		if (heap[child].ceiling <= moved.ceiling)
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = moved;
}

static bool list_contenders(
	struct rank_contenders *contenders, const struct merger *merger, uint32_t nb_flows)
{
	contenders->heap = malloc(nb_flows * sizeof(*contenders->heap));
	contenders->n = nb_flows;
	if (contenders->heap == NULL)
		return false;
	for (uint32_t i = 0; i < nb_flows; i++)
		contenders->heap[i] =
			(struct rank_contender){.ceiling = merger_ceiling(merger, i), .flow = i};
	for (uint32_t i = nb_flows / 2; i-- > 0;)
		sift_down(contenders, i, contenders->heap[i]);
	return true;
}

static struct rank_contender take_highest(struct rank_contenders *contenders)
{
	struct rank_contender highest = contenders->heap[0];
	struct rank_contender last = contenders->heap[--contenders->n];

	if (contenders->n > 0)
		sift_down(contenders, 0, last);
	return highest;
}

/* Queries flows, the largest ceiling first, until no remaining flow can become a row. */
static void query_sketch(const struct merger *merger, struct rank_contenders *contenders,
	uint64_t smallest, struct ranking *ranking)
{
	while (contenders->n > 0) {
		uint64_t highest = contenders->heap[0].ceiling;
		struct merge_flow flow;

		if (highest < smallest)
			return;
		if (ranking->nb_rows == ranking->max_rows &&
			highest < figure_value(ranking, &ranking->rows[0]))
			return;
		flow = merger_flow(merger, take_highest(contenders).flow);
		if ((ranking->metric == SKETCH_PACKETS ? flow.packets : flow.bytes).value >=
			smallest)
			offer(ranking, &flow);
		else
			leave_out(ranking, &flow.packets, &flow.bytes);
	}
}

static struct report_figure limit(
	uint64_t left, const struct report_figure *others, const struct report_figure *all)
{
	uint64_t high = left > others->high ? left : others->high;

	return (struct report_figure){
		.high = high < all->high ? high : all->high,
		.high_known = all->high_known,
	};
}

/* The limits must hold for queried flows, other flows, and keys that are not flows. */
static void limit_unlisted(const struct merger *merger, const struct rank_contenders *contenders,
	struct ranking *ranking, struct report_measurement *measurement)
{
	bool packets = ranking->metric == SKETCH_PACKETS;
	uint64_t *left = packets ? &ranking->left_packets : &ranking->left_bytes;
	uint64_t *left_other = packets ? &ranking->left_bytes : &ranking->left_packets;
	uint64_t ceiling = contenders->n > 0 ? contenders->heap[0].ceiling : 0, other = 0;
	struct merge_flow others, all = merger_unlisted(merger, UINT64_MAX, UINT64_MAX);

	/* If the other metric of a flow is unknown, the measured metric bounds it. */
	if (*left_other == UINT64_MAX) {
		ceiling = *left > ceiling ? *left : ceiling;
		other = UINT64_MAX;
		*left_other = 0;
	}
	for (uint32_t i = 0; i < contenders->n && other < UINT64_MAX; i++) {
		uint64_t of = merger_other_ceiling(merger, contenders->heap[i].flow);

		other = of > other ? of : other;
	}
	others = merger_unlisted(merger, ceiling, other);
	measurement->unlisted_packets = limit(ranking->left_packets, &others.packets, &all.packets);
	measurement->unlisted_bytes = limit(ranking->left_bytes, &others.bytes, &all.bytes);
}

/* Includes packets of keys that key sampling left out. */
static uint64_t total_of(enum sketch_metric metric, const struct ledger *ledger)
{
	return metric == SKETCH_PACKETS
		       ? ledger_counted(ledger) + ledger->left_out.counted
		       : ledger_counted_bytes(ledger) + ledger->left_out.counted_bytes;
}

/* A factor below 1, because a double cannot represent a threshold such as 0.001 exactly. */
uint64_t rank_smallest(enum sketch_metric metric, const struct ledger *ledger, double threshold)
{
	uint64_t whole = total_of(metric, ledger);
	double least = ceil(threshold * (double)whole * (1 - 2 * DBL_EPSILON));

	return least > 1 ? (uint64_t)least : 1;
}

static void number(struct ranking *ranking, const struct ledger *ledger)
{
	double whole = (double)total_of(ranking->metric, ledger);

	qsort(ranking->rows, ranking->nb_rows, sizeof(*ranking->rows),
		ranking->metric == SKETCH_PACKETS ? by_packets : by_bytes);
	for (uint32_t i = 0; i < ranking->nb_rows; i++) {
		struct report_row *row = &ranking->rows[i];

		row->rank = i + 1;
		row->share = (double)figure_value(ranking, row) / whole;
	}
}

/* `unrecovered` is an upper bound of each key that the sketch did not find. */
static bool may_miss_a_row(
	const struct ranking *ranking, uint64_t unrecovered, uint64_t smallest, uint32_t top)
{
	if (unrecovered < smallest)
		return false;
	return top == 0 || ranking->nb_rows < top ||
	       figure_value(ranking, &ranking->rows[top - 1]) <= unrecovered;
}

int rank_flows(const struct merger *merger, const struct rank_limits *limits,
	struct report_measurement *measurement)
{
	const struct merge_input *input = merger_input(merger);
	uint32_t nb_flows = merger_nb_flows(merger);
	uint64_t smallest = rank_smallest(merger_metric(merger), input->ledger, limits->threshold);
	struct ranking ranking = {
		.metric = merger_metric(merger),
		.max_rows = limits->top == 0 || limits->top > nb_flows ? nb_flows : limits->top,
	};

	struct rank_contenders contenders = {0};

	measurement->counts_bytes = ranking.metric == SKETCH_BYTES;
	measurement->distinct_keys = merger_distinct_keys(merger, &measurement->distinct_exact);
	measurement->confidence = input->confidence;
	measurement->confidence_known = input->loss_known;
	measurement->shed_packets = merger_shed(merger).packets - merger_shed(merger).added;
	measurement->shed_bytes = merger_shed(merger).bytes - merger_shed(merger).added_bytes;
	measurement->refused_details = merger_shed(merger).details;
	measurement->undecoded_flows = merger_undecoded(merger).flows;
	measurement->undecoded_packets = merger_undecoded(merger).packets;
	measurement->overflown = merger_undecoded(merger).overflown;
	measurement->forgotten_packets = merger_forgotten(merger).packets;
	measurement->rows = NULL;
	measurement->nb_rows = 0;
	if (nb_flows > 0) {
		bool listed = list_contenders(&contenders, merger, nb_flows);

		ranking.rows = aligned_alloc(
			_Alignof(struct report_row), ranking.max_rows * sizeof(*ranking.rows));
		if (!listed || ranking.rows == NULL) {
			free(contenders.heap);
			free(ranking.rows);
			return -ENOMEM;
		}
		query_sketch(merger, &contenders, smallest, &ranking);
		VERIFY(ranking.nb_rows, <=, ranking.max_rows);
		number(&ranking, input->ledger);
		measurement->rows = ranking.rows;
		measurement->nb_rows = ranking.nb_rows;
	}
	limit_unlisted(merger, &contenders, &ranking, measurement);
	free(contenders.heap);
	measurement->incomplete =
		may_miss_a_row(&ranking, merger_unrecovered(merger), smallest, limits->top);
	return 0;
}
