/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Design "async" (Wu et al. 2016, Algorithm 2): one receiver, and one SPSC ring per worker.
 *
 * After the last packet of an epoch, the receiver puts a mark into every ring: an entry with bit 0
 * set, which pointers never have. Marks always fit, because packets leave MARK_SLOTS entries free.
 */

#include <rte_cycles.h>
#include <rte_ring.h>

#include "base/assertion.h"
#include "parallel/designs/forward_off_path.h"
#include "parallel/plan/design.h"
#include "parallel/workers/rx_core.h"
#include "rx/source.h"
#include "rx/packet/parse_burst.h"
#include "rx/packet/rss_hash.h"

#define MARK_SLOTS 2 /* one epoch start and the end of the run */
#define MARK       ((uintptr_t)1)
#define MARK_END   ((uintptr_t)2)

static void *make_mark(uint64_t epoch, bool end)
{
	return (void *)((uintptr_t)epoch << 2 | (end ? MARK_END : 0) | MARK);
}

static bool is_mark(const void *entry)
{
	return ((uintptr_t)entry & MARK) != 0;
}

/* Returns the RSS hash of the device or, if there is none, the same hash computed in software. */
static uint32_t flow_hash(const struct rx_core *rx_core, const struct rte_mbuf *mbuf)
{
	struct parsed parsed;
	enum parse_verdict verdict;

	if (mbuf->ol_flags & RTE_MBUF_F_RX_RSS_HASH)
		return mbuf->hash.rss;
	verdict = parse_mbuf(mbuf, mbuf->pkt_len, LINK_ETHERNET, &parsed);
	return rss_hash_masked(verdict, &parsed, &rx_core->hashed);
}

/* `dispatch` is a constant, so the compiler makes one loop for each value. */
static inline __attribute__((always_inline)) void deal(struct rx_core *rx_core,
	struct rte_mbuf *const *pkts, uint32_t n, const enum dispatch dispatch)
{
	for (uint32_t i = 0; i < n; i++) {
		struct rx_core_group *group;

		if (dispatch == DISPATCH_FLOW) {
			uint32_t hash = flow_hash(rx_core, pkts[i]);

			group = &rx_core->groups[rx_core->reta[hash % RSS_RETA_SIZE]];
		} else {
			group = &rx_core->groups[rx_core->next];
			rx_core->next =
				rx_core->next + 1 == rx_core->nb_workers ? 0 : rx_core->next + 1;
		}
		group->pkts[group->n++] = pkts[i];
	}
}

/* rte_ring_free_count() reads the consumer's tail with relaxed order. An enqueue uses acquire. */
static uint32_t ring_room(struct rte_ring *ring)
{
	void *nothing = NULL;
	unsigned int room;

	rte_ring_sp_enqueue_burst(ring, &nothing, 0, &room);
	return room > MARK_SLOTS ? room - MARK_SLOTS : 0;
}

static void push_group(struct rx_core *rx_core, uint32_t w, struct rx_core_group *group)
{
	struct rte_ring *ring = rx_core->workers[w]->ring;
	struct rx_core_generation *generation = rx_core_generation(rx_core, rx_core->epoch);
	uint32_t done = 0;

	ASSERT(group->n, <=, POLL_BURST_MAX);
	while (done < group->n) {
		uint32_t room = ring_room(ring), n = group->n - done;

		done += rte_ring_sp_enqueue_burst(
			ring, (void *const *)&group->pkts[done], n < room ? n : room, NULL);
		worker_wake(rx_core->workers[w]);
		if (done == group->n)
			break;
		if (rx_core->may_drop) {
			generation->ring_full[w] += group->n - done;
			rte_pktmbuf_free_bulk(&group->pkts[done], group->n - done);
			break;
		}
		poll_idle(rx_core->poller.idle);
	}
	group->n = 0;
}

static void take(void *arg, struct rte_mbuf **pkts, uint32_t n, uint64_t rx_cycles)
{
	struct rx_core *rx_core = arg;
	struct rx_core_generation *generation = rx_core_generation(rx_core, rx_core->epoch);
	uint64_t start = rte_rdtsc();

	generation->received += n;
	if (rx_core->dispatch == DISPATCH_FLOW)
		deal(rx_core, pkts, n, DISPATCH_FLOW);
	else
		deal(rx_core, pkts, n, DISPATCH_ROUND_ROBIN);
	for (uint32_t w = 0; w < rx_core->nb_workers; w++)
		push_group(rx_core, w, &rx_core->groups[w]);
	generation->rx_cycles += rx_cycles + (rte_rdtsc() - start);
}

static void push_marks(struct rx_core *rx_core, void *mark)
{
	for (uint32_t w = 0; w < rx_core->nb_workers; w++) {
		while (rte_ring_sp_enqueue(rx_core->workers[w]->ring, mark) != 0)
			poll_idle(rx_core->poller.idle);
		worker_wake(rx_core->workers[w]);
	}
}

