/* SPDX-License-Identifier: BSD-3-Clause */
#include "sketch/reversible_recover.h"

#include <stdbool.h>
#include <string.h>

#include "base/mangle6.h"
#include "sketch/error_bound.h"
#include "sketch/reversible.h"

#define FIRST_HEAVY 16 /* counters of a row that reach the first threshold, at least */
#define ROWS_MAX    (CHUNK_ROWS + ERROR_BOUND_ROWS)

#define CHUNKS_PER_WORD (64 / CHUNK_BITS)
#define HASH_CHUNKS     (2 * CHUNKS_PER_WORD)

/* A row of buckets or of counters, as the search sees it. */
struct search_row {
	uint32_t *cells;         /* the heavy ones; those that still agree stand first */
	uint32_t nb_cells;       /* that still agree */
	uint32_t first_bit;      /* where in the mangled key the row's index begins */
	uint32_t bits;           /* of the index */
	const uint64_t *buckets; /* of this row; NULL: it is a row of counters, without sets */
	uint32_t words;          /* of a bucket */
	uint32_t counter;        /* the word of a bucket that is its counter */
};

struct search {
	const struct reversible *rv;
	enum key_family family;
	uint64_t threshold; /* of heavy cells */
	uint64_t emitted;   /* the threshold before, whose keys were emitted; 0: there was none */

	struct search_row rows[ROWS_MAX];
	uint32_t nb_rows;
	uint32_t nb_steps;                             /* a chunk each */
	uint64_t word[KEY_WORDS_IPV6];                 /* the chunks so far; two words for IPv4 */
	uint16_t agreeing[CHUNK_VALUES][CHUNK_VALUES]; /* [mask][v]: values that are v in mask */

	uint64_t visits;  /* that are left */
	uint32_t made_up; /* keys that may still turn out to be none */
	bool exhausted;

	uint32_t found;
	sketch_emit_fn emit;
	void *arg;
};

/* --- what a cell allows --- */

/* The bits of a chunk that are part of the row's index. */
static uint32_t index_mask(const struct search_row *row, uint32_t chunk)
{
	uint32_t from = chunk * CHUNK_BITS, mask = 0;

	for (uint32_t b = 0; b < CHUNK_BITS; b++)
		if (from + b >= row->first_bit && from + b < row->first_bit + row->bits)
			mask |= 1u << b;
	return mask;
}

/* How the cells of a row say what they allow of a chunk. */
struct view {
	bool sets; /* by their sets, else by their index */
	bool any;  /* by neither: each allows every value */
	uint32_t shift_left, shift_right, mask;
};

static struct view view_of(const struct search_row *row, uint32_t chunk)
{
	uint32_t from = chunk * CHUNK_BITS;
	struct view view = {0};

	if (row->buckets != NULL && chunk / CHUNKS_PER_PIECE != row->counter) {
		view.sets = true;
		return view;
	}
	view.mask = index_mask(row, chunk);
	view.any = view.mask == 0;
	if (!view.any && from > row->first_bit)
		view.shift_right = from - row->first_bit;
	else if (!view.any)
		view.shift_left = row->first_bit - from;
	return view;
}

static inline uint32_t allowed(const struct search *search, const struct search_row *row,
	const struct view *view, uint32_t chunk, uint32_t cell)
{
	if (view->sets)
		return row->buckets[(uint64_t)cell * row->words + chunk / CHUNKS_PER_PIECE] >>
			       CHUNK_VALUES * (chunk % CHUNKS_PER_PIECE) &
		       ((1 << CHUNK_VALUES) - 1);
	return search->agreeing[view->mask]
			       [(cell << view->shift_left >> view->shift_right) & view->mask];
}

/* The values of the chunk that some cell of the row allows. */
static uint32_t allowed_by_any(const struct search *search, const struct search_row *row,
	const struct view *view, uint32_t chunk)
{
	uint32_t values = 0;

	for (uint32_t i = 0; i < row->nb_cells; i++)
		values |= allowed(search, row, view, chunk, row->cells[i]);
	return values;
}

