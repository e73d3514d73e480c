/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * How the reversible sketch finds its heavy keys.
 *
 * A key that counts at least the threshold has, in every row of buckets and of counters, one that
 * counts at least as much: a heavy one. The search goes through the chunks of the mangled key depth
 * first. In each row of buckets it keeps the heavy ones that agree with the chunks so far: a bucket
 * allows the values in its set, and where the row's index is made of the chunk, those of its own
 * number. It follows a value that a bucket allows in every row, as long as the index that it begins
 * leads to a heavy counter in every row (heavy_prefixes.h). What is left behind the last chunk has
 * its mangling taken back, and is a key only if all that is no field's is as in keys of the rule:
 * what the intersection makes up passes with probability 2^-24.
 *
 * The threshold falls step by step, so the heaviest keys come first and a search that has to stop
 * has found all above some count. It stops when enough keys were found, or when its budget is
 * reached: RECOVER_VISITS looks at a heavy bucket, which bounds the time, or RECOVER_MADE_UP keys
 * that were none, which bounds the probability that one passes: 2^14 x 2^-24 is about 0.001. Each
 * family has its own budget. What it remembers is bounded by the sketch's shape: a number for every
 * bucket of a row, and a map of at most 2^21 bits for every row of counters.
 */

#include <stdbool.h>

#include "key/mangle6.h"
#include "sketch/reversible/heavy_prefixes.h"
#include "sketch/reversible/reversible.h"

#define RECOVER_VISITS  (UINT64_C(1) << 26)
#define RECOVER_MADE_UP (UINT32_C(1) << 14)

#define FIRST_HEAVY  16 /* counters of a row that reach the first threshold, at least */
#define CHEAP_VISITS (UINT64_C(1) << 18)
#define STEP_VISITS  16 /* what a step costs beside the buckets that it looks at */

#define CHUNKS_PER_WORD (64 / CHUNK_BITS)
#define HASH_CHUNKS     (2 * CHUNKS_PER_WORD)

/* A row of buckets, as the search sees it. */
struct search_row {
	const uint64_t *buckets;
	uint32_t counter; /* the word of a bucket that is its counter */
	uint32_t *heavy;  /* the heavy buckets; those that still agree stand first */
	uint32_t nb_agreeing;
};

struct search {
	const struct reversible *rv;
	const struct chunk_rows *chunk_rows; /* of the family */
	enum key_family family;
	uint64_t threshold; /* of what is heavy */
	uint64_t emitted;   /* the threshold before, whose keys were emitted; 0: there was none */

	struct search_row rows[CHUNK_ROWS];
	struct heavy_prefixes prefixes;
	uint32_t nb_steps;             /* a chunk each */
	uint64_t word[KEY_WORDS_IPV6]; /* the chunks so far; two words for IPv4 */

	uint64_t visits;  /* that are left */
	uint32_t made_up; /* keys that may still turn out to be none */
	bool exhausted;

	uint32_t found;
	sketch_emit_fn emit;
	void *arg;
};

/* --- what a bucket allows --- */

/* [mask][v]: the values of a chunk that are v in the bits of the mask. */
static uint16_t agreeing[CHUNK_VALUES][CHUNK_VALUES];

__attribute__((constructor)) static void fill_agreeing(void)
{
	for (uint32_t mask = 0; mask < CHUNK_VALUES; mask++)
		for (uint32_t value = 0; value < CHUNK_VALUES; value++)
			agreeing[mask][value & mask] |= (uint16_t)(1u << value);
}

/* The values of a chunk that a bucket of a row allows: by its sets, or by its own number. */
static inline uint32_t allowed(
	const struct search *search, const struct search_row *row, uint32_t chunk, uint32_t bucket)
{
	const struct chunk_rows *rows = search->chunk_rows;
	uint32_t piece = chunk / CHUNKS_PER_PIECE, at = chunk % CHUNKS_PER_PIECE;
	uint32_t unknown = PIECE_BITS - rows->bits; /* low bits of the piece of the index */

	if (piece != row->counter)
		return (uint16_t)(row->buckets[(uint64_t)bucket * rows->words + piece] >>
				  at * CHUNK_VALUES);
	return agreeing[(PIECE_MASK << unknown & PIECE_MASK) >> at * CHUNK_BITS & CHUNK_MASK]
		       [bucket << unknown >> at * CHUNK_BITS & CHUNK_MASK];
}

/* The values of the chunk that some bucket of the row allows. */
static uint32_t allowed_by_any(
	const struct search *search, const struct search_row *row, uint32_t chunk)
{
	uint32_t values = 0;

	for (uint32_t i = 0; i < row->nb_agreeing; i++)
		values |= allowed(search, row, chunk, row->heavy[i]);
	return values;
}

