/* SPDX-License-Identifier: BSD-3-Clause */
#include "sketch/flow_table/flow_detail.h"

#include "sketch/flow_table/flow_owned.h"
#include "sketch/implement.h"
#include "sketch/queries.h"

#define PROTO_TCP 6

#define TCP_FIN 0x01
#define TCP_SYN 0x02
#define TCP_RST 0x04

struct work {
	struct flow_burst burst;
	struct flow_detail *details;
	uint64_t after;
	uint64_t share; /* packets below which no flow enters state tcp by its share */
	/* Packets of the table up to and including this entry; only set with weights. */
	uint64_t total[BURST_MAX];
};

/* With 64, counting packets took a third longer (bench/experiments/flow_states). */
#define AHEAD 16

static ALWAYS_INLINE uint32_t add_clamped(uint32_t a, uint32_t b)
{
	return a + b < a ? UINT32_MAX : a + b;
}

static __attribute__((noinline)) bool burst_begins(struct flow_detail *detail)
{
	if ((unsigned __int128)detail->window_packets * detail->gaps <=
		(unsigned __int128)detail->packets * (FLOW_BURST_MEANS * (uint64_t)FLOW_WINDOW_NS))
		return false;
	detail->window_packets |= FLOW_IN_BURST;
	detail->bursts++;
	return true;
}

/*
 * `now` is the low 32 bits of a time in ns. `continues`: the flow's previous packet was processed
 * in state rate or tcp, at most FLOW_QUIET_NS ago. Returns true if a burst begins.
 */
static ALWAYS_INLINE bool update_rate(struct flow_detail *detail, uint32_t gap, uint32_t now,
	uint32_t bytes, const bool continues)
{
	uint32_t age = now - detail->window_start;
	/* All bits are set if the window continues. A branch would be unpredictable. */
	uint32_t same = continues ? -(uint32_t)(age < FLOW_WINDOW_NS) : 0;
	uint32_t packets = (detail->window_packets & same) + 1;

	bytes = add_clamped(bytes, detail->window_bytes & same);
	detail->packets++;
	detail->gaps += gap;
	detail->window_start = now - (age & same);
	detail->window_packets = packets;
	detail->window_bytes = bytes;
	detail->gap_min = gap < detail->gap_min ? gap : detail->gap_min;
	detail->peak_bytes = bytes > detail->peak_bytes ? bytes : detail->peak_bytes;
	return __builtin_expect((packets & (FLOW_IN_BURST | (FLOW_BURST_PACKETS - 1))) == 0, 0) &&
	       burst_begins(detail);
}

static ALWAYS_INLINE bool precedes(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) < 0;
}

/* The segment [seq, end) begins before the expected sequence number. */
static __attribute__((noinline)) void count_late_segment(
	struct flow_detail *detail, uint32_t seq, uint32_t end)
{
	if (precedes(seq, detail->hole_begin) || !precedes(seq, detail->hole_end)) {
		detail->retransmitted++;
		return;
	}
	detail->out_of_order++;
	if (seq == detail->hole_begin)
		detail->hole_begin = precedes(end, detail->hole_end) ? end : detail->hole_end;
	else
		detail->hole_end = seq;
}

static ALWAYS_INLINE void update_tcp(struct flow_detail *detail, const struct key_tcp *tcp,
	uint8_t flags, const enum flow_depth last)
{
	bool control = (flags & (TCP_SYN | TCP_FIN | TCP_RST)) != 0;
	uint32_t length = tcp->payload + ((flags & TCP_SYN) != 0) + ((flags & TCP_FIN) != 0);
	uint32_t seq = tcp->sequence, end = seq + length;

	detail->zero_windows += tcp->window == 0 && !control;
	if (last != FLOW_TCP) {
		detail->next = detail->hole_begin = detail->hole_end = end;
		return;
	}
	if (length > 0 && precedes(seq, detail->next)) {
		bool keep_alive = length == 1 && !control && seq + 1 == detail->next;

		if (!keep_alive)
			count_late_segment(detail, seq, end);
	}
	if (!precedes(detail->next, end))
		return;
	if (precedes(detail->next, seq)) {
		detail->hole_begin = detail->next;
		detail->hole_end = seq;
	}
	detail->next = end;
}

