/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The first FIRSTS words of a table are entries, one for each value of the first 16 bits of an
 * address. An entry has the index of other words, and their kind:
 *
 *     IS_NODE    256 entries, one for each value of the next 8 bits
 *     IS_PLAIN   256 places, one for each value of the last 8 bits
 *     otherwise  n <= 7 words, each with the last 16 bits of two range starts;
 *                then 2 n + 1 places: one before the first start, and one after each start
 *
 * A place is the index of a prefix, or PREFIX_NONE. An odd number of starts is filled up with the
 * last address.
 */

#include "rx/filter/prefix_table.h"

#include <stdlib.h>

#ifdef __AVX2__
#include <immintrin.h>
#endif

#include "base/assertion.h"
#include "base/huge_map.h"
#include "key/key_burst.h"

#define FIRSTS     (UINT32_C(1) << 16)
#define NODE       256
#define FEW        14 /* maximum range starts of an entry without IS_NODE or IS_PLAIN */
#define READ_WORDS 8  /* words of starts that a lookup reads, even if there are fewer */

#define IS_NODE     (UINT32_C(1) << 31)
#define PAIRS_SHIFT 28
#define PLAIN_SHIFT 26
#define IS_PLAIN    (UINT32_C(1) << PLAIN_SHIFT)
#define AT(entry)   ((entry) & (IS_PLAIN - 1))

/*
 * More than FEW ranges start in the addresses of a group with IS_NODE or IS_PLAIN. Every other
 * group has a range start, or follows such a group.
 */
#define RANGES_MAX(prefixes) (2 * (uint64_t)(prefixes) + 1)
#define MANY_MAX(prefixes)   (RANGES_MAX(prefixes) / (FEW + 1))
#define NODES_MAX(prefixes)  (MANY_MAX(prefixes) < FIRSTS ? MANY_MAX(prefixes) : FIRSTS)
#define WORDS_MAX(prefixes)                                                                        \
	(FIRSTS + (NODES_MAX(prefixes) + MANY_MAX(prefixes)) * NODE + 5 * RANGES_MAX(prefixes) +   \
		READ_WORDS)

_Static_assert(WORDS_MAX(PREFIXES_MAX) <= IS_PLAIN, "the index of any word fits in an entry");
_Static_assert(
	FEW / 2 < 1 << (31 - PAIRS_SHIFT), "the number of words with two starts fits in an entry");

struct prefix_table {
	uint32_t *words;
	size_t bytes;
};

struct range {
	uint32_t start, place;
};

/* Replaces the previous range if it has the same start. */
static void add_range(struct range *ranges, uint32_t *n, uint32_t start, uint32_t place)
{
	if (*n > 0 && ranges[*n - 1].start == start)
		(*n)--;
	ranges[(*n)++] = (struct range){start, place};
}

static uint32_t last_address(const struct prefix *prefix)
{
	return prefix->address | (uint32_t)(UINT64_C(0xffffffff) >> prefix->length);
}

/*
 * All addresses of a range have the same longest prefix. Returns the number of ranges, at most
 * RANGES_MAX(n).
 */
static uint32_t find_ranges(const struct prefix *prefixes, uint32_t n, struct range *ranges)
{
	/* prefixes that contain the present address, shortest first */
	uint32_t open[33], depth = 0, nb_ranges = 0;

	add_range(ranges, &nb_ranges, 0, PREFIX_NONE);
	for (uint32_t p = 0; p <= n; p++) {
		uint64_t next = p < n ? prefixes[p].address : UINT64_MAX;

		ASSERT_IF(p > 0 && p < n, prefixes[p - 1].address, <=, next);
		while (depth > 0 && last_address(&prefixes[open[depth - 1]]) < next) {
			uint32_t last = last_address(&prefixes[open[--depth]]);

			if (last != UINT32_MAX)
				add_range(ranges, &nb_ranges, last + 1,
					depth > 0 ? open[depth - 1] : PREFIX_NONE);
		}
		if (p == n)
			break;
		add_range(ranges, &nb_ranges, prefixes[p].address, p);
		ASSERT(depth, <, 33);
		open[depth++] = p;
	}
	return nb_ranges;
}

struct building {
	const struct range *ranges;
	uint32_t nb_ranges;
	uint32_t *words; /* NULL: only counts words */
	uint32_t nb_words;
	/* Entry of the last group of words without a range start; the range after that group */
	uint32_t behind, empty;
};

static uint32_t take_words(struct building *building, uint32_t n)
{
	building->nb_words += n;
	return building->nb_words - n;
}

static void set_word(struct building *building, uint32_t at, uint32_t word)
{
	if (building->words != NULL)
		building->words[at] = word;
}

/* In this and the next functions, r is the index of the first range that starts after `address`. */
static uint32_t add_plain(struct building *building, uint32_t address, uint32_t r)
{
	uint32_t at = take_words(building, NODE);

	for (uint32_t i = 0; i < NODE; i++) {
		while (r < building->nb_ranges && building->ranges[r].start <= address + i)
			r++;
		set_word(building, at + i, building->ranges[r - 1].place);
	}
	return IS_PLAIN | at;
}

static uint32_t start_of(const struct range *before, uint32_t i, uint32_t n)
{
	return i <= n ? before[i].start & 0xffff : 0xffff;
}

