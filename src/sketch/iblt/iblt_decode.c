/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Decodes an invertible Bloom lookup table by peeling.
 *
 * A cell with a single flow reveals its key and counts, and becomes its pivot. Peeling subtracts
 * the pivot from the flow's other cells, which may then have a single flow as well. Adding the
 * pivots again, in reverse order, restores the table, because no cell of a flow that is found
 * later is a pivot.
 *
 * After a false positive of the filter, a cell has packets of a flow whose key was never inserted.
 * All flows that are connected with this cell by shared cells are suspected: their counts may be
 * wrong.
 */

#include <string.h>

#include "base/assertion.h"
#include "sketch/iblt/iblt.h"

/* If more filter errors are expected, each cell that is not empty may count an unknown flow. */
#define HIDDEN_ERRORS_MAX 0x1p-9

struct iblt_decode_decoder {
	const struct iblt *table;
	const struct iblt_rows *rows;
	uint64_t nb_cells;
	uint32_t nb_pivots;
	/* true: more than HIDDEN_ERRORS_MAX filter errors are expected */
	bool filter_doubtful;
	struct key_burst one;
	uint64_t left;     /* cells that are neither pivots nor empty */
	uint64_t suspects; /* suspected flows */
	uint64_t largest[IBLT_DEPTH_MAX];
	struct iblt_result *result;
};

struct found {
	struct key key;
	struct key_hash hash;
	uint64_t times; /* insertions */
	uint64_t packets, bytes;
};

static uint64_t get(const _Atomic uint64_t *sum)
{
	return atomic_load_explicit(sum, memory_order_relaxed);
}

static bool bit_get(const uint64_t *bits, uint64_t i)
{
	return bits[i / 64] >> i % 64 & 1;
}

static void bit_set(uint64_t *bits, uint64_t i)
{
	bits[i / 64] |= UINT64_C(1) << i % 64;
}

static uint64_t amount(const struct iblt_decode_decoder *decoder, const struct iblt_cell *cell)
{
	return get(decoder->table->sketch.params.metric == SKETCH_PACKETS ? &cell->packets
									  : &cell->bytes);
}

static bool is_empty(const struct iblt_cell *cell)
{
	return (get(&cell->flows) | get(&cell->packets) | get(&cell->bytes)) == 0;
}

/* Returns false if a sum is not `times` times a 32-bit value. */
static bool divide(
	const struct iblt_rows *rows, const struct iblt_cell *cell, uint64_t times, uint32_t *words)
{
	for (uint32_t lane = 0; lane < rows->lanes; lane++) {
		uint64_t sum = get(&cell->lanes[lane]);
		uint64_t word = times == 1 ? sum : sum / times;

		if (word > UINT32_MAX || word * times != sum)
			return false;
		words[lane] = (uint32_t)word;
	}
	return true;
}

static void set_key(struct iblt_decode_decoder *decoder, const uint32_t *words, struct found *found)
{
	struct key_burst *one = &decoder->one;

	found->key = (struct key){.family = decoder->rows->family};
	if (found->key.family == KEY_IPV6) {
		memcpy(&found->key.v6, words, sizeof(found->key.v6));
		one->key6[0] = found->key.v6;
	} else {
		memcpy(&found->key.v4, words, sizeof(found->key.v4));
		one->key4[0] = found->key.v4;
	}
	one->n = 1;
	one->v6 = found->key.family == KEY_IPV6;
	if (decoder->table->hash != NULL)
		decoder->table->hash(decoder->table->hash_arg, one);
	else
		hash_burst(&decoder->table->hash_key, one);
	found->hash = one->hash[0];
}

/* Returns false if the cell has no flow or several. */
static bool find_cell_key(struct iblt_decode_decoder *decoder, uint64_t number, struct found *found)
{
	const struct iblt_rows *rows = decoder->rows;
	const struct iblt_cell *cell = iblt_cell(rows, number);
	uint32_t words[IBLT_LANES6];

	found->times = get(&cell->flows);
	if (found->times == 0 || found->times > UINT32_MAX ||
		!divide(rows, cell, found->times, words))
		return false;
	set_key(decoder, words, found);
	found->packets = get(&cell->packets);
	found->bytes = get(&cell->bytes);
	return iblt_place(rows, &found->hash, (uint32_t)(number >> rows->bits)) == number &&
	       get(&cell->check) == found->times * iblt_check(&found->hash);
}

