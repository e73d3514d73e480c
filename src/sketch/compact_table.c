/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Records lie in order of arrival, without gaps. An index of 32-bit slots finds them. A slot holds
 * the number of a record and, in its other bits, a tag of the hash, so that a packet rarely reads
 * the record of another key. A cache line of slots is a group. Keys that find their group full are
 * in the next one. A key6 takes two records.
 */

#include "sketch/compact_table.h"

#include <string.h>

#include "base/assertion.h"
#include "key/hash.h"
#include "sketch/burst_groups.h"
#include "sketch/counter.h"
#include "sketch/flow_id.h"
#include "sketch/implement.h"
#include "sketch/measurement.h"
#include "sketch/shed.h"
#include "sketch/slot_group.h"
#include "sketch/weight.h"

#define DEFAULT_WIDTH    (UINT64_C(1) << 18)
#define FIRST_WIDTH      (UINT64_C(1) << 14) /* at the start of a run, with a load */
#define WIDTH_MIN        16
#define WIDTH_MAX        (UINT64_C(1) << 30) /* leaves SLOT_USED, and no tag */
#define FITTED_WIDTH_MIN UINT64_C(256)
#define GROWTH           4  /* factor for the next interval if keys were shed */
#define FIT_STEPS        32 /* widths per power of two that fit() chooses from */

#define SLOT_USED   (UINT32_C(1) << 31)
#define FLAGS_BITS  8
#define PACKETS_MAX (UINT64_MAX >> FLAGS_BITS)

struct compact_record {
	struct flow_id id;
	int64_t first, last; /* ns since 1970-01-01 UTC */
	uint64_t bytes;
	uint64_t packets_flags; /* packets, and in the lowest 8 bits the TCP flags */
};

/* The record after that of a key6 holds the key. */
union compact_cell {
	struct compact_record record;
	struct key6 key6;
};

_Static_assert(sizeof(union compact_cell) == 48, "a key4 takes 48 bytes and its slots");

struct compact_table {
	struct sketch sketch;
	union compact_cell *cells; /* [width + 1]; the first one is never used */
	uint64_t *ip_bytes;        /* [width + 1]; NULL: not counted */
	uint32_t *slots;           /* [nb_groups * SLOT_GROUP]; 0: empty; a group has no gaps */
	uint32_t nb_groups;
	uint32_t number_mask; /* bits of a slot that hold the number of a cell */
	uint32_t used;        /* cells 1 to `used` are in use */
	struct hash_key hash_key;
	struct sketch_shed shed;
};

/* Compile-time properties of a burst and a table. */
enum compact_mode {
	COMPACT_WEIGHTED = 1 << 0,
	COMPACT_IP_BYTES = 1 << 1,
};

struct compact_burst {
	uint32_t group[BURST_MAX];
	uint32_t tag[BURST_MAX];  /* SLOT_USED and bits of the hash */
	uint32_t cell[BURST_MAX]; /* first one of the group with the tag, or any */
	struct flow_id id[BURST_MAX];
};

static struct compact_table *compact_table_of(struct sketch *sketch)
{
	return (struct compact_table *)sketch;
}

static const struct compact_table *compact_table_of_const(const struct sketch *sketch)
{
	return (const struct compact_table *)sketch;
}

static const char *check(struct sketch_params *params)
{
	if (params->depth == 0)
		params->depth = 1;
	if (params->width == 0)
		params->width = DEFAULT_WIDTH;
	params->candidates = 0; /* the table lists all keys */

	if (params->depth != 1)
		return "depth is 1: a compact table has one row of records";
	if (params->width < WIDTH_MIN || params->width > WIDTH_MAX)
		return "a compact table has 16 to 1073741824 records";
	return NULL;
}

/* At most three quarters of the slots are in use, so that each search ends soon. */
static uint64_t nb_groups_of(const struct sketch_params *params)
{
	return (params->width + params->width / 3) / SLOT_GROUP + 1;
}

static size_t index_size(const struct sketch_params *params)
{
	return nb_groups_of(params) * SLOT_GROUP * sizeof(uint32_t);
}

static size_t ip_bytes_size(const struct sketch_params *params)
{
	return params->ip_bytes ? line_up((params->width + 1) * sizeof(uint64_t)) : 0;
}

