/* SPDX-License-Identifier: BSD-3-Clause */
#include "parallel/workers/poll.h"

#include <sys/eventfd.h>
#include <sys/poll.h>
#include <sched.h>
#include <time.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_pause.h>
#include <rte_ring.h>

#include "base/assertion.h"
#include "base/clock.h"
#include "rx/packet/meta.h"
#include "rx/port/packet_socket.h"

/* A thread that waits for its CPU does not lose packets, so its CPU time is limited. */
#define DRAIN_CPU_NS  INT64_C(200000000)
#define DRAIN_MOST_NS INT64_C(1000000000)

/* A thread yields in this many empty rounds before it sleeps. */
#define IDLE_YIELDS   8
/* Empty rounds are successive if they are less than this time apart. */
#define AT_ONCE_US    50
/* The kernel adds the timer slack of the thread, usually 50 us. */
#define IDLE_SLEEP_NS 1000

/* ns; longest sleep while packets arrive */
#define NAP_MAX_NS         1000000u
/* ns; assumed shortest time between packets, 16 Mpps */
#define PACKET_NS          62u
/* ms; longest sleep of a thread that waits for packets, and has to look at the time */
#define WAIT_MAX_MS        25
/* A waiting thread wakes up at least this often in an interval. */
#define WAITS_PER_INTERVAL 10
/* After this many empty rounds with short sleeps, about 1 ms, a poller blocks in poll(2). */
#define ROUNDS_AWAKE       24

static _Thread_local struct {
	uint64_t last; /* TSC at the end of the last empty round */
	uint32_t rounds;
} yields;

/*
 * A thread that only yields gets little time if other threads spin. One that sleeps runs at once.
 */
bool poll_yields(void)
{
	if (rte_rdtsc() - yields.last > rte_get_tsc_hz() / 1000000 * AT_ONCE_US)
		yields.rounds = 0;
	if (yields.rounds < IDLE_YIELDS) {
		yields.rounds++;
		sched_yield();
		yields.last = rte_rdtsc();
		return true;
	}
	return false;
}

void poll_nap(uint32_t ns)
{
	const struct timespec nap = {.tv_nsec = ns};

	if (poll_yields())
		return;
	nanosleep(&nap, NULL);
	yields.last = rte_rdtsc();
}

uint32_t poll_nap_ns(uint32_t entries)
{
	return entries < NAP_MAX_NS / PACKET_NS ? entries * PACKET_NS : NAP_MAX_NS;
}

uint32_t poll_wait_ms(uint64_t interval)
{
	uint64_t ms = interval / WAITS_PER_INTERVAL / 1000000;

	return interval == 0 || ms > WAIT_MAX_MS ? WAIT_MAX_MS : RTE_MAX((uint32_t)ms, 1u);
}

static uint32_t limit_wait(const struct poller *poller, uint32_t wait_ms)
{
	if (poller->ended)
		wait_ms = RTE_MIN(wait_ms, poller->quiet_ms);
	if (poller->empty != NULL)
		wait_ms = RTE_MIN(wait_ms, (uint32_t)WAIT_MAX_MS);
	return wait_ms;
}

/* Sleeps briefly after the first empty round, and blocks in poll(2) after further ones. */
void poll_wait(struct poller *poller, uint32_t wait_ms)
{
	const struct timespec nap = {.tv_nsec = poller->nap_ns};
	const uint32_t bell = poller->nb_fds;
	struct pollfd fds[OPTION_LIST_MAX + 1];
	eventfd_t rings;

	poller->empty_rounds++;
	if (poller->nap_ns > 0 ? poller->empty_rounds == 1 : poller->empty_rounds <= ROUNDS_AWAKE) {
		if (poller->nap_ns > 0)
			nanosleep(&nap, NULL);
		else
			poll_nap(IDLE_SLEEP_NS);
		return;
	}
	for (uint32_t f = 0; f < poller->nb_fds; f++)
		fds[f] = (struct pollfd){.fd = poller->fds[f], .events = POLLIN};
	fds[bell] = (struct pollfd){.fd = poller->bell, .events = POLLIN};
	if (poll(fds, poller->nb_fds + 1, (int)limit_wait(poller, wait_ms)) <= 0)
		return;
	if (fds[bell].revents != 0)
		(void)eventfd_read(poller->bell, &rings);
	for (uint32_t f = 0; f < poller->nb_fds; f++)
		if ((fds[f].revents & POLLERR) != 0)
			packet_socket_clear_error(fds[f].fd);
}

