/* SPDX-License-Identifier: BSD-3-Clause */
#include "sketch/flow_deep.h"

#include "sketch/flow_owned.h"

#define PROTO_TCP 6

#define TCP_FIN 0x01
#define TCP_SYN 0x02
#define TCP_RST 0x04

/* What the passes over a burst hand on. */
struct work {
	struct flow_burst burst;
	/* Of those that are to be looked at, a bit each: */
	uint64_t to_look_at;
	uint32_t at[BURST_MAX];      /* its entry */
	uint64_t packets[BURST_MAX]; /* of the flow, before it */
	int64_t now[BURST_MAX];      /* the latest time of the flow */
	uint64_t gap[BURST_MAX];     /* ns since the flow's last packet */
	uint64_t total[BURST_MAX];   /* packets of the table, up to it; of weighted ones alone */
};

/*
 * ---- A packet
 */

#define ALWAYS_INLINE inline __attribute__((always_inline))

static ALWAYS_INLINE uint32_t add_clamped(uint32_t a, uint32_t b)
{
	return a + b < a ? UINT32_MAX : a + b;
}

/* Whether the window has many more packets than the mean one of those that were looked at. */
static bool is_burst(const struct flow_detail *detail)
{
	return (unsigned __int128)detail->window_packets * detail->gaps >
	       (unsigned __int128)detail->packets * (FLOW_BURST_MEANS * (uint64_t)FLOW_WINDOW_NS);
}

/* A packet of so many bytes, at a time of which `now` is the low half. Whether a burst begins. */
static ALWAYS_INLINE bool look_at_rate(struct flow_detail *detail, uint64_t since, uint32_t now,
	uint32_t bytes, enum flow_depth last)
{
	uint32_t gap = (uint32_t)(since < FLOW_QUIET_NS ? since : FLOW_QUIET_NS);
	bool same = last != FLOW_COUNT && gap < FLOW_WINDOW_NS &&
		    now - detail->window_start < FLOW_WINDOW_NS;

	detail->packets++;
	detail->gaps += gap;
	if (gap < detail->gap_min)
		detail->gap_min = gap;
	if (!same) {
		detail->window_start = now;
		detail->window_packets = 0;
		detail->window_bytes = 0;
	}
	detail->window_packets++;
	detail->window_bytes = add_clamped(detail->window_bytes, bytes);
	if (detail->window_bytes > detail->peak_bytes)
		detail->peak_bytes = detail->window_bytes;
	if (detail->window_packets % FLOW_BURST_PACKETS != 0 ||
		(detail->window_packets & FLOW_IN_BURST) != 0 || !is_burst(detail))
		return false;
	detail->window_packets |= FLOW_IN_BURST;
	detail->bursts++;
	return true;
}

static ALWAYS_INLINE bool precedes(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) < 0;
}

/* A segment of bytes from seq to end, of which the first is before the one that was due. */
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

static ALWAYS_INLINE void look_at_tcp(
	struct flow_detail *detail, const struct key_tcp *tcp, uint8_t flags, enum flow_depth last)
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

static bool is_tcp(const struct flow_table *table, uint32_t at)
{
	const struct flow_entry *entry = &table->entries[at];
	struct key4 key4;

	if (flow_family(entry) == KEY_IPV6)
		return table->key6[at].proto == PROTO_TCP;
	memcpy(&key4, &entry->id, sizeof(key4));
	return key4.proto == PROTO_TCP;
}

/* The state by the flow's own packets, this one not yet looked at. */
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

/* A flow that has had enough packets, and has no detail: whether it has one now. */
static __attribute__((noinline)) bool get_detail(struct flow_deep *pool, struct flow_entry *entry,
	const struct key_hash *hash, uint32_t packets)
{
	uint32_t detail;

	if (flow_states_map(&pool->states, hash, FLOW_RATE) == FLOW_COUNT)
		return false;
	detail = flow_detail_take(pool);
	if (detail == 0) {
		pool->refused += (entry->deep & FLOW_DEEP_MARK) == 0;
		entry->deep |= FLOW_DEEP_MARK;
		return false;
	}
	/* As if it had come back just as many packets ago as it needs. */
	pool->details[detail].window_packets = packets - pool->params.after;
	entry->deep = detail << FLOW_DEEP_DETAIL | FLOW_COUNT;
	return true;
}

