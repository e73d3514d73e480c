/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/shed_controller.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>

#include "adapt/capacity.h"
#include "adapt/decide.h"
#include "adapt/demand.h"
#include "base/log.h"
#include "base/log_ratelimit.h"
#include "base/units.h"
#include "adapt/estimate.h"
#include "control/packet_costs.h"
#include "control/shed_log.h"
#include "parallel/epoch.h"
#include "report/sinks/writer.h"
#include "sketch/queries.h"
#include "sketch/sampling_bound.h"

#define WINDOW_NS          ((int64_t)(DEMAND_WINDOW_S * (double)SECOND_NS))
/* At most one of 16 packets is looked up, so that samples take little time. */
#define LOOKUP_EVERY_LEAST 16

struct worker_report {
	uint64_t packets[SHED_LEVEL_COUNT + 1];
	uint64_t smooth_packets, smooth_busy;
	uint64_t backlog, taken;
	struct formula_lookups lookups[CONFIG_MEASUREMENTS_MAX];
};

struct shed_controller_worker {
	struct worker *worker;
	struct worker_report last; /* at the end of the last window of 10 ms */
	double last_target_ns;
	struct estimate estimate;
	struct demand demand;
	uint8_t now[CONFIG_MEASUREMENTS_MAX], before[CONFIG_MEASUREMENTS_MAX];
	struct choose_flows flows_now[CONFIG_MEASUREMENTS_MAX],
		flows_before[CONFIG_MEASUREMENTS_MAX];
	struct step_hysteresis hysteresis;
	/* states[at] is published. The other is free after the worker accepted states[at]. */
	struct shed_setting states[2];
	uint32_t at;
	bool unreported; /* the published setting is not logged yet */
	struct shed_reason why;
	uint32_t held_off; /* bit m: measurement m stays off until the end of the epoch */
	/* strongest reaction to full queues in the last window with packets */
	struct burst_shed_level level;
	bool busy; /* the last window had packets */
};

/* docs/ADAPTIVE.md promises these memory limits of --overload. */
_Static_assert(sizeof(struct shed_controller_worker) + sizeof(struct shed_worker) +
			       sizeof(struct shed_mailbox) <=
		       8 << 10,
	"at most 8 KB per worker");
_Static_assert(CHOOSE_RANKS_MAX == QUERY_RANKS, "ranks are turned off one by one");
_Static_assert(SHED_LOG_ROWS_MAX * sizeof(struct report_state) <= 1 << 20, "at most 1 MB of rows");

struct shed_controller {
	const struct run *run;
	const struct profile *profile;
	enum shed_policy how;
	_Atomic int asked; /* policy requested by a client; SHED_POLICY_OFF: no request */
	int64_t looked;    /* end of the last window, monotonic ns */
	uint64_t open;

	/* Measurements of the newest epoch. */
	uint64_t set; /* measurements.number */
	const struct plan *plan;
	struct steps steps[CONFIG_MEASUREMENTS_MAX];
	/* Time since the last interval at full detail, ns. */
	int64_t not_whole[CONFIG_MEASUREMENTS_MAX];
	uint32_t due; /* bit m: measurement m is near its deadline */
	uint32_t order[CONFIG_MEASUREMENTS_MAX];
	/* Input of choose() for all workers. Arrays are indexed by rank. */
	struct choose_problem problem;
	struct choose_item items[CONFIG_MEASUREMENTS_MAX];
	/* The same with costs by formula (3), for one worker after the other. */
	struct choose_item formula_items[CONFIG_MEASUREMENTS_MAX];
	struct estimate_errors errors;                       /* open epoch, all workers */
	struct choose_states flows[CONFIG_MEASUREMENTS_MAX]; /* items[].states points here */
	/* With queries: flows[].ranks points here. */
	double ranks[CONFIG_MEASUREMENTS_MAX][CHOOSE_RANKS_MAX + 1];
	struct packet_costs costs;
	uint32_t held_back; /* bit m: measurement m had reduced flow detail in this epoch */
	uint32_t useless;   /* bit m: a useless step of measurement m was logged */

	void *work;
	struct shed_log log;
	/* Most workers that shed load at once in this epoch; any in the previous one. */
	uint32_t reduced;
	bool was_reduced;
	struct log_ratelimit warned, warned_missing;
	pthread_mutex_t lock; /* protects states[at] and level of each worker */
	uint32_t nb_workers;
	struct shed_controller_worker workers[];
};

static double ns_of(uint64_t cycles)
{
	return (double)cycles * 1e9 / (double)rte_get_tsc_hz();
}

static enum flow_depth deepest_of(const struct shed_controller *controller, uint32_t m)
{
	return controller->plan->measurements[m].params.deep.deepest;
}

/* A packet in state tcp is also counted in of_rank[][0], at its rank or a lower one. */
static void put_rank_costs(struct shed_controller *controller, uint32_t i)
{
	uint32_t m = controller->order[i];
	const double *ns = controller->costs.state[m];
	double tcp_ns = fmax(ns[FLOW_TCP] - ns[FLOW_RATE], 0), sum = 0;

	for (uint32_t rank = 0; rank <= CHOOSE_RANKS_MAX; rank++) {
		sum += controller->costs.of_rank[m][0][rank] * ns[FLOW_RATE] +
		       controller->costs.of_rank[m][1][rank] * tcp_ns;
		controller->ranks[i][rank] = sum;
	}
}

