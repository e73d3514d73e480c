/* SPDX-License-Identifier: BSD-3-Clause */

#include "collect/dedup/dedup.h"

#include <stddef.h>
#include <string.h>

#include "base/assertion.h"
#include "base/random.h"
#include "base/router_names.h"
#include "collect/dedup/dedup_method.h"
#include "collect/dedup/deferred_flows.h"
#include "collect/dedup/flow_front.h"
#include "collect/dedup/flow_paths.h"
#include "key/hash.h"
#include "sketch/counter.h"

/* Independent of the run's hash, which distributes records to workers. */
#define OWN_HASH        UINT64_C(0x6465647570)
#define SHARE_BYTES_MAX (SHARE_BYTES_LIMIT - 1)
#define ROUND           (UINT64_C(1) << 32) /* range of a 32-bit total */
#define PACKET_BYTES    10000               /* most mean bytes per packet of a flow */
#define SAMPLED_MAX     UINT32_MAX /* most packets or bytes, whose products fit in 64 bits */
#define OVERHEAD_MAX    256        /* maximum of link-overhead, in bytes */
/* See struct dedup_check. */
#define DIFFER_ONE_IN   16
#define MEET_ONE_IN     2
#define INEXACT_LEAST   16
#define INEXACT_MAX     256

struct dedup {
	struct dedup_params params;
	const struct dedup_ops *ops;
	struct hash_key hash_key;
	struct dedup_context known;
	struct flow_path *paths; /* path of each flow entry; NULL: disabled */
	uint8_t *hops_in_use;
	bool keeps; /* keep flows of all records, not only of totals */
};

const char *dedup_word(uint32_t method)
{
	return method < DEDUP_METHOD_COUNT ? dedup_methods[method].word : NULL;
}

const char *dedup_suits(uint32_t method)
{
	return method < DEDUP_METHOD_COUNT ? dedup_methods[method].suits : NULL;
}

static bool wants_paths(const struct dedup_params *params)
{
	return params->paths || params->routes;
}

/* The other methods decide at the first record. */
static bool holds_flows(const struct dedup_params *params)
{
	return dedup_methods[params->method].settle != NULL;
}

/* A record of the method window covers samples up to one timeout before its own. */
static uint64_t flow_timeout(const struct dedup_params *params)
{
	return params->method == DEDUP_WINDOW ? 2 * params->timeout : params->timeout;
}

static size_t paths_bytes(const struct dedup_params *params)
{
	return wants_paths(params) ? flow_paths_memory(params->flows) : 0;
}

/* One byte per hop. */
static size_t in_use_bytes(const struct dedup_params *params)
{
	return observation_points_memory(params->exporters) / sizeof(struct hop);
}

size_t dedup_memory(const struct dedup_params *params)
{
	return sizeof(struct dedup) + observed_flows_memory(params->flows) +
	       observation_points_memory(params->exporters) + routes_memory(params->flows) +
	       params->exporters + roles_memory(params->exporters) + paths_bytes(params) +
	       in_use_bytes(params) +
	       (holds_flows(params) ? deferred_flows_memory(params->flows) : 0);
}

static bool init(struct dedup *dedup, const struct dedup_params *params)
{
	const struct sketch_allocator *allocator = &params->allocator;
	struct dedup_context *context = &dedup->known;

	if (!observed_flows_init(&context->flows, params->flows, flow_timeout(params), allocator) ||
		!observation_points_init(
			&context->observers, params->exporters, params->seed, allocator) ||
		!routes_init(&context->routes, params->flows, params->seed, context->flows.timeout,
			allocator) ||
		!roles_init(&context->roles, params->exporters, params->seed, allocator))
		return false;
	context->routes.epoch = 1;
	context->edges = params->edges;
	context->aligns = params->method == DEDUP_BEST;
	if (holds_flows(params) && !deferred_flows_init(&context->held, params->flows, allocator))
		return false;
	context->flows.keep = params->paths;
	context->has_ingress = allocator->alloc(params->exporters, allocator->arg);
	dedup->hops_in_use = allocator->alloc(in_use_bytes(params), allocator->arg);
	if (wants_paths(params))
		dedup->paths = allocator->alloc(paths_bytes(params), allocator->arg);
	return context->has_ingress && dedup->hops_in_use && (dedup->paths || !wants_paths(params));
}

struct dedup *dedup_create(const struct dedup_params *params)
{
	const struct sketch_allocator *allocator = &params->allocator;
	struct dedup *dedup = allocator->alloc(sizeof(*dedup), allocator->arg);

	if (!dedup)
		return NULL;
	dedup->params = *params;
	dedup->ops = &dedup_methods[params->method];
	dedup->keeps = dedup->ops->flows || wants_paths(params);
	hash_key_init(&dedup->hash_key, random_mix(params->seed ^ OWN_HASH));
	if (!init(dedup, params)) {
		dedup_destroy(dedup);
		return NULL;
	}
	return dedup;
}

static void release(const struct sketch_allocator *allocator, void *memory, size_t size)
{
	if (memory)
		allocator->free(memory, size, allocator->arg);
}

void dedup_destroy(struct dedup *dedup)
{
	struct dedup_params params;

	if (!dedup)
		return;
	params = dedup->params;
	observed_flows_fini(&dedup->known.flows, &params.allocator);
	observation_points_fini(&dedup->known.observers, &params.allocator);
	routes_fini(&dedup->known.routes, params.flows, &params.allocator);
	roles_fini(&dedup->known.roles, &params.allocator);
	deferred_flows_fini(&dedup->known.held, params.flows, &params.allocator);
	release(&params.allocator, dedup->known.has_ingress, params.exporters);
	release(&params.allocator, dedup->hops_in_use, in_use_bytes(&params));
	release(&params.allocator, dedup->paths, paths_bytes(&params));
	release(&params.allocator, dedup, sizeof(*dedup));
}

