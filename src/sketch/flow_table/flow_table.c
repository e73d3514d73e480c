/* SPDX-License-Identifier: BSD-3-Clause */

#include "sketch/flow_table/flow_table.h"

#include "base/assertion.h"
#include "sketch/counter.h"
#include "sketch/flow_table/flow_detail.h"
#include "sketch/flow_table/flow_idle.h"
#include "sketch/measurement.h"
#include "sketch/implement.h"
#include "sketch/shed.h"

#define DEFAULT_WIDTH (UINT64_C(1) << 18)
#define WIDTH_MIN     16
#define WIDTH_MAX     (UINT64_C(1) << 30) /* entry numbers have 32 bits */

static const struct flow_table *flow_table_of_const(const struct sketch *sketch)
{
	return (const struct flow_table *)sketch;
}

/*
 * `returned` is a stack of entries, linked by `next`. Its low half is the top entry, or 0. Its
 * high half counts changes, against the ABA problem.
 */

#define STACK_TOP    UINT64_C(0xffffffff)
#define STACK_CHANGE (STACK_TOP + 1)

static uint32_t take_returned(struct flow_table *table)
{
	/* Pairs with the release in flow_return(): `next` of the top entry is valid. */
	uint64_t stack = atomic_load_explicit(&table->returned, memory_order_acquire), rest;

	do {
		if ((stack & STACK_TOP) == 0)
			return 0;
		rest = atomic_load_explicit(
			&table->entries[stack & STACK_TOP].next, memory_order_relaxed);
		rest |= (stack & ~STACK_TOP) + STACK_CHANGE;
	} while (!atomic_compare_exchange_weak_explicit(
		&table->returned, &stack, rest, memory_order_acquire, memory_order_acquire));
	return (uint32_t)(stack & STACK_TOP);
}

uint32_t flow_take(struct flow_table *table)
{
	uint32_t used = atomic_load_explicit(&table->used, memory_order_relaxed);
	uint32_t returned = take_returned(table);

	if (returned != 0)
		return returned;
	while (used < flow_nb_entries(&table->sketch.params))
		if (atomic_compare_exchange_weak_explicit(&table->used, &used, used + 1,
			    memory_order_relaxed, memory_order_relaxed))
			return used;
	return take_returned(table);
}

void flow_return(struct flow_table *table, uint32_t entry)
{
	struct flow_entry *e = &table->entries[entry];
	uint64_t stack = atomic_load_explicit(&table->returned, memory_order_relaxed);

	ASSERT(entry, >=, table->nb_buckets);
	e->deep = 0;
	atomic_store_explicit(&e->state, FLOW_FREE, memory_order_relaxed);
	do
		atomic_store_explicit(&e->next, (uint32_t)stack, memory_order_relaxed);
	while (!atomic_compare_exchange_weak_explicit(&table->returned, &stack,
		((stack & ~STACK_TOP) + STACK_CHANGE) | entry, memory_order_release,
		memory_order_relaxed));
}

static uint32_t default_deep_flows(uint64_t width)
{
	uint64_t flows = width / FLOW_DEEP_WIDTH_PART;

	return flows < FLOW_DEEP_FLOWS_MAX ? (uint32_t)flows : FLOW_DEEP_FLOWS_MAX;
}

static const char *check(struct sketch_params *params)
{
	if (params->depth == 0)
		params->depth = 1;
	if (params->width == 0)
		params->width = DEFAULT_WIDTH;
	params->candidates = 0; /* the table lists all keys */

	if (params->depth != 1)
		return "depth is 1: a flow table has one row of buckets";
	if (params->width < WIDTH_MIN || params->width > WIDTH_MAX)
		return "a flow table has 16 to 1073741824 buckets";
	if (params->deep.deepest != FLOW_COUNT && params->deep.flows == 0)
		params->deep.flows = default_deep_flows(params->width);
	return NULL;
}

static void memory_parts(const struct sketch_params *params, struct sketch_memory *parts)
{
	const uint64_t entries = flow_nb_entries(params);

	parts[0] = (struct sketch_memory){"entries", entries * sizeof(struct flow_entry)};
	parts[1] = (struct sketch_memory){"IPv6 keys", entries * sizeof(struct key6)};
	parts[2] = (struct sketch_memory){
		"IP bytes", params->ip_bytes ? entries * sizeof(uint64_t) : 0};
	parts[3] = (struct sketch_memory){"details", flow_deep_memory(params)};
	parts[4] = (struct sketch_memory){
		"ended records", params->idle_timeout > 0 ? flow_idle_memory(params) : 0};
	parts[5] = (struct sketch_memory){"header", sizeof(struct flow_table)};
}