static void put_state_costs(struct shed_controller *controller, uint32_t i)
{
	struct choose_states *states = &controller->flows[i];
	uint32_t m = controller->order[i];

	for (uint32_t state = 0; state < states->n; state++) {
		states->packets[state] = controller->costs.met[m][state];
		states->ns[state] = controller->costs.state[m][state];
	}
	if (states->ranks != NULL)
		put_rank_costs(controller, i);
}

/*
 * Returns the number of reductions of detail in effect. With --overload queries, the last one of a
 * measurement turns it off: it has none or all.
 */
static uint32_t steps_taken(const struct shed_controller *controller, uint32_t m, uint32_t step)
{
	const struct steps *steps = &controller->steps[m];

	return controller->how == SHED_POLICY_QUERIES && step > 0 ? steps->n : step;
}

static struct detail detail_of(const struct shed_controller *controller, uint32_t m, uint32_t step)
{
	return steps_detail(&controller->steps[m], steps_taken(controller, m, step));
}

/* Returns the ns per packet that measurement m processes at this detail. */
static double own_ns(
	const struct packet_costs *costs, uint32_t m, double of_ns, const struct detail *detail)
{
	double ns = detail->key != NULL ? fmin(of_ns, costs->of_few[m]) : of_ns;
	double of_all = fmin(costs->distinct[m], ns) + CAPACITY_SHARE_NS;

	return detail->keys == 0
		       ? ns
		       : of_all + (ns - fmin(costs->distinct[m], ns)) / (1U << detail->keys);
}

/*
 * Each measurement gets an equal part of the cost of parsing, which sampling reduces as its own
 * cost. That is too low if measurements sample different packets; the scale of a worker corrects
 * it.
 */
static void put_item_costs(const struct shed_controller *controller, uint32_t i, double of_ns,
	struct choose_item *item)
{
	const struct packet_costs *costs = &controller->costs;
	double shared = costs->parse / controller->problem.nb_items;

	for (uint32_t s = 0; s <= item->nb_steps; s++) {
		struct detail detail = detail_of(controller, controller->order[i], s);
		double ns = own_ns(costs, controller->order[i], of_ns, &detail) + shared;

		item->ns[s] = detail.off ? 0 : ns / (1U << detail.shift);
	}
}

static void put_costs(struct shed_controller *controller)
{
	controller->problem.fixed_ns = controller->costs.fixed;
	for (uint32_t i = 0; i < controller->problem.nb_items; i++) {
		put_item_costs(controller, i, controller->costs.of[controller->order[i]],
			&controller->items[i]);
		put_state_costs(controller, i);
	}
}

#define TYPICAL_PACKETS 1e6 /* packets per interval in the error estimate */
#define TYPICAL_KEY     1e4 /* packets per key in the error estimate */
#define TYPICAL_RISK    1e-5

/*
 * Estimates the width between the bounds of a typical key, relative to its packets. Coarser keys
 * add 1, because the lower bound of an original key is 0. A key that is not counted may have all
 * packets.
 */
static double error_of(const struct detail *detail)
{
	const struct sampling_bound sampling = {
		.weight = UINT64_C(1) << detail->shift,
		.unit = 1,
		.whole = TYPICAL_PACKETS,
		.log_inverse = -log(TYPICAL_RISK),
	};
	uint64_t width =
		sampling_high(&sampling, TYPICAL_KEY) - sampling_low(&sampling, TYPICAL_KEY);

	double counted = detail->off ? 0 : 1.0 / (1U << detail->keys);
	double error =
		(detail->shift > 0 ? (double)width / TYPICAL_KEY : 0) + (detail->key != NULL);

	return counted * error + (1 - counted) * TYPICAL_PACKETS / TYPICAL_KEY;
}

static uint32_t rank_of(const struct shed_controller *controller, uint32_t m)
{
	if ((controller->due >> m & 1) != 0)
		return 0;
	return steps_options(controller->plan->measurements[m].config)->priority;
}

static bool have_queries(const struct shed_controller *controller, uint32_t m)
{
	const struct plan *plan = controller->plan;

	return plan->config != NULL && queries_apply(plan->config, plan->measurements[m].config);
}

static void make_item(struct shed_controller *controller, uint32_t i)
{
	uint32_t m = controller->order[i];
	const struct steps *steps = &controller->steps[m];
	struct choose_states *flows = &controller->flows[i];
	struct choose_item *item = &controller->items[i];
	bool ends_off = steps_detail(steps, steps->n).off;

	*flows = (struct choose_states){.n = deepest_of(controller, m) + 1U};
	if (have_queries(controller, m))
		flows->ranks = controller->ranks[i];
	*item = (struct choose_item){
		.rank = rank_of(controller, m),
		.nb_steps = controller->how != SHED_POLICY_QUERIES ? steps->n : ends_off,
		.ends_off = ends_off,
		.states = flows->n > 1 ? flows : NULL,
	};
	for (uint32_t s = 0; s <= item->nb_steps; s++) {
		struct detail detail = detail_of(controller, m, s);

		item->error[s] = error_of(&detail);
		flows->looked_at[s] = detail.off ? 0 : 1.0 / (1U << (detail.shift + detail.keys));
	}
}

