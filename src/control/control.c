/* SPDX-License-Identifier: BSD-3-Clause */

#include "control/control.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/assertion.h"
#include "base/identity.h"
#include "base/log.h"
#include "sketch/measurement.h"
#include "base/signals.h"
#include "parallel/run/plan_capacity.h"
#include "control/control_commands.h"
#include "control/follow.h"
#include "control/shed_controller.h"
#include "control/reply.h"

#define RELOAD_PATIENCE_S   2
#define ANSWER_PATIENCE_S   5 /* until a warning is logged, in s */
#define TOP_DEFAULT         10
#define TOP_MAX             40 /* rows in a reply of 16 KB; an IPv6 row has nearly 400 bytes */
#define DELIVERIES_MAX      40 /* exports in a reply of 16 KB, with about 300 bytes each */
#define DRILL_DOWN_KEYS_MAX 60 /* keys in a reply of 16 KB, with nearly 200 bytes each */

/* Sum of the packet counts of one or more epochs. */
struct ledger_sum {
	uint64_t epochs;
	int64_t start, end;
	struct ledger ledger;
	uint64_t expired; /* flow records that expired */
	uint64_t took;    /* processing time in ns if the time stamps are generated, else 0 */
};

static struct {
	pthread_mutex_t lock;    /* protects the following */
	pthread_cond_t reloaded; /* reloads_done changed */
	pthread_cond_t answered; /* `answering` or an element of `reading` became 0 */
	uint32_t answering;      /* handlers that use `changes` or a borrowed report */
	/*
	 * Handlers that read a plan. New handlers count in reading[turn]. control_settle() switches
	 * `turn` and waits until the old count is 0.
	 */
	uint32_t reading[2], turn;
	const struct plan *plan; /* NULL: nothing runs */
	struct change_since since[CONFIG_MEASUREMENTS_MAX];
	struct changes *changes;
	bool read_only;
	struct report_epoch *last;       /* last epoch with packets; may be NULL */
	struct report_epoch *deliveries; /* up to the end of `last`; may be NULL */
	uint64_t number;
	struct ledger_sum epoch;
	struct ledger_sum total;
	const struct profile *profile;
	struct shed_controller *controller;
	uint32_t reloads_asked, reloads_done;
	struct control_reloaded last_reload;
} control = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.reloaded = PTHREAD_COND_INITIALIZER,
	.answered = PTHREAD_COND_INITIALIZER,
};

/*
 * Replaces perror() of the C library, so that messages of libraries are logged. DPDK's telemetry
 * library calls it if a client disconnects before its reply.
 */
void perror(const char *what)
{
	char buffer[REPLY_TEXT_MAX];
	const char *why = strerror_r(errno, buffer, sizeof(buffer));

	if (what == NULL || what[0] == '\0')
		log_info("%s", why);
	else
		log_info("%s: %s", what, why);
}

static void end_answer(void)
{
	pthread_mutex_lock(&control.lock);
	VERIFY(control.answering, >, 0U);
	if (--control.answering == 0)
		pthread_cond_broadcast(&control.answered);
	pthread_mutex_unlock(&control.lock);
}

static void end_reading(uint32_t turn)
{
	pthread_mutex_lock(&control.lock);
	VERIFY(control.reading[turn], >, 0U);
	if (--control.reading[turn] == 0)
		pthread_cond_broadcast(&control.answered);
	pthread_mutex_unlock(&control.lock);
}

/* The caller holds the lock. Handlers are not counted while they send. */
static void wait_for_handlers(const uint32_t *const counts[], uint32_t n, const char *who)
{
	bool warned = false;
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += ANSWER_PATIENCE_S;
	for (uint32_t i = 0; i < n; i++)
		while (*counts[i] > 0) {
			if (warned)
				pthread_cond_wait(&control.answered, &control.lock);
			else if (pthread_cond_clockwait(&control.answered, &control.lock,
					 CLOCK_MONOTONIC, &until) == ETIMEDOUT) {
				warned = true;
				log_warning("%s: waiting for a reply on the control socket", who);
			}
		}
}

#define ANSWER(name)                                                                               \
	static int answer_##name(__attribute__((unused)) const char *command,                      \
		__attribute__((unused)) const char *parameters, struct rte_tel_data *answer)

static const char no_worker[] =
	"use ctl states WORKER with the number of a worker, or ctl states MODE with a mode of "
	"--overload other than off";