static bool is_tcp(const struct flow_table *table, uint32_t at)
{
	const struct flow_entry *entry = &table->entries[at];

	return (flow_id_family(&entry->id) == KEY_IPV6
			       ? table->key6[at].proto
			       : flow_id_key4(&entry->id).proto) == PROTO_TCP;
}

/* Returns the flow's own state before this packet. */
static ALWAYS_INLINE enum flow_depth own_state(
	struct flow_detail *detail, uint32_t deep, uint32_t packets, uint64_t gap, uint32_t after)
{
	enum flow_depth own = (enum flow_depth)(deep & FLOW_DEEP_STATE);

	if (own == FLOW_COUNT)
		return packets - detail->window_packets < after ? FLOW_COUNT : FLOW_RATE;
	if (gap <= FLOW_QUIET_NS)
		return own;
	if (own == FLOW_RATE)
		detail->window_packets = packets;
	return (enum flow_depth)(own - 1);
}

/* Returns false if the pool is empty. */
static __attribute__((noinline)) bool begin_detail(struct flow_deep *pool, struct flow_entry *entry)
{
	uint32_t detail = flow_detail_take(pool);

	if (detail == 0) {
		pool->refused += (entry->deep & FLOW_DEEP_MARK) == 0;
		entry->deep |= FLOW_DEEP_MARK;
		return false;
	}
	entry->deep = detail << FLOW_DEEP_DETAIL;
	return true;
}

static bool get_detail(struct flow_deep *pool, struct flow_entry *entry,
	const struct key_hash *hash, uint32_t packets)
{
	if (flow_states_map(&pool->states, hash, FLOW_RATE) == FLOW_COUNT ||
		!begin_detail(pool, entry))
		return false;
	/* This packet then raises the flow to state rate. */
	flow_detail_of(pool->details, entry)->window_packets = packets - pool->params.after;
	return true;
}

static ALWAYS_INLINE uint32_t bytes_of(
	const struct key_burst *burst, uint32_t i, const uint32_t mode)
{
	struct weight weight = weight_of(burst, i, (mode & FLOW_WEIGHTED) != 0);

	return (uint32_t)(mode & FLOW_WEIGHTED ? weight.bytes >> burst->weights->shift
					       : weight.bytes);
}

static __attribute__((noinline)) bool enters_tcp(const struct flow_table *table,
	const struct work *work, uint32_t i, uint32_t at, uint64_t packets, bool burst,
	const uint32_t mode)
{
	const struct flow_deep *pool = table->deep;
	uint64_t total = mode & FLOW_WEIGHTED ? work->total[i] : pool->total + i + 1;

	return pool->params.deepest == FLOW_TCP &&
	       (burst || (double)packets >= pool->params.share * (double)total) &&
	       is_tcp(table, at);
}

/*
 * Processes packet i, `gap` ns after the flow's previous packet, in state `own` or in that to which
 * load shedding maps it. Sets *begins if a burst begins. Returns the state.
 */
static ALWAYS_INLINE enum flow_depth update_detail(const struct flow_deep *pool,
	const struct key_burst *burst, uint32_t i, const struct flow_entry *entry,
	enum flow_depth own, uint64_t gap, int64_t now, bool *begins, const uint32_t mode)
{
	struct flow_detail *detail = flow_detail_of(pool->details, entry);
	const uint32_t last = entry->deep >> FLOW_DEEP_LOOKED & FLOW_DEEP_STATE;
	const bool recent = gap <= FLOW_QUIET_NS;
	enum flow_depth state = flow_states_map(&pool->states, &burst->hash[i], own);

	if (state == FLOW_TCP && !burst->tcp[i].known)
		state = FLOW_RATE;
	if (state != FLOW_COUNT)
		*begins = update_rate(detail, (uint32_t)(recent ? gap : FLOW_QUIET_NS),
			(uint32_t)now, bytes_of(burst, i, mode), last != FLOW_COUNT && recent);
	if (state == FLOW_TCP)
		update_tcp(detail, &burst->tcp[i], burst->tcp_flags[i], (enum flow_depth)last);
	return state;
}