static size_t memory(const struct sketch_params *params)
{
	return sketch_memory_sum(&flow_table_ops, params);
}

static void empty(struct flow_table *table)
{
	atomic_store_explicit(&table->used, table->nb_buckets, memory_order_relaxed);
	atomic_store_explicit(&table->returned, 0, memory_order_relaxed);
	atomic_store_explicit(&table->shed_packets, 0, memory_order_relaxed);
	atomic_store_explicit(&table->shed_bytes, 0, memory_order_relaxed);
	atomic_store_explicit(&table->shed_added, 0, memory_order_relaxed);
	atomic_store_explicit(&table->shed_added_bytes, 0, memory_order_relaxed);
	if (table->idle != NULL)
		flow_idle_reset(table->idle);
	if (table->deep != NULL)
		flow_deep_reset(table->deep);
}

static struct sketch *create(const struct sketch_params *params)
{
	struct flow_table *table = params->allocator.alloc(memory(params), params->allocator.arg);
	void *behind;

	if (table == NULL)
		return NULL;
	table->sketch.ops = &flow_table_ops;
	table->sketch.params = *params;
	table->nb_buckets = (uint32_t)params->width;
	table->modulus_inverse = flow_modulus_inverse(table->nb_buckets);
	table->entries = (struct flow_entry *)(table + 1);
	behind = table->entries + flow_nb_entries(params);
	if (params->deep.deepest != FLOW_COUNT) {
		table->deep = flow_deep_init(behind, params);
		behind = (char *)behind + flow_deep_memory(params);
	}
	if (params->idle_timeout > 0) {
		table->idle = flow_idle_init(behind, params);
		behind = (char *)behind + flow_idle_memory(params);
	}
	if (params->ip_bytes) {
		table->ip_bytes = behind;
		behind = table->ip_bytes + flow_nb_entries(params);
	}
	table->key6 = behind;
	hash_key_init(&table->hash_key, params->seed);
	empty(table);
	return &table->sketch;
}

/* Entries that were never taken are still zero. IPv6 keys need no clearing. */
static void reset(struct sketch *sketch)
{
	struct flow_table *table = flow_table_of(sketch);

	memset(table->entries, 0,
		atomic_load_explicit(&table->used, memory_order_relaxed) * sizeof(*table->entries));
	empty(table);
}

/* Collects entries, so that the hashes of their keys are computed as one burst. */
struct listing {
	const struct flow_table *table;
	sketch_emit_fn emit;
	void *arg;
	bool expired; /* true: the entries come from the queue of expired entries */
	struct key_burst keys;
	const struct flow_entry *entries[BURST_MAX];
	const struct flow_detail *details[BURST_MAX];
	uint64_t ip_bytes[BURST_MAX];
};

static bool is_idle(const struct listing *listing, const struct flow_entry *entry)
{
	const struct flow_idle *idle = listing->table->idle;

	return listing->expired || (idle != NULL && flow_is_idle(idle, entry, idle->now));
}

static uint64_t amount_of(const struct flow_table *table, const struct sketch_candidate *candidate)
{
	return table->sketch.params.metric == SKETCH_PACKETS ? candidate->packets
							     : candidate->bytes;
}

static void emit_listed(struct listing *listing)
{
	hash_burst(&listing->table->hash_key, &listing->keys);
	for (uint32_t i = 0; i < listing->keys.n; i++) {
		const struct flow_entry *e = listing->entries[i];
		struct sketch_candidate candidate = {
			.key = key_burst_get(&listing->keys, i),
			.hash = listing->keys.hash[i],
			.packets = atomic_load_explicit(&e->packets, memory_order_relaxed),
			.bytes = atomic_load_explicit(&e->bytes, memory_order_relaxed),
			.first = atomic_load_explicit(&e->first, memory_order_relaxed),
			.last = atomic_load_explicit(&e->last, memory_order_relaxed),
			.ip_bytes = listing->ip_bytes[i],
			.tcp_flags = atomic_load_explicit(&e->tcp_flags, memory_order_relaxed),
			.idle = is_idle(listing, e),
		};

		if (listing->table->deep != NULL)
			candidate.figures = flow_deep_figures(e, listing->details[i]);
		/* A saturated amount is only a lower bound. */
		if (amount_of(listing->table, &candidate) >= COUNTER64_GUARD)
			candidate.before = UINT64_MAX;
		listing->emit(&candidate, listing->arg);
	}
	listing->keys.n = 0;
	listing->keys.v6 = 0;
}