static enum choose_how choose_how_of(enum shed_policy how)
{
	switch (how) {
	case SHED_POLICY_GREEDY: return CHOOSE_GREEDY;
	case SHED_POLICY_LSF: return CHOOSE_LSF;
	case SHED_POLICY_QUERIES: return CHOOSE_QUERIES;
	default: return CHOOSE_BEST;
	}
}

/* Equal ranks keep the order of the configuration. */
static void rank_measurements(struct shed_controller *controller)
{
	for (uint32_t m = 0; m < controller->plan->nb_measurements; m++) {
		uint32_t i = m;

		for (; i > 0; i--) {
			if (rank_of(controller, controller->order[i - 1]) <= rank_of(controller, m))
				break;
			controller->order[i] = controller->order[i - 1];
		}
		controller->order[i] = m;
	}
}

static void make_problem(struct shed_controller *controller)
{
	rank_measurements(controller);
	controller->problem = (struct choose_problem){
		.nb_items = controller->plan->nb_measurements,
		.items = controller->items,
	};
	for (uint32_t i = 0; i < controller->problem.nb_items; i++)
		make_item(controller, i);
	put_costs(controller);
}

static void begin_worker(
	const struct shed_controller *controller, struct shed_controller_worker *of)
{
	of->hysteresis = (struct step_hysteresis){
		.how = choose_how_of(controller->how),
		.now = {.step = of->now, .flows = of->flows_now},
		.before = {.step = of->before, .flows = of->flows_before},
		.work = controller->work,
	};
	decide_init(&of->hysteresis, &controller->problem);
	of->held_off = 0;
}

/* Until an epoch is closed, each query that needs detail is assumed to match the same share. */
static void guess_rank_shares(
	struct shed_controller *controller, const struct queries *queries, uint32_t m)
{
	enum flow_depth deepest = deepest_of(controller, m);
	double needing = 0;

	for (uint32_t q = 0; q < queries->n; q++)
		needing += queries->list[q].state != FLOW_COUNT;
	for (uint32_t q = 0; q < queries->n; q++) {
		const struct query *query = &queries->list[q];

		for (uint32_t s = 0; s < (uint32_t)query->state && s < (uint32_t)deepest; s++)
			controller->costs.of_rank[m][s][query->rank] += 1 / needing;
	}
}

static void set_thresholds(const struct shed_controller *controller, struct worker *worker)
{
	for (uint32_t m = 0; m < controller->plan->nb_measurements; m++) {
		double ns = controller->costs.formula[m].share.longest_ns;

		if ((controller->costs.has_formula >> m & 1) != 0)
			atomic_store_explicit(&worker->states.longest_hit[m],
				(uint32_t)(ns * (double)rte_get_tsc_hz() / 1e9),
				memory_order_relaxed);
	}
}

static void begin(struct shed_controller *controller, const struct measurements *measurements,
	enum shed_policy how)
{
	const struct plan *plan = &measurements->plan;

	pthread_mutex_lock(&controller->lock);
	controller->how = how;
	controller->set = measurements->number;
	controller->plan = plan;
	controller->due = controller->held_back = 0;
	memset(controller->not_whole, 0, sizeof(controller->not_whole));
	for (uint32_t m = 0; m < plan->nb_measurements; m++) {
		char why[STEPS_WHY_MAX];

		steps_parse(&controller->steps[m],
			steps_options(plan->measurements[m].config)->steps, why);
	}
	pthread_mutex_unlock(&controller->lock);
	packet_costs_by_profile(&controller->costs, plan, controller->profile);
	for (uint32_t m = 0; m < plan->nb_measurements; m++)
		if (measurements->queries != NULL && have_queries(controller, m))
			guess_rank_shares(controller, measurements->queries, m);
	make_problem(controller);
	for (uint32_t w = 0; w < controller->nb_workers; w++) {
		begin_worker(controller, &controller->workers[w]);
		estimate_init(&controller->workers[w].estimate);
		set_thresholds(controller, controller->workers[w].worker);
	}
}

/* Returns 0 if the published setting is for older measurements. */
static uint32_t published_steps(const struct shed_controller *controller,
	const struct shed_controller_worker *of, uint32_t m)
{
	const struct shed_setting *setting = &of->states[of->at];

	return setting->of == controller->set ? setting->step[m] : 0;
}

/* worker: UINT32_MAX: all. *whole: workers that measure m at full detail. */
static uint32_t most_steps(
	const struct shed_controller *controller, uint32_t m, uint32_t worker, uint32_t *whole)
{
	uint32_t most = 0;

	*whole = 0;
	for (uint32_t w = 0; w < controller->nb_workers; w++) {
		uint32_t steps = published_steps(controller, &controller->workers[w], m);

		if (worker != UINT32_MAX && worker != w)
			continue;
		*whole += steps == 0;
		most = steps > most ? steps : most;
	}
	return most;
}