static size_t cells_size(const struct sketch_params *params)
{
	return line_up((params->width + 1) * sizeof(union compact_cell));
}

static void memory_parts(const struct sketch_params *params, struct sketch_memory *parts)
{
	parts[0] = (struct sketch_memory){"records", cells_size(params)};
	parts[1] = (struct sketch_memory){"index", index_size(params)};
	parts[2] = (struct sketch_memory){"IP bytes", ip_bytes_size(params)};
	parts[3] = (struct sketch_memory){"header", line_up(sizeof(struct compact_table))};
}

static size_t memory(const struct sketch_params *params)
{
	return sketch_memory_sum(&compact_table_ops, params);
}

static struct sketch *create(const struct sketch_params *params)
{
	struct compact_table *table =
		params->allocator.alloc(memory(params), params->allocator.arg);
	uint8_t *at = (uint8_t *)table;

	if (table == NULL)
		return NULL;
	table->sketch.ops = &compact_table_ops;
	table->sketch.params = *params;
	at += line_up(sizeof(*table));
	table->cells = (union compact_cell *)at;
	at += cells_size(params);
	if (params->ip_bytes)
		table->ip_bytes = (uint64_t *)at;
	at += ip_bytes_size(params);
	table->slots = (uint32_t *)at;
	table->nb_groups = (uint32_t)nb_groups_of(params);
	table->number_mask = UINT32_MAX >> __builtin_clz((uint32_t)params->width);
	hash_key_init(&table->hash_key, params->seed);
	return &table->sketch;
}

/* A record is written before it is read. */
static void reset(struct sketch *sketch)
{
	struct compact_table *table = compact_table_of(sketch);

	memset(table->slots, 0, index_size(&sketch->params));
	table->used = 0;
	table->shed = (struct sketch_shed){0};
}

static ALWAYS_INLINE bool matches(const struct compact_table *table, uint32_t cell,
	const struct flow_id *id, const struct key_burst *burst, uint32_t i)
{
	const union compact_cell *cells = &table->cells[cell];

	return flow_id_matches(&cells[0].record.id, &cells[1].key6, id, burst, i);
}

static ALWAYS_INLINE uint32_t *group_of(const struct compact_table *table, uint32_t group)
{
	return &table->slots[(size_t)group * SLOT_GROUP];
}

static ALWAYS_INLINE uint32_t next_group(const struct compact_table *table, uint32_t group)
{
	return group + 1 < table->nb_groups ? group + 1 : 0;
}

/* Group and tag use different bits of the hash. */
static ALWAYS_INLINE uint32_t first_group(
	const struct compact_table *table, const struct key_hash *hash)
{
	return (uint32_t)((hash->lo & UINT32_MAX) * table->nb_groups >> 32);
}

static ALWAYS_INLINE uint32_t tag_of(const struct compact_table *table, const struct key_hash *hash)
{
	return ((uint32_t)(hash->lo >> 32) & ~table->number_mask) | SLOT_USED;
}

static ALWAYS_INLINE void prepare(const struct compact_table *table, const struct key_burst *burst,
	struct compact_burst *work)
{
	for (uint32_t i = 0; i < burst->n; i++) {
		work->group[i] = first_group(table, &burst->hash[i]);
		work->tag[i] = tag_of(table, &burst->hash[i]);
		__builtin_prefetch(group_of(table, work->group[i]), 1);
	}
}

/* Returns the slots of the group with the tag, one bit each. */
static ALWAYS_INLINE uint32_t tag_slots(
	const struct compact_table *table, uint32_t group, uint32_t tag)
{
	return slot_group_match(group_of(table, group), ~table->number_mask, tag);
}

static ALWAYS_INLINE void find_cells(const struct compact_table *table,
	const struct key_burst *burst, struct compact_burst *work)
{
	for (uint32_t i = 0; i < burst->n; i++) {
		const uint32_t *group = group_of(table, work->group[i]);
		uint32_t match = tag_slots(table, work->group[i], work->tag[i]);
		uint32_t slot = group[__builtin_ctz(match | 1 << (SLOT_GROUP - 1))];
		const char *cell;

		work->cell[i] = slot & table->number_mask;
		work->id[i] = flow_id_of(burst, i);
		cell = (const char *)&table->cells[work->cell[i]];
		__builtin_prefetch(cell, 1);
		__builtin_prefetch(cell + sizeof(union compact_cell) - 1, 1);
	}
}

