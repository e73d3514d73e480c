/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Changes of measurements under a storm of requests. Several threads add, change and remove
 * measurements, one rewrites the configuration file, partly with garbage, readers hold the
 * published plan, and the reporter reloads as often as it can while epochs close. Every request is
 * answered. At the end the measurements are those of the last accepted change.
 */

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "commands/commands.h"
#include "control/changes.h"
#include "control/control.h"
#include "parallel/run/run.h"
#include "report/merge/measurement_report.h"

#define WORKERS  2
#define ASKERS   3
#define REQUESTS 60 /* per requesting thread */
#define READERS  2

static char path[] = "/tmp/sketchtap-reloads-XXXXXX";
static struct topology topology;
static struct config config;
static struct plan plan;
static struct run run;
static struct changes *changes;

static atomic_bool askers_done, readers_done, epochs_done, reloads_done;
static atomic_uint answered, accepted;

static void *zeroed(size_t size)
{
	void *memory = aligned_alloc(64, (size + 63) / 64 * 64);

	assert_non_null(memory);
	memset(memory, 0, size);
	return memory;
}

static void write_file(const char *text)
{
	char fresh[sizeof(path) + 4];
	FILE *file;

	snprintf(fresh, sizeof(fresh), "%s.new", path);
	file = fopen(fresh, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
	assert_int_equal(rename(fresh, path), 0);
}

static const char main_only[] = "[measurement main]\nkey = src\nsketch = flow-table\nwidth = 64\n";

/* --- requesting threads --- */

static void *ask(void *arg)
{
	const unsigned int number = (unsigned int)(uintptr_t)arg;
	unsigned int random = number + 1;

	for (uint32_t i = 0; i < REQUESTS; i++) {
		static const char *const words[] = {"add m%u key=dst width=64 sketch=flow-table",
			"change m%u key=src-dst", "remove m%u", "add m%u key=nonsense", "\001%u"};
		struct change_answer answer;
		char text[128];

		random = random * 1664525 + 1013904223;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(text, sizeof(text), words[(random >> 16) % 5], number);
#pragma GCC diagnostic pop
		answer = changes_ask(changes, text);
		if (answer.refused)
			assert_string_not_equal(answer.error, "");
		atomic_fetch_add(&accepted, !answer.refused);
		atomic_fetch_add(&answered, 1);
	}
	return NULL;
}

static void *rewrite(void *arg)
{
	static const char *const texts[] = {main_only,
		"[measurement main]\nkey = src\nsketch = flow-table\nwidth = 128\n"
		"[measurement two]\nkey = dst\nsketch = flow-table\nwidth = 64\n",
		"[measurement main]\nkey = nonsense\n", "[measurement", "\001\002\n", ""};

	(void)arg;
	for (uint32_t i = 0; !atomic_load(&askers_done); i++) {
		write_file(texts[i % 6]);
		usleep(1000);
	}
	return NULL;
}

/* --- threads that read the published plan --- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t read_one = PTHREAD_COND_INITIALIZER;
static const struct plan *published;
static uint32_t reading[2], turn;

static void publish(const struct plan *now, const struct change_since *since)
{
	(void)since;
	pthread_mutex_lock(&lock);
	published = now;
	pthread_mutex_unlock(&lock);
}

static void settle(void)
{
	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < 2; i++) {
		turn ^= 1;
		while (reading[turn ^ 1] > 0)
			pthread_cond_wait(&read_one, &lock);
	}
	pthread_mutex_unlock(&lock);
}

static void *read_plans(void *arg)
{
	(void)arg;
	while (!atomic_load(&readers_done)) {
		const struct plan *seen;
		uint32_t mine;

		pthread_mutex_lock(&lock);
		seen = published;
		mine = turn;
		reading[mine]++;
		pthread_mutex_unlock(&lock);
		for (uint32_t m = 0; m < seen->nb_measurements; m++)
			assert_true(strlen(seen->measurements[m].config->name) > 0);
		pthread_mutex_lock(&lock);
		if (--reading[mine] == 0)
			pthread_cond_broadcast(&read_one);
		pthread_mutex_unlock(&lock);
		usleep(200);
	}
	return NULL;
}

/* --- epochs --- */

static void *work(void *arg)
{
	struct worker *worker = arg;
	uint64_t epoch = 0, open;

	for (;;) {
		open = atomic_load_explicit(&run.epochs->open, memory_order_acquire);
		if (epochs_is_end(run.epochs, open))
			break;
		if (epoch < open)
			worker_enter_epoch(worker, ++epoch);
		else
			sched_yield();
		worker_generation(worker, epoch)->counted++;
	}
	worker_leave(worker, open);
	return NULL;
}

/* Runs one step of the reporter. */
static void turn_reporter(uint64_t *epoch, uint64_t *open)
{
	changes_look(changes, *epoch + 2);
	if (epochs_is_ready(run.epochs, *open + 1) && epochs_may_open(run.epochs, *open + 1)) {
		*epochs_info(run.epochs, *open + 1) = (struct epoch_info){.number = *open + 1};
		epochs_open(run.epochs, ++*open);
	}
	if (*epoch < *open && epochs_is_closed(run.epochs, *epoch)) {
		while (!run_recycle(&run, *epoch))
			;
		(*epoch)++;
	}
	usleep(100);
}

static void *report(void *arg)
{
	struct change_answer answer;
	uint64_t epoch = 0, open = 0;
	bool reloading = false;

	(void)arg;
	for (uint32_t i = 0; !atomic_load(&epochs_done); i++) {
		bool no_more = atomic_load(&askers_done);

		turn_reporter(&epoch, &open);
		if (!no_more && i % 8 == 0) {
			changes_reload(changes);
			reloading = true;
		}
		if (reloading && !changes_reloading(changes, &answer))
			reloading = false;
		if (!reloading && no_more)
			atomic_store(&reloads_done, true);
	}
	epochs_end(run.epochs, open + 1);
	return NULL;
}

/* --- test --- */

static struct config load(void)
{
	static char program[] = "sketchtap", source[] = "--synthetic=packets=1",
		    option[] = "--config", no_huge[] = "--no-huge", workers[] = "--workers=2",
		    output[] = "--output=/dev/null";
	/* A reload reads the arguments again. */
	static char *const arguments[] = {program, source, option, path, no_huge, workers, output};
	struct config loaded;

	assert_int_equal(config_load(&loaded, &commands, 7, arguments, stdout, stderr), CONFIG_OK);
	return loaded;
}

static void create_run(void)
{
	struct plan_ports ports = {0};
	char error[PLAN_TEXT_MAX];

	if (!plan_make(&plan, &config, &topology, &ports, error))
		fail_msg("%s", error);
	run.config = &config;
	run.plan = &plan;
	run.ops = &source_no_ops;
	run.nb_workers = WORKERS;
	run.epochs = zeroed(sizeof(*run.epochs));
	epochs_init(run.epochs, WORKERS);
	hash_key_init(&run.hash_key, 1);
	run.next = run.measurements[0] = run.measurements[1] = run_prepare(&run, &plan);
	assert_non_null(run.next);
	assert_true(measurement_report_create(run.next));
	for (uint32_t w = 0; w < WORKERS; w++) {
		struct worker *worker = run.workers[w] = zeroed(sizeof(*worker));

		worker->id = w;
		worker->idle = IDLE_SLEEP;
		worker->epochs = run.epochs;
		for (uint64_t epoch = 0; epoch < 2; epoch++)
			measurements_give(run.next, worker_generation(worker, epoch), w, epoch);
	}
}

static void say(bool warning, const char *line, void *arg)
{
	(void)warning;
	(void)line;
	(void)arg;
}

static void free_set(struct measurements *set)
{
	measurement_report_destroy(set);
	measurements_destroy(set);
}

static void free_run(void)
{
	if (run.measurements[1] != run.measurements[0])
		free_set(run.measurements[1]);
	if (run.next != run.measurements[0] && run.next != run.measurements[1])
		free_set(run.next);
	free_set(run.measurements[0]);
	for (uint32_t w = 0; w < WORKERS; w++)
		free(run.workers[w]);
	free(run.epochs);
}

/* The final state after all reloads, which remove measurements added by requests. */
static void check_last_change(void)
{
	struct change_answer answer =
		changes_ask(changes, "add last key=dst sketch=flow-table width=64");

	assert_false(answer.refused);
	while (answer.at_least) { /* no epoch uses it yet */
		usleep(1000);
		answer.at_least = atomic_load(&run.epochs->open) < answer.epoch + 2;
	}
	pthread_mutex_lock(&lock);
	assert_int_equal(published->nb_measurements, answer.measurements);
	assert_string_equal(published->measurements[answer.measurements - 1].config->name, "last");
	pthread_mutex_unlock(&lock);
}

static void every_request_is_answered(void **state)
{
	const struct sink_log sink_log = {.log = say};
	pthread_t askers[ASKERS], readers[READERS], workers[WORKERS], writer_of_file, reporter;
	struct changes_params params = {.run = &run, .publish = publish, .settle = settle};
	char error[WRITER_ERROR_MAX];
	uint64_t first;
	int status;

	(void)state;
	params.writer = writer_open(&config, &sink_log, &first, &status, error);
	assert_non_null(params.writer);
	published = &plan;
	changes = changes_start(&params);
	assert_non_null(changes);
	alarm(250); /* ends the test if a request is not answered */
	for (uintptr_t w = 0; w < WORKERS; w++)
		assert_int_equal(pthread_create(&workers[w], NULL, work, run.workers[w]), 0);
	assert_int_equal(pthread_create(&reporter, NULL, report, NULL), 0);
	for (uintptr_t r = 0; r < READERS; r++)
		assert_int_equal(pthread_create(&readers[r], NULL, read_plans, NULL), 0);
	assert_int_equal(pthread_create(&writer_of_file, NULL, rewrite, NULL), 0);
	for (uintptr_t a = 0; a < ASKERS; a++)
		assert_int_equal(pthread_create(&askers[a], NULL, ask, (void *)a), 0);
	for (uint32_t a = 0; a < ASKERS; a++)
		pthread_join(askers[a], NULL);
	atomic_store(&askers_done, true);
	pthread_join(writer_of_file, NULL);
	while (!atomic_load(&reloads_done))
		usleep(1000);
	check_last_change();
	atomic_store(&epochs_done, true);
	pthread_join(reporter, NULL);
	for (uint32_t w = 0; w < WORKERS; w++)
		pthread_join(workers[w], NULL);
	atomic_store(&readers_done, true);
	for (uint32_t r = 0; r < READERS; r++)
		pthread_join(readers[r], NULL);
	changes_end(changes);
	assert_true(changes_ask(changes, "remove last").refused);
	assert_int_equal(atomic_load(&answered), ASKERS * REQUESTS);
	assert_true(atomic_load(&accepted) > 0);
	changes_free(changes);
	writer_close(params.writer);
	alarm(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(every_request_is_answered)};
	int failed, fd = mkstemp(path);

	if (fd < 0)
		return 1;
	close(fd);
	write_file(main_only);
	topology_read(&topology, "");
	rte_log_set_level_pattern("*", RTE_LOG_ERR);
	config = load();
	create_run();
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	free_run();
	config_free(&config);
	unlink(path);
	return failed;
}
