/* SPDX-License-Identifier: BSD-3-Clause */
#include "parallel/off_path.h"

#include <rte_cycles.h>

#include "parallel/digest_ring.h"
#include "parallel/forward.h"
#include "rx/packet/rss_hash.h"

/* What digests hold: constants where the bodies below are instantiated. */
enum digest_form {
	FORM_PLAIN,   /* keys and lengths */
	FORM_DETAILS, /* times and TCP flags too */
	FORM_EXTRA,   /* and what keys have beside the 5-tuple */
};

static enum digest_form form_of(const struct counting *counting)
{
	return counting->extra ? FORM_EXTRA : counting->details ? FORM_DETAILS : FORM_PLAIN;
}

/* --- the receiver --- */

static inline __attribute__((always_inline)) void put(struct digest_ring *ring, uint64_t *ring_full,
	const struct key_burst *burst, uint32_t i, const enum digest_form form)
{
	bool v6 = burst->v6 >> i & 1;
	enum digest_kind kind = form == FORM_EXTRA ? (v6 ? DIGEST_IPV6_EXTRA : DIGEST_IPV4_EXTRA)
						   : (v6 ? DIGEST_IPV6 : DIGEST_IPV4);
	struct digest *digest;

	if (unlikely(!digest_ring_has_room(ring, digest_units(kind)))) {
		++*ring_full;
		return;
	}
	digest = digest_ring_put(ring, digest_units(kind));
	digest->wire_len = burst->wire_len[i];
	digest->kind = (uint8_t)kind;
	if (form != FORM_PLAIN) {
		digest->tcp_flags = burst->tcp_flags[i];
		digest->time = burst->time[i];
	}
	if (form == FORM_EXTRA)
		*(v6 ? &digest->ipv6.extra : &digest->ipv4.extra) = burst->extra[i];
	if (v6)
		digest->key6 = burst->key6[i];
	else
		digest->key4 = burst->key4[i];
}

static inline uint32_t next_worker(struct receiver *receiver)
{
	uint32_t next = receiver->next;

	receiver->next = next + 1 == receiver->nb_workers ? 0 : next + 1;
	return next;
}

/* To every worker's ring what is its own. */
static inline __attribute__((always_inline)) void deal(struct receiver *receiver,
	struct receiver_generation *generation, const struct key_burst *burst,
	const enum digest_form form)
{
	uint32_t hashes[BURST_MAX];
	bool by_flow = receiver->dispatch == DISPATCH_FLOW;

	if (by_flow)
		rss_hash_burst(burst, &receiver->hashed, hashes);
	for (uint32_t i = 0; i < burst->n; i++) {
		uint32_t w =
			by_flow ? receiver->reta[hashes[i] % RSS_RETA_SIZE] : next_worker(receiver);

		put(receiver->workers[w]->digests, &generation->ring_full[w], burst, i, form);
	}
}

/* What nearly every burst is: nothing but keys of IPv4, and room for all of them. */
static inline void put_plain(struct digest_ring *ring, const struct key_burst *burst)
{
	for (uint32_t i = 0; i < burst->n; i++) {
		struct digest *digest = digest_ring_put(ring, 1);

		digest->wire_len = burst->wire_len[i];
		digest->kind = DIGEST_IPV4;
		digest->key4 = burst->key4[i];
	}
}

static inline __attribute__((always_inline)) void leave_to(struct digest_ring *ring,
	uint64_t *ring_full, const struct key_burst *burst, const enum digest_form form)
{
	if (form == FORM_PLAIN && burst->v6 == 0 && digest_ring_has_room(ring, burst->n)) {
		put_plain(ring, burst);
		return;
	}
	for (uint32_t i = 0; i < burst->n; i++)
		put(ring, ring_full, burst, i, form);
}

static inline __attribute__((always_inline)) void leave_in_form(struct receiver *receiver,
	struct receiver_generation *generation, const struct key_burst *burst,
	const enum digest_form form)
{
	if (receiver->nb_workers == 1)
		leave_to(receiver->workers[0]->digests, &generation->ring_full[0], burst, form);
	else
		deal(receiver, generation, burst, form);
	for (uint32_t w = 0; w < receiver->nb_workers; w++)
		digest_ring_publish(receiver->workers[w]->digests);
}

/* The workers' generation of the receiver's epoch is clean, and says what is asked. */
static const struct counting *counting_of(const struct receiver *receiver)
{
	return worker_generation(receiver->workers[0], receiver->epoch)->counting;
}

static void leave_digests(struct receiver *receiver, struct receiver_generation *generation,
	const struct counting *counting)
{
	const struct key_burst *burst = &receiver->off_path->burst;

	switch (form_of(counting)) {
	case FORM_PLAIN: leave_in_form(receiver, generation, burst, FORM_PLAIN); break;
	case FORM_DETAILS: leave_in_form(receiver, generation, burst, FORM_DETAILS); break;
	case FORM_EXTRA: leave_in_form(receiver, generation, burst, FORM_EXTRA); break;
	}
}