/* Returns the share of the hop's observer, or of its totals; NULL: none. */
static inline struct share *find_share(struct dedup_context *context, struct flow *flow,
	uint32_t hop, bool total, uint32_t *number)
{
	const struct hop *hops = context->observers.hops;
	uint32_t point = hops[hop].point;

	for (uint32_t i = 0; i < flow->nb; i++) {
		struct share *share = observed_flows_share(&context->flows, flow, i);

		if ((hops[share->hop].point == point) & (share->total == total)) {
			*number = i;
			return share;
		}
	}
	return NULL;
}

static struct share *get_share(struct dedup_context *context, struct record_in_progress *record,
	uint32_t hop, bool total, uint32_t *number)
{
	struct share *share = find_share(context, record->flow, hop, total, number);

	if (!total)
		record->is_new = share == NULL;
	if (share)
		return share;
	share = observed_flows_add_share(&context->flows, record->flow, record->now);
	if (share) {
		*number = record->flow->nb - UINT32_C(1);
		share->hop = hop & (HOPS_MAX - 1);
		share->total = total;
		if (!total)
			share_set_time(&context->flows, share, record->last);
	}
	return share;
}

/* Returns true if the byte total wrapped at 32 bits: the packets in between explain it. */
static bool bytes_went_round(const struct share *last, const struct record_in_progress *record)
{
	uint64_t back = share_total_bytes(last) - record->bytes;
	bool of_32_bits = share_total_bytes(last) < ROUND + last->packets * OVERHEAD_MAX;

	return of_32_bits && record->observation->sampling == 1 &&
	       record->packets > last->packets && back < ROUND &&
	       ROUND - back <= (record->packets - last->packets) * PACKET_BYTES;
}

/*
 * Converts a session total to its difference to the share; `base`: the share at the start of the
 * session. A smaller total belongs to a session whose start was not received.
 */
static void session_difference(
	const struct share *base, const struct share *share, struct record_in_progress *record)
{
	uint64_t packets = share->packets - base->packets;
	uint64_t bytes = share->bytes - share_total_bytes(base);

	if (base->packets > share->packets || share_total_bytes(base) > share->bytes ||
		packets > record->packets)
		return;
	record->packets -= packets;
	record->bytes -= bytes < record->bytes ? bytes : record->bytes;
}

/* Returns true if the flow started after its last record. */
static bool is_new_session(const struct record_in_progress *record, uint32_t last)
{
	const struct observation *observation = record->observation;

	return observation->flags & OBSERVATION_FIRST &&
	       (int32_t)(ticks_of(observation->time - (int64_t)observation->first * 1000000) -
			 last) > 0;
}

/* Converts a total to the difference to the last one. A smaller total restarts. */
static void difference(struct share *last, struct record_in_progress *record)
{
	uint64_t packets = record->packets, bytes = record->bytes;
	uint64_t last_bytes = share_total_bytes(last);

	if (packets >= last->packets && bytes >= last_bytes) {
		record->packets -= last->packets;
		record->bytes -= last_bytes;
	} else if (bytes_went_round(last, record)) {
		record->packets -= last->packets;
		record->bytes += ROUND - last_bytes;
	}
	last->packets = packets & (2 * SHARE_PACKETS_LIMIT - 1);
	share_set_total_bytes(last, bytes);
	if (record->bytes > SHARE_BYTES_MAX) {
		record->bytes = SHARE_BYTES_MAX;
		record->bytes_cut = true;
	}
}

/* Restarts counts at 0 before a share overflows. */
static void begin_anew(struct dedup_context *context, struct flow *flow)
{
	for (uint32_t i = 0; i < flow->nb; i++) {
		struct share *share = observed_flows_share(&context->flows, flow, i);

		/* Keep deferred samples. */
		if (!share->total && !(flow->flags & FLOW_DEFERRED && share->sampled)) {
			share->packets = 0;
			share->bytes = 0;
			share->estimated = 0;
		}
	}
	flow->packets = 0;
	flow->bytes = 0;
	flow->advance = 0;
	flow->gap = 0;
	flow->before_gap = 0;
	flow->doubted_at = 0;
	flow->span = 0;
}

/*
 * A sampled share has only deferred samples, or those of a flow that others report unsampled
 * (dedup_method.c).
 */
static bool waits(const struct dedup_context *context, const struct record_in_progress *record)
{
	return context->held.room > 0 && record->sampled;
}

static void set_hop(struct record_in_progress *record, uint32_t hop)
{
	if (record->share->hop == hop)
		return;
	record->moved = true;
	record->flow->flags |= FLOW_MOVED;
	record->share->hop = hop & (HOPS_MAX - 1);
}

/* Restarts a share that changes between sampled and unsampled. */
static void set_sampled(struct record_in_progress *record)
{
	struct share *share = record->share;

	if (share->sampled == record->sampled)
		return;
	share->sampled = record->sampled;
	record->is_new = true;
	share->packets = 0;
	share->bytes = 0;
	share->estimated = 0;
}

static void add_to_share(
	struct dedup_context *context, struct record_in_progress *record, uint32_t hop)
{
	struct share *share = record->share;
	uint64_t packets, bytes;
	uint32_t last;

