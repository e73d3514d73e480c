/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/adaptive_model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assertion.h"
#include "adapt/decide.h"
#include "adapt/demand.h"
#include "bench/paper_facts.h"
#include "parallel/shed/queue_shedding.h"

#define RESERVE        0.1
#define PAPER_COUNT_NS 10 /* assumed */
#define STEP_SHARE     0.25
#define LESS_NS        1e-6 /* larger than rounding */

const char *const way_names[WAYS] = {"without", "greedy", "lsf", "queries", "best", "best_valve"};

static double middle(const char *setting)
{
	return (paper_number(PAPER_TANGARI, "Table I", setting, "5th quantile") +
		       paper_number(PAPER_TANGARI, "Table I", setting, "95th quantile")) /
	       2;
}

/* Each query counts the flows that are in its state or a deeper one. */
static void add_paper_queries(struct system *system, const double *ns, uint32_t n)
{
	for (uint32_t q = 0; q < n; q++) {
		struct choose_item *item = &system->queries[q];

		*item = (struct choose_item){.rank = q, .nb_steps = q > 0, .ends_off = q > 0};
		item->ns[0] = (ns[q] - (q > 0 ? ns[q - 1] : 0)) * (n - q) / n;
		item->error[1] = 1;
	}
	system->nb_queries = n;
}

void system_of_paper(struct system *system)
{
	static const char *const states[] = {
		"s1: packet count", "s2: flow rate and burst check", "s3: TCP in depth"};
	const uint32_t n = sizeof(states) / sizeof(states[0]);
	double ns[sizeof(states) / sizeof(states[0])], mean = 0;

	*system = (struct system){.name = "paper", .count_ns = PAPER_COUNT_NS, .nb_items = 1};
	system->states = (struct choose_states){.n = n, .looked_at = {1}};
	for (uint32_t s = 0; s < n; s++) {
		ns[s] = paper_number(PAPER_TANGARI, "Sec. VI", "states", states[s]);
		system->states.packets[s] = 1.0 / n;
		system->states.ns[s] = ns[s] - ns[0];
		mean += ns[s] / n;
	}
	system->items[0] = (struct choose_item){.ns = {ns[0]}, .states = &system->states};
	add_paper_queries(system, ns, n);
	/* Time per packet at the capacity (0.8 of the peak), less the mean of the states. */
	system->fixed_ns = 1e3 / (0.8 * paper_number(PAPER_TANGARI, "Fig. 5a", "ramp; adapted",
						"lossless up to")) -
			   mean;
	system->memory_ns = system->fixed_ns * (middle("T_r miss") - middle("timing")) /
				    (middle("T_r hit") - middle("timing")) -
			    system->fixed_ns;
}

static bool part_ns(
	const struct profile *profile, enum profile_part part, const char *key, double *ns)
{
	struct profile_what what = {.part = part};
	const struct profile_row *row;

	snprintf(what.key, sizeof(what.key), "%s", key);
	row = profile_find(profile, &what);
	if (row != NULL)
		*ns = row->times.mean;
	return row != NULL;
}

/* An earlier sketch may use the same key. The cost of parsing includes the hash of the 5-tuple. */
static bool add_key(struct system *system, const struct profile *profile, const char *key)
{
	double ns;

	snprintf(system->keys[system->nb_items], PROFILE_KEY_MAX, "%s", key);
	for (uint32_t i = 0; i < system->nb_items; i++)
		if (strcmp(system->keys[i], key) == 0)
			return true;
	if (strcmp(key, key_rules[0].name) == 0)
		return true;
	if (!part_ns(profile, PROFILE_KEY, key, &ns))
		return false;
	system->shared_ns += ns;
	return true;
}

static bool add_sketch(
	struct system *system, const struct profile *profile, const struct profile_row *cached)
{
	struct profile_what what = cached->what;
	struct choose_item *item = &system->items[system->nb_items];
	const struct profile_row *uncached;
	double distinct;