static const char unchangeable[] = "not allowed: this run was started with --control read";

static const char too_long[] = "the command is longer than 1022 characters";
_Static_assert(CONTROL_COMMAND_MAX == 1022, "the message states it");

static const char nothing_runs[] = "the measurement has not started yet, or has ended";
static const char no_epoch[] = "no interval with packets has ended yet";

static void reply_port(struct rte_tel_data *dict, const void *of, uint32_t number)
{
	const struct plan *plan = of;
	const struct plan_port *port = &plan->ports[number];

	reply_string(dict, "name", port->name);
	reply_int(dict, "node", port->node);
	reply_uint(dict, "group", port->group);
	reply_uint(dict, "queues", plan->groups[port->group].nb_queues);
	reply_uint(dict, "descriptors", port->entries);
}

static void reply_group(struct rte_tel_data *dict, const void *plan, uint32_t number)
{
	const struct plan_group *group = &((const struct plan *)plan)->groups[number];

	reply_int(dict, "node", group->node);
	reply_int(dict, "memory_node", group->memory_node);
	reply_uint(dict, "first_worker", group->first_worker);
	reply_uint(dict, "workers", group->nb_workers);
	reply_uint(dict, "mbufs", group->mbufs);
	reply_uint(dict, "packet_bytes", group->packet_bytes);
}

static void reply_lcore(struct rte_tel_data *dict, const void *plan, uint32_t number)
{
	const struct plan_lcore *lcore = &((const struct plan *)plan)->lcores[number];

	reply_string(dict, "role", plan_role_names[lcore->role]);
	if (lcore->role == PLAN_WORKER)
		reply_uint(dict, "worker", lcore->worker);
	reply_int(dict, "cpu", lcore->cpu);
	reply_int(dict, "node", lcore->node);
}

struct control_plan {
	const struct plan *plan;
	const struct change_since *since;
};

static void reply_planned(struct rte_tel_data *dict, const void *of, uint32_t number)
{
	const struct control_plan *with = of;
	const struct plan_measurement *planned = &with->plan->measurements[number];
	const struct measurement_options *options = measurement_options(planned->config);
	const struct change_since *since = &with->since[number];

	reply_string(dict, "name", planned->config->name);
	reply_string(dict, "key", planned->params.key->name);
	reply_string(dict, "sketch", planned->ops->name);
	reply_uint(dict, "depth", planned->params.depth);
	reply_uint(dict, "width", planned->params.width);
	reply_string(dict, "count", planned->params.metric == SKETCH_BYTES ? "bytes" : "packets");
	reply_uint(dict, "top", options->top);
	if (options->threshold > 0)
		reply_text(dict, "threshold", "%.15g", options->threshold);
	reply_uint(dict, "instance_bytes", planned->instance_bytes);
	if (planned->params.idle_timeout > 0)
		reply_uint(dict, "idle_timeout_ns", planned->params.idle_timeout);
	if (planned->params.deep.deepest != FLOW_COUNT) {
		reply_string(dict, "deep", flow_depth_word(planned->params.deep.deepest));
		reply_uint(dict, "deep_flows", planned->params.deep.flows);
	}
	reply_uint(dict, since->at_least ? "from_epoch_at_least" : "from_epoch", since->epoch);
}

static void reply_plan(
	struct rte_tel_data *answer, const struct plan *plan, const struct change_since *since)
{
	const struct control_plan with = {plan, since};

	reply_start(answer);
	reply_string(answer, "host", identity_host());
	reply_string(answer, "run", identity_run());
	reply_string(answer, "design", plan->design->name);
	reply_string(answer, "sharing", plan_sharing_word(plan->sharing));
	reply_uint(answer, "workers", plan->nb_workers);
	reply_uint(answer, "packet_bytes", plan->packet_bytes);
	reply_uint(answer, "sketch_bytes", plan->sketch_bytes);
	reply_uint(answer, "rule_bytes", plan->rule_bytes);
	reply_list(answer, "ports", 0, plan->nb_ports, reply_port, plan);
	reply_list(answer, "groups", 0, plan->nb_groups, reply_group, plan);
	reply_list(answer, "lcores", 0, plan->nb_lcores, reply_lcore, plan);
	reply_list(answer, "measurements", 0, plan->nb_measurements, reply_planned, &with);
}

