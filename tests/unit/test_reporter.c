/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The reporter in a complete run: a worker that stalls for a second in the middle of an epoch loses
 * nothing on a replay, and on a paced one only what its ring drops and counts. The reporter waits,
 * logs this, and touches no generation in use.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <rte_cycles.h>

#include "base/log.h"
#include "parallel/run/eal.h"
#include "parallel/run/run.h"
#include "control/reporter.h"
#include "rx/generate/synthetic.h"
#include "sketch/measurement.h"
#include "parallel/plan/design.h"
#include "parallel/epoch.h"
#include "report/sinks/writer.h"

#define WORKERS  2
#define STALL_MS 1000

static struct topology topology;
static struct plan plan;
static char directory[] = "/tmp/test_reporter_XXXXXX";
static char output[64], ledger[64], said[64];

static struct config make_config(void)
{
	struct config config = {0};

	edit_design_options(&config)->design = design_index("rss");
	edit_plan_options(&config)->workers = WORKERS;
	config.nb_measurements = 1;
	edit_seed_options(&config)->seed = 42;
	edit_epoch_options(&config)->interval = 10000000;
	edit_hugepages_options(&config)->no_huge = true;
	edit_writer_options(&config)->rows[ROWS_HEAVY_HITTERS] =
		(struct option_list){.texts = {output}, .n = 1};
	edit_writer_options(&config)->rows[ROWS_STATS] =
		(struct option_list){.texts = {ledger}, .n = 1};
	edit_writer_options(&config)->force = true;

	config.measurements[0].name = "main";
	*edit_measurement_options(&config.measurements[0]) = (struct measurement_options){
		.key = key_rules[0],
		.sketch = sketch_index(sketch_find("count-min")),
		.width = 4096,
		.top = 5,
		.confidence = 0.999,
	};
	return config;
}

static int start(void **state)
{
	struct config config = make_config();
	struct plan_ports ports = {0};
	char error[EAL_ERROR_MAX];

	(void)state;
	edit_log_options(&config)->level = LOG_LEVEL_NOTICE;
	if (mkdtemp(directory) == NULL)
		return -1;
	snprintf(output, sizeof(output), "%s/output.csv", directory);
	snprintf(ledger, sizeof(ledger), "%s/ledger.csv", directory);
	snprintf(said, sizeof(said), "%s/said", directory);
	log_init(LOG_LEVEL_NOTICE, false);
	topology_read(&topology, "");
	return plan_make(&plan, &config, &topology, &ports, error) &&
			       eal_start(&plan, &config, error)
		       ? 0
		       : -1;
}

static int stop(void **state)
{
	(void)state;
	unlink(output);
	unlink(ledger);
	unlink(said);
	eal_stop();
	return rmdir(directory);
}

/* Worker 0 stalls once, between two bursts of an epoch in which it has already counted. */
static bool stalled;

static void stalling_take(void *arg, struct rte_mbuf **pkts, uint32_t n, uint64_t rx_cycles)
{
	struct worker *worker = arg;

	worker_generation(worker, worker->epoch)->received += n;
	worker_count(worker, pkts, n, rx_cycles);
	if (worker->id == 0 && worker->epoch >= 3 && !stalled) {
		stalled = true;
		rte_delay_us_sleep(STALL_MS * 1000);
	}
}

static void stalling_enter(void *arg, uint64_t epoch)
{
	worker_enter_epoch(arg, epoch);
}

static void stalling_end(void *arg, uint64_t epoch)
{
	worker_leave(arg, epoch);
}

static void stalling_work(struct worker *worker, uint32_t nb_workers)
{
	(void)nb_workers;
	worker->poller.arg = worker;
	worker->poller.enter = stalling_enter;
	worker->poller.take = stalling_take;
	worker->poller.end = stalling_end;
	poll_until_end(&worker->poller);
}

static const struct design_ops stalling_rss = {.name = "rss", .work = stalling_work};

static void say(bool warning, const char *line, void *arg)
{
	(void)warning;
	(void)arg;
	fprintf(stderr, "%s\n", line);
}