	*item = (struct choose_item){.rank = system->nb_items, .nb_steps = 2, .ends_off = true};
	what.traffic = PROFILE_UNCACHED;
	uncached = profile_find(profile, &what);
	if (uncached == NULL || !part_ns(profile, PROFILE_DISTINCT, "", &distinct) ||
		!add_key(system, profile, what.key))
		return false;
	item->ns[0] = cached->times.mean + distinct;
	item->error[1] = 1; /* errors of the steps "one in four packets" and "off" */
	item->error[2] = 10;
	system->memory_ns += fmax(uncached->times.mean - cached->times.mean, 0);
	system->nb_items++;
	return true;
}

/* The sampled step of a measurement costs STEP_SHARE of the sum. */
static void share_out(struct system *system)
{
	for (uint32_t i = 0; i < system->nb_items; i++) {
		struct choose_item *item = &system->items[i], *query = &system->queries[i];

		item->ns[0] += system->shared_ns / system->nb_items;
		item->ns[1] = STEP_SHARE * item->ns[0];
		*query = *item;
		query->nb_steps = 1;
		query->ns[1] = 0;
	}
	system->nb_queries = system->nb_items;
}

bool system_of_profile(struct system *system, const struct profile *profile, const char *name)
{
	double receive, free_ns, parse, hash;

	*system = (struct system){0};
	snprintf(system->name, sizeof(system->name), "%s", name);
	if (!part_ns(profile, PROFILE_RECEIVE, "", &receive) ||
		!part_ns(profile, PROFILE_FREE, "", &free_ns) ||
		!part_ns(profile, PROFILE_PARSE, "", &parse) ||
		!part_ns(profile, PROFILE_KEY, key_rules[0].name, &hash))
		return false;
	system->fixed_ns = system->count_ns = receive + free_ns;
	system->shared_ns = parse + hash;
	for (uint32_t r = 0; r < profile->n && system->nb_items < SYSTEM_ITEMS_MAX; r++) {
		const struct profile_what *what = &profile->rows[r].what;

		if (what->part == PROFILE_SKETCH && what->traffic == PROFILE_CACHED &&
			!what->single && !add_sketch(system, profile, &profile->rows[r]))
			return false;
	}
	share_out(system);
	VERIFY(system->nb_items, <=, (uint32_t)SYSTEM_ITEMS_MAX);
	return system->nb_items > 0;
}

struct runner {
	const struct system *system;
	const struct load *load;
	enum way way;
	struct choose_problem problem;
	struct demand demand;
	struct step_hysteresis hysteresis;
	uint8_t steps[2][SYSTEM_ITEMS_MAX];
	struct choose_flows flows[2][SYSTEM_ITEMS_MAX];
	double at; /* s */
	struct queue_shedding shedding;
	struct shedding_queue queue;
	double skipped;
	double own_ns; /* per packet, without fixed_ns */
	struct outcome *outcome;
};

static double more_ns(const struct runner *runner)
{
	const struct load *load = runner->load;

	return runner->system->memory_ns * load->uncached +
	       (load->more_ns != NULL ? load->more_ns(load, runner->at) : 0);
}

static void note_adaptation(struct runner *runner)
{
	struct outcome *outcome = runner->outcome;
	double own_ns = runner->hysteresis.now.ns - runner->problem.fixed_ns;

	if (own_ns < runner->own_ns - LESS_NS) {
		if (outcome->nb_adaptations < ADAPTATIONS_MAX)
			outcome->adaptations[outcome->nb_adaptations] = runner->at;
		outcome->nb_adaptations++;
	}
	runner->own_ns = own_ns;
}

static double decide_window(void *context, const struct demand_window *window)
{
	static const enum choose_how hows[] = {[WAY_GREEDY] = CHOOSE_GREEDY,
		[WAY_LSF] = CHOOSE_LSF,
		[WAY_QUERIES] = CHOOSE_QUERIES};
	struct runner *runner = context;
	double target_ns = demand_target_ns(&runner->demand, window);

	runner->problem.fixed_ns = runner->system->fixed_ns + more_ns(runner);
	if (runner->way == WAY_WITHOUT)
		choose_full(&runner->problem, runner->hysteresis.work, &runner->hysteresis.now);
	else if (runner->way >= WAY_BEST)
		decide(&runner->hysteresis, &runner->problem, target_ns);
	else
		choose(hows[runner->way], &runner->problem, target_ns, runner->hysteresis.work,
			&runner->hysteresis.now);
	note_adaptation(runner);
	runner->at += DEMAND_WINDOW_S;
	return runner->hysteresis.now.ns;
}