/* Returns NULL if nothing runs. The caller must call end_reading(*turn) in both cases. */
static const struct plan *begin_reading(
	struct change_since since[CONFIG_MEASUREMENTS_MAX], uint32_t *turn)
{
	const struct plan *plan;

	pthread_mutex_lock(&control.lock);
	plan = control.plan;
	memcpy(since, control.since, sizeof(control.since));
	*turn = control.turn;
	control.reading[*turn]++;
	pthread_mutex_unlock(&control.lock);
	return plan;
}

ANSWER(plan)
{
	struct change_since since[CONFIG_MEASUREMENTS_MAX];
	uint32_t turn;
	const struct plan *plan = begin_reading(since, &turn);

	if (plan == NULL)
		reply_error(answer, nothing_runs);
	else
		reply_plan(answer, plan, since);
	end_reading(turn);
	return 0;
}

static void reply_sum(struct rte_tel_data *dict, const struct ledger_sum *sum)
{
	reply_account(dict, sum->start, sum->end, sum->took, &sum->ledger, sum->expired);
}

ANSWER(stats)
{
	struct ledger_sum epoch, total;
	struct rte_tel_data *dict;
	uint64_t number;

	pthread_mutex_lock(&control.lock);
	number = control.number;
	epoch = control.epoch;
	total = control.total;
	pthread_mutex_unlock(&control.lock);
	if (total.epochs == 0)
		return reply_error(answer, "no interval has ended yet");
	reply_start(answer);
	reply_uint(answer, "epoch", number);
	reply_sum(answer, &epoch);
	dict = reply_dict(answer, "total");
	if (dict == NULL)
		return 0;
	reply_uint(dict, "epochs", total.epochs);
	reply_sum(dict, &total);
	return 0;
}

/* Returns a report with a new reference, or NULL. Release it with release_report(). */
static struct report_epoch *borrow_report(struct report_epoch *const *report)
{
	struct report_epoch *epoch;

	pthread_mutex_lock(&control.lock);
	epoch = *report;
	if (epoch != NULL)
		report_epoch_share(epoch);
	control.answering += epoch != NULL;
	pthread_mutex_unlock(&control.lock);
	return epoch;
}

static void release_report(struct report_epoch *epoch)
{
	report_epoch_free(epoch);
	end_answer();
}

static void reply_rows(
	struct rte_tel_data *answer, const struct report_measurement *measurement, uint32_t n)
{
	struct rte_tel_data *rows = reply_dict(answer, "rows"), *dict;

	n = n < measurement->nb_rows ? n : measurement->nb_rows;
	for (uint32_t r = 0; r < n; r++) {
		if (!reply_fits(reply_row, measurement, r)) {
			reply_uint(answer, "left_off", n - r);
			return;
		}
		dict = reply_numbered(rows, measurement->rows[r].rank);
		if (dict == NULL)
			return;
		reply_row(dict, measurement, r);
	}
}

/* An empty name selects the first measurement. */
static const struct report_measurement *find_measurement(
	const struct report_epoch *epoch, const char *name)
{
	for (uint32_t m = 0; m < epoch->nb_measurements; m++)
		if (*name == '\0' || strcmp(epoch->measurements[m].name, name) == 0)
			return &epoch->measurements[m];
	return NULL;
}

static const char no_measurement[] = "no measurement has this name; ctl measure list shows all";

static int answer_top_of(
	struct rte_tel_data *answer, const struct report_epoch *epoch, const char *name, uint32_t n)
{
	const struct report_measurement *measurement = find_measurement(epoch, name);

	if (measurement == NULL)
		return reply_error(answer, no_measurement);
	reply_start(answer);
	reply_uint(answer, "epoch", epoch->number);
	reply_time(answer, "start", epoch->start);
	reply_time(answer, "end", epoch->end);
	reply_string(answer, "measurement", measurement->name);
	reply_uint(answer, "distinct_keys", measurement->distinct_keys);
	if (measurement->confidence_known)
		reply_text(answer, "confidence", "%.15g", measurement->confidence);
	if (epoch->ledger.kept_up) {
		reply_text(answer, "looked_at", "%.6f", measurement->looked_at);
		reply_uint(answer, "weight", measurement->weight);
	}
	reply_rows(answer, measurement, n);
	return 0;
}