static ALWAYS_INLINE void set_states(
	struct flow_entry *entry, enum flow_depth own, enum flow_depth state)
{
	entry->deep = (entry->deep & ~FLOW_DETAIL_STATES) | FLOW_DEEP_OF(own, state) |
		      (state == FLOW_TCP ? FLOW_DEEP_MARK : 0);
}

static __attribute__((noinline)) enum flow_depth process_change(struct flow_table *table,
	const struct key_burst *burst, const struct work *work, uint32_t i, uint32_t at,
	struct flow_before before, const uint32_t mode)
{
	struct flow_deep *pool = table->deep;
	struct flow_entry *entry = &table->entries[at];
	const int64_t now = burst->time[i] > before.last ? burst->time[i] : before.last;
	const uint64_t gap = (uint64_t)(now - before.last);
	enum flow_depth own, met, state;
	bool begins = false;

	if (entry->deep >> FLOW_DEEP_DETAIL == 0 &&
		!get_detail(pool, entry, &burst->hash[i], (uint32_t)before.packets))
		return FLOW_COUNT;
	own = met = own_state(flow_detail_of(pool->details, entry), entry->deep,
		(uint32_t)before.packets, gap, pool->params.after);
	state = update_detail(pool, burst, i, entry, own, gap, now, &begins, mode);
	if (own == FLOW_RATE &&
		enters_tcp(table, work, i, at,
			before.packets + weight_of(burst, i, (mode & FLOW_WEIGHTED) != 0).packets,
			begins, mode))
		own = FLOW_TCP;
	set_states(entry, own, state);
	return met;
}

/* Returns FLOW_STEADY_OF() of the flow's own state before the packet, or 0 for state count. */
static ALWAYS_INLINE uint32_t process_change_steady(struct flow_table *table,
	const struct key_burst *burst, const struct work *work, uint32_t i,
	struct flow_entry *entry, struct flow_before before, const uint32_t mode)
{
	enum flow_depth met = process_change(
		table, burst, work, i, (uint32_t)(entry - table->entries), before, mode);

	return met == FLOW_COUNT ? 0 : FLOW_STEADY_OF(met, FLOW_COUNT);
}

static ALWAYS_INLINE uint32_t steady_of(const struct flow_deep *pool,
	const struct flow_entry *entry, const struct key_hash *hash, const uint32_t mode)
{
	const uint32_t states = entry->deep & FLOW_DETAIL_STATES;

	if (mode & FLOW_DEFERRED)
		return pool->steady[flow_states_part(hash) < pool->states.share][states];
	return states == FLOW_DEEP_OF(FLOW_RATE, FLOW_RATE) ? FLOW_STEADY_OF(FLOW_RATE, FLOW_RATE)
	       : states == FLOW_DEEP_OF(FLOW_TCP, FLOW_TCP) ? FLOW_STEADY_OF(FLOW_TCP, FLOW_TCP)
							    : 0;
}

/* Packet i was just counted. Most packets do not change states. Returns FLOW_STEADY_OF(). */
static ALWAYS_INLINE uint32_t process_packet(struct flow_table *table,
	const struct key_burst *burst, const struct work *work, uint32_t i,
	struct flow_entry *entry, const struct flow_addition *addition, struct flow_before before,
	const uint32_t mode)
{
	const struct flow_deep *pool = table->deep;
	struct flow_detail *detail = flow_detail_of(work->details, entry);
	const uint32_t steady = steady_of(pool, entry, &burst->hash[i], mode);
	/* If time goes back, the difference wraps and is also larger than a second. */
	const uint64_t gap = (uint64_t)addition->last - (uint64_t)before.last;
	const uint64_t packets = before.packets + addition->packets;
	const uint32_t bytes =
		(uint32_t)(mode & FLOW_WEIGHTED ? addition->bytes >> burst->weights->shift
						: addition->bytes);
	bool begins = false;

	if (__builtin_expect(gap > FLOW_QUIET_NS, 0))
		return process_change_steady(table, burst, work, i, entry, before, mode);
	if (steady >> FLOW_STEADY_LOOKED == FLOW_TCP && burst->tcp[i].known) {
		update_rate(detail, (uint32_t)gap, (uint32_t)addition->last, bytes, true);
		update_tcp(detail, &burst->tcp[i], addition->tcp_flags, FLOW_TCP);
		return steady;
	}
	if (steady >> FLOW_STEADY_LOOKED == FLOW_RATE)
		begins = update_rate(detail, (uint32_t)gap, (uint32_t)addition->last, bytes, true);
	else if (steady == 0 || steady >> FLOW_STEADY_LOOKED == FLOW_TCP)
		return process_change_steady(table, burst, work, i, entry, before, mode);
	if ((begins || packets >= work->share) && (entry->deep & FLOW_DEEP_STATE) == FLOW_RATE &&
		enters_tcp(
			table, work, i, (uint32_t)(entry - table->entries), packets, begins, mode))
		entry->deep += FLOW_TCP - FLOW_RATE;
	return steady;
}