/* Returns the packets whose key is in work->cell, one bit each. */
static ALWAYS_INLINE uint64_t find_stored(const struct compact_table *table,
	const struct key_burst *burst, const struct compact_burst *work)
{
	uint64_t found = 0;

	for (uint32_t i = 0; i < burst->n; i++) {
		const struct flow_id *other = &table->cells[work->cell[i]].record.id;

		found |= (uint64_t)(flow_ids_differ(other, &work->id[i]) == 0) << i;
	}
	for (uint64_t left = found & burst->v6; left != 0;) {
		uint32_t i = mask_next(&left);

		if (!matches(table, work->cell[i], &work->id[i], burst, i))
			found &= ~(UINT64_C(1) << i);
	}
	return found;
}

static uint32_t store(struct compact_table *table, const struct flow_id *id,
	const struct key_burst *burst, uint32_t i)
{
	uint32_t cell = ++table->used;

	table->cells[cell].record =
		(struct compact_record){.id = *id, .first = INT64_MAX, .last = INT64_MIN};
	if (table->ip_bytes != NULL)
		table->ip_bytes[cell] = 0;
	if (burst->v6 >> i & 1)
		table->cells[++table->used].key6 = burst->key6[i];
	return cell;
}

/* Returns the number of used slots of a group. */
static ALWAYS_INLINE uint32_t nb_used(const uint32_t *group)
{
	return (uint32_t)__builtin_ctz(
		slot_group_match(group, UINT32_MAX, 0) | UINT32_C(1) << SLOT_GROUP);
}

/* Returns the slot of the key, or else the free slot for it, which is 0. */
static ALWAYS_INLINE uint32_t *find_slot(const struct compact_table *table, uint32_t group,
	uint32_t tag, const struct flow_id *id, const struct key_burst *burst, uint32_t i)
{
	for (;; group = next_group(table, group)) {
		uint32_t *slots = group_of(table, group), used;

		for (uint64_t left = tag_slots(table, group, tag); left != 0;) {
			uint32_t *slot = &slots[mask_next(&left)];

			if (matches(table, *slot & table->number_mask, id, burst, i))
				return slot;
		}
		used = nb_used(slots);
		if (used < SLOT_GROUP)
			return &slots[used];
	}
}

/* Finds or adds the key. Returns its cell, or 0 if there is no room. */
static ALWAYS_INLINE uint32_t find(struct compact_table *table, const struct key_burst *burst,
	const struct compact_burst *work, uint32_t i)
{
	uint32_t *slot = find_slot(table, work->group[i], work->tag[i], &work->id[i], burst, i);
	uint32_t cell;

	if (*slot != 0)
		return *slot & table->number_mask;
	if (table->used + 1 + (burst->v6 >> i & 1) > table->sketch.params.width)
		return 0;
	cell = store(table, &work->id[i], burst, i);
	*slot = work->tag[i] | cell;
	return cell;
}

static bool has_key(const struct sketch *sketch, const struct key_burst *burst, uint32_t i)
{
	const struct compact_table *table = compact_table_of_const(sketch);
	const struct key_hash *hash = &burst->hash[i];
	const struct flow_id id = flow_id_of(burst, i);

	return *find_slot(table, first_group(table, hash), tag_of(table, hash), &id, burst, i) != 0;
}

static ALWAYS_INLINE uint64_t sum_below(uint64_t sum, uint64_t amount, uint64_t most)
{
	return amount < most - sum ? sum + amount : most;
}

/* Only sums of weights can reach their limits. */
static ALWAYS_INLINE void add(struct compact_table *table, uint32_t cell,
	const struct key_burst *burst, uint32_t i, const struct weight *weight, const uint32_t mode)
{
	struct compact_record *record = &table->cells[cell].record;
	const int64_t time = burst->time[i];

	if ((mode & COMPACT_WEIGHTED) != 0) {
		uint64_t packets = sum_below(
			record->packets_flags >> FLAGS_BITS, weight->packets, PACKETS_MAX);

		record->packets_flags = packets << FLAGS_BITS | (uint8_t)record->packets_flags;
		record->bytes = sum_below(record->bytes, weight->bytes, COUNTER64_GUARD);
	} else {
		record->packets_flags += UINT64_C(1) << FLAGS_BITS;
		record->bytes += weight->bytes;
	}
	record->packets_flags |= burst->tcp_flags[i];
	if (time < record->first)
		record->first = time;
	if (time > record->last)
		record->last = time;
	if ((mode & COMPACT_IP_BYTES) != 0)
		table->ip_bytes[cell] = sum_below(
			table->ip_bytes[cell], weight_ip_bytes(weight, burst, i), COUNTER64_GUARD);
}

