/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * No thread reads sums before the handover of the epoch. If several threads count the first
 * packets of a flow at the same time, at least one sets a bit of the filter and inserts the key.
 * Decoding divides by the number of insertions.
 */

#include "sketch/iblt/iblt.h"

#include <errno.h>
#include <string.h>

#include "sketch/burst_groups.h"
#include "sketch/counter.h"
#include "sketch/implement.h"
#include "sketch/weight.h"
#include "sketch/measurement.h"

#define DEFAULT_DEPTH 3
#define DEFAULT_WIDTH (UINT64_C(1) << 17)
#define WIDTH_MIN     16
#define WIDTH_MAX     (UINT64_C(1) << 26)
#define FIRST_WIDTH   (UINT64_C(1) << 14) /* at the start of a run, with a load */

/*
 * With n flows and k rows, two flows share all cells with a probability of n^2 / 2 / width^k. It is
 * at most 0.0015 for this width and a load of 0.8185.
 */
#define FITTED_WIDTH_MIN (UINT64_C(1) << 11)

/* Expected false positives of the filter when the table is full. */
#define FILTER_ERRORS_MAX 0x1p-10

static struct iblt *iblt_of(struct sketch *sketch)
{
	return (struct iblt *)sketch;
}

/*
 * A random hypergraph has a 2-core above this load: Molloy, The pure literal rule threshold and
 * cores in random hypergraphs (2004).
 */
double iblt_threshold(uint32_t depth)
{
	return depth == 3 ? 0.8185 : 0.7723;
}

static const char *check(struct sketch_params *params)
{
	if (params->depth == 0)
		params->depth = DEFAULT_DEPTH;
	if (params->width == 0)
		params->width = DEFAULT_WIDTH;
	if (params->writers == 0)
		params->writers = 1;
	params->candidates = 0; /* the table lists all keys */
	params->compact = params->load > 0 && params->writers == 1 &&
			  (params->key == NULL || !params->key->extra);

	if (params->depth < IBLT_DEPTH_MIN || params->depth > IBLT_DEPTH_MAX)
		return "a flow has 3 or 4 cells: depth is 3 or 4";
	if (params->width < WIDTH_MIN || params->width > WIDTH_MAX ||
		(!params->compact && (params->width & (params->width - 1)) != 0))
		return "a row has 16 to 67108864 cells, a power of two";
	if (params->load > iblt_threshold(params->depth))
		return "above this load flows cannot be decoded";
	return NULL;
}

/*
 * The number j of keys in a block has a Poisson distribution with the mean m = n / blocks. The 8
 * bits of a new key are already set with a probability of at most (j / 64)^8. The mean of j^8 is
 * the sum over i of S(8, i) * m^i, where S are Stirling numbers of the second kind. Averaged while
 * the block fills from 0 to m, m^i becomes m^i / (i + 1).
 */
double iblt_filter_errors(double n, double blocks)
{
	static const double stirling[] = {1, 127, 966, 1701, 1050, 266, 28, 1};
	double mean = n / blocks, power = 1, sum = 0;

	for (uint32_t i = 1; i <= IBLT_FILTER_WORDS; i++) {
		power *= mean;
		sum += stirling[i - 1] * power / (i + 1);
	}
	return n * sum * 0x1p-48;
}

uint32_t iblt_filter_bits(uint32_t depth, uint32_t bits)
{
	double cells = (double)((uint64_t)depth << bits);
	double flows = iblt_threshold(depth) * cells * (1 + 1.0 / (1 << IBLT_LESS6));
	uint32_t filter = bits;

	while (iblt_filter_errors(flows, (double)(UINT64_C(1) << filter)) > FILTER_ERRORS_MAX)
		filter++;
	return filter;
}

static uint32_t width_bits(const struct sketch_params *params)
{
	return (uint32_t)__builtin_ctzll(params->width);
}

/* Sizes in bytes, for rows of 2^bits cells. */
static size_t cells_size(uint32_t depth, uint32_t bits, uint32_t shift)
{
	return ((size_t)depth << bits) << shift;
}

static size_t filter_size(uint32_t depth, uint32_t bits)
{
	return sizeof(struct iblt_block) << iblt_filter_bits(depth, bits);
}

