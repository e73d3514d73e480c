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
#include "sketch/implement.h"

/* If more filter errors are expected, each cell that is not empty may count an unknown flow. */
#define HIDDEN_ERRORS_MAX 0x1p-9

struct iblt_decode_decoder {
	const struct iblt *table;
	const struct iblt_rows *rows;
	struct iblt_scratch scratch;
	uint64_t nb_cells;
	uint32_t nb_pivots;
	/* true: more than HIDDEN_ERRORS_MAX filter errors are expected */
	bool filter_doubtful;
	bool overflown; /* true: exact counts may be lower bounds */
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

static size_t pivots_size(uint64_t nb_cells)
{
	return line_up(nb_cells * sizeof(uint32_t));
}

static size_t bitmap_size(uint64_t nb_cells)
{
	return line_up((nb_cells + 63) / 64 * sizeof(uint64_t));
}

size_t iblt_scratch_size(uint64_t nb_cells)
{
	return pivots_size(nb_cells) + 2 * bitmap_size(nb_cells);
}

struct iblt_scratch iblt_scratch_of(void *block, uint64_t nb_cells)
{
	uint8_t *at = (uint8_t *)block + pivots_size(nb_cells);

	return (struct iblt_scratch){
		.pivots = block,
		.is_pivot = (uint64_t *)at,
		.suspected = (uint64_t *)(at + bitmap_size(nb_cells)),
	};
}

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

static struct iblt_sum sum_of(const struct iblt_rows *rows, uint64_t number)
{
	const struct iblt_cell *cell;

