/* SPDX-License-Identifier: BSD-3-Clause */
#include "parallel/workers/worker.h"

#include <string.h>

#include <rte_cycles.h>

#include "base/assertion.h"
#include "parallel/workers/forward.h"
#include "parallel/workers/stage_timer.h"
#include "sketch/weight.h"

#define ALWAYS_INLINE inline __attribute__((always_inline))

static ALWAYS_INLINE void count_last(struct generation *generation, struct stage_timer *timer)
{
	if (timer == NULL)
		count_waiting_keys(generation->counting, generation->sketch, generation->distinct);
	else
		count_waiting_keys_timed(
			generation->counting, generation->sketch, generation->distinct, timer);
}

/* Before the epoch ends, and when no packets arrive. */
static void count_waiting(struct worker *worker)
{
	struct generation *generation = worker_generation(worker, worker->epoch);
	uint64_t start;

	if (generation->counting->waits == NULL)
		return;
	start = rte_rdtsc();
	count_last(generation, NULL);
	generation->ppt_cycles += rte_rdtsc() - start;
}

void worker_enter_epoch(struct worker *worker, uint64_t epoch)
{
	VERIFY(epoch, >, worker->epoch);
	count_waiting(worker);
	worker->epoch = epoch;
	epochs_enter(worker->epochs, worker->id, epoch);
	while (!epochs_is_ready(worker->epochs, epoch))
		poll_idle(worker->idle);
}

void worker_leave(struct worker *worker, uint64_t epoch)
{
	VERIFY(epoch, >=, worker->epoch);
	count_waiting(worker);
	worker->epoch = epoch;
	epochs_enter(worker->epochs, worker->id, epoch);
}

static void look_for_idle_keys(const struct generation *generation, int64_t now)
{
	for (uint32_t m = 0; m < generation->counting->nb_measurements; m++) {
		struct sketch *sketch = generation->sketch[m];

		if (sketch->ops->remove_idle != NULL)
			sketch->ops->remove_idle(sketch, now);
	}
}

void worker_look_for_idle_keys(struct worker *worker)
{
	const struct generation *generation = worker_generation(worker, worker->epoch);

	count_waiting(worker); /* a key is not idle if its packet waits */
	if (generation->counting->removes_idle)
		look_for_idle_keys(generation, packet_clock_now(&worker->reader.clock));
}

/* Flow records of idle keys must not be late. Otherwise, only other threads have work. */
static uint32_t longest_wait_ms(struct worker *worker)
{
	const struct generation *generation = worker_generation(worker, worker->epoch);

	return generation->counting->removes_idle ? worker->wait_ms : POLL_WAIT_LONG_MS;
}

void worker_rest(struct worker *worker)
{
	worker_look_for_idle_keys(worker);
	if (worker->poller.nb_fds > 0)
		poll_wait(&worker->poller, longest_wait_ms(worker));
	else if (!worker->blocks)
		poll_idle(worker->idle);
	else if (!poll_yields())
		wakeup_wait(&worker->wakeup, longest_wait_ms(worker));
}

static void match(
	struct generation *generation, struct key_burst *burst, struct prefix_matches *hits)
{
	uint32_t n = burst->n;

	generation->counts.bytes -= prefix_match(generation->monitor, burst, hits);
	generation->filtered += n - burst->n;
}

/* Counts the keys in bursts[0], which match --prefixes. */
static ALWAYS_INLINE void count_matching(
	struct generation *generation, struct lookup_sampler *sampler, struct stage_timer *timer)
{
	static const struct burst_shedding in_full;

	if (generation->counting->drill_down)
		count_some_keys(generation->counting, generation->sketch, generation->distinct,
			&generation->within, &in_full, NULL, NULL, sampler, timer);
	else if (sampler != NULL)
		count_keys_sampled(
			generation->counting, generation->sketch, generation->distinct, sampler);
	else if (timer == NULL)
		count_keys(generation->counting, generation->sketch, generation->distinct);
	else
		count_keys_timed(
			generation->counting, generation->sketch, generation->distinct, timer);
}

static ALWAYS_INLINE void count_read(
	struct generation *generation, struct lookup_sampler *sampler, struct stage_timer *timer)
{
	struct key_burst *full = &generation->counting->bursts[0];
	struct prefix_matches hits;