static ALWAYS_INLINE void look_at(struct flow_table *table, const struct key_burst *burst,
	const struct work *work, uint32_t i, const uint32_t mode)
{
	struct flow_deep *pool = table->deep;
	struct flow_entry *entry = &table->entries[work->at[i]];
	const uint64_t packets = work->packets[i], gap = work->gap[i];
	const struct weight weight = weight_of(burst, i, (mode & FLOW_WEIGHTED) != 0);
	struct flow_detail *detail;
	enum flow_depth last, own, state;
	bool burst_begins = false;

	if (entry->deep >> FLOW_DEEP_DETAIL == 0 &&
		!get_detail(pool, entry, &burst->hash[i], (uint32_t)packets))
		return;
	detail = flow_detail_of(pool, entry);
	last = (enum flow_depth)(entry->deep >> FLOW_DEEP_LOOKED & FLOW_DEEP_STATE);
	own = own_state(detail, entry->deep, (uint32_t)packets, gap, pool->params.after);
	state = flow_states_map(&pool->states, &burst->hash[i], own);
	if (state == FLOW_TCP && !burst->tcp[i].known)
		state = FLOW_RATE;
	if (state != FLOW_COUNT)
		burst_begins = look_at_rate(detail, gap, (uint32_t)work->now[i],
			(uint32_t)((mode & FLOW_WEIGHTED) != 0
					   ? weight.bytes >> burst->weights->shift
					   : weight.bytes),
			last);
	if (state == FLOW_TCP)
		look_at_tcp(detail, &burst->tcp[i], burst->tcp_flags[i], last);
	pool->packets[FLOW_COUNT]--;
	pool->packets[own]++;

	if (own == FLOW_RATE && pool->params.deepest == FLOW_TCP &&
		(burst_begins ||
			(double)(packets + weight.packets) >=
				pool->params.share * (double)((mode & FLOW_WEIGHTED) != 0
								      ? work->total[i]
								      : pool->total + i + 1)) &&
		is_tcp(table, work->at[i]))
		own = FLOW_TCP;
	entry->deep = (entry->deep & ~FLOW_DEEP_STATES) | (uint32_t)own |
		      (uint32_t)state << FLOW_DEEP_LOOKED |
		      (state == FLOW_TCP ? FLOW_DEEP_MARK : 0);
}

/*
 * ---- A burst
 */

/* `idle`, here and below, is a constant. */
static ALWAYS_INLINE void look_at_all(struct flow_table *table, const struct key_burst *burst,
	struct work *work, const uint32_t mode)
{
	for (uint64_t left = work->to_look_at; left != 0;)
		look_at(table, burst, work, mask_next(&left), mode);
	work->to_look_at = 0;
}

/* Packet i, in its entry. */
static ALWAYS_INLINE void count_one(struct flow_table *table, const struct key_burst *burst,
	struct work *work, uint32_t i, uint32_t at, const bool idle, const uint32_t mode)
{
	struct flow_entry *entry = &table->entries[at];
	struct flow_addition addition = flow_addition_of(burst, i, mode);
	uint64_t packets;

	if (idle && flow_is_idle(table->idle, entry, work->burst.now[i])) {
		look_at_all(table, burst, work, mode); /* before they go */
		flow_end(table, at);
	}
	packets = atomic_load_explicit(&entry->packets, memory_order_relaxed);
	if ((entry->deep != 0) | (packets >= table->deep->params.after)) {
		int64_t before = atomic_load_explicit(&entry->last, memory_order_relaxed);
		int64_t now = addition.first > before ? addition.first : before;

		__builtin_prefetch(flow_detail_of(table->deep, entry), 1);
		work->at[i] = at;
		work->packets[i] = packets;
		work->now[i] = now;
		work->gap[i] = (uint64_t)(now - before);
		work->to_look_at |= UINT64_C(1) << i;
	}
	flow_count(table, at, &addition, COUNTER_OWNED, mode);
}

