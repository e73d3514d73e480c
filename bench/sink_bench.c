/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/sink_bench.h"

#include <malloc.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/signals.h"
#include "base/units.h"
#include "bench/common.h"
#include "bench/mock_broker.h"
#include "bench/sink_receivers.h"
#include "bench/polled.h"
#include "bench/records.h"
#include "parallel/run/eal.h"
#include "parallel/sources/feeder.h"
#include "report/metrics/http.h"
#include "report/sinks/sink.h"
#include "report/formats/format.h"
#include "tune/measure/bench_options.h"
#include "tune/measure/setup.h"

#define TURNS         9
#define PACKETS       3000000
#define QUICK_PACKETS 20000
#define ZIPF_E6       1050000
#define FLOWS         100000
#define EVERY         (SECOND_NS / 4)
#define EVERY_FLOWS   10000
#define QUEUE_MB      8
#define TOP           100
#define SCRAPED       16 /* number of measurements, each with TOP rows of six series */
#define SCRAPES       10
#define KAFKA_ROWS    200000
#define QUICK_ROWS    20000
#define PARTS         8

static const struct beside {
	const char *name;
	bool open, frozen;
} besides[] = {
	{"worker: no exports", false, false},
	{"worker, exports to reading receivers", true, false},
	{"worker, exports to frozen receivers", true, true},
};

#define BESIDES (sizeof(besides) / sizeof(besides[0]))

struct beside_bench {
	struct rounds_bench *in;
	struct config config;
	struct plan plan;
	struct source *source;
};

/*
 * Moves this thread, and threads that it will create, off the worker's CPU. *before: previous CPUs.
 */
static void leave_worker(const struct plan *plan, cpu_set_t *before)
{
	cpu_set_t others;

	sched_getaffinity(0, sizeof(*before), before);
	others = *before;
	for (uint32_t l = 0; l < PLAN_LCORES_MAX; l++)
		if (plan->lcores[l].role == PLAN_WORKER && plan->lcores[l].cpu >= 0)
			CPU_CLR((size_t)plan->lcores[l].cpu, &others);
	sched_setaffinity(0, sizeof(others), &others);
}

/* Prints the median of many turns: placement of memory has a larger effect than exports. */
static bool run_turns(struct beside_bench *bench, double *ns)
{
	struct polled_sample sample;

	for (uint32_t t = 0; t < TURNS; t++) {
		if (signals_stop_requested() ||
			!polled_run(&bench->config, &bench->plan, bench->source, POLLED_MEASURE,
				&sample, bench->in->error))
			return false;
		ns[t] = sample.total;
	}
	return true;
}

static bool run_beside(struct beside_bench *bench, const struct beside *beside, uint32_t round)
{
	const struct sink_receivers_setting setting = {
		.frozen = beside->frozen, .queue_mb = QUEUE_MB};
	struct rounds_bench *in = bench->in;
	struct sink_receivers *receivers = NULL;
	double ns[TURNS];
	cpu_set_t before;
	bool fine;

	leave_worker(&bench->plan, &before);
	if (beside->open)
		receivers = sink_receivers_open(&setting, in->error);
	fine = !beside->open || (receivers != NULL && sink_receivers_push_always(
							      receivers, EVERY_FLOWS, TOP, EVERY));
	sched_setaffinity(0, sizeof(before), &before);
	fine = fine && run_turns(bench, ns);
	if (receivers != NULL)
		sink_receivers_close(receivers);
	if (!fine)
		return false;
	figures_note(&in->figures, "median of %d turns", TURNS);
	rounds_row(in, beside->name, round, bench_stats_of(ns, TURNS).median, "ns");
	return true;
}

static bool take_turns(struct beside_bench *bench)
{
	for (uint32_t r = 0; r < bench->in->rounds; r++)
		for (uint32_t b = 0; b < BESIDES; b++)
			if (!run_beside(bench, &besides[(b + r) % BESIDES], r))
				return false;
	return true;
}

static bool worker_missing(struct rounds_bench *in)
{
	for (uint32_t b = 0; b < BESIDES; b++)
		rounds_missing(in, besides[b].name, 0, "ns", "needs two CPUs");
	return true;
}