	if (full->n == 0)
		return;
	if (generation->monitor != NULL) {
		match(generation, full, &hits);
		STAGE_TIMER_END(timer, rules);
	}
	generation->measured += full->n;
	count_matching(generation, sampler, timer);
	if (generation->monitor != NULL) {
		prefix_credit(generation->monitor, full, &hits, generation->rules);
		STAGE_TIMER_END(timer, rules);
	}
}

void worker_count_read(struct generation *generation)
{
	count_read(generation, NULL, NULL);
}

void worker_free(struct worker *worker, struct rte_mbuf **pkts, uint32_t n)
{
	(void)worker;
	rte_pktmbuf_free_bulk(pkts, n);
}

static ALWAYS_INLINE void count(struct worker *worker, struct generation *generation,
	struct rte_mbuf **pkts, uint32_t n, uint64_t rx_cycles, struct lookup_sampler *sampler,
	struct stage_timer *timer)
{
	uint64_t start = rte_rdtsc(), counted;

	generation->counted += n;
	reader_fetch(&worker->reader, pkts, n);
	if (timer != NULL)
		timer->last = start;
	count_last(generation, timer);
	if (timer == NULL) {
		reader_read(&worker->reader, generation->counting, pkts, n,
			&generation->counting->bursts[0], &generation->counts,
			&generation->filtered);
	} else {
		reader_read_timed(&worker->reader, generation->counting, pkts, n,
			&generation->counting->bursts[0], &generation->counts,
			&generation->filtered, timer);
	}
	count_read(generation, sampler, timer);
	counted = rte_rdtsc();
	worker->done(worker, pkts, n);
	STAGE_TIMER_END(timer, free);

	generation->rx_cycles += rx_cycles;
	generation->ppt_cycles += counted - start;
	generation->free_cycles += rte_rdtsc() - counted;
}

static struct stage_timer begin_lap(struct generation *generation, uint32_t n, uint64_t rx_cycles)
{
	generation->costs.bursts++;
	generation->costs.packets += n;
	generation->costs.receive += rx_cycles;
	return (struct stage_timer){.costs = &generation->costs};
}

/* Keeps the code of the timer out of the path of other bursts. */
static __attribute__((noinline, cold)) void count_timed(struct worker *worker,
	struct generation *generation, struct rte_mbuf **pkts, uint32_t n, uint64_t rx_cycles)
{
	struct stage_timer timer = begin_lap(generation, n, rx_cycles);

	count(worker, generation, pkts, n, rx_cycles, NULL, &timer);
}

static __attribute__((noinline)) void count_with_lookups(struct worker *worker,
	struct generation *generation, struct rte_mbuf **pkts, uint32_t n, uint64_t rx_cycles,
	struct lookup_sampler *sampler)
{
	count(worker, generation, pkts, n, rx_cycles, sampler, NULL);
}

static struct shed_counts_burst entries_of(const struct key_burst *burst, uint64_t entries)
{
	struct shed_counts_burst sum = {.measured = (uint64_t)__builtin_popcountll(entries)};

	for (; entries != 0; entries &= entries - 1)
		sum.bytes += burst->wire_len[__builtin_ctzll(entries)];
	return sum;
}

static void count_seen(struct worker *worker, struct generation *generation,
	struct shed_counts_burst *burst, const struct burst_shedding *state)
{
	struct counting *counting = generation->counting;
	const struct key_burst *full = &counting->bursts[0];
	struct shed_counts_burst parts[SHED_SHIFT_MAX + 1] = {{0}};
	uint64_t rarer[SHED_SHIFT_MAX + 1] = {0};

	if (state->rare != 0) {
		shed_worker_choose_rarer(worker->shed, full->n, rarer);
		for (uint32_t left = state->shifts; left != 0; left &= left - 1) {
			uint32_t shift = (uint32_t)__builtin_ctz(left);

			parts[shift] = entries_of(full, rarer[shift]);
		}
	}
	shed_counts_add(&generation->kept, state, burst, parts, counting->nb_measurements);
	count_some_keys(counting, generation->sketch, generation->distinct, &generation->within,
		state, rarer, generation->kept.left_out, shed_worker_sampler(worker->shed), NULL);
}

