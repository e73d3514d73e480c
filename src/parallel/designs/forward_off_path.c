/* SPDX-License-Identifier: BSD-3-Clause */
#include "parallel/designs/forward_off_path.h"

#include <rte_cycles.h>

#include "parallel/designs/digest_burst.h"
#include "parallel/plan/plan.h"
#include "parallel/workers/forward.h"
#include "rx/packet/rss_hash.h"

static enum digest_form form_of(const struct counting *counting)
{
	return plan_digest_has_extra(counting->extra) ? DIGEST_FORM_EXTRA
	       : counting->extra                      ? DIGEST_FORM_FLAGS
	       : counting->details                    ? DIGEST_FORM_DETAILS
						      : DIGEST_FORM_PLAIN;
}

static inline uint32_t next_worker(struct rx_core *rx_core)
{
	uint32_t next = rx_core->next;

	rx_core->next = next + 1 == rx_core->nb_workers ? 0 : next + 1;
	return next;
}

static inline __attribute__((always_inline)) void deal(struct rx_core *rx_core,
	struct rx_core_generation *generation, const struct key_burst *burst,
	const enum digest_form form)
{
	uint32_t hashes[BURST_MAX];
	bool by_flow = rx_core->dispatch == DISPATCH_FLOW;

	if (by_flow)
		rss_hash_burst(burst, &rx_core->hashed, hashes);
	for (uint32_t i = 0; i < burst->n; i++) {
		uint32_t w =
			by_flow ? rx_core->reta[hashes[i] % RSS_RETA_SIZE] : next_worker(rx_core);

		if (!digest_burst_put_entry(rx_core->workers[w]->digests, burst, i, form))
			generation->ring_full[w]++;
	}
}

static inline __attribute__((always_inline)) void leave_in_form(struct rx_core *rx_core,
	struct rx_core_generation *generation, const struct key_burst *burst,
	const enum digest_form form)
{
	if (rx_core->nb_workers == 1)
		generation->ring_full[0] +=
			digest_burst_put(rx_core->workers[0]->digests, burst, form);
	else
		deal(rx_core, generation, burst, form);
	for (uint32_t w = 0; w < rx_core->nb_workers; w++)
		digest_ring_publish(rx_core->workers[w]->digests);
}

static const struct counting *counting_of(const struct rx_core *rx_core)
{
	return worker_generation(rx_core->workers[0], rx_core->epoch)->counting;
}

static void leave_digests(struct rx_core *rx_core, struct rx_core_generation *generation,
	const struct counting *counting)
{
	const struct key_burst *burst = &rx_core->off_path->burst;

	switch (form_of(counting)) {
	case DIGEST_FORM_PLAIN: leave_in_form(rx_core, generation, burst, DIGEST_FORM_PLAIN); break;
	case DIGEST_FORM_FLAGS:
	case DIGEST_FORM_DETAILS:
		leave_in_form(rx_core, generation, burst, DIGEST_FORM_DETAILS);
		break;
	case DIGEST_FORM_EXTRA: leave_in_form(rx_core, generation, burst, DIGEST_FORM_EXTRA); break;
	}
}

static void wake_all(struct rx_core *rx_core)
{
	for (uint32_t w = 0; w < rx_core->nb_workers; w++)
		worker_wake(rx_core->workers[w]);
}

static void take(void *arg, struct rte_mbuf **pkts, uint32_t n, uint64_t rx_cycles)
{
	struct rx_core *rx_core = arg;
	struct rx_core_generation *generation = rx_core_generation(rx_core, rx_core->epoch);
	const struct counting *counting = counting_of(rx_core);
	uint64_t start = rx_core->poller.polled, left, sent;
	uint64_t came = reader_came(&rx_core->off_path->reader, pkts[0], start - rx_cycles);

	generation->received += n;
	reader_read_ahead(&rx_core->off_path->reader, counting, pkts, n, &rx_core->off_path->burst,
		&generation->counts, &generation->filtered);
	leave_digests(rx_core, generation, counting);
	left = rte_rdtsc();
	sent = forward_burst(rx_core->forward, rx_core->poller.at, rx_core->epoch, pkts, n, came);
	wake_all(rx_core);

	generation->free_cycles += sent - left;
	generation->rx_cycles += rx_cycles;
	generation->ppt_cycles += left - start;
}

static void empty(void *arg, uint32_t q)
{
	struct rx_core *rx_core = arg;

	forward_rest(rx_core->forward, q);
}

static void mark_all(struct rx_core *rx_core, enum digest_kind kind, uint64_t epoch)
{
	for (uint32_t w = 0; w < rx_core->nb_workers; w++)
		digest_ring_mark(rx_core->workers[w]->digests, kind, epoch);
	wake_all(rx_core);
}

/*
 * Waits only briefly: on live ports, an epoch opens only after the reporter has cleared its
 * counters.
 */
static void enter(void *arg, uint64_t epoch)
{
	struct rx_core *rx_core = arg;

	rx_core_leave(rx_core, epoch);
	mark_all(rx_core, DIGEST_EPOCH, epoch);
	rx_core_wait(rx_core);
}

static void end(void *arg, uint64_t epoch)
{
	struct rx_core *rx_core = arg;

	forward_end(rx_core->forward);
	rx_core_leave(rx_core, epoch);
	mark_all(rx_core, DIGEST_END, epoch);
}

void off_path_connect(struct rx_core *rx_core)
{
	rx_core->poller.arg = rx_core;
	rx_core->poller.enter = enter;
	rx_core->poller.take = take;
	rx_core->poller.empty = empty;
	rx_core->poller.end = end;
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

static void count_burst(struct worker *worker, struct generation *generation, uint64_t start)
{
	const struct key_burst *burst = &generation->counting->bursts[0];

	generation->counted += burst->n;
	add_lengths(&generation->counts, burst);
	if (worker->shed == NULL) {
		worker_count_read(generation);
	} else {
		generation->measured += burst->n;
		worker_look(worker, digest_ring_waiting(worker->digests), worker->digests->size);
		worker_count_entries(worker, false, start);
	}
	generation->ppt_cycles += rte_rdtsc() - start;
}

static void rest(struct worker *worker)
{
	if (worker->shed != NULL)
		worker_look(worker, 0, worker->digests->size);
	worker_rest(worker);
}

void off_path_work(struct worker *worker)
{
	for (;;) {
		struct generation *generation = worker_generation(worker, worker->epoch);
		uint64_t start = rte_rdtsc();
		struct digest_mark mark = digest_burst_take(worker->digests,
			&generation->counting->bursts[0], form_of(generation->counting));

		if (generation->counting->bursts[0].n > 0)
			count_burst(worker, generation, start);
		else if (mark.kind == DIGEST_IPV4)
			rest(worker);
		if (mark.kind == DIGEST_END) {
			worker_leave(worker, mark.number);
			return;
		}
		if (mark.kind == DIGEST_EPOCH)
			worker_enter_epoch(worker, mark.number);
	}
}