/* Parses "[MEASUREMENT][,N]". */
static bool read_top(const char *parameters, char name[REPLY_TEXT_MAX], uint32_t *n)
{
	size_t len = parameters != NULL ? strcspn(parameters, ",") : 0;
	unsigned long number;
	char *end;

	*n = TOP_DEFAULT;
	name[0] = '\0';
	if (parameters == NULL)
		return true;
	if (len >= REPLY_TEXT_MAX)
		return false;
	memcpy(name, parameters, len);
	name[len] = '\0';
	if (parameters[len] == '\0')
		return true;
	parameters += len + 1;
	number = strtoul(parameters, &end, 10);
	*n = (uint32_t)number;
	return *parameters >= '0' && *parameters <= '9' && *end == '\0' && number >= 1 &&
	       number <= TOP_MAX;
}

_Static_assert(TOP_MAX == 40 && TOP_DEFAULT == 10,
	"the error text below and the help of the command have these numbers");

ANSWER(top)
{
	struct report_epoch *epoch;
	char name[REPLY_TEXT_MAX];
	uint32_t n;

	if (!read_top(parameters, name, &n))
		return reply_mistake(answer, "use ctl top MEASUREMENT N, with N from 1 to 40");
	epoch = borrow_report(&control.last);
	if (epoch == NULL)
		return reply_error(answer, no_epoch);
	answer_top_of(answer, epoch, name, n);
	release_report(epoch);
	return 0;
}

ANSWER(follow)
{
	return follow_answer(parameters, answer);
}

static void reply_delivery(struct rte_tel_data *dict, const void *report, uint32_t number)
{
	reply_columns(dict, reply_delivery_columns, false,
		&((const struct report_epoch *)report)->deliveries[number]);
}

static void reply_deliveries(struct rte_tel_data *answer, const struct report_epoch *report)
{
	uint32_t n =
		report->nb_deliveries < DELIVERIES_MAX ? report->nb_deliveries : DELIVERIES_MAX;

	reply_start(answer);
	reply_uint(answer, "epoch", report->number);
	reply_uint(answer, "left_off", report->nb_deliveries - n);
	reply_list(answer, "rows", 1, n, reply_delivery, report);
}

ANSWER(deliveries)
{
	struct report_epoch *report = borrow_report(&control.deliveries);

	if (report == NULL)
		return reply_error(
			answer, "no delivery counts yet: no interval with packets has ended");
	reply_deliveries(answer, report);
	release_report(report);
	return 0;
}

/* Keys into which a measurement drills down, and the rule that extracts them from packets. */
struct control_keys {
	const struct key_rule *rule;
	const struct key *keys;
};

static void reply_drill_down_key(struct rte_tel_data *dict, const void *of, uint32_t number)
{
	const struct control_keys *with = of;

	reply_key(dict, with->rule, &with->keys[number]);
}

static int answer_within_of(
	struct rte_tel_data *answer, const struct report_epoch *epoch, const char *name)
{
	const struct report_measurement *measurement = find_measurement(epoch, name), *networks;
	const struct report_inside *inside;

	if (measurement == NULL)
		return reply_error(answer, no_measurement);
	inside = &measurement->inside;
	if (!inside->only)
		return reply_error(
			answer, "the measurement has no within option, so it counts all packets");
	networks = &epoch->measurements[inside->networks];
	reply_start(answer);
	reply_uint(answer, "epoch", epoch->number);
	reply_string(answer, "measurement", measurement->name);
	reply_string(answer, "within", networks->name);
	reply_uint(answer, "looked_into", inside->nb_keys);
	reply_uint(answer, "left_out", inside->left_out);
	reply_list(answer, "keys", 1, RTE_MIN(inside->nb_keys, (uint32_t)DRILL_DOWN_KEYS_MAX),
		reply_drill_down_key, &(struct control_keys){networks->key_rule, inside->keys});
	return 0;
}

ANSWER(within)
{
	struct report_epoch *epoch;

	if (parameters == NULL || *parameters == '\0')
		return reply_mistake(answer, "use ctl within MEASUREMENT");
	epoch = borrow_report(&control.last);
	if (epoch == NULL)
		return reply_error(answer, no_epoch);
	answer_within_of(answer, epoch, parameters);
	release_report(epoch);
	return 0;
}

static void reply_ns(
	struct rte_tel_data *dict, const char *name, uint64_t ns, const struct costs *costs)
{
	reply_text(dict, name, "%.2f", (double)ns / (double)costs->packets);
}

