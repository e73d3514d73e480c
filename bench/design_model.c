/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/design_model.h"

#include <math.h>
#include <string.h>

#include "base/assertion.h"
#include "bench/card.h"
#include "bench/queue_model.h"
#include "parallel/plan/design.h"
#include "tune/measure/setup.h"

#define SECONDS      0.03
#define POLL_S       50e-9                 /* an empty poll */
#define RING_ENTRIES (SETUP_RING_SIZE - 3) /* entries that packets may use */
#define ITERATIONS   20
#define SAME_BURST   1.05 /* sizes of bursts are too close to tell the two parts of a cost */

struct burst_cost burst_cost_of(struct card_step full, struct card_step few)
{
	double burst_ns = 0;

	if (full.burst > few.burst * SAME_BURST)
		burst_ns = (few.ns - full.ns) / (1 / few.burst - 1 / full.burst);
	burst_ns = fmin(fmax(burst_ns, 0), full.ns * full.burst);
	return (struct burst_cost){full.ns - burst_ns / full.burst, burst_ns};
}

/* Returns the ns of n packets in bursts of at most BURST_MAX. */
static double cost_ns(const struct burst_cost *cost, double n)
{
	return n * cost->packet_ns + ceil(n / BURST_MAX) * cost->burst_ns;
}

struct server {
	double rate, workers;
	const struct burst_cost *poll, *work; /* NULL: none */
	double handover_ns, more_ns;          /* per burst, per packet */
};

static double rate_of(void *context, double at)
{
	const struct server *server = context;

	(void)at;
	return server->rate;
}

static double no_decision(void *context, const struct demand_window *window)
{
	(void)context;
	(void)window;
	return 0;
}

static double serve_ns(void *context, double backlog, double n, double packet_ns)
{
	const struct server *server = context;
	double ns = n * server->more_ns;

	(void)backlog;
	(void)packet_ns;
	if (n <= 0)
		return 0;
	if (server->poll != NULL)
		ns += n * server->poll->packet_ns + server->poll->burst_ns;
	if (server->work != NULL)
		ns += cost_ns(server->work, ceil(n / server->workers));
	return ns + server->handover_ns;
}

static struct queue_result run_server(struct server *server, double entries, double burst)
{
	const struct queue_model model = {.entries = entries,
		.burst = burst,
		.poll = POLL_S,
		.seconds = SECONDS,
		.window = SECONDS,
		.rate = rate_of,
		.decide = no_decision,
		.shedding = serve_ns,
		.context = server};

	return queue_model_run(&model);
}

/* In the long run: an overloaded queue is full, so the packets that wait in it do not matter. */
static double loss(const struct queue_result *result)
{
	return result->lost > 0 ? 1 - result->served / result->arrived : 0;
}

static double burst_of(const struct queue_result *result)
{
	return result->bursts > 0 ? result->served / result->bursts : 1;
}

static double poll_ns(const struct burst_cost *cost, const struct queue_result *result)
{
	return cost->packet_ns + cost->burst_ns / burst_of(result);
}

/* Algorithm 3: each worker polls its own queue. */
static struct design_outcome run_rss(
	const struct design_load *load, const struct design_costs *costs)
{
	struct server server = {.rate = load->rate / load->workers,
		.workers = 1,
		.handover_ns = costs->loop_ns,
		.poll = &costs->poll,
		.work = &costs->work};
	struct queue_result result = run_server(&server, CARD_DESCRIPTORS, BURST_MAX);

	return (struct design_outcome){.drop_rate = loss(&result),
		.poll_ns = poll_ns(&costs->poll, &result),
		.work_ns = cost_ns(&costs->work, burst_of(&result)) / burst_of(&result)};
}

/* Algorithm 1: the receiver waits until the workers have counted their parts of a burst. */
static struct design_outcome run_sync(
	const struct design_load *load, const struct design_costs *costs)
{
	struct server server = {.rate = load->rate,
		.workers = load->workers,
		.poll = &costs->poll,
		.work = &costs->work,
		.handover_ns = costs->loop_ns + costs->handover_ns * load->workers};
	struct queue_result result = run_server(
		&server, CARD_DESCRIPTORS, fmin((double)BURST_MAX * load->workers, POLL_BURST_MAX));
	double part = fmax(1, burst_of(&result) / load->workers);

	return (struct design_outcome){.drop_rate = loss(&result),
		.poll_ns = poll_ns(&costs->poll, &result),
		.work_ns = cost_ns(&costs->work, part) / part};
}

struct ring_results {
	struct queue_result receiver, worker;
};

/* share: of the received packets that find a ring full. */
static struct ring_results run_rings(
	const struct design_load *load, const struct design_costs *costs, double share)
{
	struct server receiver = {.rate = load->rate,
		.workers = 1,
		.poll = &costs->poll,
		.handover_ns = costs->loop_ns + costs->handover_ns * load->workers,
		.more_ns = share * costs->free_ns};
	struct server worker = {.workers = 1, .work = &costs->work};
	struct ring_results results;

	results.receiver = run_server(&receiver, CARD_DESCRIPTORS, BURST_MAX);
	worker.rate = results.receiver.served / SECONDS / load->workers;
	results.worker = run_server(&worker, RING_ENTRIES, BURST_MAX);
	return results;
}

/*
 * Algorithm 2: the receiver fills a ring for each worker. It also frees packets that find a ring
 * full. This makes it slower, so that fewer do. Bisection finds the share.
 */
static struct design_outcome run_async(
	const struct design_load *load, const struct design_costs *costs)
{
	struct ring_results results = run_rings(load, costs, 0);
	double low = 0, high = loss(&results.worker), share = 0;

	for (uint32_t i = 0; i < ITERATIONS && high > 0; i++) {
		share = (low + high) / 2;
		results = run_rings(load, costs, share);
		if (loss(&results.worker) > share)
			low = share;
		else
			high = share;
	}
	return (struct design_outcome){
		.drop_rate = 1 - (1 - loss(&results.receiver)) * (1 - loss(&results.worker)),
		.ring_drop = loss(&results.worker),
		.poll_ns = poll_ns(&costs->poll, &results.receiver) +
			   costs->handover_ns * load->workers / burst_of(&results.receiver) +
			   share * costs->free_ns,
		.work_ns = cost_ns(&costs->work, burst_of(&results.worker)) /
			   burst_of(&results.worker),
	};
}

struct design_outcome design_model_run(
	const struct design_load *load, const struct design_costs *costs)
{
	if (strcmp(load->design, "sync") == 0)
		return run_sync(load, costs);
	if (strcmp(load->design, "async") == 0)
		return run_async(load, costs);
	VERIFY(strcmp(load->design, "rss"), ==, 0);
	return run_rss(load, costs);
}

void model_errors_add(struct model_errors *errors, const struct model_run *run)
{
	struct model_error *error =
		run->workers > run->cost_workers ? &errors->more : &errors->same;

	if (run->fitted)
		return;
	error->runs++;
	error->drop = fmax(error->drop, fabs(run->drop_error));
}