static void credit_sampled(struct generation *generation, const struct prefix_matches *hits,
	const struct shed_counts_burst *burst, uint32_t shift)
{
	const struct counting *counting = generation->counting;
	struct prefix_shed *shed = &generation->kept.rules;
	const uint64_t weight = UINT64_C(1) << shift;

	/* count_some_keys() does not hash all keys. With a shift, it has set their weights. */
	hash_burst(counting->hash_key, &counting->bursts[0]);
	(shift > 0 ? prefix_credit_weights : prefix_credit)(
		generation->monitor, &counting->bursts[0], hits, generation->rules);
	shed->weight = weight > shed->weight ? weight : shed->weight;
	shed->skipped += burst->skipped;
	shed->skipped_bytes += burst->skipped_bytes;
	shed->added += burst->measured * (weight - 1);
	shed->added_bytes += burst->bytes * (weight - 1);
}

/* Bit i of looked_at is set if packet i is processed. UINT64_MAX: all packets are. */
static void count_some(struct worker *worker, struct generation *generation,
	struct rte_mbuf *const *pkts, uint32_t n, uint64_t looked_at,
	const struct burst_shedding *state)
{
	struct key_burst *full = &generation->counting->bursts[0];
	struct rte_mbuf *chosen[BURST_MAX], *others[BURST_MAX];
	uint64_t bytes = generation->counts.bytes;
	struct shed_counts_burst burst = {0};
	uint32_t nb_chosen = 0, nb_others = 0;
	struct prefix_matches hits;

	if (looked_at == UINT64_MAX) {
		memcpy(chosen, pkts, n * sizeof(chosen[0]));
		nb_chosen = n;
	}
	for (uint32_t i = nb_chosen; i < n; i++) {
		bool is_chosen = looked_at >> i & 1;

		chosen[nb_chosen] = others[nb_others] = pkts[i];
		nb_chosen += is_chosen;
		nb_others += !is_chosen;
	}
	burst.skipped = nb_others;
	burst.skipped_bytes = reader_skip(&worker->reader, others, nb_others, &generation->counts);
	reader_read(&worker->reader, generation->counting, chosen, nb_chosen, full,
		&generation->counts, &generation->filtered);
	if (generation->monitor != NULL)
		match(generation, full, &hits);
	burst.measured = full->n;
	burst.bytes = generation->counts.bytes - bytes;
	generation->measured += full->n;
	count_seen(worker, generation, &burst, state);
	if (generation->monitor != NULL)
		credit_sampled(generation, &hits, &burst, state->shift);
}

static void count_none(struct worker *worker, struct generation *generation,
	struct rte_mbuf *const *pkts, uint32_t n)
{
	struct shed_counts *counts = &generation->kept;
	uint64_t bytes = reader_skip(&worker->reader, pkts, n, &generation->counts);

	counts->skipped += n;
	counts->skipped_bytes += bytes;
	counts->unseen += n;
	counts->unseen_bytes += bytes;
	counts->rules.unseen += n;
	counts->rules.unseen_bytes += bytes;
}

static void count_sampled(struct worker *worker, struct generation *generation,
	struct rte_mbuf *const *pkts, uint32_t n, const struct burst_shedding *state)
{
	const struct shed_worker *shed = worker->shed;
	uint64_t looked_at = shed_worker_choose(shed, n);
	uint32_t some = shed_worker_cut(shed, looked_at, n);

	count_some(worker, generation, pkts, some, looked_at, state);
	if (some < n)
		count_none(worker, generation, pkts + some, n - some);
}

static void count_all(
	struct worker *worker, struct generation *generation, struct rte_mbuf **pkts, uint32_t n)
{
	reader_read(&worker->reader, generation->counting, pkts, n,
		&generation->counting->bursts[0], &generation->counts, &generation->filtered);
	count_read(generation, shed_worker_sampler(worker->shed), NULL);
}

static void count_state(struct worker *worker, struct generation *generation,
	struct rte_mbuf **pkts, uint32_t n, const struct burst_shedding *state)
{
	if (state->count_only)
		count_none(worker, generation, pkts, n);
	else if (state->shift > 0)
		count_sampled(worker, generation, pkts, n, state);
	else if (state->off != 0 || state->rare != 0 || state->sifting != 0)
		count_some(worker, generation, pkts, n, UINT64_MAX, state);
	else
		count_all(worker, generation, pkts, n);
}