static double shed_ns(void *context, double backlog, double n, double packet_ns)
{
	struct runner *runner = context;
	double quarters = floor(backlog / (runner->load->entries / SHED_QUARTERS)), looked_at = n;

	queue_shedding_look(&runner->shedding, &runner->queue,
		(uint32_t)fmin(quarters, SHED_QUARTERS - 1), backlog >= 1);
	/* There are no priorities in this model, so no measurement is skipped by priority. */
	if (runner->shedding.level == SHED_LEVEL_SOME)
		looked_at = fmin(n / (1U << runner->shedding.shift), SHED_LOOKS_MAX);
	else if (runner->shedding.level == SHED_LEVEL_COUNT)
		looked_at = 0;
	runner->skipped += n - looked_at;
	return looked_at * packet_ns + (n - looked_at) * runner->system->count_ns;
}

static double rate_at(void *context, double at)
{
	const struct runner *runner = context;

	return runner->load->rate(runner->load, at);
}

static void prepare(
	struct runner *runner, const struct system *system, const struct load *load, enum way way)
{
	bool queries = way == WAY_QUERIES;

	*runner = (struct runner){.system = system, .load = load, .way = way};
	runner->problem = (struct choose_problem){.fixed_ns = system->fixed_ns,
		.nb_items = queries ? system->nb_queries : system->nb_items,
		.items = queries ? system->queries : system->items};
	runner->demand = (struct demand){
		.how = way >= WAY_BEST ? DEMAND_AHEAD : DEMAND_RATE, .reserve = RESERVE};
	runner->hysteresis.how = CHOOSE_BEST;
	runner->hysteresis.now =
		(struct choice){.step = runner->steps[0], .flows = runner->flows[0]};
	runner->hysteresis.before =
		(struct choice){.step = runner->steps[1], .flows = runner->flows[1]};
	runner->hysteresis.work = malloc(choose_work_size(SYSTEM_ITEMS_MAX));
	queue_shedding_init(&runner->shedding, 1);
}

double system_full_ns(const struct system *system, double uncached)
{
	const struct load load = {.uncached = uncached};
	struct runner runner;

	prepare(&runner, system, &load, WAY_WITHOUT);
	if (runner.hysteresis.work == NULL)
		return NAN;
	runner.problem.fixed_ns += more_ns(&runner);
	decide_init(&runner.hysteresis, &runner.problem);
	free(runner.hysteresis.work);
	return runner.hysteresis.now.ns;
}

struct outcome system_run(const struct system *system, const struct load *load, enum way way)
{
	struct runner runner;
	struct queue_model model = {.entries = load->entries,
		.burst = QUEUE_MODEL_BURST,
		.poll = QUEUE_MODEL_POLL_S,
		.seconds = load->seconds,
		.window = DEMAND_WINDOW_S,
		.rate = rate_at,
		.decide = decide_window,
		.shedding = way == WAY_BEST_SHEDDING ? shed_ns : NULL,
		.nb_windows = WINDOWS_MAX,
		.context = &runner};
	struct outcome outcome = {.queue = {.lost = NAN}};

	prepare(&runner, system, load, way);
	if (runner.hysteresis.work == NULL)
		return outcome;
	decide_init(&runner.hysteresis, &runner.problem);
	model.lost = outcome.lost;
	runner.outcome = &outcome;
	runner.own_ns = runner.hysteresis.now.ns - runner.problem.fixed_ns;
	outcome.queue = queue_model_run(&model);
	outcome.skipped = runner.skipped;
	free(runner.hysteresis.work);
	return outcome;
}