/* Returns an entry for the n range starts from r on. */
static uint32_t add_few(struct building *building, uint32_t r, uint32_t n)
{
	const struct range *before = &building->ranges[r - 1];
	uint32_t pairs = (n + 1) / 2, at;

	if (n == 0 && building->behind == r)
		return building->empty;
	at = take_words(building, 3 * pairs + 1);
	for (uint32_t p = 0; p < pairs; p++)
		set_word(building, at + p,
			start_of(before, 2 * p + 1, n) | start_of(before, 2 * p + 2, n) << 16);
	for (uint32_t i = 0; i <= 2 * pairs; i++)
		set_word(building, at + pairs + i, before[i <= n ? i : n].place);
	if (n == 0) {
		building->behind = r;
		building->empty = at;
	}
	return pairs << PAIRS_SHIFT | at;
}

/* Returns an entry for 2^bits addresses from `address` on. Sets *r to the next range. */
static uint32_t add_entry(struct building *building, uint64_t address, uint32_t bits, uint32_t *r)
{
	const struct range *ranges = building->ranges;
	uint64_t end = address + (UINT64_C(1) << bits);
	uint32_t from, node;

	while (*r < building->nb_ranges && ranges[*r].start <= address)
		(*r)++;
	from = *r;
	while (*r < building->nb_ranges && ranges[*r].start < end)
		(*r)++;
	if (*r - from <= FEW)
		return add_few(building, from, *r - from);
	if (bits == 8)
		return add_plain(building, (uint32_t)address, from);
	node = take_words(building, NODE);
	for (uint32_t i = 0; i < NODE; i++)
		set_word(building, node + i, add_entry(building, address + (i << 8), 8, &from));
	return IS_NODE | node;
}

static uint32_t build(const struct range *ranges, uint32_t nb_ranges, uint32_t *words)
{
	struct building building = {
		.ranges = ranges, .nb_ranges = nb_ranges, .words = words, .nb_words = FIRSTS};
	uint32_t r = 0;

	for (uint32_t i = 0; i < FIRSTS; i++)
		set_word(&building, i, add_entry(&building, (uint64_t)i << 16, 16, &r));
	return building.nb_words + READ_WORDS;
}

size_t prefix_table_bytes(uint32_t nb_prefixes)
{
	return WORDS_MAX(nb_prefixes) * sizeof(uint32_t);
}

struct prefix_table *prefix_table_create(const struct prefix *prefixes, uint32_t n)
{
	struct range *ranges = malloc(RANGES_MAX(n) * sizeof(*ranges));
	struct prefix_table *table = calloc(1, sizeof(*table));
	uint32_t nb_ranges;

	if (ranges != NULL && table != NULL) {
		nb_ranges = find_ranges(prefixes, n, ranges);
		table->bytes = build(ranges, nb_ranges, NULL) * sizeof(uint32_t);
		table->words = huge_map(table->bytes);
		if (table->words != NULL)
			build(ranges, nb_ranges, table->words);
	}
	free(ranges);
	if (table == NULL || table->words != NULL)
		return table;
	free(table);
	return NULL;
}

void prefix_table_destroy(struct prefix_table *table)
{
	if (table == NULL)
		return;
	huge_unmap(table->words, table->bytes);
	free(table);
}

/* READ_WORDS words must be readable, even if `pairs` is less. */
static inline uint32_t count_starts(const uint32_t *words, uint32_t pairs, uint16_t last)
{
#ifdef __AVX2__
	__m256i starts = _mm256_loadu_si256((const __m256i *)(const void *)words);
	__m256i lower = _mm256_min_epu16(starts, _mm256_set1_epi16((short)last));
	uint32_t bytes = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi16(starts, lower));

	return (uint32_t)__builtin_popcount(bytes & ((UINT32_C(1) << 4 * pairs) - 1)) / 2;
#else
	uint32_t n = 0;

	for (uint32_t p = 0; p < FEW / 2; p++) {
		uint32_t both = ((words[p] & 0xffff) <= last) + (words[p] >> 16 <= last);

		n += p < pairs ? both : 0;
	}
	return n;
#endif
}

/*
 * The cache misses of each pass over the burst overlap. Branches on the kind of an entry would be
 * mispredicted.
 */
void prefix_table_look_up(
	const struct prefix_table *table, const uint32_t *addresses, uint32_t *places, uint32_t n)
{
	const uint32_t *words = table->words;
	uint32_t found[BURST_MAX];

	ASSERT(n, <=, BURST_MAX);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = addresses[i] >> 16, entry = words[at];
		uint32_t below = AT(entry) + (addresses[i] >> 8 & 0xff);

		at ^= (at ^ below) & -(entry >> 31);
		found[i] = at;
		__builtin_prefetch(&words[at]);
	}
	for (uint32_t i = 0; i < n; i++) {
		uint32_t entry = words[found[i]];

		entry += addresses[i] & 0xff & -(entry >> PLAIN_SHIFT & 1);
		found[i] = entry;
		__builtin_prefetch(&words[AT(entry)]);
	}
	for (uint32_t i = 0; i < n; i++) {
		const uint32_t *at = &words[AT(found[i])];
		uint32_t pairs = found[i] >> PAIRS_SHIFT;

		places[i] = at[pairs + count_starts(at, pairs, (uint16_t)addresses[i])];
	}
}