static struct formula_lookups read_lookups(const struct shed_lookups *lookups)
{
	struct formula_lookups sums;

	sums.hits = atomic_load_explicit(&lookups->hits, memory_order_relaxed);
	sums.new_flows = atomic_load_explicit(&lookups->new_flows, memory_order_relaxed);
	sums.samples = atomic_load_explicit(&lookups->samples, memory_order_relaxed);
	return sums;
}

static struct worker_report read_worker(const struct worker *worker)
{
	const struct shed_mailbox *line = &worker->states;
	struct worker_report worker_report;

	for (uint32_t l = 0; l <= SHED_LEVEL_COUNT; l++)
		worker_report.packets[l] =
			atomic_load_explicit(&line->packets[l], memory_order_relaxed);
	worker_report.smooth_packets =
		atomic_load_explicit(&line->smooth_packets, memory_order_relaxed);
	worker_report.smooth_busy = atomic_load_explicit(&line->smooth_busy, memory_order_relaxed);
	worker_report.backlog = atomic_load_explicit(&line->backlog, memory_order_relaxed);
	for (uint32_t m = 0; m < CONFIG_MEASUREMENTS_MAX; m++)
		worker_report.lookups[m] = read_lookups(&line->lookups[m]);
	/* Pairs with the release in take_states(). The worker no longer reads older settings. */
	worker_report.taken = atomic_load_explicit(&line->taken, memory_order_acquire);
	return worker_report;
}

static uint64_t all_packets(const struct worker_report *worker_report)
{
	uint64_t packets = 0;

	for (uint32_t l = 0; l <= SHED_LEVEL_COUNT; l++)
		packets += worker_report->packets[l];
	return packets;
}

static void log_taken(struct shed_controller *controller, struct shed_controller_worker *of,
	const struct worker_report *worker_report)
{
	const struct shed_setting *setting = &of->states[of->at], *before = &of->states[!of->at];
	uint64_t packet =
		atomic_load_explicit(&of->worker->states.taken_from, memory_order_relaxed);

	if (!of->unreported || worker_report->taken != setting->number)
		return;
	of->unreported = false;
	if (setting->of != controller->set)
		return;
	for (uint32_t m = 0; m < controller->plan->nb_measurements; m++) {
		const char *name = controller->plan->measurements[m].config->name;
		uint32_t from = before->of == setting->of ? before->step[m] : 0;

		if (from != setting->step[m])
			shed_log_step(&controller->log, of->worker->id, packet, name,
				&controller->steps[m], from, setting->step[m], &of->why);
		if (before->of == setting->of && deepest_of(controller, m) > FLOW_COUNT)
			shed_log_flows(&controller->log, of->worker->id, packet, name,
				&before->flows[m], &setting->flows[m], &of->why);
	}
}

static struct flow_states flows_of(const struct choose_flows *chosen, uint32_t n)
{
	struct flow_states flows = FLOW_STATES_IDENTITY;

	for (uint32_t state = 0; state < n; state++) {
		flows.to[0][state] = chosen->to[0][state];
		flows.to[1][state] = chosen->to[1][state];
	}
	flows.share = chosen->share;
	flows.ranks_off = chosen->ranks_off;
	return flows;
}

/* `i` is the rank of the measurement. A measurement in held_off stays off. */
static uint32_t wanted_steps(const struct shed_controller *controller,
	const struct shed_controller_worker *of, uint32_t i)
{
	uint32_t m = controller->order[i];
	bool held_off = of->held_off >> m & 1;

	return steps_taken(controller, m,
		held_off ? controller->items[i].nb_steps : of->hysteresis.now.step[i]);
}

/* The worker has accepted the previous setting. */
static void publish(struct shed_controller *controller, struct shed_controller_worker *of,
	const struct worker_report *worker_report)
{
	const struct shed_setting *now = &of->states[of->at];
	struct shed_setting *next = &of->states[!of->at];

	if (worker_report->taken != now->number)
		return;
	*next = (struct shed_setting)SHED_SETTING_WHOLE;
	next->number = now->number + 1;
	next->of = controller->set;
	next->first = controller->due;
	for (uint32_t i = 0; i < controller->problem.nb_items; i++) {
		uint32_t m = controller->order[i], steps = wanted_steps(controller, of, i);

		if (controller->how == SHED_POLICY_QUERIES && steps > 0)
			of->held_off |= UINT32_C(1) << m;
		shed_setting_step(next, controller->steps, m, steps);
		if (controller->items[i].states != NULL)
			next->flows[m] =
				flows_of(&of->hysteresis.now.flows[i], controller->flows[i].n);
	}
	if (now->of == next->of && now->first == next->first &&
		memcmp(now->step, next->step, sizeof(now->step)) == 0 &&
		memcmp(now->flows, next->flows, sizeof(now->flows)) == 0)
		return;
	pthread_mutex_lock(&controller->lock);
	of->at = !of->at;
	pthread_mutex_unlock(&controller->lock);
	of->unreported = true;
	/* Pairs with the acquire in take_states(). */
	atomic_store_explicit(&of->worker->states.next, next, memory_order_release);
}