struct control_costs {
	const struct report_epoch *epoch;
	const struct costs *costs;
	const struct key_rule *distinct[COSTS_KEYS_MAX];
	uint32_t key_of[CONFIG_MEASUREMENTS_MAX];
};

static void reply_cost_of_key(struct rte_tel_data *dict, const void *of, uint32_t number)
{
	const struct control_costs *with = of;

	reply_string(dict, "key", with->distinct[number]->name);
	reply_ns(dict, "ns", with->costs->key[number], with->costs);
}

static void reply_cost_of_measurement(struct rte_tel_data *dict, const void *of, uint32_t number)
{
	const struct control_costs *with = of;
	const struct report_measurement *measurement = &with->epoch->measurements[number];

	reply_string(dict, "name", measurement->name);
	reply_uint(dict, "key", with->key_of[number]);
	reply_string(dict, "sketch", measurement->sketch);
	reply_ns(dict, "sketch_ns", with->costs->sketch[number], with->costs);
	reply_ns(dict, "distinct_ns", with->costs->distinct[number], with->costs);
}

/* Adds the costs in the profile. number: 0: full detail, 1: packets are only counted. */
static void reply_capacity(struct rte_tel_data *dict, const void *plan, uint32_t number)
{
	const struct capacity_worker worker = plan_worker(plan);
	const struct capacity_state state = number == 0 ? capacity_full() : capacity_count_only();

	reply_string(dict, "state", state.name);
	for (uint32_t t = PROFILE_CACHED; t < PROFILE_TRAFFICS; t++) {
		struct profile_what missing;
		char name[32];
		double ns;

		snprintf(name, sizeof(name), "%s_ns", profile_traffic_names[t]);
		if (capacity_ns(control.profile, &worker, &state, (enum profile_traffic)t, &ns,
			    &missing))
			reply_text(dict, name, "%.2f", ns);
	}
}

static void reply_profile(struct rte_tel_data *answer)
{
	struct change_since since[CONFIG_MEASUREMENTS_MAX];
	const struct plan *plan;
	uint32_t turn;

	if (control.profile == NULL)
		return;
	plan = begin_reading(since, &turn);
	if (plan != NULL)
		reply_list(answer, "profile", 0, 2, reply_capacity, plan);
	end_reading(turn);
}

static void answer_costs_of(
	struct rte_tel_data *answer, const struct report_epoch *epoch, const struct costs *costs)
{
	const struct key_rule *rules[CONFIG_MEASUREMENTS_MAX];
	struct control_costs with = {.epoch = epoch, .costs = costs};
	uint32_t nb_rules;

	for (uint32_t m = 0; m < epoch->nb_measurements; m++)
		rules[m] = epoch->measurements[m].key_rule;
	nb_rules = key_rules_distinct(rules, epoch->nb_measurements, with.distinct, with.key_of);
	reply_start(answer);
	reply_uint(answer, "epoch", epoch->number);
	reply_uint(answer, "timed_bursts", costs->bursts);
	reply_uint(answer, "timed_packets", costs->packets);
	reply_ns(answer, "receive_ns", costs->receive, costs);
	reply_ns(answer, "filter_ns", costs->filter, costs);
	reply_ns(answer, "parse_ns", costs->parse, costs);
	reply_ns(answer, "rules_ns", costs->rules, costs);
	reply_list(answer, "keys", 0, nb_rules, reply_cost_of_key, &with);
	reply_list(answer, "measurements", 0, epoch->nb_measurements, reply_cost_of_measurement,
		&with);
	reply_ns(answer, "free_ns", costs->free, costs);
	reply_ns(answer, "sum_ns", costs_sum(costs), costs);
	reply_profile(answer);
}

/* Sums over all workers if `parameters` is empty. Returns false for an unknown worker. */
static bool sum_costs(const char *parameters, const struct report_epoch *epoch, struct costs *costs)
{
	unsigned long worker = 0;
	char *end;

	*costs = (struct costs){0};
	for (uint32_t w = 0; parameters == NULL && w < epoch->workers; w++)
		costs_add(costs, &epoch->costs[w], 1);
	if (parameters == NULL)
		return true;
	worker = strtoul(parameters, &end, 10);
	if (*parameters < '0' || *parameters > '9' || *end != '\0' || worker >= epoch->workers)
		return false;
	*costs = epoch->costs[worker];
	return true;
}