static __attribute__((noinline)) void classify(const struct flow_table *table,
	const struct key_burst *burst, uint32_t i, struct flow_entry *entry)
{
	const struct flow_deep *pool = table->deep;
	const struct queries *queries = pool->queries;
	struct query_ranks ranks = burst->v6 >> i & 1 ? queries_ranks6(queries, &burst->key6[i])
						      : queries_ranks4(queries, &burst->key4[i]);

	entry->ranks[0] = ranks.rate;
	entry->ranks[1] = pool->params.deepest == FLOW_TCP ? ranks.tcp : QUERY_NO_RANK;
}

/*
 * Processes packet i in the state that queries request for its flow. The first packet of a flow is
 * only counted, so that flows of one packet take no detail.
 */
static ALWAYS_INLINE uint32_t process_query(struct flow_table *table, const struct key_burst *burst,
	uint32_t i, struct flow_entry *entry, const struct flow_addition *addition,
	struct flow_before before, const uint32_t mode)
{
	struct flow_deep *pool = table->deep;
	struct query_ranks ranks;
	enum flow_depth own, state;
	bool first = before.packets == 0, begins;
	int64_t now;

	if (first)
		classify(table, burst, i, entry);
	ranks = (struct query_ranks){entry->ranks[0], entry->ranks[1]};
	pool->of_queries->rate[ranks.rate]++;
	pool->of_queries->tcp[ranks.tcp]++;
	own = first ? FLOW_COUNT
		    : query_ranks_state(ranks, FLOW_ALL_RANKS - pool->states.ranks_off);
	if (own == FLOW_COUNT) {
		if ((entry->deep & FLOW_DETAIL_STATES) != 0)
			entry->deep &= ~FLOW_DETAIL_STATES;
		return 0;
	}
	if (entry->deep >> FLOW_DEEP_DETAIL == 0 && !begin_detail(pool, entry))
		return 0;
	now = addition->last > before.last ? addition->last : before.last;
	state = update_detail(
		pool, burst, i, entry, own, (uint64_t)(now - before.last), now, &begins, mode);
	set_states(entry, own, state);
	return FLOW_STEADY_OF(own, FLOW_COUNT);
}

/*
 * Returns FLOW_STEADY_OF(), or 0 in state count. `idle` and `details` are compile-time constants.
 */
static ALWAYS_INLINE uint32_t count_one(struct flow_table *table, const struct key_burst *burst,
	const struct work *work, uint32_t i, uint32_t at, const bool details, const bool idle,
	const uint32_t mode)
{
	struct flow_entry *entry = &table->entries[at];
	struct flow_addition addition = flow_addition_of(burst, i, mode);
	struct flow_before before;

	if (idle && flow_is_idle(table->idle, entry, work->burst.now[i]))
		flow_end(table, at);
	before = flow_count(table, at, &addition, COUNTER_OWNED, mode);
	if (mode & FLOW_QUERIES)
		return process_query(table, burst, i, entry, &addition, before, mode);
	/* Flows with fewer than `after` packets have no detail and were not refused one. */
	if (before.packets < work->after)
		return 0;
	return details ? process_packet(table, burst, work, i, entry, &addition, before, mode)
		       : process_change_steady(table, burst, work, i, entry, before, mode);
}