/*
 * Leaves the cells that allow the value. They come first, and the others behind them: whoever takes
 * the choice back has the same cells as before, in another order.
 */
static void keep_agreeing(const struct search *search, struct search_row *row,
	const struct view *view, uint32_t chunk, uint32_t value)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < row->nb_cells; i++) {
		uint32_t cell = row->cells[i];

		if (allowed(search, row, view, chunk, cell) >> value & 1) {
			row->cells[i] = row->cells[kept];
			row->cells[kept++] = cell;
		}
	}
	row->nb_cells = kept;
}

/* --- the search --- */

static bool take_back_mangling(const struct search *search, struct key *key)
{
	const struct reversible *rv = search->rv;
	const uint64_t *word = search->word;
	const uint8_t *spare = key->v4.spare;

	key->family = search->family;
	if (search->family == KEY_IPV4) {
		struct key_hash hash = {word[0], word[1]};

		key->v4 = hash_invert4(&rv->hash_key, &hash);
	} else {
		struct mangled6 mangled = {{word[0], word[1], word[2], word[3], word[4]}};

		key->v6 = mangle6_invert(&rv->hash_key, &mangled);
		spare = key->v6.spare;
	}
	return (spare[0] | spare[1] | spare[2]) == 0;
}

/* The count of a heavy cell. */
static uint64_t count_of(const struct search *search, uint32_t r, uint32_t cell)
{
	const struct search_row *row = &search->rows[r];
	const struct counter_rows *counters = &search->rv->counters;

	if (row->buckets != NULL)
		return row->buckets[(uint64_t)cell * row->words + row->counter];
	return counter_rows_at(counters, ((uint64_t)(r - CHUNK_ROWS) << counters->bits) + cell);
}

/* Whether the mangled key would have been found at that threshold too. It has one cell in each row:
 * all of their index is given. */
static bool reaches(const struct search *search, uint64_t threshold)
{
	for (uint32_t r = 0; r < search->nb_rows; r++)
		if (count_of(search, r, search->rows[r].cells[0]) < threshold)
			return false;
	return true;
}

static void report_key(struct search *search)
{
	struct sketch_candidate candidate = {
		.hash = {search->word[0], search->word[1]},
	};
	struct sketch_estimate estimate;

	if (search->emitted != 0 && reaches(search, search->emitted))
		return;
	if (!take_back_mangling(search, &candidate.key)) {
		search->exhausted |= --search->made_up == 0;
		return;
	}
	estimate = counter_rows_query(&search->rv->counters, &candidate.hash);
	candidate.before = estimate.saturated ? UINT64_MAX : estimate.value;
	search->found++;
	search->emit(&candidate, search->arg);
}

static void set_chunk(struct search *search, uint32_t chunk, uint64_t value)
{
	uint64_t *word = &search->word[chunk / CHUNKS_PER_WORD];
	uint32_t shift = chunk % CHUNKS_PER_WORD * CHUNK_BITS;

	*word = (*word & ~(UINT64_C(15) << shift)) | value << shift;
}

/*
 * The chunk that is chosen in this step. The hash comes first, from its first bit on, so that the
 * rows' indices are given early. Behind an IPv6 key's hash stand three words and their parity: a
 * chunk of each, and the same of the next.
 */
static uint32_t chunk_of_step(uint32_t step)
{
	uint32_t behind = step - HASH_CHUNKS;

	if (step < HASH_CHUNKS)
		return step;
	return HASH_CHUNKS + behind % 4 * CHUNKS_PER_WORD + behind / 4;
}

/* A parity chunk has one value; the others may have any. */
static uint32_t values_of_chunk(const struct search *search, uint32_t chunk)
{
	uint32_t word = chunk / CHUNKS_PER_WORD;
	uint32_t shift = chunk % CHUNKS_PER_WORD * CHUNK_BITS;

	if (word != KEY_WORDS_IPV6 - 1)
		return (1 << CHUNK_VALUES) - 1;
	return 1u << ((search->word[2] ^ search->word[3] ^ search->word[4]) >> shift & 15);
}