/* A choice is not published if a measurement is held off, or after look_at_deadlines(). */
static bool is_choice_published(
	const struct shed_controller *controller, const struct shed_controller_worker *of)
{
	const struct shed_setting *setting = &of->states[of->at];
	bool same = setting->of == controller->set;

	for (uint32_t i = 0; i < controller->problem.nb_items; i++)
		same &= setting->step[controller->order[i]] ==
			steps_taken(controller, controller->order[i], of->hysteresis.now.step[i]);
	return same;
}

/* Sets the windows of formula (3) from the lookups that the worker sampled. */
static void learn_lookups(const struct shed_controller *controller,
	struct shed_controller_worker *of, const struct worker_report *now)
{
	for (uint32_t m = 0; m < controller->plan->nb_measurements; m++) {
		const struct formula_lookups *last = &of->last.lookups[m];
		struct formula_lookups lookups = {
			.samples = now->lookups[m].samples - last->samples,
			.hits = now->lookups[m].hits - last->hits,
			.new_flows = now->lookups[m].new_flows - last->new_flows,
		};

		if ((controller->costs.has_formula >> m & 1) != 0)
			formula_estimate(
				&controller->costs.formula[m], &lookups, &of->estimate.windows[m]);
	}
}

/* Time per packet of the choice by measured costs, and by formula (3). NAN: unknown. */
static double predict_costs(
	const struct shed_controller *controller, struct shed_controller_worker *of)
{
	choose_predict(&controller->problem, INFINITY, of->hysteresis.work, &of->hysteresis.now);
	return of->hysteresis.now.ns;
}

static double predict_formula(struct shed_controller *controller, struct shed_controller_worker *of)
{
	const struct packet_costs *costs = &controller->costs;
	struct choose_problem problem = controller->problem;
	struct choice choice = of->hysteresis.now;
	bool known = false;
	uint32_t every =
		atomic_load_explicit(&of->worker->states.lookup_every, memory_order_relaxed);

	problem.items = controller->formula_items;
	for (uint32_t i = 0; i < problem.nb_items; i++) {
		uint32_t m = controller->order[i];
		const struct formula_window *window = &of->estimate.windows[m];
		double ns = costs->of[m];

		controller->formula_items[i] = controller->items[i];
		if ((costs->has_formula >> m & 1) != 0 && window->known) {
			known = true;
			ns = formula_ns(&costs->formula[m], window) + costs->distinct[m];
			if (every > 0)
				ns += formula_lookup_ns(&costs->formula[m], window) / every;
		}
		put_item_costs(controller, i, ns, &controller->formula_items[i]);
	}
	if (!known)
		return NAN;
	choose_predict(&problem, INFINITY, of->hysteresis.work, &choice);
	return choice.ns;
}

/* Learns from bursts without queue shedding. */
static void learn_costs(struct shed_controller *controller, struct shed_controller_worker *of,
	const struct worker_report *now, struct shed_reason *why)
{
	uint64_t packets = now->smooth_packets - of->last.smooth_packets;
	uint64_t busy = now->smooth_busy - of->last.smooth_busy;

	learn_lookups(controller, of, now);
	if (packets < PACKET_COSTS_LEAST)
		return;
	why->cost_ns = ns_of(busy) / (double)packets;
	/* The prediction is valid only if the setting was constant during the window. */
	if (of->last.taken != of->states[of->at].number || !is_choice_published(controller, of))
		return;
	for (uint32_t e = 0; e < ESTIMATORS; e++)
		why->prediction[e] = isnan(of->estimate.ns[e]) ? 0 : of->estimate.ns[e];
	estimate_compare(&of->estimate, why->cost_ns, &controller->errors);
	estimate_learn(&of->estimate, why->cost_ns, predict_costs(controller, of),
		predict_formula(controller, of));
}

/* K samples per window (section IV-C of the paper). */
static void set_lookups(const struct shed_controller_worker *of, uint64_t packets)
{
	uint64_t every = packets / FORMULA_SAMPLES;

	every = every < LOOKUP_EVERY_LEAST ? LOOKUP_EVERY_LEAST : every;
	atomic_store_explicit(&of->worker->states.lookup_every,
		every < UINT32_MAX / 2 ? (uint32_t)every : UINT32_MAX / 2, memory_order_relaxed);
}