	if (rows->counts != NULL)
		return iblt_compact_sum(rows, number);
	cell = iblt_cell(rows, number);
	return (struct iblt_sum){get(&cell->packets), get(&cell->bytes), get(&cell->flows)};
}

static uint64_t amount(const struct iblt_sum *sum, enum sketch_metric metric)
{
	return metric == SKETCH_PACKETS ? sum->packets : sum->bytes;
}

static uint64_t place(const struct iblt_rows *rows, const struct key_hash *hash, uint32_t row)
{
	return rows->counts != NULL ? iblt_compact_place(rows, hash, row)
				    : iblt_place(rows, hash, row);
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

static void set_key(const struct iblt_rows *rows, const uint32_t *words, struct key *key)
{
	*key = (struct key){.family = rows->family};
	if (key->family == KEY_IPV6)
		memcpy(&key->v6, words, sizeof(key->v6));
	else
		memcpy(&key->v4, words, sizeof(key->v4));
}

static void hash_found(struct iblt_decode_decoder *decoder, struct found *found)
{
	struct key_burst *one = &decoder->one;

	if (found->key.family == KEY_IPV6)
		one->key6[0] = found->key.v6;
	else
		one->key4[0] = found->key.v4;
	one->n = 1;
	one->v6 = found->key.family == KEY_IPV6;
	if (decoder->table->hash != NULL)
		decoder->table->hash(decoder->table->hash_arg, one);
	else
		hash_burst(&decoder->table->hash_key, one);
	found->hash = one->hash[0];
}

/*
 * The only writer inserts each key once, and iblt_compact_decodes() limits the flows. So a cell that
 * counts one insertion, modulo 256, has one flow.
 */
static bool find_compact_key(
	struct iblt_decode_decoder *decoder, uint64_t number, struct found *found)
{
	const struct iblt_rows *rows = decoder->rows;
	const struct iblt_sum sum = iblt_compact_sum(rows, number);

	if (sum.flows != 1)
		return false;
	found->times = 1;
	found->packets = sum.packets;
	found->bytes = sum.bytes;
	iblt_compact_key(rows, number, &found->key);
	hash_found(decoder, found);
	return iblt_compact_place(rows, &found->hash, (uint32_t)(number / rows->width)) == number;
}

/* Returns false if the cell has no flow or several. */
static bool find_cell_key(struct iblt_decode_decoder *decoder, uint64_t number, struct found *found)
{
	const struct iblt_rows *rows = decoder->rows;
	const struct iblt_cell *cell;
	uint32_t words[IBLT_LANES6];

	if (rows->counts != NULL)
		return find_compact_key(decoder, number, found);
	cell = iblt_cell(rows, number);
	found->times = get(&cell->flows);
	if (found->times == 0 || found->times > UINT32_MAX ||
		!divide(rows, cell, found->times, words))
		return false;
	set_key(rows, words, &found->key);
	hash_found(decoder, found);
	found->packets = get(&cell->packets);
	found->bytes = get(&cell->bytes);
	return iblt_place(rows, &found->hash, (uint32_t)(number >> rows->bits)) == number &&
	       get(&cell->check) == found->times * iblt_check(&found->hash);
}

static void add_pivot(const struct iblt_rows *rows, uint64_t from, uint64_t to, uint64_t sign)
{
	const struct iblt_cell *pivot;
	struct iblt_cell *cell;

	if (rows->counts != NULL) {
		iblt_compact_add(rows, from, to, sign);
		return;
	}
	pivot = iblt_cell(rows, from);
	cell = iblt_cell(rows, to);
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
	uint32_t *queue = decoder->scratch.pivots;
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
		bit_set(decoder->scratch.is_pivot, pivot);
		for (uint32_t row = 0; row < rows->depth; row++) {
			uint64_t c = place(rows, &found.hash, row);

			if (c == pivot)
				continue;
			add_pivot(rows, pivot, c, UINT64_MAX);
			if (tail < decoder->nb_cells && find_cell_key(decoder, c, &other))
				queue[tail++] = (uint32_t)c;
		}
	}
}

static void unpeel(struct iblt_decode_decoder *decoder)
{
	const struct iblt_rows *rows = decoder->rows;

	for (uint32_t p = decoder->nb_pivots; p-- > 0;) {
		uint64_t pivot = decoder->scratch.pivots[p];
		struct found found;

		find_cell_key(decoder, pivot, &found);
		for (uint32_t row = 0; row < rows->depth; row++) {
			uint64_t c = place(rows, &found.hash, row);

			if (c != pivot)
				add_pivot(rows, pivot, c, 1);
		}
	}
}

/* Marks the cells, other than pivots, that may count an unknown flow. Returns their number. */
static uint64_t suspect_cells(struct iblt_decode_decoder *decoder)
{
	uint64_t suspected = 0;

	for (uint64_t c = 0; c < decoder->nb_cells; c++) {
		const struct iblt_sum sum = sum_of(decoder->rows, c);

		if ((sum.flows | sum.packets | sum.bytes) == 0 ||
			bit_get(decoder->scratch.is_pivot, c))
			continue;
		decoder->left++;
		if (sum.flows != 0 && !decoder->filter_doubtful)
			continue;
		bit_set(decoder->scratch.suspected, c);
		suspected++;
	}
	return suspected;
}

/* Marks all cells of a pivot's flow if one of them is marked. Returns true if it marked a cell. */
static bool suspect_flow(struct iblt_decode_decoder *decoder, uint32_t pivot)
{
	uint64_t *suspected = decoder->scratch.suspected;
	uint32_t nb = 0, depth = decoder->rows->depth;
	struct found found;

	find_cell_key(decoder, pivot, &found);
	for (uint32_t row = 0; row < depth; row++)
		nb += bit_get(suspected, place(decoder->rows, &found.hash, row));
	if (nb == 0 || nb == depth)
		return false;
	for (uint32_t row = 0; row < depth; row++)
		bit_set(suspected, place(decoder->rows, &found.hash, row));
	return true;
}

static void suspect(struct iblt_decode_decoder *decoder)
{
	const uint32_t *pivots = decoder->scratch.pivots;
	bool news = suspect_cells(decoder) > 0;

	while (news) {
		news = false;
		for (uint32_t p = 0; p < decoder->nb_pivots; p++)
			news |= suspect_flow(decoder, pivots[p]);
	}
	for (uint32_t p = 0; p < decoder->nb_pivots; p++)
		decoder->suspects += bit_get(decoder->scratch.suspected, pivots[p]);
}

/* An upper bound of the expected number of flows whose filter bits were all set by other flows. */
static double expected_errors(const struct iblt *table)
{
	const uint64_t *inserted = table->result->inserted;
	double blocks = (double)(UINT64_C(1) << table->filter_bits), sum = 0;

	if (table->sketch.params.compact)
		return iblt_compact_errors((double)(inserted[0] + inserted[1]));
	for (uint64_t b = 0; b >> table->filter_bits == 0; b++) {
		double found = 1;

		for (uint32_t w = 0; w < IBLT_FILTER_WORDS; w++)
			found *= __builtin_popcountll(get(&table->filter[b].words[w])) / 64.0;
		sum += found;
	}
	return (double)(inserted[0] + inserted[1]) * sum / blocks;
}

static void raise_largest(
	struct iblt_decode_decoder *decoder, uint64_t c, const struct iblt_sum *sum)
{
	uint64_t *largest = &decoder->largest[c / decoder->rows->width];
	uint64_t held = amount(sum, decoder->table->sketch.params.metric);

