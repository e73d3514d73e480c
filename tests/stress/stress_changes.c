/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Measurements that change while workers count, on plain threads. One thread opens epochs. Workers
 * count random keys into the measurements of their generation. One thread prepares measurement sets
 * and frees those no longer in use. The test is the reporter. Sketches are plain memory, so that
 * ThreadSanitizer reports every access that the hand-over does not order. Each epoch uses one set,
 * sets follow each other in the order in which they were taken, and every set counts all packets.
 */

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "parallel/run/run.h"
#include "sketch/measurement.h"

#define WORKERS 3
#define EPOCHS  1500
#define KINDS   3 /* kinds of sets, used in turn */

struct stage {
	struct run run;
	struct plan plans[KINDS];
	struct config configs[KINDS];

	pthread_mutex_t lock;
	pthread_cond_t work, prepared_one;
	struct measurements *ready, *unused;
	uint64_t prepared, freed;
	bool ending;
};

static struct topology topology;
static struct stage *stage;
static _Thread_local uint32_t random_state;

static uint32_t next_random(void)
{
	random_state = random_state * 1664525 + 1013904223;
	return random_state >> 8;
}

static void *zeroed(size_t size)
{
	void *memory = aligned_alloc(64, (size + 63) / 64 * 64);

	assert_non_null(memory);
	memset(memory, 0, size);
	return memory;
}

/* --- measurements --- */

static struct measurement_config make_measurement(
	const char *key, const char *sketch, uint64_t width)
{
	struct measurement_config measurement = {.name = "main"};

	*edit_measurement_options(&measurement) = (struct measurement_options){
		.key = *key_rule_find(key),
		.sketch = sketch_index(sketch_find(sketch)),
		.width = width,
		.top = 10,
	};
	return measurement;
}

static void make_configs(enum sketch_sharing sharing)
{
	static const char *const names[KINDS] = {"flow-table", "count-min", "simple-hash"};
	static const char *const keys[KINDS] = {"5tuple", "dst", "src"};

	for (uint32_t k = 0; k < KINDS; k++) {
		struct config *config = &stage->configs[k];

		*config = (struct config){.nb_measurements = 1 + k};
		edit_plan_options(config)->sharing = sharing;
		edit_plan_options(config)->workers = WORKERS;
		edit_hugepages_options(config)->no_huge = true;
		edit_seed_options(config)->seed = 1;
		/* The flow table must hold all packets of an epoch. */
		config->measurements[0] = make_measurement(keys[k], "flow-table", 64 << k);
		for (uint32_t m = 1; m < config->nb_measurements; m++)
			config->measurements[m] = make_measurement(keys[m], names[m], 1024 << k);
	}
}

/* --- workers --- */

static void count_burst(struct generation *generation)
{
	struct counting *counting = generation->counting;
	struct key_burst *full = &counting->bursts[0];

	full->n = 1 + next_random() % 8;
	full->v6 = 0;
	for (uint32_t i = 0; i < full->n; i++) {
		full->key4[i] = (struct key4){0};
		full->key4[i].src_ip[3] = (uint8_t)(next_random() % 8);
		full->wire_len[i] = 60;
	}
	generation->counted += full->n;
	count_keys(counting, generation->sketch, generation->distinct);
}

static void *work(void *arg)
{
	struct worker *worker = arg;

	random_state = worker->id + 1;
	for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
		uint32_t bursts = next_random() % 3;

		while (atomic_load_explicit(&worker->epochs->open, memory_order_acquire) < epoch)
			sched_yield();
		if (epoch > 0)
			worker_enter_epoch(worker, epoch);
		for (uint32_t b = 0; b < bursts; b++)
			count_burst(worker_generation(worker, epoch));
	}
	worker_leave(worker, EPOCHS);
	return NULL;
}

static void *open_epochs(void *arg)
{
	struct epochs *epochs = arg;

	for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
		while (!epochs_may_open(epochs, epoch))
			sched_yield();
		*epochs_info(epochs, epoch) = (struct epoch_info){.number = epoch};
		epochs_open(epochs, epoch);
	}
	epochs_end(epochs, EPOCHS);
	return NULL;
}

/* --- thread that prepares sets --- */

static void free_unused(void)
{
	struct measurements *unused = stage->unused;

	stage->unused = NULL;
	pthread_mutex_unlock(&stage->lock);
	while (unused != NULL) {
		struct measurements *set = unused;

		unused = set->next;
		measurements_destroy(set);
		stage->freed++;
	}
	pthread_mutex_lock(&stage->lock);
}

static void *prepare(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&stage->lock);
	while (!stage->ending) {
		struct measurements *set;

		free_unused();
		if (stage->ready != NULL) {
			pthread_cond_wait(&stage->work, &stage->lock);
			continue;
		}
		pthread_mutex_unlock(&stage->lock);
		set = run_prepare(&stage->run, &stage->plans[++stage->prepared % KINDS]);
		assert_non_null(set);
		pthread_mutex_lock(&stage->lock);
		stage->ready = set;
		pthread_cond_signal(&stage->prepared_one);
	}
	free_unused();
	pthread_mutex_unlock(&stage->lock);
	return NULL;
}

/* --- the reporter --- */

/*
 * Waits for the next set and takes it. Waiting makes the number of changes independent of the speed
 * at which the machine prepares sets. The workers continue counting.
 */
static struct measurements *exchange(void)
{
	struct measurements *unused = run_take_unused(&stage->run), *ready;