static void list_entry(struct listing *listing, const struct flow_entry *entry,
	const struct key6 *key6, const struct flow_detail *detail, uint64_t ip_bytes)
{
	uint32_t i = listing->keys.n;

	listing->entries[i] = entry;
	listing->details[i] = detail;
	listing->ip_bytes[i] = ip_bytes;
	flow_id_append(&listing->keys, &entry->id, key6);
	if (listing->keys.n == BURST_MAX)
		emit_listed(listing);
}

static void candidates(const struct sketch *sketch, sketch_emit_fn emit, void *arg)
{
	const struct flow_table *table = flow_table_of_const(sketch);
	struct listing listing = {.table = table, .emit = emit, .arg = arg};
	uint32_t used = atomic_load_explicit(&table->used, memory_order_relaxed);

	for (uint32_t e = 0; e < used; e++) {
		const struct flow_entry *entry = &table->entries[e];

		if (atomic_load_explicit(&entry->state, memory_order_relaxed) == FLOW_STORED)
			list_entry(&listing, entry, &table->key6[e],
				table->deep != NULL ? flow_detail_of(table->deep->details, entry)
						    : NULL,
				table->ip_bytes != NULL ? atomic_load_explicit(&table->ip_bytes[e],
								  memory_order_relaxed)
							: 0);
	}
	emit_listed(&listing);
}

static void expired(struct sketch *sketch, sketch_emit_fn emit, void *arg)
{
	struct flow_table *table = flow_table_of(sketch);
	struct flow_queue *queue;
	uint32_t n, slot;

	if (table->idle == NULL)
		return;
	queue = &table->idle->queue;
	n = flow_queue_length(queue, &slot);
	if (n > 0) {
		struct listing listing = {
			.table = table, .emit = emit, .arg = arg, .expired = true};

		for (uint32_t i = 0; i < n; i++, slot = (slot + 1) % FLOW_QUEUE)
			list_entry(&listing, &queue->entries[slot], &queue->key6[slot],
				queue->details != NULL ? &queue->details[slot] : NULL,
				queue->ip_bytes != NULL ? queue->ip_bytes[slot] : 0);
		emit_listed(&listing);
		flow_queue_release(queue, n);
	}
}

static void remove_idle(struct sketch *sketch, int64_t now)
{
	struct flow_table *table = flow_table_of(sketch);

	if (table->idle == NULL || table->idle->now == INT64_MIN || now <= table->idle->now)
		return;
	table->idle->now = now;
	flow_sweep(table);
}

static struct sketch_shed shed(const struct sketch *sketch)
{
	const struct flow_table *table = flow_table_of_const(sketch);

	return (struct sketch_shed){
		.packets = atomic_load_explicit(&table->shed_packets, memory_order_relaxed),
		.bytes = atomic_load_explicit(&table->shed_bytes, memory_order_relaxed),
		.added = atomic_load_explicit(&table->shed_added, memory_order_relaxed),
		.added_bytes = atomic_load_explicit(&table->shed_added_bytes, memory_order_relaxed),
		.details = table->deep != NULL ? table->deep->refused : 0,
	};
}

static void set_states(struct sketch *sketch, const struct flow_states *states)
{
	struct flow_deep *deep = flow_table_of(sketch)->deep;

	if (deep != NULL)
		flow_deep_set_states(deep, states);
}

static const uint64_t *state_packets(const struct sketch *sketch)
{
	const struct flow_deep *deep = flow_table_of_const(sketch)->deep;

	return deep != NULL ? deep->packets : NULL;
}

static const struct flow_query_packets *query_packets(const struct sketch *sketch)
{
	const struct flow_deep *deep = flow_table_of_const(sketch)->deep;

	return deep != NULL ? deep->of_queries : NULL;
}

/* Returns NULL if threads can share a table with these parameters. */
static const char *check_shared(const struct sketch_params *params, const char **option)
{
	*option = "flow-detail";
	if (params->deep.deepest != FLOW_COUNT)
		return "needs the packets of a flow in order, which threads that share a table "
		       "cannot provide; give --sharing separate";
	*option = "idle-timeout";
	return params->idle_timeout == 0
		       ? NULL
		       : "frees entries that other threads of a shared table may read; give "
			 "--sharing separate";
}