static void log_level(struct shed_controller *controller, struct shed_controller_worker *of,
	const struct worker_report *now, struct shed_reason why)
{
	struct burst_shed_level to = {.level = SHED_LEVEL_COUNT};
	uint64_t packets = all_packets(now) - all_packets(&of->last);
	uint64_t full = now->packets[SHED_LEVEL_FULL] - of->last.packets[SHED_LEVEL_FULL];

	while (to.level > SHED_LEVEL_FULL && now->packets[to.level] == of->last.packets[to.level])
		to.level--;
	if (to.level == SHED_LEVEL_SOME)
		to.shift = (uint8_t)atomic_load_explicit(
			&of->worker->states.shift, memory_order_relaxed);
	if (burst_shed_level_equal(to, of->level))
		return;
	why.share = packets > 0 ? (double)full / (double)packets : 1;
	shed_log_level(&controller->log, of->worker->id, all_packets(now), of->level, to, &why);
	pthread_mutex_lock(&controller->lock);
	of->level = to;
	pthread_mutex_unlock(&controller->lock);
}

/* Logs in the order in which the changes took effect. */
static void log_changes(struct shed_controller *controller, struct shed_controller_worker *of,
	const struct worker_report *now, const struct shed_reason *why)
{
	log_taken(controller, of, now);
	if (all_packets(now) > all_packets(&of->last))
		log_level(controller, of, now, *why);
}

static void look_at_worker(
	struct shed_controller *controller, struct shed_controller_worker *of, double seconds)
{
	struct worker_report now = read_worker(of->worker);
	struct demand_window window = {
		.seconds = seconds,
		.packets =
			all_packets(&now) - all_packets(&of->last) + now.backlog - of->last.backlog,
		.backlog = now.backlog,
	};
	struct shed_reason why = {.time = clock_time_now().real, .backlog = now.backlog};
	enum decided decided = DECIDED_STAY;

	if ((int64_t)window.packets < 0) /* backlogs are estimates */
		window.packets = 0;
	why.rate = (double)window.packets / seconds;
	why.target_ns = demand_target_ns(&of->demand, &window);
	learn_costs(controller, of, &now, &why);
	log_changes(controller, of, &now, &why);
	if (controller->how > SHED_POLICY_SAMPLE)
		decided = decide(&of->hysteresis, &controller->problem,
			why.target_ns / estimate_scale(&of->estimate));
	of->last_target_ns = why.target_ns;
	if (decided != DECIDED_STAY) {
		why.reason = decided == DECIDED_DOWN ? "load" : "calm";
		of->why = why;
	}
	publish(controller, of, &now);
	estimate_predict(
		&of->estimate, predict_costs(controller, of), predict_formula(controller, of));
	set_lookups(of, window.packets);
	of->busy = all_packets(&now) > all_packets(&of->last);
	of->last = now;
}

/*
 * All workers use the coarsest key rule that any worker needs. It takes the chosen settings, since
 * a worker without packets accepts none.
 */
static void step_keys(struct shed_controller *controller, uint64_t open)
{
	struct measurements *measurements = run_measurements(controller->run, open);

	for (uint32_t i = 0; i < controller->plan->nb_measurements; i++) {
		uint32_t most = 0;

		for (uint32_t w = 0; w < controller->nb_workers; w++) {
			uint32_t steps = wanted_steps(controller, &controller->workers[w], i);

			most = steps > most ? steps : most;
		}
		measurements_step(measurements, controller->order[i], most);
	}
}

/* Returns a bit mask of measurements. */
static uint32_t reduced_measurements(
	const struct shed_controller *controller, const struct shed_controller_worker *of)
{
	static const struct flow_states whole = FLOW_STATES_IDENTITY;
	const struct shed_setting *setting = &of->states[of->at];
	uint32_t held = 0;

	for (uint32_t m = 0;
		setting->of == controller->set && m < controller->plan->nb_measurements; m++)
		held |= (uint32_t)(memcmp(&setting->flows[m], &whole, sizeof(whole)) != 0) << m;
	return held;
}

static bool gives_up(
	const struct shed_controller *controller, const struct shed_controller_worker *of)
{
	if (!of->busy)
		return false;
	for (uint32_t m = 0; m < controller->plan->nb_measurements; m++)
		if (published_steps(controller, of, m) > 0)
			return true;
	return reduced_measurements(controller, of) != 0 || of->level.level > SHED_LEVEL_FULL;
}

static void watch(struct shed_controller *controller)
{
	uint32_t workers = 0;

	for (uint32_t w = 0; w < controller->nb_workers; w++) {
		const struct shed_controller_worker *of = &controller->workers[w];

		controller->held_back |= reduced_measurements(controller, of);
		workers += gives_up(controller, of);
	}
	if (workers > controller->reduced)
		controller->reduced = workers;
}

/* Returns the first step that saves no time. 0: none */
static uint32_t useless_step(const struct choose_item *item)
{
	for (uint32_t s = 1; s <= item->nb_steps; s++)
		if (item->ns[s] >= item->ns[s - 1])
			return s;
	return 0;
}

static void warn_useless(struct shed_controller *controller)
{
	for (uint32_t i = 0; i < controller->problem.nb_items; i++) {
		const struct choose_item *item = &controller->items[i];
		uint32_t m = controller->order[i], step = useless_step(item);

		if (step == 0 || (controller->useless >> m & 1) != 0)
			continue;
		controller->useless |= UINT32_C(1) << m;
		log_warning("%s: step %s ignored: it saves no time (%.3g ns per packet, "
			    "%.3g ns before); remove it",
			controller->plan->measurements[m].config->name,
			steps_word(&controller->steps[m], steps_taken(controller, m, step)),
			item->ns[step], item->ns[step - 1]);
	}
}