	pthread_mutex_lock(&stage->lock);
	while (stage->ready == NULL)
		pthread_cond_wait(&stage->prepared_one, &stage->lock);
	while (unused != NULL) {
		struct measurements *next = unused->next;

		unused->next = stage->unused;
		stage->unused = unused;
		unused = next;
	}
	ready = stage->ready;
	stage->ready = NULL;
	pthread_cond_signal(&stage->work);
	pthread_mutex_unlock(&stage->lock);
	run_change(&stage->run, ready);
	return ready;
}

static void add_packets(const struct sketch_candidate *candidate, void *sum)
{
	*(uint64_t *)sum += candidate->packets;
}

static void check_epoch(const struct run *run, uint64_t epoch)
{
	const struct measurements *set = run_measurements(run, epoch);
	uint64_t counted = 0, found = 0;

	for (uint32_t w = 0; w < WORKERS; w++) {
		const struct generation *generation = worker_generation(run->workers[w], epoch);

		assert_ptr_equal(generation->counting, set->counting[0][w]);
		counted += generation->counted;
	}
	for (uint32_t i = 0; i < set->plan.nb_instances; i++) {
		const struct sketch *sketch = set->sketches[epoch & 1][i][0];

		sketch->ops->candidates(sketch, add_packets, &found);
	}
	assert_int_equal(found, counted);
}

/* Every epoch has the set of the previous epoch or the newest set taken since. */
static uint64_t report_epochs(struct run *run)
{
	const struct measurements *before = run_measurements(run, 0), *announced = NULL;
	uint64_t changes = 0, from = 0;

	for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
		const struct measurements *set = run_measurements(run, epoch);

		while (!epochs_is_closed(run->epochs, epoch))
			sched_yield();
		if (announced != NULL && epoch >= from)
			assert_ptr_equal(set, announced);
		else
			assert_ptr_equal(set, before);
		before = set;
		check_epoch(run, epoch);
		assert_true(run_recycle(run, epoch));
		if (announced == NULL || epoch >= from)
			announced = next_random() % 4 == 0 ? exchange() : NULL;
		else
			continue; /* the set is in transit */
		changes += announced != NULL;
		from = epoch + 3; /* the set of epoch + 1 is returned next */
	}
	return changes;
}

static void create_run(enum sketch_sharing sharing)
{
	struct plan_ports ports = {0};
	char error[PLAN_TEXT_MAX];
	struct run *run = &stage->run;

	make_configs(sharing);
	assert_true(plan_make(&stage->plans[0], &stage->configs[0], &topology, &ports, error));
	for (uint32_t k = 1; k < KINDS; k++)
		assert_true(plan_change(
			&stage->plans[k], &stage->plans[0], &stage->configs[k], &topology, error));
	run->config = &stage->configs[0];
	run->plan = &stage->plans[0];
	run->ops = &source_no_ops;
	run->nb_workers = WORKERS;
	run->epochs = zeroed(sizeof(*run->epochs));
	epochs_init(run->epochs, WORKERS);
	hash_key_init(&run->hash_key, 1);
	run->next = run->measurements[0] = run->measurements[1] = run_prepare(run, run->plan);
	assert_non_null(run->next);
	for (uint32_t w = 0; w < WORKERS; w++) {
		struct worker *worker = run->workers[w] = zeroed(sizeof(*worker));

		worker->id = w;
		worker->idle = IDLE_SLEEP;
		worker->epochs = run->epochs;
		for (uint64_t epoch = 0; epoch < 2; epoch++)
			measurements_give(run->next, worker_generation(worker, epoch), w, epoch);
	}
}

static void free_run(void)
{
	struct run *run = &stage->run;

	for (struct measurements *set = run_take_unused(run), *next; set != NULL; set = next) {
		next = set->next;
		measurements_destroy(set);
	}
	if (run->measurements[1] != run->measurements[0])
		measurements_destroy(run->measurements[1]);
	if (run->next != run->measurements[0] && run->next != run->measurements[1])
		measurements_destroy(run->next);
	measurements_destroy(run->measurements[0]);
	measurements_destroy(stage->ready);
	for (uint32_t w = 0; w < WORKERS; w++)
		free(run->workers[w]);
	free(run->epochs);
	free(stage);
}

static void check_changes(enum sketch_sharing sharing)
{
	pthread_t workers[WORKERS], opener, preparer;
	uint64_t changes;

	stage = zeroed(sizeof(*stage));
	pthread_mutex_init(&stage->lock, NULL);
	pthread_cond_init(&stage->work, NULL);
	pthread_cond_init(&stage->prepared_one, NULL);
	create_run(sharing);
	random_state = 99;
	assert_int_equal(pthread_create(&opener, NULL, open_epochs, stage->run.epochs), 0);
	assert_int_equal(pthread_create(&preparer, NULL, prepare, NULL), 0);
	for (uint32_t w = 0; w < WORKERS; w++)
		assert_int_equal(pthread_create(&workers[w], NULL, work, stage->run.workers[w]), 0);
	changes = report_epochs(&stage->run);
	for (uint32_t w = 0; w < WORKERS; w++)
		pthread_join(workers[w], NULL);
	pthread_join(opener, NULL);
	pthread_mutex_lock(&stage->lock);
	stage->ending = true;
	pthread_cond_signal(&stage->work);
	pthread_mutex_unlock(&stage->lock);
	pthread_join(preparer, NULL);
	assert_true(changes > EPOCHS / 10);
	assert_true(stage->freed + 4 >= changes);
	free_run();
}

static void test_separate(void **state)
{
	(void)state;
	check_changes(SHARING_SEPARATE);
}

static void test_shared(void **state)
{
	(void)state;
	check_changes(SHARING_SHARED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_separate),
		cmocka_unit_test(test_shared),
	};

	topology_read(&topology, "");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