ANSWER(costs)
{
	struct report_epoch *epoch = borrow_report(&control.last);
	struct costs costs;

	if (epoch == NULL)
		return reply_error(answer, no_epoch);
	if (!sum_costs(parameters, epoch, &costs))
		reply_mistake(answer, "use ctl costs WORKER, with the number of a worker");
	else if (costs.packets == 0)
		reply_error(answer,
			"no burst was timed in the last interval: workers time one burst in 64, and "
			"only at full detail");
	else
		answer_costs_of(answer, epoch, &costs);
	release_report(epoch);
	return 0;
}

static void reply_shedding(struct rte_tel_data *dict, const void *present, uint32_t number)
{
	const struct shed_status *status = present;

	reply_string(dict, "name", status->measurements[number].name);
	reply_string(dict, "least", status->measurements[number].least);
	reply_uint(dict, "whole", status->measurements[number].whole);
}

static void reply_present(struct rte_tel_data *answer, const struct shed_status *present)
{
	char level[STEP_WORD_MAX];

	steps_level_word(present->level, level);
	reply_start(answer);
	reply_string(answer, "keep_up", shed_policy_word(present->how));
	reply_uint(answer, "workers", present->nb_workers);
	reply_string(answer, "level", level);
	reply_list(answer, "measurements", 0, present->nb_measurements, reply_shedding, present);
}

static const char *reply_states(
	struct shed_controller *controller, const char *parameters, struct rte_tel_data *answer)
{
	unsigned long worker = UINT32_MAX;
	struct shed_status present;
	uint32_t how = SHED_POLICY_SAMPLE;
	char *end;

	if (controller == NULL)
		return "this run reduces no detail: it has no --overload, or it is a replay "
		       "without --pace";
	if (parameters != NULL && *parameters >= '0' && *parameters <= '9') {
		worker = strtoul(parameters, &end, 10);
		if (*end != '\0' || worker >= UINT32_MAX)
			return no_worker;
	} else if (parameters != NULL) {
		while (shed_policy_word(how) != NULL &&
			strcmp(shed_policy_word(how), parameters) != 0)
			how++;
		if (shed_policy_word(how) == NULL)
			return no_worker;
		if (control.read_only)
			return unchangeable;
		shed_controller_ask(controller, (enum shed_policy)how);
	}
	if (!shed_controller_tell(controller, (uint32_t)worker, &present))
		return no_worker;
	if (parameters != NULL && worker == UINT32_MAX)
		present.how = (enum shed_policy)how;
	reply_present(answer, &present);
	return NULL;
}

/* Call it between begin_reading() and end_reading(). */
static struct shed_controller *offered_controller(void)
{
	struct shed_controller *controller;

	pthread_mutex_lock(&control.lock);
	controller = control.controller;
	pthread_mutex_unlock(&control.lock);
	return controller;
}

ANSWER(states)
{
	struct change_since since[CONFIG_MEASUREMENTS_MAX];
	const char *why = nothing_runs;
	uint32_t turn;

	if (begin_reading(since, &turn) != NULL)
		why = reply_states(offered_controller(), parameters, answer);
	end_reading(turn);
	if (why == no_worker)
		reply_mistake(answer, why);
	else if (why != NULL)
		reply_error(answer, why);
	return 0;
}

static bool wait_for_reload(uint32_t asked)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += RELOAD_PATIENCE_S;
	while (control.plan != NULL && (int32_t)(control.reloads_done - asked) < 0 &&
		pthread_cond_clockwait(&control.reloaded, &control.lock, CLOCK_MONOTONIC, &until) ==
			0)
		;
	return (int32_t)(control.reloads_done - asked) >= 0;
}

/* Adds a text in pieces NAME, NAME_2, ... that fit into a DPDK string. */
static void reply_long_text(struct rte_tel_data *dict, const char *name, const char *text)
{
	const size_t piece = RTE_TEL_MAX_STRING_LEN - 1;
	char piece_name[32];

	for (unsigned int i = 1; *text != '\0'; i++) {
		size_t length = strnlen(text, piece);

		snprintf(piece_name, sizeof(piece_name), i == 1 ? "%s" : "%s_%u", name, i);
		reply_text(dict, piece_name, "%.*s", (int)length, text);
		text += length;
	}
}

_Static_assert(REPLY_TEXT_MAX >= RTE_TEL_MAX_STRING_LEN, "reply_text() truncates nothing");