/* Where packet i is counted; false, and it is shed, where there is no room. */
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

/* As without --deep. Then they are looked at, in their order. */
static ALWAYS_INLINE void count_all(struct flow_table *table, const struct key_burst *burst,
	struct work *work, const uint32_t mode)
{
	const uint64_t all = burst->n < BURST_MAX ? (UINT64_C(1) << burst->n) - 1 : UINT64_MAX;
	const uint64_t found = flow_find_first(table, burst, &work->burst, 0, burst->n);
	uint32_t counted = burst->n;

	for (uint64_t left = found; left != 0;) {
		uint32_t i = mask_next(&left);

		count_one(table, burst, work, i, work->burst.bucket[i], false, mode);
	}
	for (uint64_t left = all & ~found; left != 0;) {
		uint32_t i = mask_next(&left), at;

		if (find_one(table, burst, work, i, &at, false, mode))
			count_one(table, burst, work, i, at, false, mode);
		else
			counted--;
	}
	table->deep->packets[FLOW_COUNT] += counted;
	look_at_all(table, burst, work, mode);
}

/* One after another: a record that ends is looked at before, with all that came before. */
static ALWAYS_INLINE void count_in_turn(struct flow_table *table, const struct key_burst *burst,
	struct work *work, uint32_t begin, uint32_t end, const uint32_t mode)
{
	for (uint32_t i = begin; i < end; i++) {
		uint32_t at;

		if (flow_may_reclaim(table, end - i))
			look_at_all(table, burst, work, mode);
		if (!find_one(table, burst, work, i, &at, true, mode))
			continue;
		table->deep->packets[FLOW_COUNT]++;
		count_one(table, burst, work, i, at, true, mode);
	}
	look_at_all(table, burst, work, mode);
}

/* In parts that end where a sweep is due. */
static ALWAYS_INLINE void count_idle(struct flow_table *table, const struct key_burst *burst,
	struct work *work, const uint32_t mode)
{
	flow_burst_read_clock(table, burst, &work->burst);
	for (uint32_t begin = 0, end; begin < burst->n; begin = end) {
		end = flow_sweep_end(table, burst, begin);
		count_in_turn(table, burst, work, begin, end, mode);
		flow_sweep_after(table, &work->burst, begin, end);
	}
}

static ALWAYS_INLINE void count(
	struct flow_table *table, const struct key_burst *burst, const uint32_t mode)
{
	uint64_t total = table->deep->total;
	struct work work;

	work.to_look_at = 0;
	flow_burst_prepare(table, burst, flow_hash_keyed, &work.burst);
	for (uint32_t i = 0; (mode & FLOW_WEIGHTED) != 0 && i < burst->n; i++) {
		total += burst->weights->packets[i];
		work.total[i] = total;
	}
	if (table->idle != NULL)
		count_idle(table, burst, &work, mode);
	else
		count_all(table, burst, &work, mode);
	table->deep->total = (mode & FLOW_WEIGHTED) != 0 ? total : total + burst->n;
}

void flow_deep_update(struct flow_table *table, const struct key_burst *burst)
{
	if (table->ip_bytes != NULL)
		count(table, burst, FLOW_IP_BYTES);
	else
		count(table, burst, 0);
}

void flow_deep_update_weighted(struct flow_table *table, const struct key_burst *burst)
{
	if (table->ip_bytes != NULL)
		count(table, burst, FLOW_WEIGHTED | FLOW_IP_BYTES);
	else
		count(table, burst, FLOW_WEIGHTED);
}