static size_t scratch_size(uint32_t depth, uint32_t bits)
{
	return iblt_scratch_size((uint64_t)depth << bits);
}

struct iblt_rows iblt_rows_of(enum key_family family, uint32_t depth, uint32_t bits)
{
	const bool ipv4 = family == KEY_IPV4;

	return (struct iblt_rows){
		.family = family,
		.depth = depth,
		.width = UINT32_C(1) << (ipv4 ? bits : bits - IBLT_LESS6),
		.bits = ipv4 ? bits : bits - IBLT_LESS6,
		.shift = ipv4 ? IBLT_SHIFT4 : IBLT_SHIFT6,
		.lanes = ipv4 ? IBLT_LANES4 : IBLT_LANES6,
	};
}

static void memory_parts(const struct sketch_params *params, struct sketch_memory *parts)
{
	uint32_t depth = params->depth, bits = width_bits(params);

	if (params->compact) {
		iblt_compact_parts(params, parts);
		return;
	}
	parts[0] = (struct sketch_memory){"IPv4 cells", cells_size(depth, bits, IBLT_SHIFT4)};
	parts[1] = (struct sketch_memory){
		"IPv6 cells", cells_size(depth, bits - IBLT_LESS6, IBLT_SHIFT6)};
	parts[2] = (struct sketch_memory){"filter", filter_size(depth, bits)};
	parts[3] = (struct sketch_memory){"decoding", scratch_size(depth, bits)};
	parts[4] = (struct sketch_memory){
		"header", line_up(sizeof(struct iblt)) + line_up(sizeof(struct iblt_result))};
}

static size_t memory(const struct sketch_params *params)
{
	return sketch_memory_sum(&iblt_ops, params);
}

static size_t listing_memory(const struct sketch_params *params)
{
	return params->compact ? iblt_scratch_size(iblt_compact_cells_max(params)) : 0;
}

/* Returns the end of the cells and of all that is needed to decode them. */
static uint8_t *init_wide(struct iblt *table, uint8_t *at)
{
	const struct sketch_params *params = &table->sketch.params;
	uint32_t depth = params->depth, bits = width_bits(params);

	table->rows[0] = iblt_rows_of(KEY_IPV4, depth, bits);
	table->rows[0].cells = at;
	at += cells_size(depth, bits, IBLT_SHIFT4);
	table->rows[1] = iblt_rows_of(KEY_IPV6, depth, bits);
	table->rows[1].cells = at;
	at += cells_size(depth, bits - IBLT_LESS6, IBLT_SHIFT6);
	table->filter = (struct iblt_block *)at;
	at += filter_size(depth, bits);
	table->scratch = iblt_scratch_of(at, iblt_nb_cells(&table->rows[0]));
	table->filter_bits = iblt_filter_bits(depth, bits);
	return at + scratch_size(depth, bits);
}

static struct sketch *create(const struct sketch_params *params)
{
	struct iblt *table = params->allocator.alloc(memory(params), params->allocator.arg);
	uint8_t *at = (uint8_t *)table;

	if (table == NULL)
		return NULL;
	table->sketch.ops = &iblt_ops;
	table->sketch.params = *params;
	hash_key_init(&table->hash_key, params->seed);
	at += line_up(sizeof(*table));
	at = params->compact ? iblt_compact_init(table, at) : init_wide(table, at);
	table->result = (struct iblt_result *)at;
	return &table->sketch;
}

static bool is_known(const struct iblt *table)
{
	return atomic_load_explicit(&table->result->known, memory_order_relaxed);
}

/* Writes only if necessary, because threads share the cache line. */
static void forget(struct iblt *table, bool ipv6)
{
	if (is_known(table))
		atomic_store_explicit(&table->result->known, false, memory_order_relaxed);
	if (ipv6 && !iblt_seen_ipv6(table))
		atomic_store_explicit(&table->has_ipv6, true, memory_order_relaxed);
}

/* The size is unchanged if params.load is 0 or the number of flows is unknown. */
static struct sketch_shape fit(const struct sketch *sketch)
{
	const struct sketch_params *params = &sketch->params;
	const struct iblt *table = iblt_of_const(sketch);
	uint64_t flows6 = table->result->inserted[1] << IBLT_LESS6;
	uint64_t flows = table->result->inserted[0] > flows6 ? table->result->inserted[0] : flows6;
	uint64_t width = FITTED_WIDTH_MIN;