static void add_pivot(const struct iblt_rows *rows, const struct iblt_cell *pivot,
	struct iblt_cell *cell, uint64_t sign)
{
	sum64_add(&cell->packets, sign * get(&pivot->packets), COUNTER_OWNED);
	sum64_add(&cell->bytes, sign * get(&pivot->bytes), COUNTER_OWNED);
	sum64_add(&cell->flows, sign * get(&pivot->flows), COUNTER_OWNED);
	sum64_add(&cell->check, sign * get(&pivot->check), COUNTER_OWNED);
	for (uint32_t lane = 0; lane < rows->lanes; lane++)
		sum64_add(&cell->lanes[lane], sign * get(&pivot->lanes[lane]), COUNTER_OWNED);
}

/*
 * Each cell is queued at most once. The list of pivots overwrites the part of the queue that was
 * already read.
 */
static void peel(struct iblt_decode_decoder *decoder)
{
	const struct iblt_rows *rows = decoder->rows;
	uint32_t *queue = decoder->table->pivots;
	struct found found, other;
	uint64_t tail = 0;

	for (uint64_t c = 0; c < decoder->nb_cells; c++)
		if (find_cell_key(decoder, c, &found))
			queue[tail++] = (uint32_t)c;
	for (uint64_t head = 0; head < tail; head++) {
		uint64_t pivot = queue[head];

		if (!find_cell_key(decoder, pivot, &found)) /* the flow was found in another cell */
			continue;
		queue[decoder->nb_pivots++] = (uint32_t)pivot;
		bit_set(decoder->table->is_pivot, pivot);
		for (uint32_t row = 0; row < rows->depth; row++) {
			uint64_t c = iblt_place(rows, &found.hash, row);

			if (c == pivot)
				continue;
			add_pivot(rows, iblt_cell(rows, pivot), iblt_cell(rows, c), UINT64_MAX);
			if (tail < decoder->nb_cells && find_cell_key(decoder, c, &other))
				queue[tail++] = (uint32_t)c;
		}
	}
}

static void unpeel(struct iblt_decode_decoder *decoder)
{
	const struct iblt_rows *rows = decoder->rows;

	for (uint32_t p = decoder->nb_pivots; p-- > 0;) {
		uint64_t pivot = decoder->table->pivots[p];
		struct found found;

		find_cell_key(decoder, pivot, &found);
		for (uint32_t row = 0; row < rows->depth; row++) {
			uint64_t c = iblt_place(rows, &found.hash, row);

			if (c != pivot)
				add_pivot(rows, iblt_cell(rows, pivot), iblt_cell(rows, c), 1);
		}
	}
}

/* Marks the cells, other than pivots, that may count an unknown flow. Returns their number. */
static uint64_t suspect_cells(struct iblt_decode_decoder *decoder)
{
	const struct iblt *table = decoder->table;
	uint64_t suspected = 0;

	for (uint64_t c = 0; c < decoder->nb_cells; c++) {
		const struct iblt_cell *cell = iblt_cell(decoder->rows, c);

		if (is_empty(cell) || bit_get(table->is_pivot, c))
			continue;
		decoder->left++;
		if (get(&cell->flows) != 0 && !decoder->filter_doubtful)
			continue;
		bit_set(table->suspected, c);
		suspected++;
	}
	return suspected;
}

/* Marks all cells of a pivot's flow if one of them is marked. Returns true if it marked a cell. */
static bool suspect_flow(struct iblt_decode_decoder *decoder, uint32_t pivot)
{
	uint64_t *suspected = decoder->table->suspected;
	uint32_t nb = 0, depth = decoder->rows->depth;
	struct found found;

	find_cell_key(decoder, pivot, &found);
	for (uint32_t row = 0; row < depth; row++)
		nb += bit_get(suspected, iblt_place(decoder->rows, &found.hash, row));
	if (nb == 0 || nb == depth)
		return false;
	for (uint32_t row = 0; row < depth; row++)
		bit_set(suspected, iblt_place(decoder->rows, &found.hash, row));
	return true;
}

