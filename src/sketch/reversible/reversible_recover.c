/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Recovers the heavy keys of the reversible sketch: keys with buckets and counters that reach the
 * threshold in all rows.
 *
 * The search chooses the chunks of the mangled key one after another, depth first, and keeps the
 * heavy buckets that agree with the chunks chosen so far. It follows a chunk value if some bucket
 * of each row allows it, and if the known bits of the counters' indices lead to heavy counters
 * (heavy_prefixes.h). The result is a key if all bits outside of its fields have fixed values. A
 * wrong combination passes this check with a probability of 2^-24.
 *
 * The threshold decreases step by step. The budget limits visits of heavy buckets, and wrong
 * combinations, of which one passes with a probability of 2^14 x 2^-24, about 0.001.
 */

#include <stdbool.h>

#include "key/mangle6.h"
#include "sketch/reversible/heavy_prefixes.h"
#include "sketch/reversible/reversible.h"

#define RECOVER_VISITS (UINT64_C(1) << 26)
#define RECOVER_WRONG  (UINT32_C(1) << 14)

#define FIRST_HEAVY  16 /* minimum number of counters of a row that reach the first threshold */
#define CHEAP_VISITS (UINT64_C(1) << 18)
/* Cost of a search step without the buckets that it visits. */
#define STEP_VISITS  16

#define CHUNKS_PER_WORD (64 / CHUNK_BITS)
#define HASH_CHUNKS     (2 * CHUNKS_PER_WORD)

struct search_row {
	const uint64_t *buckets;
	uint32_t counter; /* number of the word of a bucket that is its counter */
	/* Bucket numbers. The first nb_agreeing agree with the chunks chosen so far. */
	uint32_t *heavy;
	uint32_t nb_agreeing;
};

struct search {
	const struct reversible *rv;
	const struct chunk_rows *chunk_rows; /* rows for the IP version of the search */
	enum key_family family;
	uint64_t threshold; /* minimum count of a heavy bucket or counter */
	uint64_t emitted;   /* keys that reach this threshold were emitted; 0: none */

	struct search_row rows[CHUNK_ROWS];
	struct heavy_prefixes prefixes;
	uint32_t nb_steps;             /* one per chunk */
	uint64_t word[KEY_WORDS_IPV6]; /* chunks chosen so far; IPv4 uses two words */

	uint64_t visits;     /* visits of heavy buckets that are left in the budget */
	uint32_t wrong_left; /* wrong combinations that are left in the budget */
	bool exhausted;

	uint32_t found;
	sketch_emit_fn emit;
	void *arg;
};

/* agreeing[mask][v]: set of the chunk values that equal v in the bits of the mask. */
static uint16_t agreeing[CHUNK_VALUES][CHUNK_VALUES];

__attribute__((constructor)) static void fill_agreeing(void)
{
	for (uint32_t mask = 0; mask < CHUNK_VALUES; mask++)
		for (uint32_t value = 0; value < CHUNK_VALUES; value++)
			agreeing[mask][value & mask] |= (uint16_t)(1u << value);
}

/* Returns a set of chunk values: for chunks of the row's index, those of the bucket's number. */
static inline uint32_t allowed(
	const struct search *search, const struct search_row *row, uint32_t chunk, uint32_t bucket)
{
	const struct chunk_rows *rows = search->chunk_rows;
	uint32_t piece = chunk / CHUNKS_PER_PIECE, at = chunk % CHUNKS_PER_PIECE;
	/* Low bits of the piece that are not in the index. */
	uint32_t unknown = PIECE_BITS - rows->bits;

	if (piece != row->counter)
		return (uint16_t)(row->buckets[(uint64_t)bucket * rows->words + piece] >>
				  at * CHUNK_VALUES);
	return agreeing[(PIECE_MASK << unknown & PIECE_MASK) >> at * CHUNK_BITS & CHUNK_MASK]
		       [bucket << unknown >> at * CHUNK_BITS & CHUNK_MASK];
}

static uint32_t allowed_by_any(
	const struct search *search, const struct search_row *row, uint32_t chunk)
{
	uint32_t values = 0;

	for (uint32_t i = 0; i < row->nb_agreeing; i++)
		values |= allowed(search, row, chunk, row->heavy[i]);
	return values;
}

/* Moves the buckets that allow the value to the front. Restoring nb_agreeing undoes this. */
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

static struct key_hash hash_of(const struct search *search)
{
	return (struct key_hash){search->word[0], search->word[1]};
}

static bool invert_mangling(const struct search *search, struct key *key)
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

/* Only one bucket of each row agrees with a complete key. */
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
	if (!invert_mangling(search, &candidate.key)) {
		search->exhausted |= --search->wrong_left == 0;
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
 * The lowest chunks of the hash come first, so that the indices of the rows are complete early.
 * For IPv6, three words and their parity follow, one chunk of each in turn.
 */
static uint32_t chunk_of_step(uint32_t step)
{
	uint32_t behind = step - HASH_CHUNKS;

	if (step < HASH_CHUNKS)
		return step;
	return HASH_CHUNKS + behind % 4 * CHUNKS_PER_WORD + behind / 4;
}

/* A parity chunk has one possible value, other chunks have all. */
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

/* Returns the set of values that, in each row, at least one agreeing bucket allows. */
static uint32_t values_left(struct search *search, uint32_t chunk)
{
	uint32_t values = spend(search, STEP_VISITS) ? values_of_chunk(search, chunk) : 0;

	for (uint32_t r = 0; r < CHUNK_ROWS && values != 0; r++)
		if (spend(search, search->rows[r].nb_agreeing))
			values &= allowed_by_any(search, &search->rows[r], chunk);
	return values;
}

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

/* Returns the largest power of two that FIRST_HEAVY counters of the first row reach, or 1. */
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

/* Each search reads all counters. The threshold decreases faster after a cheap search. */
static uint64_t next_threshold(uint64_t threshold, uint64_t visits)
{
	uint64_t less = visits < CHEAP_VISITS ? threshold - threshold / 4 : threshold / 4;

	return threshold - (less > 0 ? less : 1);
}

static uint64_t recover_family(
	struct search *search, enum key_family family, uint32_t wanted, uint64_t smallest)
{
	uint64_t threshold = first_threshold(&search->rv->counters), visits;

	set_family(search, family);
	search->emitted = 0;
	search->visits = RECOVER_VISITS;
	search->wrong_left = RECOVER_WRONG;
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

/* Each IP version has its own budget, so that too many keys of one do not hide the other. */
static uint64_t recover_families(struct search *search, uint32_t wanted, uint64_t smallest)
{
	uint64_t bound4 = recover_family(search, KEY_IPV4, wanted, smallest), bound6;

	if (!atomic_load_explicit(&search->rv->has_ipv6, memory_order_relaxed))
		return bound4;
	/* Keys with lower counts are not wanted. */
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
