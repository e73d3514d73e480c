/* SPDX-License-Identifier: BSD-3-Clause */
#include "parallel/run/measurements.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "base/assertion.h"
#include "base/log.h"
#include "parallel/shed/shed_options.h"
#include "parallel/shed/steps.h"
#include "parallel/workers/node_memory.h"
#include "parallel/workers/poll.h"
#include "parallel/workers/worker.h"
#include "sketch/queries.h"

static void assign_rules(struct counting *counting, const struct key_rule *const *keys)
{
	counting->nb_key_rules = key_rules_distinct(
		keys, counting->nb_measurements, counting->key_rules, counting->key_rule_of);
}

static void add_needs(
	struct counting *counting, const struct plan_measurement *measurement, const bool replay)
{
	counting->details |= (measurement->ops->caps & SKETCH_DETAILS) != 0;
	counting->tcp |= measurement->params.deep.deepest == FLOW_TCP;
	counting->overhead |= measurement->params.ip_bytes;
	counting->extra |= measurement->params.key->fields & KEY_EXTRA_MASK;
	counting->removes_idle |= measurement->params.idle_timeout > 0 && !replay;
}

static uint32_t priority_of(const struct plan_measurement *measurement)
{
	return steps_options(measurement->config)->priority;
}

static struct key_burst *create_bursts(
	const struct counting *counting, uint32_t n, const struct plan_lcore *lcore)
{
	struct key_burst *bursts = node_memory_get(lcore->node, n * sizeof(bursts[0]));

	for (uint32_t r = 0; bursts != NULL && r < n; r++) {
		bursts[r].writer = lcore->worker;
		bursts[r].has_overhead = counting->overhead;
	}
	return bursts;
}

static bool add_weights(struct counting *counting, const struct plan_lcore *lcore)
{
	counting->waiting = create_bursts(counting, counting->nb_key_rules, lcore);
	counting->weights = node_memory_get(lcore->node, 2 * sizeof(counting->weights[0]));
	if (counting->waiting == NULL || counting->weights == NULL)
		return false;
	counting->bursts[0].weights = &counting->weights[0];
	counting->waiting[0].weights = &counting->weights[1];
	return true;
}

uint32_t measurements_low_ranked(const struct plan *plan)
{
	uint32_t best = UINT32_MAX, low_ranked = 0;

	for (uint32_t m = 0; m < plan->nb_measurements; m++)
		best = RTE_MIN(best, priority_of(&plan->measurements[m]));
	for (uint32_t m = 0; m < plan->nb_measurements; m++)
		low_ranked |= (uint32_t)(priority_of(&plan->measurements[m]) > best) << m;
	return low_ranked;
}

static bool add_states(
	struct counting *counting, const struct plan *plan, const struct plan_lcore *lcore)
{
	counting->samples_lookups = plan->sharing == SHARING_SEPARATE;
	counting->weights = node_memory_get(lcore->node, 2 * sizeof(counting->weights[0]));
	counting->bursts[0].weights = counting->weights;
	return counting->weights != NULL;
}

static uint32_t rule_bit(const struct counting *counting, uint32_t m)
{
	return UINT32_C(1) << counting->key_rule_of[m];
}

static void assign_keys(const struct measurements *measurements, struct counting *counting)
{
	for (uint32_t m = 0; m < counting->nb_measurements; m++) {
		const struct drill_down *drill_down = measurements->drill_down[m];

		if (drill_down == NULL)
			continue;
		counting->drill_down = true;
		counting->networks_rule[m] = counting->key_rule_of[drill_down->networks];
		counting->needs[m] = rule_bit(counting, drill_down->networks);
		/* key_burst_pick() copies only the 5-tuple. */
		if (measurements->plan.measurements[m].params.key->extra)
			counting->needs[m] |= rule_bit(counting, m);
	}
}

static bool add_picked(const struct measurements *measurements, struct counting *counting,
	const struct plan_lcore *lcore)
{
	if (counting->drill_down || measurements->kept_up)
		counting->picked = create_bursts(counting, PICKED_BURSTS, lcore);
	return counting->picked != NULL || !(counting->drill_down || measurements->kept_up);
}

/* Steps can change keys. Generation 1 then needs its own struct counting. */
static bool share_counting(struct measurements *measurements, const struct plan_lcore *lcore)
{
	struct counting **counting = &measurements->counting[1][lcore->worker];
	struct counting *first = measurements->counting[0][lcore->worker];

	*counting = first;
	if (measurements->steps == NULL)
		return true;
	*counting = node_memory_get(lcore->node, sizeof(*first));
	if (*counting != NULL)
		**counting = *first;
	return *counting != NULL;
}