/* Updates the flow tables if the state has changed. */
static const struct burst_shedding *next_state(struct worker *worker, struct generation *generation)
{
	const struct counting *counting = generation->counting;
	struct shed_worker *shed = worker->shed;
	const struct burst_shedding *state = shed_worker_state(shed, counting, worker->epoch);

	for (uint32_t m = 0; shed->remade && m < counting->nb_measurements; m++) {
		struct sketch *sketch = generation->sketch[m];

		if (sketch->ops->set_states != NULL)
			sketch->ops->set_states(sketch, &shed->flows[m]);
	}
	shed->remade = false;
	return state;
}

static uint64_t cycles_of(const struct generation *generation)
{
	return generation->rx_cycles + generation->ppt_cycles + generation->free_cycles;
}

/* Counts each part of a burst in its state. */
static void count_parts(
	struct worker *worker, struct generation *generation, struct rte_mbuf **pkts, uint32_t n)
{
	struct shed_worker *shed = worker->shed;

	generation->counted += n;
	shed_worker_obey(shed, &generation->kept);
	for (uint32_t begin = 0, part; begin < n; begin += part) {
		part = shed_worker_take(shed, n - begin);
		count_state(worker, generation, pkts + begin, part, next_state(worker, generation));
	}
}

static void count_shed(struct worker *worker, struct generation *generation, struct rte_mbuf **pkts,
	uint32_t n, uint64_t rx_cycles)
{
	uint64_t start = rte_rdtsc(), counted;

	count_parts(worker, generation, pkts, n);
	counted = rte_rdtsc();
	worker->done(worker, pkts, n);

	generation->rx_cycles += rx_cycles;
	generation->ppt_cycles += counted - start;
	generation->free_cycles += rte_rdtsc() - counted;
}

static void count_calm(struct worker *worker, struct generation *generation, struct rte_mbuf **pkts,
	uint32_t n, uint64_t rx_cycles)
{
	struct lookup_sampler *sampler = shed_worker_sampler(worker->shed);

	if (costs_due(&generation->bursts))
		count_timed(worker, generation, pkts, n, rx_cycles);
	else if (sampler != NULL)
		count_with_lookups(worker, generation, pkts, n, rx_cycles, sampler);
	else
		count(worker, generation, pkts, n, rx_cycles, NULL, NULL);
}

void worker_count_kept(
	struct worker *worker, struct rte_mbuf **pkts, uint32_t n, uint64_t rx_cycles)
{
	struct generation *generation = worker_generation(worker, worker->epoch);
	struct shed_worker *shed = worker->shed;
	uint64_t before = cycles_of(generation);

	ASSERT(n, <=, BURST_MAX);
	if (shed_worker_is_calm(shed, worker->epoch)) {
		shed->packet += n;
		count_calm(worker, generation, pkts, n, rx_cycles);
	} else {
		count_shed(worker, generation, pkts, n, rx_cycles);
	}
	shed_worker_publish(shed, n, cycles_of(generation) - before);
}

void worker_count(struct worker *worker, struct rte_mbuf **pkts, uint32_t n, uint64_t rx_cycles)
{
	struct generation *generation = worker_generation(worker, worker->epoch);

	ASSERT(n, >, 0);
	ASSERT(n, <=, BURST_MAX);
	if (costs_due(&generation->bursts))
		count_timed(worker, generation, pkts, n, rx_cycles);
	else
		count(worker, generation, pkts, n, rx_cycles, NULL, NULL);
}

void worker_look(struct worker *worker, uint32_t waiting, uint32_t entries)
{
	struct shed_worker *shed = worker->shed;
	uint64_t quarters = (uint64_t)waiting * SHED_QUARTERS / entries;

	if (!shed->shedding.on)
		return;
	shed->backlog = waiting;
	queue_shedding_look(&shed->shedding, &worker->queue,
		(uint32_t)RTE_MIN(quarters, (uint64_t)(SHED_QUARTERS - 1)), waiting > 0);
}

/* Sums the entries of `range`, one bit each. */
static struct shed_counts_burst entries_sum(
	const struct key_burst *burst, uint64_t range, bool weighted)
{
	struct shed_counts_burst sum = {0};

	for (; range != 0; range &= range - 1) {
		const struct weight weight =
			weight_of(burst, (uint32_t)__builtin_ctzll(range), weighted);

		sum.skipped += weight.packets;
		sum.skipped_bytes += weight.bytes;
	}
	return sum;
}