/* Runs with standard error redirected to the file `said`. */
static struct reporter_result run_stalling(const struct config *config, uint64_t packets)
{
	struct plan_ports ports = {0};
	struct reporter_params params = {0};
	const struct sink_log sink_log = {.log = say};
	struct progress progress;
	struct synthetic_spec spec;
	struct reporter_result result;
	struct reporter *reporter;
	struct source *source;
	struct run *run;
	char error[RUN_ERROR_MAX];
	int status, console = dup(STDERR_FILENO);

	assert_true(synthetic_parse("flows=1000,rate=100kpps", &spec, error));
	spec.packets = packets;
	assert_true(plan_make(&plan, config, &topology, &ports, error));
	assert_non_null(freopen(said, "w", stderr));
	progress_init(&progress, STDERR_FILENO, false);
	params.progress = &progress;
	params.writer = writer_open(config, &sink_log, &params.first_epoch, &status, error);
	assert_non_null(params.writer);
	source = generate_open(&spec, error);
	assert_non_null(source);
	run = run_create(config, &plan, source, NULL, 0, error);
	assert_non_null(run);
	run->design = &stalling_rss;
	reporter = reporter_create(run, NULL);
	assert_non_null(reporter);
	stalled = false;
	result = reporter_run(reporter, &params);
	reporter_destroy(reporter);
	assert_int_equal(writer_close(params.writer), 0);
	run_destroy(run);
	source->close(source);
	fflush(stderr);
	dup2(console, STDERR_FILENO);
	close(console);
	return result;
}

static void assert_said(const char *words)
{
	char text[4096] = "";
	FILE *file = fopen(said, "r");

	assert_non_null(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	if (strstr(text, words) == NULL)
		fail_msg("'%s' is not in '%s'", words, text);
}

/* Sums a column of the ledger over its rows. */
static uint64_t ledger_sum(const char *column)
{
	char line[1024];
	uint64_t sum = 0;
	int at = -1;
	FILE *file = fopen(ledger, "r");

	assert_non_null(file);
	assert_non_null(fgets(line, sizeof(line), file));
	{
		int i = 0;

		for (char *word = strtok(line, ",\n"); word != NULL;
			word = strtok(NULL, ",\n"), i++)
			if (strcmp(word, column) == 0)
				at = i;
	}
	assert_true(at >= 0);
	while (fgets(line, sizeof(line), file) != NULL) {
		char *word = line;

		for (int i = 0; i < at; i++)
			word = strchr(word, ',') + 1;
		sum += strtoull(word, NULL, 10);
	}
	fclose(file);
	return sum;
}

static void test_replay_loses_nothing(void **state)
{
	struct config config = make_config();
	struct reporter_result result;

	(void)state;
	result = run_stalling(&config, 100000);
	assert_true(stalled);
	assert_int_equal(result.sum.offered, 100000);
	assert_int_equal(result.sum.unaccounted, 0);
	assert_int_equal(ledger_sum("measured"), 100000);
	assert_int_equal(ledger_sum("nic_missed"), 0);
	assert_said("interval 3: worker 0 is not responding");
}

static void test_paced_replay_names_its_losses(void **state)
{
	struct config config = make_config();
	struct reporter_result result;

	(void)state;
	/* A queue has room for all intervals that end at once after the stall. */
	edit_epoch_options(&config)->interval = 100000000;
	edit_feeder_options(&config)->pace = PACE_RATE;
	edit_feeder_options(&config)->pace_rate = 100000;
	edit_port_options(&config)->descriptors = 64;
	result = run_stalling(&config, 100000);
	assert_true(stalled);
	assert_int_equal(result.sum.offered, 100000);
	assert_int_equal(result.sum.unaccounted, 0);
	assert_true(ledger_sum("nic_missed") > 0);
	assert_int_equal(ledger_sum("measured") + ledger_sum("nic_missed"), 100000);
	assert_said("worker 0 is not responding");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_replay_loses_nothing),
		cmocka_unit_test(test_paced_replay_names_its_losses),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
