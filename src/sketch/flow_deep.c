/* SPDX-License-Identifier: BSD-3-Clause */
#include "sketch/flow_deep.h"

#include "sketch/flow_owned.h"

#define PROTO_TCP 6

#define TCP_FIN 0x01
#define TCP_SYN 0x02
#define TCP_RST 0x04

/*
 * ---- A packet
 */

/* What is looked at. */
struct look {
	struct flow_table *table;
	const struct key_burst *burst;
	uint32_t i;           /* its entry of the burst */
	uint32_t at;          /* and its flow's of the table */
	uint64_t packets;     /* of the flow, up to it */
	uint64_t total;       /* of the table, up to it */
	uint32_t bytes;       /* of one packet */
	int64_t before;       /* when the flow's last packet was */
	uint64_t gap;         /* since then */
	enum flow_depth last; /* that that one was looked at in */
};

static uint32_t add_clamped(uint32_t a, uint32_t b)
{
	return a + b < a ? UINT32_MAX : a + b;
}

/* Whether a burst begins with this packet. */
static bool look_at_rate(const struct look *look, struct flow_detail *detail)
{
	uint32_t now = (uint32_t)((uint64_t)look->before + look->gap), in_window;

	uint32_t gap = (uint32_t)(look->gap < FLOW_QUIET_NS ? look->gap : FLOW_QUIET_NS);

	detail->packets++;
	detail->gaps += gap;
	if (gap < detail->gap_min)
		detail->gap_min = gap;
	if (look->last == FLOW_COUNT || look->gap >= FLOW_WINDOW_NS ||
		now - detail->window_start >= FLOW_WINDOW_NS) {
		detail->window_start = now;
		detail->window_packets = 0;
		detail->window_bytes = 0;
	}
	detail->window_packets++;
	detail->window_bytes = add_clamped(detail->window_bytes, look->bytes);
	if (detail->window_bytes > detail->peak_bytes)
		detail->peak_bytes = detail->window_bytes;

	in_window = detail->window_packets;
	if (in_window < FLOW_BURST_PACKETS || (in_window & FLOW_IN_BURST) != 0 ||
		(unsigned __int128)in_window * detail->gaps <=
			(unsigned __int128)detail->packets *
				(FLOW_BURST_MEANS * (uint64_t)FLOW_WINDOW_NS))
		return false;
	detail->window_packets |= FLOW_IN_BURST;
	detail->bursts++;
	return true;
}

static bool precedes(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) < 0;
}

/* A segment of bytes from seq to end, of which the first is not the one that was due. */
static void look_at_late(struct flow_detail *detail, uint32_t seq, uint32_t end)
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

static void look_at_tcp(const struct look *look, struct flow_detail *detail)
{
	const struct key_tcp *tcp = &look->burst->tcp[look->i];
	uint8_t flags = look->burst->tcp_flags[look->i];
	bool control = (flags & (TCP_SYN | TCP_FIN | TCP_RST)) != 0;
	uint32_t length = tcp->payload + ((flags & TCP_SYN) != 0) + ((flags & TCP_FIN) != 0);
	uint32_t seq = tcp->sequence, end = seq + length;

	detail->zero_windows += tcp->window == 0 && !control;
	if (look->last != FLOW_TCP) {
		detail->next = detail->hole_begin = detail->hole_end = end;
		return;
	}
	if (length > 0 && precedes(seq, detail->next)) {
		bool keep_alive = length == 1 && !control && seq + 1 == detail->next;

		if (!keep_alive)
			look_at_late(detail, seq, end);
	}
	if (!precedes(detail->next, end))
		return;
	if (precedes(detail->next, seq)) {
		detail->hole_begin = detail->next;
		detail->hole_end = seq;
	}
	detail->next = end;
}

static bool is_tcp(const struct look *look)
{
	const struct flow_entry *entry = &look->table->entries[look->at];
	struct key4 key4;

	if (flow_family(entry) == KEY_IPV6)
		return look->table->key6[look->at].proto == PROTO_TCP;
	memcpy(&key4, &entry->id, sizeof(key4));
	return key4.proto == PROTO_TCP;
}