static void configure(struct sketch_params *params, const void *own)
{
	const struct flow_table_options *options = own;

	if (options->buckets != 0)
		params->width = options->buckets;
	params->idle_timeout = options->idle_timeout;
	params->deep = (struct sketch_deep){
		.deepest = options->deep,
		.flows = options->deep_flows,
		.after = options->deep_after,
		.share = options->deep_share,
	};
}

static const char *inapplicable_without_flow_table(
	const struct config *config, const struct measurement_config *measurement)
{
	(void)config;
	return measurement_sketch(measurement) == &flow_table_ops ? NULL
								  : "without --sketch flow-table";
}

static const char *inapplicable_without_idle_timeout(
	const struct config *config, const struct measurement_config *measurement)
{
	(void)config;
	return flow_table_options(measurement)->idle_timeout > 0 ? NULL : "without --idle-timeout";
}

static const char *inapplicable_without_deep(
	const struct config *config, const struct measurement_config *measurement)
{
	(void)config;
	return flow_table_options(measurement)->deep != FLOW_COUNT ? NULL : "without --flow-detail";
}

static const char *inapplicable_without_deep_tcp(
	const struct config *config, const struct measurement_config *measurement)
{
	(void)config;
	return flow_table_options(measurement)->deep == FLOW_TCP ? NULL
								 : "without --flow-detail tcp";
}

const char *flow_depth_word(uint32_t i)
{
	static const char *const words[] = {
		[FLOW_COUNT] = "count", [FLOW_RATE] = "rate", [FLOW_TCP] = "tcp", NULL};

	return words[i];
}

OPTION_WORDS_OF(depth_suits, [FLOW_COUNT] = "packets, bytes, times, flags",
	[FLOW_RATE] = "also peak rate, bursts and gaps between packets",
	[FLOW_TCP] = "also retransmissions, order and zero windows")

static bool check_deep(const struct config *config, const struct measurement_config *measurement,
	struct option_fault *fault)
{
	const struct key_rule *key = &measurement_options(measurement)->key;

	(void)config;
	if (flow_table_options(measurement)->deep != FLOW_TCP ||
		measurement_sketch(measurement) != &flow_table_ops ||
		key_rule_equal(key, &key_rules[0]))
		return true;
	return option_fault(fault, "flow-detail", measurement,
		"tcp inspects sequence numbers of one direction of a connection, but key %s "
		"combines several; give --key 5tuple or --flow-detail rate",
		key->name);
}

static const struct option_row flow_table_rows[] = {
	{
		.name = "buckets",
		.placeholder = "N",
		.group = OPTION_GROUP_MEASURE,
		.type = OPTION_COUNT,
		.rare = true,
		.inapplicable = inapplicable_without_flow_table,
		OPTION_FIELD(flow_table_options, buckets),
		.set = "shape",
		.min = WIDTH_MIN,
		.max = UINT64_C(1) << 30,
		.default_note = "--width",
		.hidden = true,
		.help = "Set the buckets of a flow table.",
	},
	{
		.name = "idle-timeout",
		.rare = true,
		.placeholder = "TIME",
		.group = OPTION_GROUP_MEASURE,
		.type = OPTION_TIME,
		.inapplicable = inapplicable_without_flow_table,
		OPTION_FIELD(flow_table_options, idle_timeout),
		.zero = true,
		.zero_means = "never",
		.min = 1000,
		.max = OPTION_CENTURY,
		.default_text = "0",
		.help = "End the record of a key that had no packet for TIME, and reuse its "
			"place. For flow-table with --sharing separate. 0: records end with the "
			"interval.",
	},
	{
		.name = "expired-keys",
		.placeholder = "N",
		.group = OPTION_GROUP_MEASURE,
		.type = OPTION_COUNT,
		.rare = true,
		.inapplicable = inapplicable_without_idle_timeout,
		OPTION_FIELD(flow_table_options, expired_keys),
		.min = 1,
		.max = UINT64_C(1) << 28,
		.default_text = "1000000",
		.config_only = true,
		.help = "Keep the sums of up to N expired keys per interval for --output, at about "
			"200 bytes each. Packets of further keys are only in --flows and in the "
			"bounds.",
	},
	{
		.name = "flow-detail",
		.placeholder = "LEVEL[,after=N][,share=F][,max=N]",
		.group = OPTION_GROUP_MEASURE,
		.type = OPTION_CHOICE,
		.rare = true,
		.word = flow_depth_word,
		.suits = depth_suits,
		.inapplicable = inapplicable_without_flow_table,
		OPTION_FIELD(flow_table_options, deep),
		.default_text = "count",
		.former = "deep",
		.help = "Limit the detail of flows in a flow-table. tcp needs --key 5tuple; rate "
			"and tcp need --sharing separate. Levels:",
	},
	{
		.name = "deep-after",
		.placeholder = "N",
		.group = OPTION_GROUP_MEASURE,
		.type = OPTION_COUNT,
		.rare = true,
		.inapplicable = inapplicable_without_deep,
		OPTION_FIELD(flow_table_options, deep_after),
		.min = 1,
		.max = UINT64_C(1) << 30,
		.default_text = "16",
		.hidden = true,
		.part_of = "flow-detail",
		.part = ",after=",
		.help = "Raise a flow from count to rate after N packets.",
	},
	{
		.name = "deep-share",
		.placeholder = "FRACTION",
		.group = OPTION_GROUP_MEASURE,
		.type = OPTION_FRACTION,
		.rare = true,
		.zero = true,
		.one = true,
		.inapplicable = inapplicable_without_deep_tcp,
		OPTION_FIELD(flow_table_options, deep_share),
		.default_text = "0.01",
		.hidden = true,
		.part_of = "flow-detail",
		.part = ",share=",
		.help = "Raise a flow from rate to tcp at this share of the packets of the "
			"interval so far, or after a burst.",
	},
	{
		.name = "deep-flows",
		.placeholder = "N",
		.group = OPTION_GROUP_MEASURE,
		.type = OPTION_COUNT,
		.rare = true,
		.inapplicable = inapplicable_without_deep,
		OPTION_FIELD(flow_table_options, deep_flows),
		.min = 1,
		.max = FLOW_DEEP_FLOWS_MAX,
		.default_note = "an eighth of the width",
		.hidden = true,
		.part_of = "flow-detail",
		.part = ",max=",
		.help = "Limit the flows in rate and tcp, per copy of the sketch, at 64 bytes each. "
			"A warning reports if there are more.",
	},
	{0},
};