	set_hop(record, hop);
	set_sampled(record);
	record->before = share_time(&context->flows, share, record->now);
	/* The methods of EMC2 use arrival times. */
	last = context->aligns ? record->last : record->now;
	if ((int32_t)(last - record->before) > 0)
		share_set_time(&context->flows, share, last);
	if (waits(context, record))
		return;
	if (share->packets + record->packets >= 2 * SHARE_PACKETS_LIMIT ||
		share->bytes + record->bytes >= 2 * SHARE_BYTES_LIMIT)
		begin_anew(context, record->flow);
	if (context->aligns)
		find_begin(context, record);
	if (record->begin + record->packets >= 2 * SHARE_PACKETS_LIMIT) {
		begin_anew(context, record->flow);
		find_begin(context, record);
	}
	packets = share->packets + record->packets;
	bytes = share->bytes + record->bytes;
	share->packets = packets & (2 * SHARE_PACKETS_LIMIT - 1);
	share->bytes = bytes & (2 * SHARE_BYTES_LIMIT - 1);
}

/* Lookups for all records of a burst, before counting. */
struct lookup_batch {
	uint32_t guess[BURST_MAX]; /* entry of the flow */
	uint32_t hop[BURST_MAX];
};

/* Returns the start of a new session in its observer's totals: 0, or the present share. */
static struct share begin_session(
	const struct share *last, const struct share *share, uint32_t flags)
{
	struct share begun = *last;
	bool session = flags & OBSERVATION_SESSION;

	begun.packets = session ? share->packets : 0;
	share_set_total_bytes(&begun, session ? share->bytes : 0);
	return begun;
}

/* Returns the time of the flow's last report before the record; `now` for a new flow. */
static uint32_t last_heard(const struct dedup_context *context, const struct key_hash *hash,
	uint32_t guess, uint32_t now)
{
	const struct flow *flow = guess != FLOW_NONE ? &context->flows.flows[guess] : NULL;

	return flow != NULL && flow_is_of(flow, hash) ? flow->last : now;
}

/*
 * Finds the flow and the observer's share, and adds the record. Returns false if the table is full.
 */
static bool find_flow(struct dedup_context *context, struct record_in_progress *record,
	const struct key_hash *hash, uint32_t hop, uint32_t guess)
{
	uint32_t unused, before, flags;
	struct share *last;

	if (hop == HOP_NONE)
		return false;
	before = last_heard(context, hash, guess, record->now);
	record->flow = observed_flows_get(&context->flows, hash, guess, record->now);
	if (!record->flow)
		return false;
	record->share = get_share(context, record, hop, false, &record->number);
	if (!record->share)
		return false;
	flags = record->observation->flags;
	if (!(flags & OBSERVATION_SINCE_START)) {
		add_to_share(context, record, hop);
		return true;
	}
	last = get_share(context, record, hop, true, &unused);
	if (!last)
		return false;
	if (is_new_session(record, before))
		*last = begin_session(last, record->share, flags);
	if (flags & OBSERVATION_SESSION)
		session_difference(last, record->share, record);
	else
		difference(last, record);
	add_to_share(context, record, hop);
	if (flags & OBSERVATION_ENDED)
		*last = begin_session(last, record->share, flags);
	return true;
}

static uint64_t multiplied(uint64_t value, uint32_t sampling, uint64_t limit)
{
	uint64_t product;

	if (__builtin_mul_overflow(value, (uint64_t)sampling, &product) || product > limit)
		return limit;
	return product;
}

/* Initialized in place: a copy stalls on store forwarding. */
static inline void set_record(
	struct record_in_progress *record, const struct observation *observation)
{
	*record = (struct record_in_progress){
		.observation = observation,
		.now = ticks_of(observation->time),
		.sampled = observation->sampling > 1,
		.has_first = (observation->flags & (OBSERVATION_FIRST | OBSERVATION_SINCE_START)) ==
			     OBSERVATION_FIRST,
		.packets = multiplied(
			observation->packets, observation->sampling, SHARE_PACKETS_LIMIT - 1),
		.bytes = multiplied(observation->bytes, observation->sampling,
			observation->flags & OBSERVATION_SINCE_START ? SHARE_TOTAL_LIMIT - 1
								     : SHARE_BYTES_MAX),
	};

	record->bytes_cut = record->bytes == SHARE_BYTES_MAX;
	record_times(record);
}

static void set_router(uint8_t number[2], uint32_t exporter)
{
	uint32_t router = exporter < ROUTER_UNKNOWN ? exporter : ROUTER_UNKNOWN;

	number[0] = (uint8_t)(router >> 8);
	number[1] = (uint8_t)router;
}

static void set_routers(struct key_extra *extra, uint32_t ingress, uint32_t egress)
{
	set_router(extra->ingress, ingress);
	set_router(extra->egress, egress);
}

/* Adds the record to its path, and the path's routers to the key. */
static void follow_flow(struct dedup *dedup, struct record_in_progress *record,
	const struct record_value *record_value, struct key_extra *extra)
{
	uint32_t ingress = record->observation->exporter, egress = ingress;

	if (record->share) {
		struct flow_path *path =
			&dedup->paths[flow_number(&dedup->known.flows, record->flow)];

		flow_path_report(path, &dedup->known, record, record_value);
		if (dedup->params.routes) {
			flow_path_ends(path, &dedup->known, record);
			ingress = path->ingress;
			egress = path->egress;
		}
	}
	set_routers(extra, ingress, egress);
}

/*
 * Values a record without flow entry by the edge method; a total without a previous one adds
 * nothing.
 */
static struct record_value without_flow(struct dedup *dedup, struct record_in_progress *record)
{
	record->flow = NULL;
	record->share = NULL;
	if (record->observation->flags & OBSERVATION_SINCE_START) {
		record->packets = record->bytes = 0;
		return (struct record_value){0, 0, 1};
	}
	if (!dedup->ops->flows)
		return dedup->ops->take(&dedup->known, record);
	return value_at_edge(&dedup->known, record);
}