static void reply_first_epoch(struct rte_tel_data *dict, const struct change_answer *change)
{
	if (change->same)
		return;
	reply_uint(dict, "measurements", change->measurements);
	reply_uint(dict, change->at_least ? "epoch_at_least" : "epoch", change->epoch);
}

/* `error` is the name under which the reason of a refusal is added. */
static void reply_change(
	struct rte_tel_data *dict, const char *error, const struct change_answer *change)
{
	if (change->mistake)
		reply_uint(dict, "mistake", 1);
	if (change->refused)
		reply_long_text(dict, error, change->error);
	else
		reply_first_epoch(dict, change);
}

static void reply_reloaded(struct rte_tel_data *dict, const struct control_reloaded *reloaded)
{
	reply_uint(dict, "outputs", reloaded->outputs);
	if (reloaded->outputs_error[0] != '\0')
		reply_long_text(dict, "outputs_error", reloaded->outputs_error);
	if (reloaded->has_monitor)
		reply_uint(dict, "rules", reloaded->rules);
	if (reloaded->rules_error[0] != '\0')
		reply_long_text(dict, "rules_error", reloaded->rules_error);
	if (reloaded->changeable)
		reply_change(dict, "measurements_error", &reloaded->change);
}

/*
 * Returns why changes are not possible, or NULL. The caller must call end_answer() in both cases.
 */
static const char *begin_changing(struct changes **changes)
{
	const char *why = NULL;

	pthread_mutex_lock(&control.lock);
	control.answering++;
	*changes = control.changes;
	if (control.plan == NULL)
		why = nothing_runs;
	else if (control.read_only)
		why = unchangeable;
	pthread_mutex_unlock(&control.lock);
	return why;
}

static bool reload(struct control_reloaded *reloaded)
{
	uint32_t asked;
	bool done;

	pthread_mutex_lock(&control.lock);
	asked = ++control.reloads_asked;
	signals_request_reopen();
	done = wait_for_reload(asked);
	*reloaded = control.last_reload;
	pthread_mutex_unlock(&control.lock);
	return done;
}

ANSWER(reload)
{
	struct control_reloaded reloaded = {0};
	struct changes *changes;
	const char *why = begin_changing(&changes);

	if (why == NULL && !reload(&reloaded))
		why = "the reload is not complete yet: an output is not responding, or the "
		      "rules take effect at the end of the interval";
	if (why == NULL && reloaded.changeable)
		changes_await_reload(changes, &reloaded.change);
	end_answer();
	if (why != NULL)
		return reply_error(answer, why);
	reply_start(answer);
	reply_reloaded(answer, &reloaded);
	return 0;
}

ANSWER(measure)
{
	struct changes *changes;
	const char *why = begin_changing(&changes);
	struct change_answer change = {0};

	if (why == NULL && changes == NULL)
		why = "measurements of this run cannot change";
	else if (why == NULL && parameters == NULL)
		why = "use ctl measure add|change|remove NAME OPTION=VALUE ...";
	else if (why == NULL && strlen(command) + 1 + strlen(parameters) > CONTROL_COMMAND_MAX)
		why = too_long;
	if (why == NULL)
		change = changes_ask(changes, parameters);
	end_answer();
	if (why == too_long)
		return reply_mistake(answer, why);
	if (why != NULL)
		return reply_error(answer, why);
	reply_start(answer);
	reply_change(answer, "error", &change);
	return 0;
}

/* DPDK refuses to register a longer help text. */
#define HELP_BYTES                  128
#define CHECK_HELP(name, help, ...) _Static_assert(sizeof(help) <= HELP_BYTES, #name);
CONTROL_COMMANDS(CHECK_HELP)

void control_offer(void)
{
#define COMMAND_ROW(name, help, ...) {CONTROL_PATH #name, help, answer_##name},
	static const struct {
		const char *path, *help;
		telemetry_cb answer;
	} commands[] = {CONTROL_COMMANDS(COMMAND_ROW)};

	for (size_t c = 0; c < sizeof(commands) / sizeof(commands[0]); c++) {
		if (rte_telemetry_register_cmd(
			    commands[c].path, commands[c].answer, commands[c].help) != 0)
			log_warning("%s: cannot register on the control socket", commands[c].path);
	}
}

void control_offer_profile(const struct profile *profile)
{
	control.profile = profile;
}