	if (params->load <= 0 || !is_known(table))
		return (struct sketch_shape){params->width, params->width6};
	if (params->compact)
		return iblt_compact_fit(table);
	while (width < params->width_max &&
		(double)flows > params->load * (double)(params->depth * width))
		width *= 2;
	width = width < params->width_max ? width : params->width_max;
	return (struct sketch_shape){.width = width};
}

static void reset_wide(struct iblt *table)
{
	for (uint32_t f = 0; f < IBLT_FAMILIES; f++)
		if (f == 0 || iblt_seen_ipv6(table))
			memset(table->rows[f].cells, 0,
				iblt_nb_cells(&table->rows[f]) << table->rows[f].shift);
	memset(table->filter, 0, sizeof(*table->filter) << table->filter_bits);
}

static void reset(struct sketch *sketch)
{
	struct iblt *table = iblt_of(sketch);

	if (sketch->params.compact)
		iblt_compact_reset(table);
	else
		reset_wide(table);
	atomic_store_explicit(&table->has_ipv6, false, memory_order_relaxed);
	atomic_store_explicit(&table->result->known, false, memory_order_relaxed);
	atomic_store_explicit(&table->weight_packets, 0, memory_order_relaxed);
	atomic_store_explicit(&table->weight_bytes, 0, memory_order_relaxed);
	table->difference = false;
}

static ALWAYS_INLINE const struct iblt_rows *rows_of(
	const struct iblt *table, const struct key_burst *burst, uint32_t i, const bool ipv6)
{
	return ipv6 ? &table->rows[burst->v6 >> i & 1] : &table->rows[0];
}

static ALWAYS_INLINE void fetch(const struct iblt *table, const struct key_burst *burst,
	const uint32_t depth, const bool ipv6)
{
	for (uint32_t i = 0; i < burst->n; i++) {
		const struct iblt_rows *rows = rows_of(table, burst, i, ipv6);

		__builtin_prefetch(iblt_block(table, &burst->hash[i]), 1);
#pragma GCC unroll 4
		for (uint32_t row = 0; row < depth; row++)
			__builtin_prefetch(
				iblt_cell(rows, iblt_place(rows, &burst->hash[i], row)), 1);
	}
}

static ALWAYS_INLINE void count(const struct iblt_rows *rows, const struct key_hash *hash,
	const struct weight *addition, const uint32_t depth, const enum counter_policy policy)
{
#pragma GCC unroll 4
	for (uint32_t row = 0; row < depth; row++) {
		struct iblt_cell *cell = iblt_cell(rows, iblt_place(rows, hash, row));

		sum64_add(&cell->packets, addition->packets, policy);
		sum64_add(&cell->bytes, addition->bytes, policy);
	}
}

/* Returns true if this thread set a bit: the flow is new, or another thread is inserting it now. */
static bool filter_add(
	struct iblt_block *block, const struct key_hash *hash, enum counter_policy policy)
{
	bool added = false;

	for (uint32_t w = 0; w < IBLT_FILTER_WORDS; w++) {
		uint64_t bit = UINT64_C(1) << iblt_filter_bit(hash, w);
		uint64_t word = atomic_load_explicit(&block->words[w], memory_order_relaxed);

		if ((word & bit) != 0)
			continue;
		if (policy == COUNTER_OWNED)
			atomic_store_explicit(&block->words[w], word | bit, memory_order_relaxed);
		else
			word = atomic_fetch_or_explicit(
				&block->words[w], bit, memory_order_relaxed);
		added |= (word & bit) == 0;
	}
	return added;
}

static void insert(
	struct iblt *table, const struct key_burst *burst, uint32_t i, enum counter_policy policy)
{
	const struct key_hash *hash = &burst->hash[i];
	const struct iblt_rows *rows = rows_of(table, burst, i, true);
	uint32_t words[IBLT_LANES6];