static bool create_counting(struct measurements *measurements, const struct plan_lcore *lcore)
{
	const struct plan *plan = &measurements->plan;
	struct counting *counting = node_memory_get(lcore->node, sizeof(*counting));

	if (counting == NULL)
		return false;
	measurements->counting[0][lcore->worker] = counting;
	counting->set = measurements->number;
	counting->hash_key = measurements->hash_key;
	counting->nb_measurements = plan->nb_measurements;
	for (uint32_t m = 0; m < plan->nb_measurements; m++) {
		const struct sketch_ops *ops = plan->measurements[m].ops;

		counting->update[m] = ops->update[plan->sharing];
		counting->update_weighted[m] = ops->update_weighted[plan->sharing];
		counting->fetch[m] = plan->source.weights && ops->fetch_weighted != NULL
					     ? ops->fetch_weighted
					     : ops->fetch;
		add_needs(counting, &plan->measurements[m], plan->replay);
	}
	assign_rules(counting, measurements->keys[0]);
	assign_keys(measurements, counting);
	measurements->nb_bursts =
		measurements->steps != NULL ? COSTS_KEYS_MAX : counting->nb_key_rules;
	counting->bursts = create_bursts(counting, measurements->nb_bursts, lcore);
	if (!add_picked(measurements, counting, lcore))
		return false;
	counting->low_ranked = measurements_low_ranked(plan);
	if (plan->source.weights)
		return counting->bursts != NULL && add_weights(counting, lcore);
	if (counting->bursts != NULL && measurements->kept_up)
		return add_states(counting, plan, lcore);
	if (!counting->drill_down) {
		counting->waiting = create_bursts(counting, counting->nb_key_rules, lcore);
		if (counting->waiting == NULL)
			return false;
	}
	return counting->bursts != NULL;
}

static void wait_for_reporter(const void *arg)
{
	const struct plan *plan = arg;

	poll_idle(plan->idle);
}

static bool create_sketches(struct measurements *measurements, uint32_t instance, int node)
{
	for (uint32_t g = 0; g < 2; g++)
		for (uint32_t m = 0; m < measurements->plan.nb_measurements; m++) {
			const struct plan_measurement *planned =
				&measurements->plan.measurements[m];
			struct sketch_params params = planned->params;
			struct sketch *sketch;

			params.allocator = node_memory_on_node(node);
			if (measurements->queries != NULL &&
				queries_apply(measurements->plan.config, planned->config))
				params.queries = measurements->queries;
			if (measurements->waits) {
				params.wait = wait_for_reporter;
				params.wait_arg = &measurements->plan;
			}
			sketch = planned->ops->create(&params);
			measurements->sketches[g][instance][m] = sketch;
			if (sketch == NULL)
				return false;
			measurements->fitting[instance][m] =
				(struct sketch_shape){sketch->params.width, sketch->params.width6};
		}
	return true;
}

static bool create_distinct(struct measurements *measurements, uint32_t worker, int node)
{
	for (uint32_t g = 0; g < 2; g++)
		for (uint32_t m = 0; m < measurements->plan.nb_measurements; m++) {
			struct hyperloglog *distinct =
				node_memory_get(node, sizeof(struct hyperloglog));

			measurements->distinct[g][worker][m] = distinct;
			if (distinct == NULL)
				return false;
		}
	return true;
}

static bool create_of_worker(struct measurements *measurements, const struct plan_lcore *lcore)
{
	uint32_t id = lcore->worker;

	if (!create_counting(measurements, lcore) || !share_counting(measurements, lcore) ||
		!create_distinct(measurements, id, lcore->node))
		return false;
	/* Sketches that all workers share are on the node of the first worker. */
	return plan_instance(&measurements->plan, id) != id ||
	       create_sketches(measurements, id, lcore->node);
}

static bool create_drill_down(struct measurements *measurements)
{
	const struct plan *plan = &measurements->plan;

	for (uint32_t m = 0; m < plan->nb_measurements; m++) {
		const struct measurement_config *config = plan->measurements[m].config;
		struct drill_down *drill_down;

		if (!drill_down_given(config))
			continue;
		drill_down = node_memory_get(PLAN_NODE_ANY, sizeof(*drill_down));
		measurements->drill_down[m] = drill_down;
		if (drill_down == NULL)
			return false;
		while (strcmp(plan->measurements[drill_down->networks].config->name,
			       drill_down_options(config)->within.networks) != 0)
			drill_down->networks++;
	}
	return true;
}

static bool create_queries(struct measurements *measurements)
{
	const struct config *config = measurements->plan.config;

	if (config == NULL || !queries_given(config))
		return true;
	measurements->queries = queries_create(config);
	return measurements->queries != NULL;
}

static bool create_workers(struct measurements *measurements)
{
	const struct plan *plan = &measurements->plan;

	for (uint32_t i = 0; i < plan->nb_lcores; i++)
		if (plan->lcores[i].role == PLAN_WORKER &&
			!create_of_worker(measurements, &plan->lcores[i]))
			return false;
	return true;
}