/*
 * Returns true if these frame sizes are inside the known range, as most are. No product overflows:
 * packets have 40 bits.
 */
static bool are_frames_known(
	const struct dedup_counts *counts, const struct record_value *record_value)
{
	const uint64_t limit = UINT64_C(1) << 24;

	return counts->measured > 0 && counts->largest_frame < limit &&
	       record_value->bytes >= counts->smallest_frame * record_value->packets &&
	       record_value->bytes <= counts->largest_frame * record_value->packets;
}

static void count_frames(struct dedup_counts *counts, const struct record_value *record_value)
{
	uint64_t least, most;
	uint32_t smallest, largest;

	if (are_frames_known(counts, record_value))
		return;
	least = record_value->bytes / record_value->packets;
	most = least + (record_value->bytes % record_value->packets != 0);
	smallest = least < UINT32_MAX ? (uint32_t)least : UINT32_MAX;
	largest = most < UINT32_MAX ? (uint32_t)most : UINT32_MAX;
	if (counts->measured == 0 || smallest < counts->smallest_frame)
		counts->smallest_frame = smallest;
	if (counts->measured == 0 || largest > counts->largest_frame)
		counts->largest_frame = largest;
}

/* Counts frames of unknown size. Call after count(). */
static void count_hidden_frames(const struct observation *observation,
	const struct record_value *record_value, struct dedup_counts *counts)
{
	if (frame_sizes_unknown(observation) && record_value->packets > 0 &&
		counts->largest_frame < FRAME_EXPECTED)
		counts->largest_frame = FRAME_EXPECTED;
}

/* Moves the doubt since the last call to the counts. */
static void count_doubt(struct dedup_context *context, struct dedup_counts *counts)
{
	if (context->roles.reporting <= 1) /* no packet is reported twice */
		context->doubt.duplicate_packets = context->doubt.duplicate_bytes = 0;
	counts->duplicate_packets += context->doubt.duplicate_packets;
	counts->duplicate_bytes += context->doubt.duplicate_bytes;
	counts->new_packets += context->doubt.new_packets;
	counts->new_bytes += context->doubt.new_bytes;
	if ((double)context->doubt.new_sampling > counts->sampling)
		counts->sampling = (double)context->doubt.new_sampling;
	counts->unknown |= context->doubt.blind;
	counts->late |= context->doubt.late;
	context->doubt = (struct role_doubt){0};
}

static void count_worth(const struct record_value *record_value, struct dedup_counts *counts)
{
	counts->measured += record_value->packets;
	counts->bytes += record_value->bytes;
	if (record_value->sampling > counts->sampling)
		counts->sampling = record_value->sampling;
}

static inline void count(uint64_t received, bool counted, const struct record_value *record_value,
	struct dedup_counts *counts, struct record_counts *exporter)
{
	counts->received += received;
	if (counted)
		exporter->counted++;
	else
		exporter->duplicate++;
	if (record_value->packets == 0)
		return;
	count_frames(counts, record_value);
	count_worth(record_value, counts);
}

/*
 * Defers counted packets if ingress and egress routers are required and those of the route were not
 * known before this epoch, or the flow is deferred.
 */
static void await_routers(
	struct dedup *dedup, struct record_in_progress *record, struct record_value *record_value)
{
	struct dedup_context *context = &dedup->known;
	const struct route *route;
	struct deferred_flow *deferred;

	if (!record->share || record_value->packets == 0)
		return;
	route = route_of(context, record);
	if (!(record->flow->flags & FLOW_DEFERRED) && route->ends_known &&
		route->ends_since != context->routes.epoch)
		return;
	deferred = deferred_flows_get(&context->held, &context->flows, record);
	if (!deferred)
		return;
	deferred_flow_add_certain(deferred, record_value);
	record->held = true;
	*record_value = (struct record_value){0, 0, 1};
}

static bool has_totals(const struct observation *observation)
{
	return observation->flags & OBSERVATION_SINCE_START;
}

static struct record_value take(struct dedup *dedup, struct record_in_progress *record,
	const struct key_hash *hash, const struct lookup_batch *ahead, uint32_t i, bool *edge_only)
{
	bool totals = has_totals(record->observation);
	struct record_value record_value;
	bool found;

	if (!dedup->keeps && !totals)
		return dedup->ops->take(&dedup->known, record);
	found = find_flow(&dedup->known, record, hash, ahead->hop[i], ahead->guess[i]);
	*edge_only = !found && (dedup->ops->flows || totals);
	if (!found)
		return without_flow(dedup, record);
	if (dedup->ops->flows)
		add_evidence(&dedup->known, record);
	record_value = dedup->ops->take(&dedup->known, record);
	flow_add(record->flow, record_value.packets, record_value.bytes);
	return record_value;
}

/* Returns true for the common record, which only adds to an existing share. */
static inline bool is_common(const struct dedup_context *context,
	const struct observation *observation, const struct flow *flow, const struct key_hash *hash,
	uint32_t now)
{
	const uint32_t flags = FLOW_USED | FLOW_MORE | FLOW_DEFERRED | FLOW_UNSAMPLED | FLOW_UNSURE;

	return flow->hash.lo == hash->lo && flow->hash.hi == hash->hi &&
	       (flow->flags & flags) == (FLOW_USED | FLOW_UNSAMPLED) &&
	       (uint8_t)(flow->nb - 1) < FLOW_SHARES &&
	       (int32_t)(now - flow->last) <= (int32_t)context->flows.timeout &&
	       observation->sampling == 1 && !has_totals(observation) &&
	       observation->packets < SHARE_PACKETS_LIMIT && observation->bytes < SHARE_BYTES_MAX;
}