static void suspect(struct iblt_decode_decoder *decoder)
{
	const uint32_t *pivots = decoder->table->pivots;
	bool news = suspect_cells(decoder) > 0;

	while (news) {
		news = false;
		for (uint32_t p = 0; p < decoder->nb_pivots; p++)
			news |= suspect_flow(decoder, pivots[p]);
	}
	for (uint32_t p = 0; p < decoder->nb_pivots; p++)
		decoder->suspects += bit_get(decoder->table->suspected, pivots[p]);
}

/* An upper bound of the expected number of flows whose filter bits were all set by other flows. */
static double expected_errors(const struct iblt *table)
{
	const uint64_t *inserted = table->result->inserted;
	double blocks = (double)(UINT64_C(1) << table->filter_bits), sum = 0;

	for (uint64_t b = 0; b >> table->filter_bits == 0; b++) {
		double found = 1;

		for (uint32_t w = 0; w < IBLT_FILTER_WORDS; w++)
			found *= __builtin_popcountll(get(&table->filter[b].words[w])) / 64.0;
		sum += found;
	}
	return (double)(inserted[0] + inserted[1]) * sum / blocks;
}

/* Reads the suspected cells or, if `suspected` is false, all others except pivots. */
static void find_largest(struct iblt_decode_decoder *decoder, bool suspected)
{
	const struct iblt *table = decoder->table;

	for (uint64_t c = 0; c < decoder->nb_cells; c++) {
		uint64_t *largest = &decoder->largest[c >> decoder->rows->bits];
		uint64_t held = amount(decoder, iblt_cell(decoder->rows, c));

		if (bit_get(table->suspected, c) == suspected &&
			(suspected || !bit_get(table->is_pivot, c)) && held > *largest)
			*largest = held;
	}
}

static uint64_t least_of_rows(const struct iblt_decode_decoder *decoder)
{
	uint64_t least = decoder->largest[0];

	for (uint32_t row = 1; row < decoder->rows->depth; row++)
		least = decoder->largest[row] < least ? decoder->largest[row] : least;
	return least;
}

static void emit_exact(struct iblt_decode_decoder *decoder, sketch_emit_fn emit, void *arg)
{
	struct sketch_undecoded *rest = &decoder->result->undecoded;

	for (uint32_t p = 0; p < decoder->nb_pivots; p++) {
		uint64_t pivot = decoder->table->pivots[p];
		struct sketch_candidate candidate;
		struct found found;

		if (bit_get(decoder->table->suspected, pivot))
			continue;
		find_cell_key(decoder, pivot, &found);
		rest->packets -= found.packets;
		rest->bytes -= found.bytes;
		if (emit == NULL || (found.packets | found.bytes) == 0)
			continue;
		candidate = (struct sketch_candidate){
			.key = found.key,
			.hash = found.hash,
			.packets = found.packets,
			.bytes = found.bytes,
			.before = iblt_overflown(decoder->table) ? UINT64_MAX : 0,
		};
		emit(&candidate, arg);
	}
}

uint64_t iblt_bound(
	const struct iblt_rows *rows, const struct key_hash *hash, enum sketch_metric metric)
{
	uint64_t least = UINT64_MAX;

	for (uint32_t row = 0; row < rows->depth; row++) {
		const struct iblt_cell *cell = iblt_cell(rows, iblt_place(rows, hash, row));
		uint64_t held = get(metric == SKETCH_PACKETS ? &cell->packets : &cell->bytes);

		least = held < least ? held : least;
	}
	return least;
}

/* Suspected flows can no longer be read after unpeel() has restored the cells. */
static struct found *keep_suspects(
	struct iblt_decode_decoder *decoder, const struct sketch_allocator *from)
{
	struct found *kept = from->alloc(decoder->suspects * sizeof(*kept), from->arg);
	uint64_t nb = 0;

	for (uint32_t p = 0; kept != NULL && p < decoder->nb_pivots; p++)
		if (bit_get(decoder->table->suspected, decoder->table->pivots[p]))
			find_cell_key(decoder, decoder->table->pivots[p], &kept[nb++]);
	return kept;
}