	if (!filter_add(iblt_block(table, hash), hash, policy))
		return;
	if (rows->family == KEY_IPV6)
		memcpy(words, &burst->key6[i], sizeof(burst->key6[i]));
	else
		memcpy(words, &burst->key4[i], sizeof(burst->key4[i]));
	for (uint32_t row = 0; row < rows->depth; row++) {
		struct iblt_cell *cell = iblt_cell(rows, iblt_place(rows, hash, row));

		sum64_add(&cell->flows, 1, policy);
		sum64_add(&cell->check, iblt_check(hash), policy);
		for (uint32_t lane = 0; lane < rows->lanes; lane++)
			sum64_add(&cell->lanes[lane], words[lane], policy);
	}
}

/* Returns the packets whose keys are not in the filter. A key may occur several times. */
static ALWAYS_INLINE uint64_t unknown(const struct iblt *table, const struct key_burst *burst)
{
	uint64_t found = 0;

	for (uint32_t i = 0; i < burst->n; i++)
		found |= (uint64_t)!iblt_filter_has(
				 iblt_block(table, &burst->hash[i]), &burst->hash[i])
			 << i;
	return found;
}

/* `weighted` is a compile-time constant in this file. */
static ALWAYS_INLINE void update_owned_of(struct iblt *table, const struct key_burst *burst,
	const uint32_t depth, const bool ipv6, const bool weighted)
{
	fetch(table, burst, depth, ipv6);
	for (uint64_t left = unknown(table, burst); left != 0;)
		insert(table, burst, mask_next(&left), COUNTER_OWNED);
	for (uint32_t i = 0; i < burst->n; i++) {
		struct weight addition = weight_of(burst, i, weighted);

		count(rows_of(table, burst, i, ipv6), &burst->hash[i], &addition, depth,
			COUNTER_OWNED);
	}
}

static void add_weights(struct iblt *table, uint64_t packets, uint64_t bytes)
{
	sum64_add_weight(&table->weight_packets, packets, COUNTER_CAS);
	sum64_add_weight(&table->weight_bytes, bytes, COUNTER_CAS);
}

static void sum_weights(struct iblt *table, const struct key_burst *burst)
{
	struct weight sum = {0, 0};

	for (uint32_t i = 0; i < burst->n; i++) {
		sum.packets = counter64_sum(sum.packets, burst->weights->packets[i]);
		sum.bytes = counter64_sum(sum.bytes, burst->weights->bytes[i]);
	}
	add_weights(table, sum.packets, sum.bytes);
}

static ALWAYS_INLINE void count_separate(
	struct sketch *sketch, const struct key_burst *burst, const bool weighted)
{
	struct iblt *table = iblt_of(sketch);

	forget(table, burst->v6 != 0);
	if (table->sketch.params.compact) {
		iblt_compact_update(table, burst, weighted);
		return;
	}
	if (weighted)
		sum_weights(table, burst);
	switch (table->sketch.params.depth << 1 | (burst->v6 != 0)) {
	case 3 << 1: update_owned_of(table, burst, 3, false, weighted); break;
	case 3 << 1 | 1: update_owned_of(table, burst, 3, true, weighted); break;
	case 4 << 1: update_owned_of(table, burst, 4, false, weighted); break;
	case 4 << 1 | 1: update_owned_of(table, burst, 4, true, weighted); break;
	}
}

static ALWAYS_INLINE void sum_groups(const struct key_burst *burst,
	const struct burst_groups *groups, struct weight *additions, const bool weighted)
{
	for (uint32_t i = 0; i < burst->n; i++)
		additions[i] = weight_of(burst, i, weighted);
	for (uint64_t left = groups->followers; left != 0;) {
		uint32_t i = mask_next(&left);

		const struct weight addition = weight_of(burst, i, weighted);

		additions[groups->leader[i]].packets += addition.packets;
		additions[groups->leader[i]].bytes += addition.bytes;
	}
}