/*
 * Stores the position of the record's share, which has no flags, and updates the times of share and
 * flow. Adds the record to the evidence about interfaces.
 */
static inline void store_share(struct dedup_context *context, struct record_in_progress *record,
	uint32_t hop, uint64_t packets, uint64_t bytes)
{
	struct share *share = record->share;
	struct flow *flow = record->flow;
	uint64_t last = share->last;

	if ((int32_t)(record->last - record->before) > 0)
		last = share_time_of(&context->flows, record->last);
	share->state = share_state(packets, hop);
	share->bytes_and_last = bytes | last << 50;
	if ((int32_t)(record->now - flow->last) > 0)
		flow->last = record->now;
	if (roles_want(&context->roles, &flow->hash, false)) {
		record->number = (uint32_t)(share - flow->shares);
		add_evidence(context, record);
	}
}

/*
 * Counts a record of a flow that only its observer reports. Returns false if other code must decide.
 */
static inline bool take_single(struct dedup_context *context, struct record_in_progress *record,
	uint32_t hop, struct record_value *record_value)
{
	struct flow *flow = record->flow;
	struct share *share = &flow->shares[0];
	uint64_t counted = flow->packets;
	uint64_t packets = counted + record->packets, bytes = flow->bytes + record->bytes;

	if (share->state != share_state(counted, hop) || share->bytes != flow->bytes ||
		!record->has_first || packets >= 2 * SHARE_PACKETS_LIMIT ||
		bytes >= 2 * SHARE_BYTES_LIMIT)
		return false;
	record->share = share;
	record->before = share_time(&context->flows, share, record->now);
	record->later = is_later(record);
	flow->bytes = bytes & (2 * SHARE_BYTES_LIMIT - 1);
	flow->packets = packets & (2 * SHARE_PACKETS_LIMIT - 1);
	advance(flow, record, counted, packets);
	store_share(context, record, hop, packets, bytes);
	*record_value = (struct record_value){record->packets, record->bytes, 1};
	return true;
}

/* Returns the unsampled share of the hop; NULL: none, or its position is unknown. */
static inline struct share *common_share(struct flow *flow, uint32_t hop)
{
	for (uint32_t i = 0; i < flow->nb; i++)
		if (flow->shares[i].state >> 40 == share_state(0, hop) >> 40)
			return &flow->shares[i];
	return NULL;
}

/*
 * Method best for the common case: an unsampled record of an observer that reported the flow
 * before, without paths. Same result as dedup_methods[], in one function for speed. Returns false
 * for other records.
 */
static inline bool take_common(struct dedup_context *context, const struct observation *observation,
	const struct key_hash *hash, uint32_t hop, uint32_t guess,
	struct record_value *record_value)
{
	uint64_t packets, bytes, most, counted;
	struct record_in_progress record;
	struct share *share;
	struct flow *flow;

	if (guess == FLOW_NONE || hop == HOP_NONE)
		return false;
	flow = &context->flows.flows[guess];
	record.now = ticks_of(observation->time);
	if (!is_common(context, observation, flow, hash, record.now))
		return false;
	record.observation = observation;
	record.flow = flow;
	record.has_first = (observation->flags & OBSERVATION_FIRST) != 0;
	record.later = false;
	record.packets = observation->packets;
	record.bytes = observation->bytes;
	record_times(&record);
	if (flow->nb == 1 && take_single(context, &record, hop, record_value))
		return true;
	share = common_share(flow, hop);
	if (share == NULL)
		return false;
	record.share = share;
	record.before = share_time(&context->flows, share, record.now);
	packets = share->packets + observation->packets;
	bytes = share->bytes + observation->bytes;
	if (packets >= 2 * SHARE_PACKETS_LIMIT || bytes >= 2 * SHARE_BYTES_LIMIT ||
		!follows(&context->flows, &record) || is_contradicted(&record, packets))
		return false;
	if (flow->nb > 1 &&
		(roles_lost_since(&context->roles, observation->exporter, record.before) ||
			is_ahead(&record, flow->packets, packets)))
		return false;
	*record_value = (struct record_value){0, 0, 1};
	counted = flow->packets;
	if (packets > counted) {
		record_value->packets = fresh(&record, packets);
		most = most_unsampled_bytes(&context->flows, flow);
		most = bytes > most ? bytes : most;
		record_value->bytes = most > flow->bytes ? most - flow->bytes : 0;
		if (!is_plausible(&record, record_value))
			return false;
	}
	if (!record.has_first)
		context->roles.exporters[observation->exporter].timeless = true;
	if (flow->nb > 1) /* before the front advances */
		check_add(&context->check, &record, record_value, packets, false);
	if (packets > counted) {
		flow_add(flow, record_value->packets, record_value->bytes);
		advance(flow, &record, counted, packets);
	}
	store_share(context, &record, hop, packets, bytes);
	return true;
}

/* Notes that counts of a record are only lower bounds. */
static inline void note_unknown(const struct observation *observation, struct dedup_counts *counts)
{
	const uint32_t unknown = OBSERVATION_PACKETS_UNKNOWN | OBSERVATION_BYTES_UNKNOWN;

	if (!(observation->flags & unknown))
		return;
	counts->unknown |= (observation->flags & OBSERVATION_PACKETS_UNKNOWN) != 0;
	counts->bytes_unknown |= (observation->flags & OBSERVATION_BYTES_UNKNOWN) != 0;
}

/*
 * Returns the index of the sampled share of the hop; FLOW_SHARES: none. Without a branch per share,
 * because exporters report in any order. Unused shares are 0. A flow with one share has all in its
 * first cache line.
 */