bool sink_bench_worker(struct rounds_bench *in)
{
	const struct bench_subject subject = {.sketch = sketch_find("flow-table"), .threads = 1};
	static struct beside_bench bench;
	bool fine;

	figures_heading(&in->figures,
		"time per packet of a worker during exports to all types of sinks: %u records per "
		"second to each",
		(uint32_t)(EVERY_FLOWS * SECOND_NS / EVERY));
	bench.in = in;
	setup_run_config(&bench.config, in->config, &subject);
	edit_feeder_options(&bench.config)->packets = in->quick ? QUICK_PACKETS : PACKETS;
	if (!setup_plan(&bench.plan, &bench.config, &subject, &in->topology, in->error))
		return false;
	if (bench.plan.oversubscribed)
		return worker_missing(in);
	if (!eal_start(&bench.plan, &bench.config, in->error))
		return false;
	bench.source = setup_source(ZIPF_E6, FLOWS);
	fine = bench.source != NULL && take_turns(&bench);
	if (bench.source != NULL)
		bench.source->close(bench.source);
	eal_stop();
	return fine;
}

static double resident_mb(void)
{
	FILE *statm = fopen("/proc/self/statm", "r");
	unsigned long all, resident = 0;

	if (statm == NULL)
		return 0;
	if (fscanf(statm, "%lu %lu", &all, &resident) != 2)
		resident = 0;
	fclose(statm);
	return (double)resident * (double)sysconf(_SC_PAGESIZE) / (1 << 20);
}

static bool fill_queues(struct sink_receivers *receivers, const struct rounds_bench *in)
{
	const size_t flows = ((size_t)QUEUE_MB << 20) / PARTS / sizeof(struct report_flow);

	for (uint64_t number = 0; number < (in->quick ? 5 : 30) * PARTS; number++) {
		const struct records_spec spec = {.number = number,
			.measurements = 1,
			.flows = flows,
			.rows = TOP,
			.seed = in->seed};
		struct report_epoch *epoch = records_epoch(&spec);

		if (epoch == NULL)
			return false;
		sink_receivers_push(receivers, epoch);
		usleep(50000);
	}
	return true;
}

bool sink_bench_memory(struct rounds_bench *in)
{
	const struct sink_receivers_setting setting = {.frozen = true, .queue_mb = QUEUE_MB};
	struct sink_receivers *receivers;
	double before, after;
	bool fine;

	figures_heading(&in->figures, "memory while all receivers are frozen");
	receivers = sink_receivers_open(&setting, in->error);
	if (receivers == NULL)
		return false;
	/* Returns free memory to the system: growth that reused it would be invisible. */
	malloc_trim(0);
	before = resident_mb();
	fine = fill_queues(receivers, in);
	after = resident_mb();
	rounds_row(in, "memory: growth behind frozen receivers", 0, after - before, "MB");
	rounds_row(in, "memory: what their queues may take", 0,
		(double)sink_receivers_bound(receivers) / (1 << 20), "MB");
	sink_receivers_close(receivers);
	return fine;
}

static bool time_scrape(struct rounds_bench *in, struct sink_receivers *receivers, uint32_t round)
{
	uint16_t port = sink_receivers_metrics_port(receivers);
	double best = 0;
	size_t series = 0;

	for (uint32_t s = 0; s < SCRAPES; s++) {
		int64_t start = clock_now(CLOCK_MONOTONIC);
		double ms;

		series = sink_receivers_scrape(port, true);
		ms = (double)(clock_now(CLOCK_MONOTONIC) - start) / 1e6;
		best = s == 0 || ms < best ? ms : best;
	}
	figures_note(&in->figures, "%zu series, fastest of %d scrapes", series, SCRAPES);
	rounds_row(in, "a scrape of 10 000 series", round, best, "ms");
	return series > TOP * SCRAPED * 6 ||
	       rounds_fail(in, "a scrape has %zu series instead of 10 000", series);
}

bool sink_bench_scrape(struct rounds_bench *in)
{
	const struct sink_receivers_setting setting = {.queue_mb = QUEUE_MB};
	const struct records_spec spec = {
		.measurements = SCRAPED, .rows = TOP, .flows = 1, .seed = in->seed};
	struct report_epoch *epoch;
	struct sink_receivers *receivers;
	bool fine;

	figures_heading(&in->figures, "--metrics over loopback: %u measurements, --metrics-top %u",
		SCRAPED, TOP);
	if (http_missing() != NULL) {
		rounds_missing(in, "a scrape of 10 000 series", 0, "ms", http_missing());
		return true;
	}
	receivers = sink_receivers_open(&setting, in->error);
	if (receivers == NULL)
		return false;
	epoch = records_epoch(&spec);
	fine = epoch != NULL;
	if (fine)
		sink_receivers_push(receivers, epoch);
	for (uint32_t r = 0; r < in->rounds && fine; r++)
		fine = !signals_stop_requested() && time_scrape(in, receivers, r);
	sink_receivers_close(receivers);
	return fine;
}