/* The report tells it, because the controller does not run while the reporter merges an epoch. */
static bool is_whole(
	const struct shed_controller *controller, const struct report_epoch *report, uint32_t m)
{
	const struct report_measurement *measurement = &report->measurements[m];
	const struct key_rule *own = controller->plan->measurements[m].params.key;

	return measurement->looked_at >= 1 && measurement->weight <= 1 &&
	       (controller->held_back >> m & 1) == 0 &&
	       (measurement->key_rule == NULL || key_rule_equal(measurement->key_rule, own));
}

static void log_state(struct shed_controller *controller, const struct report_epoch *report)
{
	bool less = controller->reduced > 0;

	if (controller->reduced > 0 &&
		log_ratelimit_due(&controller->warned, report->end, controller->reduced))
		log_warning("interval %llu: %u of %u workers overloaded: detail "
			    "reduced; see --stats and --export overload%s",
			(unsigned long long)report->number, controller->reduced,
			controller->nb_workers, controller->warned.since);
	for (uint32_t m = 0; m < report->nb_measurements; m++)
		less |= !is_whole(controller, report, m);
	if (!less && controller->was_reduced)
		log_notice("interval %llu: full detail again", (unsigned long long)report->number);
	if (controller->log.missing > 0 && log_ratelimit_due(&controller->warned_missing,
						   report->end, controller->log.missing))
		log_warning(
			"interval %llu: --export overload has no row for %llu changes: the limit "
			"is %u rows per interval%s",
			(unsigned long long)report->number,
			(unsigned long long)controller->log.missing, SHED_LOG_ROWS_MAX,
			controller->warned_missing.since);
	controller->was_reduced = less;
	controller->reduced = 0;
}

/* Must run before other accesses to controller->plan, which may be freed after its last epoch. */
static void follow_changes(struct shed_controller *controller, uint64_t open)
{
	const struct measurements *measurements = run_measurements(controller->run, open);
	bool others = measurements->number != controller->set;
	int asked =
		atomic_exchange_explicit(&controller->asked, SHED_POLICY_OFF, memory_order_relaxed);

	for (uint32_t w = 0; others && w < controller->nb_workers; w++) {
		struct shed_controller_worker *of = &controller->workers[w];
		struct worker_report worker_report = read_worker(of->worker);

		log_taken(controller, of, &worker_report);
	}
	if (others)
		controller->useless = 0;
	if (others || asked != SHED_POLICY_OFF)
		begin(controller, measurements,
			asked != SHED_POLICY_OFF ? (enum shed_policy)asked : controller->how);
	for (uint32_t w = 0; open != controller->open && w < controller->nb_workers; w++)
		controller->workers[w].held_off = 0;
	controller->open = open;
}

void shed_controller_look(struct shed_controller *controller, int64_t monotonic, uint64_t open)
{
	const struct run *run;

	if (controller == NULL)
		return;
	run = controller->run;
	/* A packet source may open an epoch before its measurements are installed. */
	if (!epochs_is_ready(run->epochs, open))
		open = atomic_load_explicit(&run->epochs->ready, memory_order_relaxed) - 1;
	follow_changes(controller, open);
	if (controller->looked == 0)
		controller->looked = monotonic;
	if (monotonic - controller->looked < WINDOW_NS || epochs_is_end(run->epochs, open))
		return;
	for (uint32_t w = 0; w < controller->nb_workers; w++)
		look_at_worker(controller, &controller->workers[w],
			(double)(monotonic - controller->looked) / SECOND_NS);
	step_keys(controller, open);
	watch(controller);
	controller->looked = monotonic;
}

bool shed_controller_is_busy(const struct shed_controller *controller)
{
	for (uint32_t w = 0; controller != NULL && w < controller->nb_workers; w++)
		if (controller->workers[w].busy)
			return true;
	return false;
}

/* Returns true if a measurement needs full detail in the next interval to meet its deadline. */
static bool is_due(
	struct shed_controller *controller, const struct report_epoch *report, uint32_t m)
{
	const struct measurement_config *config = controller->plan->measurements[m].config;
	int64_t interval = (int64_t)epoch_options(controller->run->config)->interval;

	/* A sum of intervals, because end times jump if the clock is set. */
	controller->not_whole[m] += interval;
	if (is_whole(controller, report, m))
		controller->not_whole[m] = 0;
	return steps_options(config)->deadline > 0 &&
	       controller->not_whole[m] + 3 * interval > (int64_t)steps_options(config)->deadline;
}