static inline uint32_t find_sampled_share(const struct flow *flow, uint32_t hop)
{
	const uint64_t state = share_state_sampled(hop) >> 40;
	uint32_t same = UINT32_C(1) << FLOW_SHARES;

	if (flow->nb == 1)
		return flow->shares[0].state >> 40 == state ? 0 : FLOW_SHARES;
	for (uint32_t i = 0; i < FLOW_SHARES; i++)
		same |= (uint32_t)(flow->shares[i].state >> 40 == state) << i;
	return (uint32_t)__builtin_ctz(same);
}

/*
 * Finds the flow and the share of a sample whose observer sampled the flow before, while no
 * unsampled observer reports it, and adds the sample to the evidence. Same result as find_flow() for
 * method best. Returns false for other records.
 */
static inline bool find_sampled(struct dedup_context *context,
	const struct observation *observation, const struct key_hash *hash, uint32_t hop,
	uint32_t guess, struct record_in_progress *record)
{
	const uint32_t flags = FLOW_USED | FLOW_MORE | FLOW_UNSAMPLED;
	uint32_t now = ticks_of(observation->time), i;
	struct share *share;
	struct flow *flow;

	if (guess == FLOW_NONE || hop == HOP_NONE)
		return false;
	flow = &context->flows.flows[guess];
	if (flow->hash.lo != hash->lo || flow->hash.hi != hash->hi ||
		(flow->flags & flags) != FLOW_USED || flow->nb > FLOW_SHARES ||
		flow_is_over(&context->flows, flow, now) || has_totals(observation) ||
		observation->packets > SAMPLED_MAX || observation->bytes > SAMPLED_MAX)
		return false;
	i = find_sampled_share(flow, hop);
	if (i == FLOW_SHARES)
		return false;
	share = &flow->shares[i];
	record->observation = observation;
	record->flow = flow;
	record->share = share;
	record->number = i;
	record->now = now;
	record->held = false;
	record->is_new = false;
	record->has_first = (observation->flags & OBSERVATION_FIRST) != 0;
	record->packets = observation->packets * observation->sampling;
	record->bytes = observation->bytes * observation->sampling;
	record->route = 0;
	record_times(record);
	if (record->packets >= SHARE_PACKETS_LIMIT - 1 || record->bytes >= SHARE_BYTES_MAX)
		return false;
	if ((int32_t)(now - flow->last) > 0)
		flow->last = now;
	record->before = share_time(&context->flows, share, now);
	if ((int32_t)(record->last - record->before) > 0)
		share_set_time(&context->flows, share, record->last);
	add_evidence(context, record);
	return true;
}

/* Counts a sample that find_sampled() has found. */
static inline struct record_value take_sampled(struct dedup_context *context,
	struct record_in_progress *record, struct dedup_counts *counts,
	struct record_counts *exporter)
{
	const struct observation *observation = record->observation;
	struct record_value record_value = value_of_sample(context, record);

	flow_add(record->flow, record_value.packets, record_value.bytes);
	count(record->packets, record->held ? record->number == 0 : record_value.packets > 0,
		&record_value, counts, exporter);
	count_hidden_frames(observation, &record_value, counts);
	if (record->held)
		note_unknown(observation, counts);
	return record_value;
}

static void fill_burst(const struct observation *observations, uint32_t n, struct key_burst *burst)
{
	burst->n = n;
	burst->v6 = 0;
	for (uint32_t i = 0; i < n; i++) {
		const struct observation *observation = &observations[i];

		if (observation->family == KEY_IPV6) {
			burst->v6 |= UINT64_C(1) << i;
			burst->key6[i] = observation->key6;
		} else {
			burst->key4[i] = observation->key4;
		}
		burst->extra[i] = observation->extra;
		burst->time[i] = observation->time;
		burst->tcp_flags[i] = observation->extra.tcp_flags[0];
	}
}

/* Members from `flags` to `next`: what determines the hop, and the sampling interval. */
#define HOP_BYTES                                                                                  \
	(offsetof(struct observation, next) + sizeof(uint32_t) -                                   \
		offsetof(struct observation, flags))

/* Often true for records of one exporter. The times may differ: a burst spans datagrams. */
static inline bool is_same_hop(const struct observation *a, const struct observation *b)
{
	return memcmp(&a->flags, &b->flags, HOP_BYTES) == 0;
}

/* Prefetches for the whole burst. */
static void look_ahead(struct dedup *dedup, const struct observation *observations, uint32_t n,
	struct key_burst *burst, struct lookup_batch *ahead)
{
	struct dedup_context *context = &dedup->known;

	hash_burst(&dedup->hash_key, burst);
	for (uint32_t i = 0; i < n; i++) {
		bool same;

		observed_flows_prefetch(&context->flows, &burst->hash[i]);
		if (!dedup->keeps && !has_totals(&observations[i]))
			continue;
		same = i > 0 && is_same_hop(&observations[i], &observations[i - 1]);
		if (same && observations[i].time == observations[i - 1].time) {
			ahead->hop[i] = ahead->hop[i - 1];
			continue;
		}
		roles_hear(
			&context->roles, observations[i].exporter, ticks_of(observations[i].time));
		roles_report(&context->roles, observations[i].exporter, observations[i].sampling);
		if (__builtin_expect(observations[i].flags & OBSERVATION_AFTER_LOSS, 0))
			roles_lose(&context->roles, observations[i].exporter,
				ticks_of(observations[i].time));
		ahead->hop[i] =
			same ? ahead->hop[i - 1]
			     : observation_points_hop(&context->observers, &observations[i]);
	}
	for (uint32_t i = 0; i < n; i++)
		ahead->guess[i] = observed_flows_guess(&context->flows, &burst->hash[i]);
	for (uint32_t i = 0; i < n && dedup->keeps; i++) {
		uint32_t flow = ahead->guess[i];

		if (flow == FLOW_NONE)
			continue;
		if (dedup->ops->flows &&
			roles_want(&context->roles, &burst->hash[i], observations[i].sampling > 1))
			roles_fetch(&context->roles, flow);
		if (dedup->paths)
			__builtin_prefetch(&dedup->paths[flow], 1);
	}
}