static ALWAYS_INLINE void update_atomic(struct iblt *table, const struct key_burst *burst,
	const enum counter_policy policy, const bool weighted)
{
	const uint32_t depth = table->sketch.params.depth;
	struct weight additions[BURST_MAX];
	struct burst_groups groups;

	forget(table, burst->v6 != 0);
	if (table->sketch.params.compact) { /* the only thread */
		iblt_compact_update(table, burst, weighted);
		return;
	}
	if (weighted)
		sum_weights(table, burst);
	fetch(table, burst, depth, true);
	burst_groups_find(&groups, burst);
	sum_groups(burst, &groups, additions, weighted);
	for (uint64_t left = unknown(table, burst) & groups.leaders; left != 0;)
		insert(table, burst, mask_next(&left), policy);
	for (uint64_t left = groups.leaders; left != 0;) {
		uint32_t i = mask_next(&left);

		count(rows_of(table, burst, i, true), &burst->hash[i], &additions[i], depth,
			policy);
	}
}

static ALWAYS_INLINE void count_shared(
	struct sketch *sketch, const struct key_burst *burst, const bool weighted)
{
	struct iblt *table = iblt_of(sketch);

	if (table->sketch.params.atomic == ATOMIC_ADD)
		update_atomic(table, burst, COUNTER_ADD, weighted);
	else
		update_atomic(table, burst, COUNTER_CAS, weighted);
}

SKETCH_UPDATES(count_separate, count_shared)

static void add_cells(struct iblt_rows *to, const struct iblt_rows *from, uint64_t sign)
{
	for (uint64_t c = 0; c < iblt_nb_cells(to); c++) {
		struct iblt_cell *a = iblt_cell(to, c), *b = iblt_cell(from, c);

		sum64_add(&a->packets, sign * b->packets, COUNTER_OWNED);
		sum64_add(&a->bytes, sign * b->bytes, COUNTER_OWNED);
		sum64_add(&a->flows, b->flows, COUNTER_OWNED);
		sum64_add(&a->check, b->check, COUNTER_OWNED);
		for (uint32_t lane = 0; lane < to->lanes; lane++)
			sum64_add(&a->lanes[lane], b->lanes[lane], COUNTER_OWNED);
	}
}

static void unite_filters(struct iblt *to, const struct iblt *from)
{
	for (uint64_t b = 0; b >> to->filter_bits == 0; b++)
		for (uint32_t w = 0; w < IBLT_FILTER_WORDS; w++)
			atomic_fetch_or_explicit(&to->filter[b].words[w], from->filter[b].words[w],
				memory_order_relaxed);
}

/*
 * Adds sign * src to the counts of dst, and adds the keys of src for both signs. In compact cells
 * the same key twice would cancel.
 */
static int combine(struct sketch *dst, const struct sketch *src, uint64_t sign)
{
	struct iblt *to = iblt_of(dst);
	const struct iblt *from = iblt_of_const(src);

	if (dst == src || dst->ops != src->ops || dst->params.compact || src->params.compact ||
		dst->params.depth != src->params.depth || to->rows[0].bits != from->rows[0].bits ||
		dst->params.metric != src->params.metric || dst->params.seed != src->params.seed)
		return -EINVAL;

	forget(to, iblt_seen_ipv6(from));
	add_cells(&to->rows[0], &from->rows[0], sign);
	if (iblt_seen_ipv6(from))
		add_cells(&to->rows[1], &from->rows[1], sign);
	unite_filters(to, from);
	add_weights(to, from->weight_packets, from->weight_bytes);
	to->difference |= from->difference;
	return 0;
}

static int merge(struct sketch *dst, const struct sketch *src)
{
	return combine(dst, src, 1);
}

/* Adds keys, because subtraction would remove the key of a flow that is in both tables. */
static int subtract(struct sketch *dst, const struct sketch *src)
{
	int error = combine(dst, src, UINT64_MAX);

	if (error == 0)
		iblt_of(dst)->difference = true;
	return error;
}

static void candidates(const struct sketch *sketch, sketch_emit_fn emit, void *arg)
{
	iblt_decode(iblt_of_const(sketch), emit, arg);
}

static const struct iblt_result *decoded(const struct sketch *sketch)
{
	const struct iblt *table = iblt_of_const(sketch);

	if (!is_known(table))
		iblt_decode(table, NULL, NULL);
	return table->result;
}

static bool lists_all_keys(const struct sketch *sketch)
{
	return decoded(sketch)->complete;
}

static struct sketch_undecoded undecoded(const struct sketch *sketch)
{
	return decoded(sketch)->undecoded;
}