static bool create_steps(struct measurements *measurements)
{
	const struct plan *plan = &measurements->plan;
	bool needed = false;

	for (uint32_t m = 0; m < plan->nb_measurements; m++) {
		needed |= measurements->kept_up && steps_to_keys(plan->measurements[m].config);
		measurements->keys[0][m] = plan->measurements[m].params.key;
		measurements->keys[1][m] = measurements->next_keys[m] = measurements->keys[0][m];
	}
	if (!needed)
		return true;
	measurements->steps = calloc(CONFIG_MEASUREMENTS_MAX, sizeof(measurements->steps[0]));
	for (uint32_t m = 0; measurements->steps != NULL && m < plan->nb_measurements; m++) {
		char why[STEPS_WHY_MAX];

		steps_parse(&measurements->steps[m],
			steps_options(plan->measurements[m].config)->steps, why);
	}
	return measurements->steps != NULL;
}

/* An address does not identify a set: memory is reused, and threads may remember an old address. */
static uint64_t next_number(void)
{
	static _Atomic uint64_t last;

	return atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
}

struct measurements *measurements_create(
	const struct plan *plan, const struct hash_key *hash_key, bool waits, bool kept_up)
{
	struct measurements *measurements = calloc(1, sizeof(*measurements));

	if (measurements == NULL)
		return NULL;
	measurements->number = next_number();
	measurements->plan = *plan;
	measurements->hash_key = hash_key;
	measurements->waits = waits;
	measurements->kept_up = kept_up;
	if (create_steps(measurements) && create_queries(measurements) &&
		create_drill_down(measurements) && create_workers(measurements))
		return measurements;
	measurements_destroy(measurements);
	return NULL;
}

static void destroy_counting(struct measurements *measurements, uint32_t worker)
{
	struct counting *counting = measurements->counting[0][worker];

	if (measurements->counting[1][worker] != counting)
		node_memory_give_back(measurements->counting[1][worker], sizeof(*counting));
	if (counting == NULL)
		return;
	node_memory_give_back(counting->picked, PICKED_BURSTS * sizeof(counting->picked[0]));
	node_memory_give_back(counting->weights, 2 * sizeof(counting->weights[0]));
	node_memory_give_back(
		counting->waiting, counting->nb_key_rules * sizeof(counting->bursts[0]));
	node_memory_give_back(
		counting->bursts, measurements->nb_bursts * sizeof(counting->bursts[0]));
	node_memory_give_back(counting, sizeof(*counting));
}

void measurements_destroy(struct measurements *measurements)
{
	if (measurements == NULL)
		return;
	for (uint32_t g = 0; g < 2; g++)
		for (uint32_t w = 0; w < measurements->plan.nb_workers; w++)
			for (uint32_t m = 0; m < measurements->plan.nb_measurements; m++) {
				struct sketch *sketch = measurements->sketches[g][w][m];

				if (sketch != NULL)
					sketch->ops->destroy(sketch);
				node_memory_give_back(measurements->distinct[g][w][m],
					sizeof(struct hyperloglog));
			}
	for (uint32_t w = 0; w < measurements->plan.nb_workers; w++)
		destroy_counting(measurements, w);
	for (uint32_t m = 0; m < CONFIG_MEASUREMENTS_MAX; m++)
		node_memory_give_back(
			measurements->drill_down[m], sizeof(*measurements->drill_down[m]));
	free(measurements->steps);
	queries_destroy(measurements->queries);
	if (measurements->config != NULL)
		config_free(measurements->config);
	free(measurements->config);
	free(measurements);
}

void measurements_give(const struct measurements *measurements, struct generation *generation,
	uint32_t worker, uint64_t epoch)
{
	uint32_t instance = plan_instance(&measurements->plan, worker);

	VERIFY(worker, <, measurements->plan.nb_workers);
	generation->counting = measurements->counting[epoch & 1][worker];
	for (uint32_t m = 0; m < measurements->plan.nb_measurements; m++) {
		generation->sketch[m] = measurements->sketches[epoch & 1][instance][m];
		generation->distinct[m] = measurements->distinct[epoch & 1][worker][m];
		generation->within.sets[m] = measurements->drill_down[m] != NULL
						     ? &measurements->drill_down[m]->sets[epoch & 1]
						     : NULL;
	}
}

void measurements_step(struct measurements *measurements, uint32_t m, uint32_t steps)
{
	const struct key_rule *own = measurements->plan.measurements[m].params.key, *key;

	if (measurements->steps == NULL)
		return;
	key = steps_detail(&measurements->steps[m], steps).key;
	measurements->next_keys[m] = key != NULL ? key : own;
}

