/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Design "rss": the NIC distributes flows by receive side scaling. Each worker polls one queue per
 * port.
 */

#include "parallel/plan/design.h"
#include "parallel/workers/forward.h"
#include "parallel/workers/worker.h"

static void enter(void *arg, uint64_t epoch)
{
	worker_enter_epoch(arg, epoch);
}

static void take(void *arg, struct rte_mbuf **pkts, uint32_t n, uint64_t rx_cycles)
{
	struct worker *worker = arg;

	worker_generation(worker, worker->epoch)->received += n;
	worker_count(worker, pkts, n, rx_cycles);
}

static void take_kept(void *arg, struct rte_mbuf **pkts, uint32_t n, uint64_t rx_cycles)
{
	struct worker *worker = arg;

	worker_generation(worker, worker->epoch)->received += n;
	worker_count_kept(worker, pkts, n, rx_cycles);
}

static void take_and_send(void *arg, struct rte_mbuf **pkts, uint32_t n, uint64_t rx_cycles)
{
	struct worker *worker = arg;

	worker_generation(worker, worker->epoch)->received += n;
	worker_forward(worker, pkts, n, rx_cycles);
}

static void take_kept_and_send(void *arg, struct rte_mbuf **pkts, uint32_t n, uint64_t rx_cycles)
{
	struct worker *worker = arg;

	worker_generation(worker, worker->epoch)->received += n;
	worker_forward_kept(worker, pkts, n, rx_cycles);
}

static void rest(void *arg)
{
	worker_rest(arg);
}

static void empty(void *arg, uint32_t q)
{
	struct worker *worker = arg;

	forward_rest(worker->forward, q);
}

static void end(void *arg, uint64_t epoch)
{
	struct worker *worker = arg;

	if (worker->forward != NULL)
		forward_end(worker->forward);
	worker_leave(worker, epoch);
}

static void rss_work(struct worker *worker, uint32_t nb_workers)
{
	(void)nb_workers;
	worker->poller.arg = worker;
	worker->poller.enter = enter;
	if (worker->forward != NULL)
		worker->poller.take = worker->shed != NULL ? take_kept_and_send : take_and_send;
	else
		worker->poller.take = worker->shed != NULL ? take_kept : take;
	worker->poller.empty = worker->forward != NULL ? empty : NULL;
	worker->poller.rest = rest;
	worker->poller.end = end;
	poll_until_end(&worker->poller);
}

const struct design_ops design_rss = {
	.name = "rss",
	.suits = "each worker polls a NIC queue, filled by flow hash; the fastest",
	.forwards = true,
	.queues = true,
	.work = rss_work,
	.done = worker_free,
};