/* Processes any record. Not inlined, to save registers in the loop of dedup_burst(). */
static __attribute__((noinline)) struct record_value take_record(struct dedup *dedup,
	const struct lookup_batch *ahead, uint32_t i, const struct observation *observation,
	struct key_burst *burst, struct dedup_counts *counts, struct record_counts *exporter)
{
	struct record_in_progress record;
	bool edge_only = false;
	struct record_value record_value;

	set_record(&record, observation);
	record.sampled |=
		dedup->params.method == DEDUP_WINDOW && observation->flags & OBSERVATION_SAMPLE;
	record_value = take(dedup, &record, &burst->hash[i], ahead, i, &edge_only);
	if (dedup->params.routes && holds_flows(&dedup->params))
		await_routers(dedup, &record, &record_value);
	if (dedup->paths)
		follow_flow(dedup, &record, &record_value, &burst->extra[i]);
	exporter->edge_only += edge_only;
	counts->unknown |= edge_only && has_totals(observation);
	counts->bytes_unknown |= record.bytes_cut;
	count(record.packets, record.held ? record.number == 0 : record_value.packets > 0,
		&record_value, counts, exporter);
	count_hidden_frames(observation, &record_value, counts);
	if (record.held)
		note_unknown(observation, counts);
	return record_value;
}

void dedup_burst(struct dedup *dedup, const struct observation *observations, uint32_t n,
	struct key_burst *burst, struct dedup_counts *counts, struct record_counts *by_exporter)
{
	bool common = dedup->params.method == DEDUP_BEST && !dedup->paths;
	struct key_weights *weights = burst->weights;
	struct lookup_batch ahead;

	ASSERT(n, <=, BURST_MAX);
	fill_burst(observations, n, burst);
	look_ahead(dedup, observations, n, burst, &ahead);
	for (uint32_t i = 0; i < n; i++) {
		const struct observation *observation = &observations[i];
		struct record_counts *exporter = &by_exporter[observation->exporter];
		struct record_in_progress record;
		struct record_value record_value;

		if (common && observation->sampling > 1 &&
			find_sampled(&dedup->known, observation, &burst->hash[i], ahead.hop[i],
				ahead.guess[i], &record))
			record_value = take_sampled(&dedup->known, &record, counts, exporter);
		else if (common && take_common(&dedup->known, observation, &burst->hash[i],
					   ahead.hop[i], ahead.guess[i], &record_value))
			count(observation->packets, record_value.packets > 0, &record_value, counts,
				exporter);
		else
			record_value =
				take_record(dedup, &ahead, i, observation, burst, counts, exporter);
		if (record_value.packets > 0)
			note_unknown(observation, counts);
		weights->packets[i] = record_value.packets;
		weights->bytes[i] = record_value.packets > 0 ? record_value.bytes : 0;
	}
}

/* Sets the routers of a deferred flow, and adds it to its path, before it enters the burst. */
static void settle_path(struct dedup *dedup, struct deferred_flow *deferred,
	const struct record_value *record_value)
{
	struct flow *flow = &dedup->known.flows.flows[deferred->flow];
	/* For route_of(), if no record has set the route. */
	const struct observation observation = {.family = deferred->family, .key6 = deferred->key};
	struct record_in_progress record = {
		.observation = &observation,
		.flow = flow,
		.now = flow->last,
		.route = deferred->route,
	};
	struct flow_path *path = &dedup->paths[deferred->flow];

	path->packets += record_value->packets;
	path->bytes += record_value->bytes;
	if (!dedup->params.routes)
		return;
	path->stale = true;
	flow_path_ends(path, &dedup->known, &record);
	set_routers(&deferred->extra, path->ingress, path->egress);
}

static void put_deferred(const struct deferred_flow *deferred,
	const struct record_value *record_value, struct key_burst *burst)
{
	uint32_t i = burst->n++;

	if (deferred->family == KEY_IPV6) {
		burst->v6 |= UINT64_C(1) << i;
		burst->key6[i] = deferred->key;
	} else {
		memcpy(&burst->key4[i], &deferred->key, sizeof(burst->key4[i]));
	}
	burst->extra[i] = deferred->extra;
	burst->time[i] = deferred->time;
	burst->tcp_flags[i] = deferred->tcp_flags;
	burst->weights->packets[i] = record_value->packets;
	burst->weights->bytes[i] = record_value->bytes;
}

static void count_held(const struct deferred_flow *deferred,
	const struct record_value *record_value, struct dedup_counts *counts)
{
	if (counts->measured == 0 || deferred->smallest_frame < counts->smallest_frame)
		counts->smallest_frame = deferred->smallest_frame;
	if (counts->measured == 0 || deferred->largest_frame > counts->largest_frame)
		counts->largest_frame = deferred->largest_frame;
	count_worth(record_value, counts);
}

static void settle_deferred(struct dedup *dedup, struct deferred_flow *deferred,
	struct key_burst *burst, struct dedup_counts *counts)
{
	struct flow *flow = &dedup->known.flows.flows[deferred->flow];
	struct record_value record_value = dedup->ops->settle(&dedup->known, deferred);