static void enter(void *arg, uint64_t epoch)
{
	struct rx_core *rx_core = arg;

	/*
	 * Leave the old epoch before waiting for a full ring. The worker of that ring may wait for
	 * an empty generation, which the reporter provides only after this receiver has left.
	 */
	rx_core_leave(rx_core, epoch);
	push_marks(rx_core, make_mark(epoch, false));
	rx_core_wait(rx_core);
}

static void end(void *arg, uint64_t epoch)
{
	struct rx_core *rx_core = arg;

	rx_core_leave(rx_core, epoch);
	push_marks(rx_core, make_mark(epoch, true));
}

static void async_connect(struct rx_core *rx_core)
{
	if (rx_core->forward != NULL) {
		off_path_connect(rx_core);
		return;
	}
	rx_core->poller.arg = rx_core;
	rx_core->poller.enter = enter;
	rx_core->poller.take = take;
	rx_core->poller.end = end;
}

/* Returns false if the mark ends the run. */
static bool obey_mark(struct worker *worker, const void *entry)
{
	uint64_t epoch = (uint64_t)((uintptr_t)entry >> 2);

	if (((uintptr_t)entry & MARK_END) != 0) {
		worker_leave(worker, epoch);
		return false;
	}
	worker_enter_epoch(worker, epoch);
	return true;
}

static void async_work(struct worker *worker, uint32_t nb_workers)
{
	void (*count)(struct worker * worker, struct rte_mbuf * *pkts, uint32_t n,
		uint64_t rx_cycles) = worker->shed != NULL ? worker_count_kept : worker_count;

	(void)nb_workers;
	if (worker->digests != NULL) {
		off_path_work(worker);
		return;
	}
	for (;;) {
		void *entries[BURST_MAX];
		uint64_t start = rte_rdtsc(), rx_cycles;
		uint32_t n = rte_ring_sc_dequeue_burst(worker->ring, entries, BURST_MAX, NULL);

		if (worker->poller.shed != NULL)
			poll_look(&worker->poller, 0, n);
		if (n == 0) {
			worker_rest(worker);
			continue;
		}
		rx_cycles = rte_rdtsc() - start;
		for (uint32_t begin = 0, stop; begin < n; begin = stop) {
			for (stop = begin; stop < n && !is_mark(entries[stop]); stop++)
				;
			if (stop > begin)
				count(worker, (struct rte_mbuf **)&entries[begin], stop - begin,
					rx_cycles);
			rx_cycles = 0;
			if (stop < n && !obey_mark(worker, entries[stop++]))
				return;
		}
	}
}

const struct design_ops design_async = {
	.name = "async",
	.suits = "a receiver distributes packets; for NICs without RSS, and tunnels",
	.options = &async_owner,
	.rx_core = true,
	.rings = true,
	.queues = true,
	.forwards = true,
	.digests = true,
	.hashes = true,
	.connect = async_connect,
	.work = async_work,
	.done = worker_free,
};

OPTION_WORDS_OF(dispatch_word, [DISPATCH_FLOW] = "flow", [DISPATCH_ROUND_ROBIN] = "round-robin")

static const char *inapplicable_without_async(
	const struct config *config, const struct measurement_config *measurement)
{
	(void)measurement;
	return design_chosen(config) == &design_async ? NULL : "without --design async";
}

static const char *inapplicable_without_rings(
	const struct config *config, const struct measurement_config *measurement)
{
	return source_of(config)->own_rings ? NULL
					    : inapplicable_without_async(config, measurement);
}

static const struct option_row async_rows[] = {
	{
		.name = "dispatch",
		.placeholder = "RULE",
		.group = OPTION_GROUP_MEASURE,
		.type = OPTION_CHOICE,
		.rare = true,
		.not_for = SOURCE_KEYS,
		.inapplicable = inapplicable_without_async,
		.word = dispatch_word,
		OPTION_FIELD(async_options, dispatch),
		.default_text = "flow",
		.hidden = true,
		.part_of = "design",
		.part = "async:",
		.help = "Select the worker of a packet. flow: by flow hash, so that a flow stays "
			"on one worker. round-robin: by packet number.",
	},
	{
		.name = "ring-size",
		.placeholder = "N",
		.group = OPTION_GROUP_HOST,
		.type = OPTION_COUNT,
		.rare = true,
		.inapplicable = inapplicable_without_rings,
		OPTION_FIELD(async_options, ring_size),
		.min = 64,
		.max = 65536,
		.power_of_two = true,
		.default_text = "1024",
		.config_only = true,
		.help = "Set the size of each ring between the receiver and a worker to N packets, "
			"a power of two. With --forward, N counts blocks of 64 bytes, each for the "
			"headers of one packet. With --kernel, N counts packet records of a CPU.",
		.man = "With --forward, a ring has room for 2 N IPv4 packets. With --forward or "
		       "--kernel the default is 16384.",
	},
	{0},
};

const struct option_owner async_owner = {
	.rows = async_rows,
	.size = sizeof(struct async_options),
};