static bool spend(struct search *search, uint64_t visits)
{
	search->exhausted |= visits > search->visits;
	search->visits -= search->exhausted ? 0 : visits;
	return !search->exhausted;
}

/* The values that some cell in every row allows. */
static uint32_t values_left(struct search *search, uint32_t chunk, struct view *views)
{
	uint32_t values = values_of_chunk(search, chunk);

	for (uint32_t r = 0; r < search->nb_rows && values != 0; r++) {
		const struct search_row *row = &search->rows[r];

		views[r] = view_of(row, chunk);
		if (views[r].any || !spend(search, row->nb_cells))
			continue;
		values &= allowed_by_any(search, row, &views[r], chunk);
	}
	return search->exhausted ? 0 : values;
}

static void choose(struct search *search, uint32_t chunk, const struct view *views, uint32_t value)
{
	set_chunk(search, chunk, value);
	for (uint32_t r = 0; r < search->nb_rows; r++) {
		struct search_row *row = &search->rows[r];

		if (!views[r].any && spend(search, row->nb_cells))
			keep_agreeing(search, row, &views[r], chunk, value);
	}
}

/* Follows every choice that is left in this step and those behind it. */
static void follow(struct search *search, uint32_t step)
{
	uint32_t chunk = chunk_of_step(step), values;
	struct view views[ROWS_MAX];
	uint32_t nb_cells[ROWS_MAX];

	if (step == search->nb_steps) {
		report_key(search);
		return;
	}
	for (uint32_t r = 0; r < search->nb_rows; r++)
		nb_cells[r] = search->rows[r].nb_cells;
	values = values_left(search, chunk, views);
	for (; values != 0 && !search->exhausted; values &= values - 1) {
		choose(search, chunk, views, (uint32_t)__builtin_ctz(values));
		follow(search, step + 1);
		for (uint32_t r = 0; r < search->nb_rows; r++)
			search->rows[r].nb_cells = nb_cells[r];
	}
}

/* --- heavy cells --- */

static void add_cell(struct search *search, struct search_row *row, uint64_t cell)
{
	if (row->nb_cells == RECOVER_CELLS)
		search->exhausted = true;
	else
		row->cells[row->nb_cells++] = (uint32_t)cell;
}

static void find_heavy_buckets(
	struct search *search, struct search_row *row, const struct chunk_rows *rows, uint32_t r)
{
	uint64_t nb_buckets = UINT64_C(1) << rows->bits;

	row->first_bit = (chunk_rows_counter(r) + 1) * PIECE_BITS - rows->bits;
	row->bits = rows->bits;
	row->buckets = chunk_rows_bucket(rows, r * nb_buckets);
	row->words = rows->words;
	row->counter = chunk_rows_counter(r);
	row->nb_cells = 0;
	for (uint64_t b = 0; b < nb_buckets; b++)
		if (row->buckets[b * row->words + row->counter] >= search->threshold)
			add_cell(search, row, b);
}

static void find_heavy_counters(
	struct search *search, struct search_row *row, const struct counter_rows *rows, uint32_t r)
{
	uint64_t width = UINT64_C(1) << rows->bits;

	row->first_bit = r * rows->stride;
	row->bits = rows->bits;
	row->buckets = NULL;
	row->nb_cells = 0;
	for (uint64_t c = 0; c < width; c++)
		if (counter_rows_at(rows, r * width + c) >= search->threshold)
			add_cell(search, row, c);
}

/* Emits the keys that reach the threshold and were not emitted before. */
static void search_keys(struct search *search)
{
	const struct reversible *rv = search->rv;
	const struct chunk_rows *rows = search->family == KEY_IPV4 ? &rv->rows4 : &rv->rows6;

	search->nb_steps = rows->words * CHUNKS_PER_PIECE;
	for (uint32_t r = 0; r < CHUNK_ROWS; r++)
		find_heavy_buckets(search, &search->rows[r], rows, r);
	for (uint32_t r = 0; r < rv->counters.depth; r++)
		find_heavy_counters(search, &search->rows[CHUNK_ROWS + r], &rv->counters, r);
	if (spend(search, ((uint64_t)CHUNK_ROWS << rows->bits) +
				  ((uint64_t)rv->counters.depth << rv->counters.bits)))
		follow(search, 0);
}