void poll_wake(const struct poller *poller)
{
	if (poller->nb_fds > 0)
		(void)eventfd_write(poller->bell, 1);
}

void poll_idle(enum idle_mode idle)
{
	switch (idle) {
	case IDLE_AUTO:
	case IDLE_SPIN: rte_pause(); break;
	case IDLE_YIELD: sched_yield(); break;
	case IDLE_SLEEP: poll_nap(IDLE_SLEEP_NS); break;
	}
}

static void enter(struct poller *poller, uint64_t epoch)
{
	poller->epoch = epoch;
	poller->enter(poller->arg, epoch);
}

static void rest(struct poller *poller)
{
	if (poller->rest != NULL)
		poller->rest(poller->arg);
	else if (poller->nb_fds > 0)
		poll_wait(poller, POLL_WAIT_LONG_MS);
	else
		poll_idle(poller->idle);
}

/* Splits a burst of a replay at epoch changes. The epochs of packets in a queue never decrease. */
static void take_marked(
	struct poller *poller, struct rte_mbuf **pkts, uint32_t n, uint64_t rx_cycles)
{
	for (uint32_t begin = 0, end; begin < n; begin = end) {
		uint32_t mark = packet_meta(pkts[begin])->epoch;

		ASSERT((int32_t)(mark - (uint32_t)poller->epoch), >=, 0);
		end = n;
		if (packet_meta(pkts[n - 1])->epoch != mark)
			for (end = begin + 1; packet_meta(pkts[end])->epoch == mark; end++)
				;
		if (mark != (uint32_t)poller->epoch)
			enter(poller, poller->epoch + (uint32_t)(mark - (uint32_t)poller->epoch));
		poller->take(poller->arg, pkts + begin, end - begin, rx_cycles);
		rx_cycles = 0; /* the first part of the burst counts all cycles */
	}
}

void poll_queue_fill(struct poll_queue *queue, uint32_t entries, struct rte_ring *ring)
{
	queue->entries = entries;
	queue->ring = ring;
	if (ring != NULL)
		queue->fill = QUEUE_FILL_RING;
	else if (rte_eth_rx_descriptor_status(queue->port, queue->queue, 0) >= 0)
		queue->fill = QUEUE_FILL_DESCRIPTORS;
	else if (rte_eth_rx_queue_count(queue->port, queue->queue) >= 0)
		queue->fill = QUEUE_FILL_COUNT;
	else
		queue->fill = QUEUE_FILL_POLLS;
}

static uint32_t quarters_of(uint32_t entries, uint32_t packets)
{
	uint32_t quarter = entries >> 2, quarters = 0;

	while (quarters < SHED_QUARTERS - 1 && packets >= quarter * (quarters + 1))
		quarters++;
	return quarters;
}

/* QUEUE_FILL_DESCRIPTORS gives a lower bound, QUEUE_FILL_POLLS an estimate. */
static uint32_t waiting_in(struct poll_queue *queue, uint32_t polled)
{
	uint32_t quarter = queue->entries >> 2, quarters = 0;
	int count;

	switch (queue->fill) {
	case QUEUE_FILL_RING: return rte_ring_count(queue->ring);
	case QUEUE_FILL_COUNT:
		count = rte_eth_rx_queue_count(queue->port, queue->queue);
		return count > 0 ? (uint32_t)count : 0;
	case QUEUE_FILL_DESCRIPTORS:
		while (quarters < SHED_QUARTERS - 1 &&
			rte_eth_rx_descriptor_status(queue->port, queue->queue,
				(uint16_t)(quarter * (quarters + 1))) == RTE_ETH_RX_DESC_DONE)
			quarters++;
		return quarters * quarter;
	default:
		queue->full_polls += queue->full_polls < queue->entries;
		return RTE_MIN(queue->full_polls * polled, queue->entries);
	}
}