const struct option_owner flow_table_owner = {
	.rows = flow_table_rows,
	.size = sizeof(struct flow_table_options),
	.of_measurement = true,
	.check = check_deep,
};

static bool has_key(const struct sketch *sketch, const struct key_burst *burst, uint32_t i)
{
	const struct flow_table *table = flow_table_of_const(sketch);
	const struct flow_id id = flow_id_of(burst, i);
	uint32_t entry =
		flow_modulo((uint32_t)burst->hash[i].lo, table->nb_buckets, table->modulus_inverse);

	if (atomic_load_explicit(&table->entries[entry].state, memory_order_relaxed) != FLOW_STORED)
		return false;
	while (!flow_matches(table, entry, &id, burst, i)) {
		entry = atomic_load_explicit(&table->entries[entry].next, memory_order_relaxed);
		if (entry == 0)
			return false;
	}
	return true;
}

static void fetch(const struct sketch *sketch, const struct key_burst *burst)
{
	uint32_t bucket[BURST_MAX];

	flow_buckets(flow_table_of_const(sketch), burst, flow_hash_keyed, bucket);
}

const struct sketch_ops flow_table_ops = {
	.name = "flow-table",
	.alias = "ft",
	.options = &flow_table_owner,
	.configure = configure,
	.width_option = "buckets",
	.any_width = true,
	.check_shared = check_shared,
	.suits = "exact packets, bytes, times and TCP flags, if every key fits",
	.caps = SKETCH_EXACT | SKETCH_DETAILS | SKETCH_RECORDS,
	.default_depth = 1,
	.default_width = DEFAULT_WIDTH,
	.check = check,
	.memory = memory,
	.memory_parts = memory_parts,
	.create = create,
	.destroy = one_block_destroy,
	.reset = reset,
	.update =
		{[SHARING_SEPARATE] = flow_update_separate, [SHARING_SHARED] = flow_update_shared},
	.update_weighted = {[SHARING_SEPARATE] = flow_update_separate_weighted,
		[SHARING_SHARED] = flow_update_shared_weighted},
	.fetch = fetch,
	.has_key = has_key,
	.candidates = candidates,
	.lists_all_keys = shed_nothing,
	.missed = shed_missed,
	.unlisted = shed_unlisted,
	.shed = shed,
	.expired = expired,
	.remove_idle = remove_idle,
	.set_states = set_states,
	.state_packets = state_packets,
	.query_packets = query_packets,
};