static void shed_packet(struct compact_table *table, const struct weight *weight, uint32_t shift)
{
	struct sketch_shed *shed = &table->shed;

	shed->packets = sum_below(shed->packets, weight->packets, COUNTER64_GUARD);
	shed->bytes = sum_below(shed->bytes, weight->bytes, COUNTER64_GUARD);
	if (shift == 0)
		return;
	shed->added = sum_below(
		shed->added, weight->packets - (weight->packets >> shift), COUNTER64_GUARD);
	shed->added_bytes = sum_below(
		shed->added_bytes, weight->bytes - (weight->bytes >> shift), COUNTER64_GUARD);
}

static ALWAYS_INLINE void count_mode(
	struct compact_table *table, const struct key_burst *burst, const uint32_t mode)
{
	const bool weighted = (mode & COMPACT_WEIGHTED) != 0;
	const uint64_t all = burst->n < BURST_MAX ? (UINT64_C(1) << burst->n) - 1 : UINT64_MAX;
	struct compact_burst work;
	uint64_t found;

	prepare(table, burst, &work);
	find_cells(table, burst, &work);
	found = find_stored(table, burst, &work);
	for (uint64_t left = found; left != 0;) {
		uint32_t i = mask_next(&left);
		const struct weight weight = weight_of(burst, i, weighted);

		add(table, work.cell[i], burst, i, &weight, mode);
	}
	for (uint64_t left = all & ~found; left != 0;) {
		uint32_t i = mask_next(&left), cell = find(table, burst, &work, i);
		const struct weight weight = weight_of(burst, i, weighted);

		if (cell != 0)
			add(table, cell, burst, i, &weight, mode);
		else
			shed_packet(table, &weight, weighted ? burst->weights->shift : 0);
	}
}

static ALWAYS_INLINE void count(
	struct sketch *sketch, const struct key_burst *burst, const bool weighted)
{
	struct compact_table *table = compact_table_of(sketch);
	const uint32_t mode = weighted ? COMPACT_WEIGHTED : 0;

	if (table->ip_bytes != NULL)
		count_mode(table, burst, mode | COMPACT_IP_BYTES);
	else
		count_mode(table, burst, mode);
}

SKETCH_UPDATE(update_separate, count, false)
SKETCH_UPDATE(update_separate_weighted, count, true)

static bool is_saturated(uint64_t amount, enum sketch_metric metric)
{
	return amount >= (metric == SKETCH_PACKETS ? PACKETS_MAX : COUNTER64_GUARD);
}

/* The hashes of a burst of keys are computed together. */
struct compact_listing {
	const struct compact_table *table;
	sketch_emit_fn emit;
	void *arg;
	uint32_t cells[BURST_MAX];
	struct key_burst keys;
};

static void emit_listed(struct compact_listing *listing)
{
	const struct compact_table *table = listing->table;
	const enum sketch_metric metric = table->sketch.params.metric;

	hash_burst(&table->hash_key, &listing->keys);
	for (uint32_t i = 0; i < listing->keys.n; i++) {
		const uint32_t cell = listing->cells[i];
		const struct compact_record *record = &table->cells[cell].record;
		struct sketch_candidate candidate = {
			.key = key_burst_get(&listing->keys, i),
			.hash = listing->keys.hash[i],
			.packets = record->packets_flags >> FLAGS_BITS,
			.bytes = record->bytes,
			.first = record->first,
			.last = record->last,
			.ip_bytes = table->ip_bytes != NULL ? table->ip_bytes[cell] : 0,
			.tcp_flags = (uint8_t)record->packets_flags,
		};

		if (is_saturated(
			    metric == SKETCH_PACKETS ? candidate.packets : candidate.bytes, metric))
			candidate.before = UINT64_MAX;
		listing->emit(&candidate, listing->arg);
	}
	listing->keys.n = 0;
	listing->keys.v6 = 0;
}