	flow_add(flow, record_value.packets, record_value.bytes);
	record_value.packets += deferred->sure_packets;
	record_value.bytes += deferred->sure_bytes;
	if (record_value.packets == 0)
		return;
	/* The mean of several exporters is rounded, so its packets may be larger. */
	deferred_flow_add_frames(deferred, record_value.packets, record_value.bytes);
	if ((double)deferred->sure_sampling > record_value.sampling)
		record_value.sampling = (double)deferred->sure_sampling;
	if (dedup->paths)
		settle_path(dedup, deferred, &record_value);
	put_deferred(deferred, &record_value, burst);
	count_held(deferred, &record_value, counts);
}

void dedup_hear(struct dedup *dedup, uint32_t exporter, int64_t now)
{
	roles_hear(&dedup->known.roles, exporter, ticks_of(now));
}

/* Returns true if the records of this epoch and of the recent past contradict the assumption. */
static bool is_refuted(const struct dedup_check *check)
{
	return check->differed > check->compared / DIFFER_ONE_IN ||
	       (check->inexact >= INEXACT_LEAST && check->met * MEET_ONE_IN < check->inexact);
}

/*
 * Tests whether exporters on one path see the same packets. If too many records differ, packets of
 * all flows with several exporters are in doubt until records of this epoch cannot be waiting any
 * more.
 */
static void end_check(struct dedup_context *context, uint32_t now)
{
	struct dedup_check *check = &context->check;
	struct role_doubt *doubt = &context->doubt;

	if (is_refuted(check)) {
		check->failed = true;
		check->failed_at = now;
	} else if (now - check->failed_at > DOUBT_TIMEOUTS * context->flows.timeout) {
		check->failed = false;
	}
	if (check->failed) {
		doubt->new_packets = counter64_sum(doubt->new_packets, check->dropped_packets);
		doubt->new_bytes = counter64_sum(doubt->new_bytes, check->dropped_bytes);
		doubt->duplicate_packets =
			counter64_sum(doubt->duplicate_packets, check->counted_packets);
		doubt->duplicate_bytes =
			counter64_sum(doubt->duplicate_bytes, check->counted_bytes);
		doubt->late |= check->counted_packets > 0;
	}
	check->compared /= 2;
	check->differed /= 2;
	if (check->inexact > INEXACT_MAX) {
		check->inexact /= 2;
		check->met /= 2;
	}
	check->dropped_packets = check->dropped_bytes = 0;
	check->counted_packets = check->counted_bytes = 0;
}

void dedup_learn(struct dedup *dedup, int64_t now, bool last, struct dedup_counts *counts)
{
	struct dedup_context *context = &dedup->known;

	if (!context->roles.started)
		roles_expire_restored(&context->roles, now);
	roles_end_epoch(&context->roles, &context->observers, &context->flows, ticks_of(now), last,
		&context->doubt);
	end_check(context, ticks_of(now));
	counts->observers = context->roles.reporting;
	count_doubt(context, counts);
}

void dedup_restore_role(struct dedup *dedup, const struct interface_role_row *row, int64_t saved_at)
{
	struct dedup_context *context = &dedup->known;

	if (row->exporter < dedup->params.exporters && row->side < OBSERVATION_POINT_SIDES)
		roles_restore(
			&context->roles, &context->observers, row, saved_at, ticks_of(saved_at));
}

void dedup_emit_roles(const struct dedup *dedup,
	void (*emit)(void *arg, const struct interface_role_row *row), void *arg)
{
	roles_emit(&dedup->known.roles, &dedup->known.observers, emit, arg);
}

uint32_t dedup_settle(struct dedup *dedup, struct key_burst *burst, struct dedup_counts *counts)
{
	struct dedup_context *context = &dedup->known;

	burst->n = 0;
	burst->v6 = 0;
	while (burst->n < BURST_MAX) {
		struct deferred_flow *deferred =
			deferred_flows_settle(&context->held, &context->flows);

		if (!deferred)
			break;
		settle_deferred(dedup, deferred, burst, counts);
	}
	count_doubt(context, counts);
	return burst->n;
}

static void sweep_hops(struct dedup *dedup)
{
	struct observed_flows *flows = &dedup->known.flows;

	memset(dedup->hops_in_use, 0, in_use_bytes(&dedup->params));
	for (uint32_t number = 0; number < flows->nb; number++) {
		struct flow *flow = &flows->flows[number];

		for (uint32_t i = 0; !(flow->flags & FLOW_MORE) && i < flow->nb; i++)
			dedup->hops_in_use[observed_flows_share(flows, flow, i)->hop] = 1;
	}
	observation_points_sweep(&dedup->known.observers, dedup->hops_in_use);
}

static void emit_paths(
	struct dedup *dedup, void (*emit)(void *arg, const struct path_row *row), void *arg)
{
	struct observed_flows *flows = &dedup->known.flows;

	for (uint32_t number = 0; number < flows->nb; number++) {
		struct flow *flow = &flows->flows[number];

		if (flow->flags & FLOW_TOLD)
			flow_path_emit(&dedup->paths[number], &dedup->known, flow, emit, arg);
	}
}

void dedup_end_epoch(struct dedup *dedup, int64_t now,
	void (*emit)(void *arg, const struct path_row *row), void *arg)
{
	if (dedup->params.paths)
		emit_paths(dedup, emit, arg);
	roles_begin_epoch(&dedup->known.roles);
	dedup->known.routes.epoch++;
	observed_flows_expire(&dedup->known.flows, ticks_of(now));
	if (observation_points_want_sweep(&dedup->known.observers))
		sweep_hops(dedup);
}

void dedup_forget_exporter(struct dedup *dedup, uint32_t exporter)
{
	observation_points_forget(&dedup->known.observers, exporter);
	roles_forget(&dedup->known.roles, exporter);
	dedup->known.has_ingress[exporter] = 0;
}