/* Some drivers return at most 32 packets, or stop at the end of their ring. */
static bool left_some(const struct poller *poller, const struct poll_queue *queue, uint32_t polled)
{
	bool asked = queue->fill == QUEUE_FILL_DESCRIPTORS || queue->fill == QUEUE_FILL_COUNT;

	return polled == poller->burst || (asked && polled > 0);
}

void poll_look(struct poller *poller, uint32_t q, uint32_t polled)
{
	struct poll_queue *queue = &poller->queues[q];
	struct shed_worker *shed = poller->shed;
	uint32_t waiting = left_some(poller, queue, polled) ? waiting_in(queue, polled) : 0;
	uint32_t quarters = quarters_of(queue->entries, waiting);

	ASSERT(shed->backlog, >=, queue->waiting);
	if (polled < poller->burst && quarters == 0) {
		shed->backlog -= queue->waiting;
		queue->waiting = 0;
		queue->full_polls = 0;
		if (shed->shedding.level > SHED_LEVEL_FULL || queue->shedding.waiting)
			queue_shedding_look(&shed->shedding, &queue->shedding, 0, false);
		return;
	}
	shed->backlog = shed->backlog + waiting - queue->waiting;
	queue->waiting = waiting;
	queue_shedding_look(&shed->shedding, &queue->shedding, quarters, true);
}

static uint32_t poll_round(struct poller *poller)
{
	struct rte_mbuf *pkts[POLL_BURST_MAX];
	uint32_t received = 0;

	for (uint32_t q = 0; q < poller->nb_queues; q++) {
		uint64_t start = rte_rdtsc(), rx_cycles;
		uint16_t n = rte_eth_rx_burst(poller->queues[q].port, poller->queues[q].queue, pkts,
			(uint16_t)poller->burst);

		if (poller->shed != NULL)
			poll_look(poller, q, n);
		if (n == 0) {
			if (poller->empty != NULL)
				poller->empty(poller->arg, q);
			continue;
		}
		poller->polled = rte_rdtsc();
		rx_cycles = poller->polled - start;
		poller->queues[q].received += n;
		poller->empty_rounds = 0;
		poller->at = q;
		if (poller->replay)
			take_marked(poller, pkts, n, rx_cycles);
		else
			poller->take(poller->arg, pkts, n, rx_cycles);
		received += n;
	}
	return received;
}

bool poll_drain_is_over(struct poll_drain *drain)
{
	int64_t cpu = clock_now(CLOCK_THREAD_CPUTIME_ID), now = clock_now(CLOCK_MONOTONIC);

	if (drain->give_up == 0)
		*drain = (struct poll_drain){now + DRAIN_MOST_NS, cpu + DRAIN_CPU_NS};
	return now >= drain->give_up || cpu >= drain->cpu;
}

/* *quiet: TSC at which polling ends if no packets arrive before; 0: not set yet. */
static bool is_drained(
	const struct poller *poller, struct poll_drain *drain, uint64_t *quiet, uint32_t received)
{
	uint64_t ms = rte_get_tsc_hz() / 1000, now = rte_rdtsc();

	if (poller->replay)
		return received == 0;
	if (received > 0 || *quiet == 0)
		*quiet = now + poller->quiet_ms * ms;
	return poll_drain_is_over(drain) || (received == 0 && now >= *quiet);
}

void poll_until_end(struct poller *poller)
{
	struct poll_drain drain = {0};
	uint64_t quiet = 0;

	for (;;) {
		/*
		 * Pairs with the release in epochs_open(). `open` is loaded before the poll: if the
		 * poll then returns no packets, all packets of epochs before `open` were received.
		 */
		uint64_t open = atomic_load_explicit(&poller->epochs->open, memory_order_acquire);
		bool ended = epochs_is_end(poller->epochs, open);
		uint32_t received;

		poller->ended = ended;
		if (!poller->replay && !ended && open > poller->epoch)
			enter(poller, open);
		received = poll_round(poller);
		if (ended && is_drained(poller, &drain, &quiet, received)) {
			poller->end(poller->arg, open);
			return;
		}
		if (received > 0)
			continue;
		if (!ended && open > poller->epoch)
			enter(poller, open);
		rest(poller);
	}
}