static void candidates(const struct sketch *sketch, sketch_emit_fn emit, void *arg)
{
	const struct compact_table *table = compact_table_of_const(sketch);
	struct compact_listing listing = {.table = table, .emit = emit, .arg = arg};

	for (uint32_t cell = 1; cell <= table->used; cell++) {
		const union compact_cell *cells = &table->cells[cell];

		listing.cells[listing.keys.n] = cell;
		flow_id_append(&listing.keys, &cells[0].record.id, &cells[1].key6);
		if (listing.keys.n == BURST_MAX)
			emit_listed(&listing);
		if (flow_id_family(&cells[0].record.id) == KEY_IPV6)
			cell++;
	}
	emit_listed(&listing);
}

static struct sketch_shed shed(const struct sketch *sketch)
{
	return compact_table_of_const(sketch)->shed;
}

static struct sketch_shape fit(const struct sketch *sketch)
{
	const struct compact_table *table = compact_table_of_const(sketch);
	const struct sketch_params *params = &sketch->params;
	uint64_t width;

	if (params->load <= 0)
		return (struct sketch_shape){.width = params->width};
	width = table->shed.packets > 0 ? GROWTH * params->width
					: (uint64_t)((double)table->used / params->load) + 1;
	width = width_step_up(width > FITTED_WIDTH_MIN ? width : FITTED_WIDTH_MIN, FIT_STEPS, 1);
	width = width < params->width_max ? width : params->width_max;
	return (struct sketch_shape){.width = width};
}

#define LOAD_MIN 0.01

static void configure(struct sketch_params *params, const void *own)
{
	const struct compact_table_options *options = own;

	params->load = options->load;
	if (options->load > 0 && params->width == 0)
		params->width = GROWTH * DEFAULT_WIDTH;
}

static const char *inapplicable_without_compact_table(
	const struct config *config, const struct measurement_config *measurement)
{
	(void)config;
	return measurement_sketch(measurement) == &compact_table_ops
		       ? NULL
		       : "without --sketch compact-table";
}

static bool check_options(const struct config *config, const struct measurement_config *measurement,
	struct option_fault *fault)
{
	double load = compact_table_options(measurement)->load;

	(void)config;
	return load <= 0 || load >= LOAD_MIN ||
	       option_fault(fault, "compact-load", measurement, "too small; give 0.01 to 1");
}

static const struct option_row compact_table_rows[] = {
	{
		.name = "compact-load",
		.placeholder = "FRACTION",
		.group = OPTION_GROUP_MEASURE,
		.type = OPTION_FRACTION,
		.rare = true,
		.inapplicable = inapplicable_without_compact_table,
		OPTION_FIELD(compact_table_options, load),
		.zero = true,
		.one = true,
		.default_text = "0",
		.config_only = true,
		.help = "Fit the size of a compact-table to the flows of the last two intervals, "
			"so that they fill FRACTION of its records. 0: fixed size.",
		.man = "A table starts with 16384 records and grows to --width or --memory, by "
		       "default to 1048576. If it overflows, the next one is 4 times as large.",
	},
	{0},
};

const struct option_owner compact_table_owner = {
	.rows = compact_table_rows,
	.size = sizeof(struct compact_table_options),
	.of_measurement = true,
	.check = check_options,
};

const struct sketch_ops compact_table_ops = {
	.name = "compact-table",
	.alias = "ct",
	.options = &compact_table_owner,
	.configure = configure,
	.load_option = "compact-load",
	.any_width = true,
	.suits = "exact like flow-table, in half of its memory per IPv4 key",
	.caps = SKETCH_EXACT | SKETCH_DETAILS | SKETCH_RECORDS,
	.default_depth = 1,
	.default_width = DEFAULT_WIDTH,
	.first_width = FIRST_WIDTH,
	.check = check,
	.memory = memory,
	.memory_parts = memory_parts,
	.create = create,
	.destroy = one_block_destroy,
	.reset = reset,
	.fit = fit,
	.update = {[SHARING_SEPARATE] = update_separate},
	.update_weighted = {[SHARING_SEPARATE] = update_separate_weighted},
	.has_key = has_key,
	.candidates = candidates,
	.lists_all_keys = shed_nothing,
	.missed = shed_missed,
	.unlisted = shed_unlisted,
	.shed = shed,
};