/* If there is no room, counts the packet as shed and returns false. */
static ALWAYS_INLINE bool find_one(struct flow_table *table, const struct key_burst *burst,
	const struct work *work, uint32_t i, uint32_t *at, const bool idle, const uint32_t mode)
{
	bool found = flow_find(table, burst, &work->burst, i, at, flow_find_in_chain);

	if (idle && !found && flow_reclaim(table, work->burst.now[i]))
		found = flow_find(table, burst, &work->burst, i, at, flow_find_in_chain);
	if (!found) {
		struct flow_addition addition = flow_addition_of(burst, i, mode);

		flow_shed(table, &addition, burst, mode);
	}
	return found;
}

/* `found` has one bit per packet. Returns the sum of FLOW_STEADY_OF(). */
static ALWAYS_INLINE uint32_t count_found(struct flow_table *table, const struct key_burst *burst,
	const struct work *work, uint64_t found, const bool details, const uint32_t mode)
{
	uint32_t met = 0;

	while (found != 0) {
		uint32_t i = mask_next(&found);

		met += count_one(
			table, burst, work, i, work->burst.bucket[i], details, false, mode);
	}
	return met;
}

/*
 * Counts the packets whose key is in the first entry of its bucket, and returns them, one bit
 * each. Prefetches the details of AHEAD packets before it counts the AHEAD packets before them.
 */
static ALWAYS_INLINE uint64_t count_first(struct flow_table *table, const struct key_burst *burst,
	const struct work *work, uint32_t *met, const uint32_t mode)
{
	const uint32_t n = burst->n;
	uint64_t all = 0, found, next;
	uint32_t end = n < AHEAD ? n : AHEAD;

	for (found = flow_find_first(table, burst, &work->burst, 0, end, true);; found = next) {
		uint32_t begin = end;

		end = n - begin < AHEAD ? n : begin + AHEAD;
		next = flow_find_first(table, burst, &work->burst, begin, end, true);
		*met += count_found(table, burst, work, found, true, mode);
		all |= found;
		if (begin == n)
			return all;
	}
}

/* Returns the packets that have an entry, one bit each. */
static ALWAYS_INLINE uint64_t find_others(struct flow_table *table, const struct key_burst *burst,
	struct work *work, uint64_t others, const uint32_t mode)
{
	uint64_t found = 0;

	while (others != 0) {
		uint32_t i = mask_next(&others), at;

		if (!find_one(table, burst, work, i, &at, false, mode))
			continue;
		__builtin_prefetch(flow_detail_of(table->deep->details, &table->entries[at]), 1);
		work->burst.bucket[i] = at;
		found |= UINT64_C(1) << i;
	}
	return found;
}

/* Counts packets in the same order as a table without --flow-detail. */
static ALWAYS_INLINE uint32_t count_all(struct flow_table *table, const struct key_burst *burst,
	struct work *work, const bool details, const uint32_t mode)
{
	const uint64_t all = burst->n < BURST_MAX ? (UINT64_C(1) << burst->n) - 1 : UINT64_MAX;
	uint64_t found, others;
	uint32_t met = 0;

	if (details) {
		found = count_first(table, burst, work, &met, mode);
	} else {
		found = flow_find_first(table, burst, &work->burst, 0, burst->n, false);
		met = count_found(table, burst, work, found, false, mode);
	}
	others = find_others(table, burst, work, all & ~found, mode);
	return met + count_found(table, burst, work, others, details, mode) +
	       (uint32_t)__builtin_popcountll(found | others);
}

/* The result also counts each packet that has an entry as a packet in state count. */
static ALWAYS_INLINE uint32_t count_in_turn(struct flow_table *table, const struct key_burst *burst,
	const struct work *work, uint32_t begin, uint32_t end, const bool idle, const uint32_t mode)
{
	uint32_t met = 0;

	for (uint32_t i = begin; i < end; i++) {
		uint32_t at;

		if (find_one(table, burst, work, i, &at, idle, mode))
			met += count_one(table, burst, work, i, at, true, idle, mode) +
			       FLOW_STEADY_OF(FLOW_COUNT, FLOW_COUNT);
	}
	return met;
}