/* The state by the flow's own packets, this one not yet looked at. */
static enum flow_depth own_state(const struct look *look, struct flow_detail *detail, uint32_t deep)
{
	enum flow_depth own = (enum flow_depth)(deep & FLOW_DEEP_OWN);
	uint32_t before = (uint32_t)look->packets - 1;

	if (own == FLOW_COUNT)
		return before - detail->window_packets < look->table->deep->params.after
			       ? FLOW_COUNT
			       : FLOW_RATE;
	if (look->gap <= FLOW_QUIET_NS)
		return own;
	if (own == FLOW_RATE)
		detail->window_packets = before;
	return (enum flow_depth)(own - 1);
}

static enum flow_depth mapped(const struct look *look, enum flow_depth own)
{
	return flow_states_map(&look->table->deep->states, &look->burst->hash[look->i], own);
}

/* The flow has had enough packets, and no detail. */
static uint32_t get_detail(const struct look *look, uint32_t deep)
{
	struct flow_deep *pool = look->table->deep;
	uint32_t detail;

	if (mapped(look, FLOW_RATE) == FLOW_COUNT)
		return deep;
	detail = flow_detail_take(pool);
	if (detail == 0) {
		pool->refused += (deep & FLOW_DEEP_MARK) == 0;
		return deep | FLOW_DEEP_MARK;
	}
	/* As if it had come back just as many packets ago as it needs. */
	pool->details[detail].window_packets = (uint32_t)look->packets - 1 - pool->params.after;
	return detail << FLOW_DEEP_DETAIL | FLOW_COUNT;
}

/* Of a flow that may be more than counted. Before its entry counts the packet. */
static __attribute__((noinline)) void look_at(struct look *look)
{
	struct flow_deep *pool = look->table->deep;
	struct flow_entry *entry = &look->table->entries[look->at];
	uint32_t deep = entry->deep;
	enum flow_depth own, state;
	struct flow_detail *detail;
	bool rises = false;

	if (deep >> FLOW_DEEP_DETAIL == 0)
		deep = get_detail(look, deep);
	entry->deep = deep;
	if (deep >> FLOW_DEEP_DETAIL == 0)
		return;
	detail = flow_detail_of(pool, entry);
	look->last = (enum flow_depth)(deep >> FLOW_DEEP_LOOKED & FLOW_DEEP_OWN);
	own = own_state(look, detail, deep);
	state = mapped(look, own);
	if (state == FLOW_TCP && !look->burst->tcp[look->i].known)
		state = FLOW_RATE;
	if (state >= FLOW_RATE)
		rises = look_at_rate(look, detail);
	if (state == FLOW_TCP)
		look_at_tcp(look, detail);
	pool->packets[FLOW_COUNT]--;
	pool->packets[state]++;

	if (own == FLOW_RATE && pool->params.deepest == FLOW_TCP &&
		(rises || (double)look->packets >= pool->params.share * (double)look->total) &&
		is_tcp(look))
		own = FLOW_TCP;
	entry->deep = (deep & ~(UINT32_C(15))) | (uint32_t)own |
		      (uint32_t)state << FLOW_DEEP_LOOKED |
		      (state == FLOW_TCP ? FLOW_DEEP_MARK : 0);
}

/*
 * ---- A burst
 */

struct work {
	struct flow_burst burst;
	uint32_t at[BURST_MAX];    /* entry of packet i */
	uint64_t total[BURST_MAX]; /* packets of the table up to it */
};

/* Packet i, in its entry. All flags, here and below, are constants. */
static inline __attribute__((always_inline)) void count_one(struct flow_table *table,
	const struct key_burst *burst, const struct work *work, uint32_t i, const bool idle,
	const bool weighted)
{
	struct flow_entry *entry = &table->entries[work->at[i]];
	struct flow_addition addition = flow_addition_of(burst, i, weighted);
	uint64_t packets;

	if (idle && flow_is_idle(table->idle, entry, work->burst.now[i]))
		flow_end(table, work->at[i]);
	packets = atomic_load_explicit(&entry->packets, memory_order_relaxed);
	if (__builtin_expect((entry->deep != 0) | (packets >= table->deep->params.after), 0)) {
		int64_t before = atomic_load_explicit(&entry->last, memory_order_relaxed);
		struct look look = {
			.table = table,
			.burst = burst,
			.i = i,
			.at = work->at[i],
			.packets = packets + addition.packets,
			.total = work->total[i],
			.bytes = (uint32_t)(weighted ? addition.bytes >> burst->weights->shift
						     : addition.bytes),
			.before = before,
			.gap = addition.first > before ? (uint64_t)(addition.first - before) : 0,
		};

		look_at(&look);
	}
	flow_count(entry, &addition, COUNTER_OWNED, weighted);
}