	*largest = held > *largest ? held : *largest;
}

/* Reads the suspected cells or, if `suspected` is false, all others except pivots. */
static void find_largest(struct iblt_decode_decoder *decoder, bool suspected)
{
	for (uint64_t c = 0; c < decoder->nb_cells; c++) {
		const struct iblt_sum sum = sum_of(decoder->rows, c);

		if (bit_get(decoder->scratch.suspected, c) == suspected &&
			(suspected || !bit_get(decoder->scratch.is_pivot, c)))
			raise_largest(decoder, c, &sum);
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
		uint64_t pivot = decoder->scratch.pivots[p];
		struct sketch_candidate candidate;
		struct found found;

		if (bit_get(decoder->scratch.suspected, pivot))
			continue;
		find_cell_key(decoder, pivot, &found);
		rest->packets -= found.packets;
		rest->bytes -= found.bytes;
		if (emit == NULL || ((found.packets | found.bytes) == 0 && !decoder->overflown))
			continue;
		candidate = (struct sketch_candidate){
			.key = found.key,
			.hash = found.hash,
			.packets = found.packets,
			.bytes = found.bytes,
			.before = decoder->overflown ? UINT64_MAX : 0,
		};
		emit(&candidate, arg);
	}
}

uint64_t iblt_bound(
	const struct iblt_rows *rows, const struct key_hash *hash, enum sketch_metric metric)
{
	uint64_t least = UINT64_MAX;

	for (uint32_t row = 0; row < rows->depth; row++) {
		const struct iblt_sum sum = sum_of(rows, place(rows, hash, row));
		uint64_t held = amount(&sum, metric);

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
		if (bit_get(decoder->scratch.suspected, decoder->scratch.pivots[p]))
			find_cell_key(decoder, decoder->scratch.pivots[p], &kept[nb++]);
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
			.before = decoder->table->difference || decoder->overflown
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

	for (uint64_t c = 0; c < decoder->rows->width; c++) {
		const struct iblt_sum sum = sum_of(decoder->rows, c);

		flows += sum.flows;
		all->packets += sum.packets;
		all->bytes += sum.bytes;
	}
	return flows;
}

static uint64_t flows_found(struct iblt_decode_decoder *decoder)
{
	uint64_t flows = 0;

	for (uint32_t p = 0; p < decoder->nb_pivots; p++)
		flows += sum_of(decoder->rows, decoder->scratch.pivots[p]).flows;
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
	memset(decoder->scratch.is_pivot, 0, bitmap_size(decoder->nb_cells));
	memset(decoder->scratch.suspected, 0, bitmap_size(decoder->nb_cells));

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

/* Any flow may have been counted in any cell. */
static void bound_family(struct iblt_decode_decoder *decoder, uint32_t family)
{
	const struct iblt_rows *rows = &decoder->table->rows[family];

	memset(decoder->largest, 0, sizeof(decoder->largest));
	decoder->rows = rows;
	decoder->left = 0;
	for (uint64_t c = 0; c < iblt_nb_cells(rows); c++) {
		const struct iblt_sum sum = sum_of(rows, c);

		decoder->left += (sum.packets | sum.bytes | sum.flows) != 0;
		raise_largest(decoder, c, &sum);
	}
	sum_up(decoder, decoder->result->inserted[family], 0);
}

/* Emits no flow, but bounds all of them. */
static void bound_all(struct iblt_decode_decoder *decoder, uint32_t families)
{
	for (uint32_t f = 0; f < families; f++)
		bound_family(decoder, f);
	decoder->result->undecoded.flows =
		counter64_sum(decoder->result->undecoded.flows, decoder->table->unlisted.packets);
}

/*
 * Compact cells are decoded with memory that exists only meanwhile. If the list of tags was full,
 * the load is above the threshold.
 */
static void decode_compact(
	struct iblt_decode_decoder *decoder, uint32_t families, sketch_emit_fn emit, void *arg)
{
	const struct sketch_params *params = &decoder->table->sketch.params;
	uint64_t most = iblt_compact_cells_max(params);
	void *block =
		decoder->table->unlisted.packets > 0
			? NULL
			: params->allocator.alloc(iblt_scratch_size(most), params->allocator.arg);

	if (block == NULL) {
		bound_all(decoder, families);
		return;
	}
	decoder->scratch = iblt_scratch_of(block, most);
	for (uint32_t f = 0; f < families; f++)
		if (iblt_compact_decodes(decoder->table, f))
			decode_family(decoder, f, emit, arg);
		else
			bound_family(decoder, f);
	params->allocator.free(block, iblt_scratch_size(most), params->allocator.arg);
}

/* Until flows are decoded, all packets are undecoded. Sums of compact rows may have wrapped. */
static void start(struct iblt_decode_decoder *decoder, uint32_t families)
{
	const struct iblt *table = decoder->table;
	struct iblt_result *result = decoder->result;
	const bool compact = table->sketch.params.compact;

	result->complete = true;
	result->undecoded = (struct sketch_undecoded){0};
	memset(result->inserted, 0, sizeof(result->inserted));
	for (uint32_t f = 0; f < families; f++) {
		decoder->rows = &table->rows[f];
		result->inserted[f] =
			compact ? table->nb_inserted[f] : add_row(decoder, &result->undecoded);
	}
	if (compact) {
		result->undecoded.packets = table->weight_packets;
		result->undecoded.bytes = table->weight_bytes;
	}
}

static void decode(
	struct iblt_decode_decoder *decoder, uint32_t families, sketch_emit_fn emit, void *arg)
{
	start(decoder, families);
	if (decoder->table->sketch.params.compact) {
		decode_compact(decoder, families, emit, arg);
		return;
	}
	for (uint32_t f = 0; f < families; f++)
		decode_family(decoder, f, emit, arg);
}

/*
 * The counts of decoded flows are right modulo 2^36 packets and 2^44 bytes. All packets minus these
 * counts are those of flows that were not decoded, plus these units for each time that a count
 * wrapped. So if less than a unit remains, no count wrapped.
 */
static bool counts_may_have_wrapped(const struct sketch_undecoded *rest)
{
	return (rest->packets >> IBLT_PACKETS_BITS | rest->bytes >> IBLT_BYTES_BITS) != 0;
}

void iblt_decode(const struct iblt *table, sketch_emit_fn emit, void *arg)
{
	struct iblt_result *result = table->result;
	struct iblt_decode_decoder decoder = {
		.table = table,
		.scratch = table->scratch,
		.result = result,
		.overflown = iblt_overflown(table),
	};
	uint32_t families = iblt_seen_ipv6(table) ? IBLT_FAMILIES : 1;

	if (table->sketch.params.compact && decoder.overflown) {
		decode(&decoder, families, NULL, NULL);
		decoder.overflown = counts_may_have_wrapped(&result->undecoded);
	}
	decode(&decoder, families, emit, arg);
	if ((table->difference || decoder.overflown) && !result->complete)
		result->undecoded.largest = UINT64_MAX;
	if (decoder.overflown && result->complete)
		result->undecoded.packets = result->undecoded.bytes = 0;
	result->undecoded.overflown = decoder.overflown;
	atomic_store_explicit(&result->known, true, memory_order_relaxed);
}