static ALWAYS_INLINE uint32_t count_idle(struct flow_table *table, const struct key_burst *burst,
	struct work *work, const uint32_t mode)
{
	uint32_t met = 0;

	flow_burst_read_clock(table, burst, &work->burst);
	for (uint32_t i = 0; i < burst->n; i++)
		__builtin_prefetch(flow_detail_of(table->deep->details,
					   &table->entries[work->burst.bucket[i]]),
			1);
	for (uint32_t begin = 0, end; begin < burst->n; begin = end) {
		end = flow_sweep_end(table, burst, begin);
		met += count_in_turn(table, burst, work, begin, end, true, mode);
		flow_sweep_after(table, &work->burst, begin, end);
	}
	return met;
}

/* Returns a lower bound of the packets at which a flow may enter state tcp by its share. */
static uint64_t least_share(const struct flow_deep *pool)
{
	double packets = pool->params.share * (double)pool->total;

	if (pool->params.deepest != FLOW_TCP)
		return UINT64_MAX;
	return packets < (double)(UINT64_C(1) << 53) ? (uint64_t)packets : 0;
}

/* Returns true if the burst may take the last detail, so that the order of its flows matters. */
static bool is_scarce(const struct flow_deep *pool, uint32_t n)
{
	uint32_t unused = pool->params.flows + 1 - pool->used;

	return unused > 0 && unused < n;
}

static ALWAYS_INLINE uint32_t count_burst(struct flow_table *table, const struct key_burst *burst,
	struct work *work, const uint32_t mode)
{
	const struct flow_deep *pool = table->deep;

	work->after = pool->params.after;
	work->details = pool->details;
	work->share = least_share(pool);
	if (table->idle != NULL)
		return count_idle(table, burst, work, mode);
	if (is_scarce(pool, burst->n))
		return count_in_turn(table, burst, work, 0, burst->n, false, mode);
	if (pool->used > 1)
		return count_all(table, burst, work, true, mode);
	return count_all(table, burst, work, false, mode);
}

static ALWAYS_INLINE void count(
	struct flow_table *table, const struct key_burst *burst, const uint32_t mode)
{
	struct flow_deep *pool = table->deep;
	uint64_t total = pool->total;
	struct work work;
	uint32_t met, rate, tcp;

	flow_burst_prepare(table, burst, flow_hash_keyed, &work.burst);
	for (uint32_t i = 0; (mode & FLOW_WEIGHTED) != 0 && i < burst->n; i++) {
		total += burst->weights->packets[i];
		work.total[i] = total;
	}
	met = count_burst(table, burst, &work, mode);
	rate = FLOW_STEADY_MET(met, FLOW_RATE);
	tcp = FLOW_STEADY_MET(met, FLOW_TCP);
	pool->packets[FLOW_COUNT] += FLOW_STEADY_MET(met, FLOW_COUNT) - rate - tcp;
	pool->packets[FLOW_RATE] += rate;
	pool->packets[FLOW_TCP] += tcp;
	pool->total = (mode & FLOW_WEIGHTED) != 0 ? total : total + burst->n;
	if (mode & FLOW_QUERIES)
		pool->of_queries->ranks_off[pool->states.ranks_off] += burst->n;
}

static ALWAYS_INLINE void count_as(
	struct flow_table *table, const struct key_burst *burst, const uint32_t mode)
{
	if (table->ip_bytes != NULL)
		count(table, burst, mode | FLOW_IP_BYTES);
	else
		count(table, burst, mode);
}

void flow_detail_update(struct flow_table *table, const struct key_burst *burst)
{
	if (table->deep->queries != NULL)
		count_as(table, burst, FLOW_QUERIES);
	else if (table->deep->held)
		count_as(table, burst, FLOW_DEFERRED);
	else
		count_as(table, burst, 0);
}

void flow_detail_update_weighted(struct flow_table *table, const struct key_burst *burst)
{
	if (table->deep->queries != NULL)
		count_as(table, burst, FLOW_QUERIES | FLOW_WEIGHTED);
	else
		count_as(table, burst, FLOW_DEFERRED | FLOW_WEIGHTED);
}