void control_change(const struct plan *plan, const struct change_since *since)
{
	pthread_mutex_lock(&control.lock);
	control.plan = plan;
	memcpy(control.since, since, sizeof(control.since));
	pthread_mutex_unlock(&control.lock);
}

void control_settle(void)
{
	pthread_mutex_lock(&control.lock);
	for (uint32_t i = 0; i < 2; i++) {
		control.turn ^= 1;
		wait_for_handlers((const uint32_t *const[]){&control.reading[control.turn ^ 1]}, 1,
			"freeing removed measurements");
	}
	pthread_mutex_unlock(&control.lock);
}

void control_set_shed_controller(struct shed_controller *controller)
{
	control.controller = controller;
}

void control_start(
	const struct plan *plan, uint64_t first_epoch, struct changes *changes, bool read_only)
{
	pthread_mutex_lock(&control.lock);
	control.plan = plan;
	for (uint32_t m = 0; m < CONFIG_MEASUREMENTS_MAX; m++)
		control.since[m] = (struct change_since){.epoch = first_epoch};
	control.changes = changes;
	control.read_only = read_only;
	pthread_mutex_unlock(&control.lock);
}

void control_stop(void)
{
	struct report_epoch *last, *deliveries;

	pthread_mutex_lock(&control.lock);
	control.plan = NULL;
	control.controller = NULL;
	last = control.last;
	control.last = NULL;
	deliveries = control.deliveries;
	control.deliveries = NULL;
	control.changes = NULL;
	pthread_cond_broadcast(&control.reloaded);
	/* New handlers return at once, since plan and report are NULL. */
	while (control.answering + control.reading[0] + control.reading[1] > 0)
		wait_for_handlers((const uint32_t *const[]){&control.answering, &control.reading[0],
					  &control.reading[1]},
			3, "end of the run");
	pthread_mutex_unlock(&control.lock);
	report_epoch_free(last);
	report_epoch_free(deliveries);
}

static struct report_epoch *replace(struct report_epoch **shared, struct report_epoch *report)
{
	struct report_epoch *before = *shared;

	*shared = report != NULL ? report_epoch_share(report) : NULL;
	return before;
}

void control_publish(struct report_epoch *epoch, struct report_epoch *deliveries)
{
	struct report_epoch *before = NULL, *told_before = NULL;

	pthread_mutex_lock(&control.lock);
	if (control.total.epochs++ == 0)
		control.total.start = epoch->start;
	control.total.end = epoch->end;
	ledger_add(&control.total.ledger, &epoch->ledger);
	control.total.expired += epoch->expired;
	control.total.took += epoch->took;
	control.number = epoch->number;
	control.epoch = (struct ledger_sum){
		1, epoch->start, epoch->end, epoch->ledger, epoch->expired, epoch->took};
	if (control.plan != NULL && epoch->nb_measurements > 0)
		before = replace(&control.last, epoch);
	if (control.plan != NULL)
		told_before = replace(&control.deliveries, deliveries);
	pthread_mutex_unlock(&control.lock);
	report_epoch_free(before);
	report_epoch_free(told_before);
}

uint32_t control_reload_asked(void)
{
	uint32_t asked;

	pthread_mutex_lock(&control.lock);
	asked = control.reloads_asked;
	pthread_mutex_unlock(&control.lock);
	return asked;
}

void control_reload_done(uint32_t asked, const struct control_reloaded *reloaded)
{
	pthread_mutex_lock(&control.lock);
	control.last_reload = *reloaded;
	control.reloads_done = asked;
	pthread_cond_broadcast(&control.reloaded);
	pthread_mutex_unlock(&control.lock);
}

OPTION_WORDS_OF(use_word, [CONTROL_CHANGE] = "change", [CONTROL_READ] = "read")

static const struct option_row control_rows[] = {
	{
		.name = "control",
		.placeholder = "WHAT",
		.rare = true,
		.group = OPTION_GROUP_HOST,
		.type = OPTION_CHOICE,
		OPTION_FIELD(control_options, use),
		.word = use_word,
		.default_text = "change",
		.config_only = true,
		.help = "Select what clients of the control socket may do. change: query, and "
			"change measurements (sketchtap ctl). read: only query.",
	},
	{0},
};

const struct option_owner control_owner = {
	.rows = control_rows,
	.size = sizeof(struct control_options),
};