static void take(void *arg, struct rte_mbuf **pkts, uint32_t n, uint64_t rx_cycles)
{
	struct receiver *receiver = arg;
	struct receiver_generation *generation = receiver_generation(receiver, receiver->epoch);
	const struct counting *counting = counting_of(receiver);
	uint64_t start = receiver->poller.polled, left, sent;
	uint64_t came = reader_came(&receiver->off_path->reader, pkts[0], start - rx_cycles);

	generation->received += n;
	reader_read_ahead(&receiver->off_path->reader, counting, pkts, n,
		&receiver->off_path->burst, &generation->counts, &generation->filtered);
	leave_digests(receiver, generation, counting);
	left = rte_rdtsc();
	sent = forward_burst(
		receiver->forward, receiver->poller.at, receiver->epoch, pkts, n, came);

	generation->free_cycles += sent - left;
	generation->rx_cycles += rx_cycles;
	generation->ppt_cycles += left - start;
}

static void empty(void *arg, uint32_t q)
{
	struct receiver *receiver = arg;

	forward_rest(receiver->forward, q);
}

static void mark_all(struct receiver *receiver, enum digest_kind kind, uint64_t epoch)
{
	for (uint32_t w = 0; w < receiver->nb_workers; w++)
		digest_ring_mark(receiver->workers[w]->digests, kind, epoch);
}

/* The wait is for the reporter, who opens no epoch live before it is ready: there is none. */
static void enter(void *arg, uint64_t epoch)
{
	struct receiver *receiver = arg;

	receiver_leave(receiver, epoch);
	mark_all(receiver, DIGEST_EPOCH, epoch);
	receiver_wait(receiver);
}

static void end(void *arg, uint64_t epoch)
{
	struct receiver *receiver = arg;

	forward_end(receiver->forward);
	receiver_leave(receiver, epoch);
	mark_all(receiver, DIGEST_END, epoch);
}

void off_path_connect(struct receiver *receiver)
{
	receiver->poller.arg = receiver;
	receiver->poller.enter = enter;
	receiver->poller.take = take;
	receiver->poller.empty = empty;
	receiver->poller.end = end;
}

/* --- a worker --- */

static inline __attribute__((always_inline)) void add_entry(
	struct key_burst *burst, const struct digest *digest, const enum digest_form form)
{
	uint32_t i = burst->n++;

	burst->wire_len[i] = digest->wire_len;
	if (form != FORM_PLAIN) {
		burst->time[i] = digest->time;
		burst->tcp_flags[i] = digest->tcp_flags;
	}
	switch ((enum digest_kind)digest->kind) {
	case DIGEST_IPV4_EXTRA: burst->extra[i] = digest->ipv4.extra; break;
	case DIGEST_IPV6_EXTRA: burst->extra[i] = digest->ipv6.extra; break;
	default: break;
	}
	if (digest->kind == DIGEST_IPV6 || digest->kind == DIGEST_IPV6_EXTRA) {
		burst->key6[i] = digest->key6;
		burst->v6 |= UINT64_C(1) << i;
	} else {
		burst->key4[i] = digest->key4;
	}
}

/* DIGEST_EPOCH or DIGEST_END; anything else: there is none. */
struct mark {
	enum digest_kind kind;
	uint64_t number;
};

/* Fills the burst up to its end, that of the ring, or a mark, which it takes too and returns. */
static inline __attribute__((always_inline)) struct mark take_burst(
	struct digest_ring *ring, struct key_burst *burst, const enum digest_form form)
{
	const struct digest *digest;
	struct mark mark = {.kind = DIGEST_IPV4};

	burst->n = 0;
	burst->v6 = 0;
	while (burst->n < BURST_MAX && (digest = digest_ring_take(ring)) != NULL) {
		if (unlikely(digest->kind == DIGEST_EPOCH || digest->kind == DIGEST_END)) {
			mark = (struct mark){(enum digest_kind)digest->kind, digest->number};
			break;
		}
		add_entry(burst, digest, form);
	}
	digest_ring_give_back(ring);
	return mark;
}

static struct mark take_in_form(
	struct digest_ring *ring, struct key_burst *burst, enum digest_form form)
{
	switch (form) {
	case FORM_PLAIN: return take_burst(ring, burst, FORM_PLAIN);
	case FORM_DETAILS: return take_burst(ring, burst, FORM_DETAILS);
	default: return take_burst(ring, burst, FORM_EXTRA);
	}
}

static void add_lengths(struct parse_counts *counts, const struct key_burst *burst)
{
	uint32_t smallest = counts->smallest_frame;

	for (uint32_t i = 0; i < burst->n; i++) {
		counts->bytes += burst->wire_len[i];
		smallest = RTE_MIN(smallest, burst->wire_len[i]);
	}
	counts->smallest_frame = smallest;
}

static void count_burst(struct generation *generation, uint64_t start)
{
	const struct key_burst *burst = &generation->counting->bursts[0];

	generation->counted += burst->n;
	add_lengths(&generation->counts, burst);
	worker_count_read(generation);
	generation->ppt_cycles += rte_rdtsc() - start;
}

void off_path_work(struct worker *worker)
{
	for (;;) {
		struct generation *generation = worker_generation(worker, worker->epoch);
		uint64_t start = rte_rdtsc();
		struct mark mark = take_in_form(worker->digests, &generation->counting->bursts[0],
			form_of(generation->counting));

		if (generation->counting->bursts[0].n > 0)
			count_burst(generation, start);
		else if (mark.kind == DIGEST_IPV4)
			worker_rest(worker);
		if (mark.kind == DIGEST_END) {
			worker_leave(worker, mark.number);
			return;
		}
		if (mark.kind == DIGEST_EPOCH)
			worker_enter_epoch(worker, mark.number);
	}
}