static void hear(bool warning, const char *line, void *arg)
{
	(void)warning;
	(void)line;
	(void)arg;
}

static struct sink_log sink_log = {.log = hear};

/* Returns the seconds until all pushed rows are acknowledged; 0 on error. */
static double time_queue(const struct sink_request *request, struct report_epoch *epoch)
{
	struct sink *sink = sink_create(request, 0, &sink_log);
	char why[SINK_ERROR_MAX];
	struct delivery *delivery;
	struct sink_queue_params params = {.nb_deliveries = 1, .sink_log = &sink_log};
	int64_t start;
	double seconds;

	if (sink == NULL)
		return 0;
	delivery = &sink->delivery;
	params.ops = &sink->type->ops;
	params.place = sink;
	params.name = request->url;
	params.deliveries = &delivery;
	sink->sink_queue = sink_queue_create(&params);
	if (sink->sink_queue == NULL || sink_open(sink, false, why) != 0 ||
		sink_queue_start(sink->sink_queue) != 0) {
		sink_queue_free(sink->sink_queue);
		sink_free(sink);
		return 0;
	}
	sink_queue_push(sink->sink_queue, epoch); /* opens the connection, and allocates the text */
	sink_queue_settle(sink->sink_queue);
	start = clock_now(CLOCK_MONOTONIC);
	sink_queue_push(sink->sink_queue, epoch);
	sink_queue_settle(sink->sink_queue);
	seconds = (double)(clock_now(CLOCK_MONOTONIC) - start) / 1e9;
	sink_queue_end(sink->sink_queue);
	if (atomic_load(&delivery->acknowledged) != 2 * epoch->measurements[0].nb_flows)
		seconds = 0;
	sink_queue_free(sink->sink_queue);
	sink_free(sink);
	return seconds;
}

/* Sends rows encoded beforehand, in a loop of librdkafka. Returns seconds. */
static double time_loop(struct mock_broker *broker, const struct sink_request *request,
	const struct report_epoch *epoch, struct text *text)
{
	struct column_choice choice = request->choice;
	struct columns *columns;
	double seconds = 0;

	choice.sink = true;
	choice.named = format_json.named;
	columns = columns_of(&output_flows, &choice);
	text_clear(text);
	if (columns != NULL)
		format_epoch(text, &format_json, columns, epoch);
	free(columns);
	if (columns == NULL || text->failed ||
		mock_broker_produce(broker, text->data, text->len, &seconds) !=
			epoch->measurements[0].nb_flows)
		return 0;
	return seconds;
}

static bool print_rate(
	struct rounds_bench *in, const char *part, uint32_t round, size_t rows, double seconds)
{
	if (seconds <= 0)
		return rounds_fail(in, "%s: not all rows were acknowledged", part);
	rounds_row(in, part, round, (double)rows / seconds / 1e3, "rows/ms");
	return true;
}

static bool run_kafka(struct rounds_bench *in, struct mock_broker *broker)
{
	static const struct sink_options options;
	const size_t rows = in->quick ? QUICK_ROWS : KAFKA_ROWS;
	char url[96];
	const struct sink_request request = {
		.url = url,
		.name = url,
		.kind = ROWS_FLOWS,
		.options = &options,
		.config = in->config,
		.choice = {.key_fields = UINT32_MAX, .records = true},
	};
	const struct records_spec spec = {.measurements = 1, .flows = rows, .seed = in->seed};
	struct report_epoch *epoch = records_epoch(&spec);
	struct text text = {0};
	bool fine = epoch != NULL;

	snprintf(url, sizeof(url), "kafka://%s/flows", mock_broker_address(broker));
	for (uint32_t r = 0; r < in->rounds && fine; r++)
		fine = !signals_stop_requested() &&
		       print_rate(in, "kafka: librdkafka's own loop", r, rows,
			       time_loop(broker, &request, epoch, &text)) &&
		       print_rate(in, "kafka: an export", r, rows, time_queue(&request, epoch));
	text_free(&text);
	report_epoch_free(epoch);
	return fine;
}

bool sink_bench_kafka(struct rounds_bench *in)
{
	struct mock_broker *broker = mock_broker_create("flows");
	bool fine;

	figures_heading(&in->figures, "records to Kafka, to the mock broker of librdkafka");
	if (broker == NULL) {
		rounds_missing(in, "kafka: an export", 0, "rows/ms",
			sink_type_kafka.missing != NULL ? sink_type_kafka.missing : "no broker");
		return true;
	}
	fine = run_kafka(in, broker);
	mock_broker_destroy(broker);
	return fine;
}