/* --- thresholds --- */

/* The greatest power of two that FIRST_HEAVY counters of the first row reach, or 1. */
static uint64_t first_threshold(const struct counter_rows *rows)
{
	uint32_t at_least[64] = {0}, counters = 0, log2;

	for (uint64_t c = 0; c < UINT64_C(1) << rows->bits; c++) {
		uint64_t value = counter_rows_at(rows, c);

		if (value != 0)
			at_least[63 - __builtin_clzll(value)]++;
	}
	for (log2 = 63; log2 > 0; log2--) {
		counters += at_least[log2];
		if (counters >= FIRST_HEAVY)
			break;
	}
	return UINT64_C(1) << log2;
}

static uint64_t next_threshold(uint64_t threshold)
{
	return threshold - (threshold > 4 ? threshold / 4 : 1);
}

/* For one family, as sketch_ops.recover. */
static uint64_t recover_family(
	struct search *search, enum key_family family, uint32_t wanted, uint64_t smallest)
{
	uint64_t threshold = first_threshold(&search->rv->counters);

	search->family = family;
	search->emitted = 0;
	search->visits = RECOVER_VISITS;
	search->made_up = RECOVER_MADE_UP;
	search->exhausted = false;
	search->found = 0;
	for (;;) {
		search->threshold = threshold > smallest ? threshold : smallest;
		search_keys(search);
		if (search->exhausted)
			return search->emitted == 0 ? UINT64_MAX : search->emitted - 1;
		if (search->threshold == smallest || search->found >= wanted)
			return search->threshold - 1;
		search->emitted = search->threshold;
		threshold = next_threshold(search->threshold);
	}
}

/* Families have budgets of their own: one that is too many keys does not hide the other. */
static uint64_t recover_families(struct search *search, uint32_t wanted, uint64_t smallest)
{
	uint64_t bound4 = recover_family(search, KEY_IPV4, wanted, smallest), bound6;

	if (!atomic_load_explicit(&search->rv->seen_ipv6, memory_order_relaxed))
		return bound4;
	/* Enough were found: what has less is not wanted. */
	if (search->found >= wanted && bound4 >= smallest)
		smallest = bound4 + 1;
	bound6 = recover_family(search, KEY_IPV6, wanted, smallest);
	return bound4 > bound6 ? bound4 : bound6;
}

static void fill_agreeing(struct search *search)
{
	for (uint32_t mask = 0; mask < CHUNK_VALUES; mask++)
		for (uint32_t value = 0; value < CHUNK_VALUES; value++)
			search->agreeing[mask][value & mask] |= (uint16_t)(1u << value);
}

uint64_t reversible_recover(const struct sketch *sketch, uint32_t wanted, uint64_t smallest,
	sketch_emit_fn emit, void *arg)
{
	const struct reversible *rv = reversible_of_const(sketch);
	const struct sketch_allocator *allocator = &sketch->params.allocator;
	struct search search = {
		.rv = rv,
		.nb_rows = CHUNK_ROWS + rv->counters.depth,
		.emit = emit,
		.arg = arg,
	};
	size_t size = search.nb_rows * RECOVER_CELLS * sizeof(uint32_t);
	uint32_t *cells = allocator->alloc(size, allocator->arg);
	uint64_t bound;

	if (cells == NULL)
		return UINT64_MAX;
	for (uint32_t r = 0; r < search.nb_rows; r++)
		search.rows[r].cells = cells + (size_t)r * RECOVER_CELLS;
	fill_agreeing(&search);
	bound = recover_families(
		&search, wanted == 0 ? UINT32_MAX : wanted, smallest == 0 ? 1 : smallest);
	allocator->free(cells, size, allocator->arg);
	return bound;
}