static bool may_have_packets(const struct iblt *table, const struct key_hash *hash)
{
	if (table->sketch.params.compact)
		return table->unlisted.packets > 0 || iblt_compact_lists(table, hash);
	return iblt_filter_has(iblt_block(table, hash), hash);
}

/* The cells of a key count all of its packets. A key that is not in the filter has no packets. */
static uint64_t missed(const struct sketch *sketch, const struct key_hash *hash)
{
	const struct iblt *table = iblt_of_const(sketch);
	uint64_t most = 0;

	if (!may_have_packets(table, hash))
		return 0;
	if (table->difference || iblt_overflown(table))
		return UINT64_MAX;
	for (uint32_t f = 0; f < IBLT_FAMILIES; f++) { /* the key may be IPv4 or IPv6 */
		uint64_t least = iblt_bound(&table->rows[f], hash, sketch->params.metric);

		most = least > most ? least : most;
	}
	return most;
}

static uint64_t unlisted(struct sketch *const *parts, uint32_t nb_parts)
{
	uint64_t sum = 0;

	for (uint32_t p = 0; p < nb_parts; p++)
		sum = counter64_sum(sum, undecoded(parts[p]).largest);
	return sum;
}

#define LOAD_MIN 0.01
#define GROWTH   4 /* maximum width if none is given, as a multiple of the default */

static void configure(struct sketch_params *params, const void *own)
{
	const struct iblt_options *options = own;

	params->load = options->load;
	if (options->load > 0 && params->width == 0)
		params->width = GROWTH * DEFAULT_WIDTH;
}

static const char *inapplicable_without_iblt(
	const struct config *config, const struct measurement_config *measurement)
{
	(void)config;
	return measurement_sketch(measurement) == &iblt_ops ? NULL : "without --sketch iblt";
}

static bool check_options(const struct config *config, const struct measurement_config *measurement,
	struct option_fault *fault)
{
	double load = iblt_options(measurement)->load;
	double most = iblt_threshold(measurement_options(measurement)->depth == 4 ? 4 : 3);

	(void)config;
	return load <= 0 || (load >= LOAD_MIN && load <= most) ||
	       option_fault(fault, "iblt-load", measurement,
		       "flows can be decoded up to a load of %g; give 0.01 to %g", most, most);
}

static const struct option_row iblt_rows[] = {
	{
		.name = "iblt-load",
		.placeholder = "FRACTION",
		.group = OPTION_GROUP_MEASURE,
		.type = OPTION_FRACTION,
		.rare = true,
		.inapplicable = inapplicable_without_iblt,
		OPTION_FIELD(iblt_options, load),
		.zero = true,
		.default_text = "0",
		.config_only = true,
		.help = "Fit the size of an iblt to the flows of the last two intervals, to have "
			"FRACTION flows per cell. At most 0.8185, or 0.7723 with --depth 4. 0: "
			"fixed size.",
		.man = "Rows start with 16384 cells and grow to --width or --memory, by default to "
		       "524288.",
	},
	{0},
};

const struct option_owner iblt_owner = {
	.rows = iblt_rows,
	.size = sizeof(struct iblt_options),
	.of_measurement = true,
	.check = check_options,
};

const struct sketch_ops iblt_ops = {
	.name = "iblt",
	.alias = "smon",
	.options = &iblt_owner,
	.configure = configure,
	.width_option = "width",
	.load_option = "iblt-load",
	.kernel = &iblt_kernel,
	.suits = "exact like flow-table; decodes keys from sums of all workers",
	.caps = SKETCH_EXACT | SKETCH_MERGEABLE | SKETCH_SUBTRACTABLE,
	.default_depth = DEFAULT_DEPTH,
	.default_width = DEFAULT_WIDTH,
	.first_width = FIRST_WIDTH,
	.check = check,
	.memory = memory,
	.memory_parts = memory_parts,
	.listing_memory = listing_memory,
	.create = create,
	.destroy = one_block_destroy,
	.reset = reset,
	.fit = fit,
	SKETCH_UPDATE_SLOTS,
	.merge = merge,
	.subtract = subtract,
	.candidates = candidates,
	.lists_all_keys = lists_all_keys,
	.missed = missed,
	.unlisted = unlisted,
	.undecoded = undecoded,
};