static void skip_entries(struct generation *generation, const struct shed_counts_burst *skipped)
{
	generation->measured -= skipped->skipped;
	generation->counts.bytes -= skipped->skipped_bytes;
}

static void count_some_of_entries(struct worker *worker, struct generation *generation,
	uint64_t range, const struct burst_shedding *state, bool weighted)
{
	struct counting *counting = generation->counting;
	const struct key_burst *burst = &counting->bursts[0];
	struct shed_counts_burst skipped = entries_sum(burst, range, weighted);
	struct entry_sample samples[SHED_SHIFT_MAX + 1];
	uint64_t chosen[SHED_SHIFT_MAX + 1];
	uint32_t rarest = 31 - (uint32_t)__builtin_clz(state->shifts | 1);

	shed_worker_choose_entries(worker->shed, burst->n, state->shift + rarest, chosen);
	for (uint32_t left = state->shifts | 1; left != 0; left &= left - 1) {
		uint32_t k = (uint32_t)__builtin_ctz(left);

		entry_sample_make(&samples[k], burst, range, weighted, chosen, state->shift + k);
	}
	skipped.skipped -= samples[0].measured;
	skipped.skipped_bytes -= samples[0].bytes;
	skip_entries(generation, &skipped);
	shed_counts_add_entries(
		&generation->kept, state, samples, &skipped, counting->nb_measurements);
	count_some_entries(counting, generation->sketch, generation->distinct, &generation->within,
		state, weighted, samples, generation->kept.left_out);
}

static void count_no_entries(struct generation *generation, uint64_t range, bool weighted)
{
	const struct shed_counts_burst skipped =
		entries_sum(&generation->counting->bursts[0], range, weighted);
	struct shed_counts *counts = &generation->kept;

	skip_entries(generation, &skipped);
	counts->skipped += skipped.skipped;
	counts->skipped_bytes += skipped.skipped_bytes;
	counts->unseen += skipped.skipped;
	counts->unseen_bytes += skipped.skipped_bytes;
}

static void count_all_entries(struct generation *generation, bool weighted)
{
	struct counting *counting = generation->counting;

	if (weighted) {
		count_weighted_keys(counting, generation->sketch, generation->distinct);
		return;
	}
	count_matching(generation, NULL, NULL);
}

static bool is_full(const struct burst_shedding *state)
{
	return !state->count_only && state->shift == 0 && state->off == 0 && state->rare == 0 &&
	       state->sifting == 0;
}

static uint64_t low_bits(uint32_t n)
{
	return n < 64 ? (UINT64_C(1) << n) - 1 : UINT64_MAX;
}

/* Entries are numbered in the order of their burst, as packets are. */
static void count_entries(struct worker *worker, struct generation *generation, bool weighted)
{
	struct counting *counting = generation->counting;
	struct shed_worker *shed = worker->shed;
	const uint32_t n = counting->bursts[0].n;
	const uint64_t first = shed->packet;

	for (uint32_t begin = 0, part; begin < n; begin += part) {
		const struct burst_shedding *state;
		uint64_t range;

		part = shed_worker_take(shed, n - begin);
		range = low_bits(begin + part) & ~low_bits(begin);
		state = next_state(worker, generation);
		if (part == n && is_full(state)) {
			count_all_entries(generation, weighted);
			return;
		}
		count_waiting_keys(counting, generation->sketch, generation->distinct);
		/* All parts of a burst choose by the numbers of all its entries. */
		shed->packet = first + n;
		if (state->count_only)
			count_no_entries(generation, range, weighted);
		else
			count_some_of_entries(worker, generation, range, state, weighted);
		shed->packet = first + begin + part;
	}
}

/* All entries are compared with the rules of --prefixes, so that the counts of these stay exact. */
static void match_entries(struct generation *generation)
{
	const struct counting *counting = generation->counting;
	struct key_burst *burst = &counting->bursts[0];
	uint32_t n = burst->n;
	struct prefix_matches hits;

	match(generation, burst, &hits);
	generation->measured -= n - burst->n;
	hash_burst(counting->hash_key, burst);
	prefix_credit(generation->monitor, burst, &hits, generation->rules);
}