/*
 * Leaves the buckets that allow the value. They come first, and the others behind them: whoever
 * takes the choice back has the same buckets as before, in another order.
 */
static void keep_agreeing(
	const struct search *search, struct search_row *row, uint32_t chunk, uint32_t value)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < row->nb_agreeing; i++) {
		uint32_t bucket = row->heavy[i];

		if (allowed(search, row, chunk, bucket) >> value & 1) {
			row->heavy[i] = row->heavy[kept];
			row->heavy[kept++] = bucket;
		}
	}
	row->nb_agreeing = kept;
}

/* --- the search --- */

static struct key_hash hash_of(const struct search *search)
{
	return (struct key_hash){search->word[0], search->word[1]};
}

static bool take_back_mangling(const struct search *search, struct key *key)
{
	const struct reversible *rv = search->rv;
	const uint64_t *word = search->word;

	key->family = search->family;
	if (search->family == KEY_IPV4) {
		struct key_hash hash = hash_of(search);

		key->v4 = hash_invert4(&rv->hash_key, &hash);
	} else {
		key->v6 = mangle6_invert(&rv->hash_key,
			&(struct mangled6){{word[0], word[1], word[2], word[3], word[4]}});
	}
	return key_rule_allows(rv->sketch.params.key, key);
}

/*
 * Whether the mangled key would have been found at that threshold too. It has one bucket in each
 * row, as all of their indices are given.
 */
static bool reaches(const struct search *search, uint64_t estimate, uint64_t threshold)
{
	for (uint32_t r = 0; r < CHUNK_ROWS; r++) {
		const struct search_row *row = &search->rows[r];
		uint64_t bucket = (uint64_t)row->heavy[0] * search->chunk_rows->words;

		if (row->buckets[bucket + row->counter] < threshold)
			return false;
	}
	return estimate >= threshold;
}

static void report_key(struct search *search)
{
	struct sketch_candidate candidate = {.hash = hash_of(search)};
	struct sketch_estimate estimate =
		counter_rows_query(&search->rv->counters, &candidate.hash);

	if (search->emitted != 0 && reaches(search, estimate.value, search->emitted))
		return;
	if (!take_back_mangling(search, &candidate.key)) {
		search->exhausted |= --search->made_up == 0;
		return;
	}
	candidate.before = estimate.saturated ? UINT64_MAX : estimate.value;
	search->found++;
	search->emit(&candidate, search->arg);
}

static void set_chunk(struct search *search, uint32_t chunk, uint64_t value)
{
	uint64_t *word = &search->word[chunk / CHUNKS_PER_WORD];
	uint32_t shift = chunk % CHUNKS_PER_WORD * CHUNK_BITS;

	*word = (*word & ~(CHUNK_MASK << shift)) | value << shift;
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
	return 1u << ((search->word[2] ^ search->word[3] ^ search->word[4]) >> shift & CHUNK_MASK);
}

static bool spend(struct search *search, uint64_t visits)
{
	search->exhausted |= visits > search->visits;
	search->visits -= search->exhausted ? 0 : visits;
	return !search->exhausted;
}

/* The values that some bucket in every row allows. */
static uint32_t values_left(struct search *search, uint32_t chunk)
{
	uint32_t values = spend(search, STEP_VISITS) ? values_of_chunk(search, chunk) : 0;

	for (uint32_t r = 0; r < CHUNK_ROWS && values != 0; r++)
		if (spend(search, search->rows[r].nb_agreeing))
			values &= allowed_by_any(search, &search->rows[r], chunk);
	return values;
}

/* Chooses a value, if the counters allow it. */
static bool choose(struct search *search, uint32_t chunk, uint32_t value)
{
	struct key_hash hash;

	set_chunk(search, chunk, value);
	hash = hash_of(search);
	if (chunk < HASH_CHUNKS && !heavy_prefixes_allow(&search->prefixes, &hash,
					   chunk * CHUNK_BITS, (chunk + 1) * CHUNK_BITS))
		return false;
	for (uint32_t r = 0; r < CHUNK_ROWS; r++)
		if (spend(search, search->rows[r].nb_agreeing))
			keep_agreeing(search, &search->rows[r], chunk, value);
	return !search->exhausted;
}