void measurements_rekey(struct measurements *measurements, uint64_t epoch)
{
	const struct plan *plan = &measurements->plan;
	const struct key_rule **keys = measurements->keys[epoch & 1];

	if (memcmp(keys, measurements->next_keys, sizeof(measurements->next_keys)) == 0)
		return;
	memcpy(keys, measurements->next_keys, sizeof(measurements->next_keys));
	for (uint32_t w = 0; w < plan->nb_workers; w++) {
		struct counting *counting = measurements->counting[epoch & 1][w];

		assign_rules(counting, keys);
		assign_keys(measurements, counting);
	}
	for (uint32_t i = 0; i < plan->nb_instances; i++)
		for (uint32_t m = 0; m < plan->nb_measurements; m++)
			measurements->sketches[epoch & 1][i][m]->params.key = keys[m];
}

void measurements_update_drill_down(struct measurements *measurements, uint64_t epoch)
{
	for (uint32_t m = 0; m < measurements->plan.nb_measurements; m++)
		if (measurements->drill_down[m] != NULL)
			drill_down_renew(
				measurements->drill_down[m], measurements->hash_key, epoch);
}

static const struct measurement_config *config_of(
	const struct measurements *measurements, uint32_t m)
{
	return measurements->plan.measurements[m].config;
}

static bool same_keys(
	const struct measurements *a, uint32_t m_a, const struct measurements *b, uint32_t m_b)
{
	const struct drill_down_source *x = &drill_down_options(config_of(a, m_a))->within;
	const struct drill_down_source *y = &drill_down_options(config_of(b, m_b))->within;

	return strcmp(x->networks, y->networks) == 0 && x->share >= y->share &&
	       x->share <= y->share &&
	       key_rule_equal(a->plan.measurements[a->drill_down[m_a]->networks].params.key,
		       b->plan.measurements[b->drill_down[m_b]->networks].params.key);
}

void measurements_follow(struct measurements *measurements, const struct measurements *before)
{
	for (uint32_t m = 0; m < measurements->plan.nb_measurements; m++)
		for (uint32_t b = 0; b < before->plan.nb_measurements; b++)
			if (measurements->drill_down[m] != NULL && before->drill_down[b] != NULL &&
				same_keys(measurements, m, before, b))
				measurements->drill_down[m]->heavy = before->drill_down[b]->heavy;
}

static void warn_if_narrow(struct measurements *measurements, const struct sketch *sketch,
	uint32_t instance, uint32_t m, int64_t end, uint64_t width)
{
	if (!log_ratelimit_due(&measurements->narrow[m], end, width))
		return;
	log_warning("%s, sketch %u: out of memory for rows of %llu cells instead of %llu",
		measurements->plan.measurements[m].config->name, instance,
		(unsigned long long)width, (unsigned long long)sketch->params.width);
}

static uint64_t max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Returns false if out of memory. */
static bool change_width(struct measurements *measurements, struct sketch **place,
	uint32_t instance, uint32_t m, int64_t end, const struct sketch_shape *shape)
{
	const char *name = measurements->plan.measurements[m].config->name;
	struct sketch *old = *place, *next;
	struct sketch_params params = old->params;

	params.width = shape->width;
	params.width6 = shape->width6;
	next = old->ops->create(&params);
	if (next == NULL) {
		warn_if_narrow(measurements, old, instance, m, end, shape->width);
		return false;
	}
	if (shape->width != old->params.width)
		log_info("%s, sketch %u: rows now have %llu cells instead of %llu", name, instance,
			(unsigned long long)shape->width, (unsigned long long)old->params.width);
	if (shape->width6 != old->params.width6)
		log_info("%s, sketch %u: rows for IPv6 now have %llu cells", name, instance,
			(unsigned long long)shape->width6);
	old->ops->destroy(old);
	*place = next;
	return true;
}

bool measurements_renew(struct measurements *measurements, uint64_t epoch, uint32_t instance,
	uint32_t m, int64_t end)
{
	struct sketch **place = &measurements->sketches[epoch & 1][instance][m], *sketch = *place;
	struct sketch_shape *fitting = &measurements->fitting[instance][m], before = *fitting;
	struct sketch_shape shape = {sketch->params.width, sketch->params.width6};

	VERIFY(instance, <, measurements->plan.nb_instances);
	VERIFY(m, <, measurements->plan.nb_measurements);
	if (sketch->ops->fit != NULL) {
		*fitting = sketch->ops->fit(sketch);
		shape.width = max(fitting->width, before.width);
		shape.width6 = max(fitting->width6, before.width6);
	}
	if ((shape.width != sketch->params.width || shape.width6 != sketch->params.width6) &&
		change_width(measurements, place, instance, m, end, &shape))
		return true;
	sketch->ops->reset(sketch);
	return false;
}