/* Gives measurements near their deadline the first rank, and chooses steps again. */
static void look_at_deadlines(struct shed_controller *controller, const struct report_epoch *report)
{
	uint32_t due = 0;

	for (uint32_t m = 0; m < controller->plan->nb_measurements; m++)
		due |= (uint32_t)is_due(controller, report, m) << m;
	if (due == controller->due)
		return;
	controller->due = due;
	make_problem(controller);
	for (uint32_t w = 0; w < controller->nb_workers; w++) {
		struct shed_controller_worker *of = &controller->workers[w];

		/* Keeps calm_least, the delay after failed restorations: the load is the same. */
		of->hysteresis.calm = 0;
		choose(of->hysteresis.how, &controller->problem,
			of->last_target_ns / estimate_scale(&of->estimate), controller->work,
			&of->hysteresis.now);
		of->why.target_ns = of->last_target_ns;
		of->why.reason = "deadline";
	}
}

bool shed_controller_close(
	struct shed_controller *controller, uint64_t epoch, struct report_epoch *report)
{
	struct costs sum = {0};
	bool closed;

	if (controller == NULL || report->nb_measurements == 0) /* no packets, so no row */
		return true;
	for (uint32_t w = 0; w < report->workers; w++)
		costs_add(&sum, &report->costs[w], 1);
	if (run_measurements(controller->run, epoch)->number == controller->set) {
		packet_costs_by_epoch(&controller->costs, controller->run, epoch, &sum);
		put_costs(controller);
		warn_useless(controller);
		if (controller->how > SHED_POLICY_SAMPLE)
			look_at_deadlines(controller, report);
	}
	for (uint32_t w = 0; w < controller->nb_workers; w++) {
		struct shed_controller_worker *of = &controller->workers[w];
		struct worker_report now = read_worker(of->worker);

		log_changes(controller, of, &now,
			&(struct shed_reason){
				.time = clock_time_now().real, .backlog = now.backlog});
	}
	log_state(controller, report);
	controller->held_back = 0;
	closed = shed_log_close(&controller->log, report, &controller->errors);
	controller->errors = (struct estimate_errors){0};
	return closed;
}

bool shed_controller_tell(
	struct shed_controller *controller, uint32_t worker, struct shed_status *present)
{
	if (worker != UINT32_MAX && worker >= controller->nb_workers)
		return false;
	pthread_mutex_lock(&controller->lock);
	*present = (struct shed_status){
		.how = controller->how,
		.nb_workers = controller->nb_workers,
		.nb_measurements = controller->plan->nb_measurements,
	};
	for (uint32_t w = 0; w < controller->nb_workers; w++)
		if ((worker == UINT32_MAX || worker == w) &&
			controller->workers[w].level.level > present->level.level)
			present->level = controller->workers[w].level;
	for (uint32_t m = 0; m < present->nb_measurements; m++) {
		struct shed_status_measurement *of = &present->measurements[m];
		uint32_t most = most_steps(controller, m, worker, &of->whole);

		snprintf(of->name, sizeof(of->name), "%s",
			controller->plan->measurements[m].config->name);
		snprintf(of->least, sizeof(of->least), "%s",
			steps_word(&controller->steps[m], most));
	}
	pthread_mutex_unlock(&controller->lock);
	return true;
}

void shed_controller_ask(struct shed_controller *controller, enum shed_policy how)
{
	atomic_store_explicit(&controller->asked, how, memory_order_relaxed);
}

struct plan_shedding shed_controller_memory(const struct config *config)
{
	struct plan_shedding memory = {0};

	if (!shed_policy_given(config))
		return memory;
	memory.worker_bytes = sizeof(struct shed_worker);
	if (shed_policy_options(config)->policy == SHED_POLICY_OFF)
		return memory;
	memory.worker_bytes += sizeof(struct shed_controller_worker);
	memory.bytes = sizeof(struct shed_controller) + choose_work_size(CONFIG_MEASUREMENTS_MAX);
	if (writer_options(config)->rows[ROWS_OVERLOAD].n > 0)
		memory.bytes += SHED_LOG_ROWS_MAX * sizeof(struct report_state);
	return memory;
}

struct shed_controller *shed_controller_create(const struct run *run, const struct profile *profile)
{
	bool told = sink_config_any(run->config, ROWS_OVERLOAD);
	size_t work = choose_work_size(CONFIG_MEASUREMENTS_MAX);
	struct shed_controller *controller =
		calloc(1, sizeof(*controller) + run->nb_workers * sizeof(controller->workers[0]));

	if (controller == NULL)
		return NULL;
	controller->work = malloc(work);
	if (controller->work == NULL || (told && !shed_log_init(&controller->log))) {
		shed_controller_destroy(controller);
		return NULL;
	}
	pthread_mutex_init(&controller->lock, NULL);
	controller->run = run;
	controller->profile = profile;
	controller->nb_workers = run->nb_workers;
	for (uint32_t w = 0; w < run->nb_workers; w++) {
		struct shed_controller_worker *of = &controller->workers[w];

		of->worker = run->workers[w];
		of->demand.reserve = shed_policy_options(run->config)->reserve;
	}
	begin(controller, run_measurements(run, 0), shed_policy_options(run->config)->policy);
	return controller;
}

void shed_controller_destroy(struct shed_controller *controller)
{
	if (controller == NULL)
		return;
	shed_log_fini(&controller->log);
	free(controller->work);
	free(controller);
}