void worker_count_entries(struct worker *worker, bool weighted, uint64_t start)
{
	struct generation *generation = worker_generation(worker, worker->epoch);
	struct key_burst *burst = &generation->counting->bursts[0];
	uint32_t n;

	if (weighted)
		count_leave_empty_out(burst);
	else if (generation->monitor != NULL)
		match_entries(generation);
	n = burst->n;
	if (n == 0)
		return;
	shed_worker_obey(worker->shed, &generation->kept);
	count_entries(worker, generation, weighted);
	shed_worker_publish(worker->shed, n, rte_rdtsc() - start);
}

/* If possible, fetches the counters of the packets while they are sent. */
static ALWAYS_INLINE void forward(struct worker *worker, struct generation *generation,
	struct rte_mbuf **pkts, uint32_t n, uint64_t rx_cycles, struct stage_timer *timer)
{
	bool waits = generation->counting->waiting != NULL && generation->monitor == NULL;
	uint64_t start = worker->poller.polled, read, sent;
	uint64_t came = reader_came(&worker->reader, pkts[0], start - rx_cycles);

	generation->counted += n;
	if (timer == NULL) {
		reader_read_ahead(&worker->reader, generation->counting, pkts, n,
			&generation->counting->bursts[0], &generation->counts,
			&generation->filtered);
	} else {
		/* Filtering reorders the copy, but packets are sent in their order. */
		struct rte_mbuf *copy[BURST_MAX];

		memcpy(copy, pkts, n * sizeof(copy[0]));
		timer->last = rte_rdtsc();
		reader_read_timed(&worker->reader, generation->counting, copy, n,
			&generation->counting->bursts[0], &generation->counts,
			&generation->filtered, timer);
	}
	if (waits)
		count_read(generation, NULL, timer);
	read = rte_rdtsc();
	sent = forward_burst(worker->forward, worker->poller.at, worker->epoch, pkts, n, came);
	STAGE_TIMER_END(timer, free);
	if (!waits)
		count_read(generation, NULL, timer);
	else
		count_last(generation, timer);

	generation->rx_cycles += rx_cycles;
	generation->ppt_cycles += read - start + (rte_rdtsc() - sent);
	generation->free_cycles += sent - read;
}

static __attribute__((noinline, cold)) void forward_timed(struct worker *worker,
	struct generation *generation, struct rte_mbuf **pkts, uint32_t n, uint64_t rx_cycles)
{
	struct stage_timer timer = begin_lap(generation, n, rx_cycles);

	forward(worker, generation, pkts, n, rx_cycles, &timer);
}

/* Sends the packets after counting them, so that skipped ones need no copy of their headers. */
static void forward_shed(struct worker *worker, struct generation *generation,
	struct rte_mbuf **pkts, uint32_t n, uint64_t rx_cycles)
{
	uint64_t start = worker->poller.polled, counted, sent;
	uint64_t came = reader_came(&worker->reader, pkts[0], start - rx_cycles);
	struct rte_mbuf *copy[BURST_MAX];

	/* Filtering reorders the copy, but packets are sent in their order. */
	memcpy(copy, pkts, n * sizeof(copy[0]));
	count_parts(worker, generation, copy, n);
	counted = rte_rdtsc();
	sent = forward_burst(worker->forward, worker->poller.at, worker->epoch, pkts, n, came);

	generation->rx_cycles += rx_cycles;
	generation->ppt_cycles += counted - start;
	generation->free_cycles += sent - counted;
}

void worker_forward_kept(
	struct worker *worker, struct rte_mbuf **pkts, uint32_t n, uint64_t rx_cycles)
{
	struct generation *generation = worker_generation(worker, worker->epoch);
	struct shed_worker *shed = worker->shed;
	uint64_t before = cycles_of(generation);

	ASSERT(n, <=, BURST_MAX);
	if (shed_worker_is_calm(shed, worker->epoch)) {
		shed->packet += n;
		worker_forward(worker, pkts, n, rx_cycles);
	} else {
		forward_shed(worker, generation, pkts, n, rx_cycles);
	}
	shed_worker_publish(shed, n, cycles_of(generation) - before);
}

void worker_forward(struct worker *worker, struct rte_mbuf **pkts, uint32_t n, uint64_t rx_cycles)
{
	struct generation *generation = worker_generation(worker, worker->epoch);

	ASSERT(n, >, 0);
	ASSERT(n, <=, BURST_MAX);
	if (costs_due(&generation->bursts))
		forward_timed(worker, generation, pkts, n, rx_cycles);
	else
		forward(worker, generation, pkts, n, rx_cycles, NULL);
}
