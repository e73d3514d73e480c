/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "report/rank.h"

/* A flow before it was asked for. */
struct contender {
	uint64_t ceiling;
	uint32_t flow;
};

/*
 * The best rows so far, as a heap with the worst at the root: children of i are 2i + 1 and 2i + 2,
 * and none stands behind its parent.
 */
struct ranking {
	enum sketch_metric metric;
	struct report_row *rows;
	uint32_t nb_rows, max_rows;
};

static uint64_t measured_value(const struct ranking *ranking, const struct report_row *row)
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

static bool stands_behind(
	const struct ranking *ranking, const struct report_row *a, const struct report_row *b)
{
	return (ranking->metric == SKETCH_PACKETS ? by_packets(a, b) : by_bytes(a, b)) > 0;
}

static void insert(struct ranking *ranking, const struct report_row *row)
{
	uint32_t i = ranking->nb_rows++;

	while (i > 0 && stands_behind(ranking, row, &ranking->rows[(i - 1) / 2])) {
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
			stands_behind(ranking, &ranking->rows[child + 1], &ranking->rows[child]))
			child++;
		if (!stands_behind(ranking, &ranking->rows[child], row))
			break;
		ranking->rows[i] = ranking->rows[child];
		i = child;
	}
	ranking->rows[i] = *row;
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

	if (ranking->nb_rows < ranking->max_rows)
		insert(ranking, &row);
	else if (stands_behind(ranking, &ranking->rows[0], &row))
		replace_worst(ranking, &row);
}

/*
 * Flows that were not asked for yet, as a heap with the highest ceiling at the root. Few of many
 * are asked for, so sorting them all would be dearer.
 */
struct contenders {
	struct contender *heap;
	uint32_t n;
};

/* Moves a contender down from place i, which is free, to where it belongs. */
static void sift_down(struct contenders *contenders, uint32_t i, struct contender moved)
{
	struct contender *heap = contenders->heap;

	for (uint32_t child = 2 * i + 1; child < contenders->n; child = 2 * i + 1) {
		child += child + 1 < contenders->n && heap[child + 1].ceiling > heap[child].ceiling;
		if (heap[child].ceiling <= moved.ceiling)
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = moved;
}

/* False without memory. */
static bool list_contenders(
	struct contenders *contenders, const struct merger *merger, uint32_t nb_flows)
{
	contenders->heap = malloc(nb_flows * sizeof(*contenders->heap));
	contenders->n = nb_flows;
	if (contenders->heap == NULL)
		return false;
	for (uint32_t i = 0; i < nb_flows; i++)
		contenders->heap[i] =
			(struct contender){.ceiling = merger_ceiling(merger, i), .flow = i};
	for (uint32_t i = nb_flows / 2; i-- > 0;)
		sift_down(contenders, i, contenders->heap[i]);
	return true;
}

/* There is one. */
static struct contender take_highest(struct contenders *contenders)
{
	struct contender highest = contenders->heap[0];
	struct contender last = contenders->heap[--contenders->n];

	if (contenders->n > 0)
		sift_down(contenders, 0, last);
	return highest;
}

/* A value is not above its ceiling, so the rest need not be asked once ceilings are too low. */
static void ask(const struct merger *merger, struct contenders *contenders, uint64_t smallest,
	struct ranking *ranking)
{
	while (contenders->n > 0) {
		struct contender next = take_highest(contenders);
		struct merge_flow flow;

		if (next.ceiling < smallest)
			return;
		if (ranking->nb_rows == ranking->max_rows &&
			next.ceiling < measured_value(ranking, &ranking->rows[0]))
			return;
		flow = merger_flow(merger, next.flow);
		if ((ranking->metric == SKETCH_PACKETS ? flow.packets : flow.bytes).value >=
			smallest)
			offer(ranking, &flow);
	}
}

/* With what keys had that are not counted: that is known. */
static uint64_t measured_in_all(enum sketch_metric metric, const struct ledger *ledger)
{
	return metric == SKETCH_PACKETS
		       ? ledger_counted(ledger) + ledger->sifted.counted
		       : ledger_counted_bytes(ledger) + ledger->sifted.counted_bytes;
}

/* 0.001 is no double: a value that falls short by no more than that counts. */
uint64_t rank_smallest(enum sketch_metric metric, const struct ledger *ledger, double threshold)
{
	uint64_t whole = measured_in_all(metric, ledger);
	double least = ceil(threshold * (double)whole * (1 - 2 * DBL_EPSILON));

	return least > 1 ? (uint64_t)least : 1;
}

static void number(struct ranking *ranking, const struct ledger *ledger)
{
	double whole = (double)measured_in_all(ranking->metric, ledger);

	qsort(ranking->rows, ranking->nb_rows, sizeof(*ranking->rows),
		ranking->metric == SKETCH_PACKETS ? by_packets : by_bytes);
	for (uint32_t i = 0; i < ranking->nb_rows; i++) {
		struct report_row *row = &ranking->rows[i];

		row->rank = i + 1;
		row->share = (double)measured_value(ranking, row) / whole;
	}
}

/*
 * Whether a flow that the sketch did not find may belong among the rows. It has no more than
 * `unrecovered`.
 */
static bool may_miss_a_row(
	const struct ranking *ranking, uint64_t unrecovered, uint64_t smallest, uint32_t top)
{
	if (unrecovered < smallest)
		return false;
	return top == 0 || ranking->nb_rows < top ||
	       measured_value(ranking, &ranking->rows[top - 1]) <= unrecovered;
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

	measurement->counts_bytes = ranking.metric == SKETCH_BYTES;
	measurement->distinct_keys = merger_distinct_keys(merger, &measurement->distinct_exact);
	measurement->confidence = input->confidence;
	measurement->confidence_known = input->loss_known;
	measurement->shed_packets = merger_shed(merger).packets - merger_shed(merger).added;
	measurement->shed_bytes = merger_shed(merger).bytes - merger_shed(merger).added_bytes;
	measurement->refused_details = merger_shed(merger).details;
	measurement->undecoded_flows = merger_undecoded(merger).flows;
	measurement->undecoded_packets = merger_undecoded(merger).packets;
	measurement->forgotten_packets = merger_forgotten(merger).packets;
	measurement->rows = NULL;
	measurement->nb_rows = 0;
	if (nb_flows > 0) {
		struct contenders contenders;
		bool listed = list_contenders(&contenders, merger, nb_flows);

		ranking.rows = aligned_alloc(
			_Alignof(struct report_row), ranking.max_rows * sizeof(*ranking.rows));
		if (!listed || ranking.rows == NULL) {
			free(contenders.heap);
			free(ranking.rows);
			return -ENOMEM;
		}
		ask(merger, &contenders, smallest, &ranking);
		number(&ranking, input->ledger);
		free(contenders.heap);
		measurement->rows = ranking.rows;
		measurement->nb_rows = ranking.nb_rows;
	}
	measurement->incomplete =
		may_miss_a_row(&ranking, merger_unrecovered(merger), smallest, limits->top);
	return 0;
}