/* Where packet i is counted; false, and it is shed, where there is no room. */
static inline __attribute__((always_inline)) bool find_one(struct flow_table *table,
	const struct key_burst *burst, struct work *work, uint32_t i, const bool idle,
	const bool weighted)
{
	bool found = flow_find(table, burst, &work->burst, i, &work->at[i], flow_find_in_chain);

	if (idle && !found && flow_reclaim(table, work->burst.now[i]))
		found = flow_find(table, burst, &work->burst, i, &work->at[i], flow_find_in_chain);
	if (!found) {
		struct flow_addition addition = flow_addition_of(burst, i, weighted);

		flow_shed(table, &addition, burst, weighted);
	}
	return found;
}

/* First all are found, as without --deep; then they are counted in their order. */
static inline __attribute__((always_inline)) void count_range(struct flow_table *table,
	const struct key_burst *burst, struct work *work, uint32_t begin, uint32_t end,
	const bool idle, const bool weighted)
{
	uint64_t left =
		(end < BURST_MAX ? (UINT64_C(1) << end) - 1 : UINT64_MAX) & (UINT64_MAX << begin);
	uint64_t found = flow_find_first(table, burst, &work->burst, begin, end), counted = left;

	memcpy(work->at + begin, work->burst.bucket + begin, (end - begin) * sizeof(work->at[0]));
	for (left &= ~found; left != 0;) {
		uint32_t i = mask_next(&left);

		if (!find_one(table, burst, work, i, idle, weighted))
			counted &= ~(UINT64_C(1) << i);
	}
	for (uint32_t i = begin; i < end; i++)
		__builtin_prefetch(flow_detail_of(table->deep, &table->entries[work->at[i]]), 1);
	table->deep->packets[FLOW_COUNT] += (uint64_t)__builtin_popcountll(counted);
	while (counted != 0)
		count_one(table, burst, work, mask_next(&counted), idle, weighted);
}

/* One after another: what one does to its entry decides whether that is given back. */
static inline __attribute__((always_inline)) void count_in_turn(struct flow_table *table,
	const struct key_burst *burst, struct work *work, uint32_t begin, uint32_t end,
	const bool weighted)
{
	for (uint32_t i = begin; i < end; i++) {
		if (!find_one(table, burst, work, i, true, weighted))
			continue;
		table->deep->packets[FLOW_COUNT]++;
		count_one(table, burst, work, i, true, weighted);
	}
}

/* In parts that end where a sweep is due. */
static inline __attribute__((always_inline)) void count_idle(struct flow_table *table,
	const struct key_burst *burst, struct work *work, const bool weighted)
{
	flow_burst_read_clock(table, burst, &work->burst);
	for (uint32_t begin = 0, end; begin < burst->n; begin = end) {
		end = flow_sweep_end(table, burst, begin);
		if (flow_may_reclaim(table, end - begin))
			count_in_turn(table, burst, work, begin, end, weighted);
		else
			count_range(table, burst, work, begin, end, true, weighted);
		flow_sweep_after(table, &work->burst, begin, end);
	}
}

static inline __attribute__((always_inline)) void count(
	struct flow_table *table, const struct key_burst *burst, const bool weighted)
{
	uint64_t total = table->deep->total;
	struct work work;

	flow_burst_prepare(table, burst, flow_hash_keyed, &work.burst);
	for (uint32_t i = 0; i < burst->n; i++) {
		total += weight_of(burst, i, weighted).packets;
		work.total[i] = total;
	}
	table->deep->total = total;
	if (table->idle != NULL)
		count_idle(table, burst, &work, weighted);
	else
		count_range(table, burst, &work, 0, burst->n, false, weighted);
}

void flow_deep_update(struct flow_table *table, const struct key_burst *burst)
{
	count(table, burst, false);
}

void flow_deep_update_weighted(struct flow_table *table, const struct key_burst *burst)
{
	count(table, burst, true);
}