/* Follows every choice that is left in this step and those behind it. */
static void follow(struct search *search, uint32_t step)
{
	uint32_t chunk, values, nb_agreeing[CHUNK_ROWS];

	if (step == search->nb_steps) {
		report_key(search);
		return;
	}
	for (uint32_t r = 0; r < CHUNK_ROWS; r++)
		nb_agreeing[r] = search->rows[r].nb_agreeing;
	chunk = chunk_of_step(step);
	values = values_left(search, chunk);
	for (; values != 0 && !search->exhausted; values &= values - 1) {
		if (choose(search, chunk, (uint32_t)__builtin_ctz(values)))
			follow(search, step + 1);
		for (uint32_t r = 0; r < CHUNK_ROWS; r++)
			search->rows[r].nb_agreeing = nb_agreeing[r];
	}
}

static void find_heavy_buckets(struct search *search, struct search_row *row)
{
	uint32_t nb_buckets = 1u << search->chunk_rows->bits;

	row->nb_agreeing = 0;
	for (uint32_t b = 0; b < nb_buckets; b++)
		if (row->buckets[(uint64_t)b * search->chunk_rows->words + row->counter] >=
			search->threshold)
			row->heavy[row->nb_agreeing++] = b;
}

/* Emits the keys that reach the threshold and were not emitted before. */
static void search_keys(struct search *search)
{
	for (uint32_t r = 0; r < CHUNK_ROWS; r++)
		find_heavy_buckets(search, &search->rows[r]);
	heavy_prefixes_fill(&search->prefixes, search->threshold);
	follow(search, 0);
}

static void set_family(struct search *search, enum key_family family)
{
	const struct reversible *rv = search->rv;
	const struct chunk_rows *rows = family == KEY_IPV4 ? &rv->rows4 : &rv->rows6;

	search->family = family;
	search->chunk_rows = rows;
	search->nb_steps = rows->words * CHUNKS_PER_PIECE;
	for (uint32_t r = 0; r < CHUNK_ROWS; r++) {
		search->rows[r].counter = chunk_rows_counter(r);
		search->rows[r].buckets = chunk_rows_bucket(rows, (uint64_t)r << rows->bits);
	}
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

/* What cost little may go deeper at once: every threshold costs a look at all cells. */
static uint64_t next_threshold(uint64_t threshold, uint64_t visits)
{
	uint64_t less = visits < CHEAP_VISITS ? threshold - threshold / 4 : threshold / 4;

	return threshold - (less > 0 ? less : 1);
}

/* For one family, as sketch_ops.recover. */
static uint64_t recover_family(
	struct search *search, enum key_family family, uint32_t wanted, uint64_t smallest)
{
	uint64_t threshold = first_threshold(&search->rv->counters), visits;

	set_family(search, family);
	search->emitted = 0;
	search->visits = RECOVER_VISITS;
	search->made_up = RECOVER_MADE_UP;
	search->exhausted = false;
	search->found = 0;
	for (;;) {
		search->threshold = threshold > smallest ? threshold : smallest;
		visits = search->visits;
		search_keys(search);
		if (search->exhausted)
			return search->emitted == 0 ? UINT64_MAX : search->emitted - 1;
		if (search->threshold == smallest || search->found >= wanted)
			return search->threshold - 1;
		search->emitted = search->threshold;
		threshold = next_threshold(search->threshold, visits - search->visits);
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

static size_t heavy_size(const struct chunk_rows *rows)
{
	return sizeof(uint32_t) << rows->bits;
}

uint64_t reversible_recover(const struct sketch *sketch, uint32_t wanted, uint64_t smallest,
	sketch_emit_fn emit, void *arg)
{
	const struct reversible *rv = reversible_of_const(sketch);
	const struct sketch_allocator *allocator = &sketch->params.allocator;
	struct search search = {.rv = rv, .emit = emit, .arg = arg};
	size_t maps = heavy_prefixes_size(&rv->counters);
	size_t heavy = heavy_size(&rv->rows4) > heavy_size(&rv->rows6) ? heavy_size(&rv->rows4)
								       : heavy_size(&rv->rows6);
	size_t size = maps + CHUNK_ROWS * heavy;
	uint8_t *memory = allocator->alloc(size, allocator->arg);
	uint64_t bound;

	if (memory == NULL)
		return UINT64_MAX;
	heavy_prefixes_init(&search.prefixes, &rv->counters, memory);
	for (uint32_t r = 0; r < CHUNK_ROWS; r++)
		search.rows[r].heavy = (uint32_t *)(void *)(memory + maps + r * heavy);
	bound = recover_families(
		&search, wanted == 0 ? UINT32_MAX : wanted, smallest == 0 ? 1 : smallest);
	allocator->free(memory, size, allocator->arg);
	return bound;
}