/* `before` is an upper bound from the flows' cells. */
static void emit_suspects(const struct iblt_decode_decoder *decoder, const struct found *kept,
	sketch_emit_fn emit, void *arg)
{
	for (uint64_t s = 0; s < decoder->suspects; s++) {
		struct sketch_candidate candidate = {
			.key = kept[s].key,
			.hash = kept[s].hash,
			.before = decoder->table->difference || iblt_overflown(decoder->table)
					  ? UINT64_MAX
					  : iblt_bound(decoder->rows, &kept[s].hash,
						    decoder->table->sketch.params.metric),
		};

		emit(&candidate, arg);
	}
}

/* Row 0 counts every packet and every insertion once. Returns the insertions. */
static uint64_t add_row(const struct iblt_decode_decoder *decoder, struct sketch_undecoded *all)
{
	uint64_t flows = 0;

	for (uint64_t c = 0; c >> decoder->rows->bits == 0; c++) {
		const struct iblt_cell *cell = iblt_cell(decoder->rows, c);

		flows += get(&cell->flows);
		all->packets += get(&cell->packets);
		all->bytes += get(&cell->bytes);
	}
	return flows;
}

static uint64_t flows_found(struct iblt_decode_decoder *decoder)
{
	uint64_t flows = 0;

	for (uint32_t p = 0; p < decoder->nb_pivots; p++)
		flows += get(&iblt_cell(decoder->rows, decoder->table->pivots[p])->flows);
	return flows;
}

static void sum_up(struct iblt_decode_decoder *decoder, uint64_t flows, uint64_t found)
{
	struct sketch_undecoded *rest = &decoder->result->undecoded;
	uint64_t largest = least_of_rows(decoder);

	rest->flows += flows - found;
	rest->largest = largest > rest->largest ? largest : rest->largest;
	decoder->result->complete &= decoder->left == 0;
}

static void decode_family(
	struct iblt_decode_decoder *decoder, uint32_t family, sketch_emit_fn emit, void *arg)
{
	const struct sketch_allocator *allocator = &decoder->table->sketch.params.allocator;
	const struct iblt *table = decoder->table;
	const uint64_t flows = decoder->result->inserted[family];
	struct found *kept = NULL;
	uint64_t found;

	decoder->rows = &table->rows[family];
	decoder->nb_cells = iblt_nb_cells(decoder->rows);
	decoder->nb_pivots = 0;
	decoder->left = 0;
	decoder->suspects = 0;
	memset(decoder->largest, 0, sizeof(decoder->largest));
	memset(table->is_pivot, 0, (decoder->nb_cells + 63) / 64 * 8);
	memset(table->suspected, 0, (decoder->nb_cells + 63) / 64 * 8);

	peel(decoder);
	found = flows_found(decoder);
	decoder->filter_doubtful = found != flows && expected_errors(table) > HIDDEN_ERRORS_MAX;
	suspect(decoder);
	emit_exact(decoder, emit, arg);
	if (decoder->left > 0)
		find_largest(decoder, false);
	if (emit != NULL && decoder->suspects > 0)
		kept = keep_suspects(decoder, allocator);
	unpeel(decoder);
	if (decoder->left > 0)
		find_largest(decoder, true);
	sum_up(decoder, flows, found);
	if (kept == NULL)
		return;
	emit_suspects(decoder, kept, emit, arg);
	allocator->free(kept, decoder->suspects * sizeof(*kept), allocator->arg);
}

void iblt_decode(const struct iblt *table, sketch_emit_fn emit, void *arg)
{
	struct iblt_decode_decoder decoder = {.table = table, .result = table->result};
	struct iblt_result *result = table->result;
	uint32_t families = iblt_seen_ipv6(table) ? IBLT_FAMILIES : 1;

	result->complete = true;
	result->undecoded = (struct sketch_undecoded){0};
	memset(result->inserted, 0, sizeof(result->inserted));
	for (uint32_t f = 0; f < families; f++) {
		decoder.rows = &table->rows[f];
		result->inserted[f] = add_row(&decoder, &result->undecoded);
	}
	for (uint32_t f = 0; f < families; f++)
		decode_family(&decoder, f, emit, arg);
	if ((table->difference || iblt_overflown(table)) && !result->complete)
		result->undecoded.largest = UINT64_MAX;
	atomic_store_explicit(&result->known, true, memory_order_relaxed);
}
