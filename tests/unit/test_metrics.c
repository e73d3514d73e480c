/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * --metrics: the text of a scrape under the rules of both formats, counters compared with sums of
 * epochs, the table of docs/EXPORTS.md compared with the code, and the hand-over between two
 * threads.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <pthread.h>
#include <time.h>

#include "collect/exporters/collector_rows.h"
#include "report/metrics/metrics.h"
#include "report/metrics/metrics_text.h"
#include "sample_epoch.h"

static struct text answer_of(struct metrics *metrics, const char *path, const char *accept)
{
	const struct http_request request = {.accept = accept};
	struct http_answer answer = {.status = 200};
	const struct http_page *page = metrics_pages;

	while (strcmp(page->path, path) != 0)
		page++;
	page->answer(metrics, &request, &answer);
	text_char(&answer.text, '\0');
	assert_false(answer.text.failed);
	return answer.text;
}

#define OPENMETRICS "application/openmetrics-text"

/* Fails if the page has no such sample line. */
static void assert_says(struct metrics *metrics, const char *line)
{
	struct text text = answer_of(metrics, "/metrics", OPENMETRICS);
	const char *at = strstr(text.data, line);

	if (at == NULL || (at != text.data && at[-1] != '\n') || at[strlen(line)] != '\n')
		fail_msg("%s is not in:\n%s", line, text.data);
	text_free(&text);
}

static void assert_silent_about(struct metrics *metrics, const char *part)
{
	struct text text = answer_of(metrics, "/metrics", OPENMETRICS);

	if (strstr(text.data, part) != NULL)
		fail_msg("%s is in:\n%s", part, text.data);
	text_free(&text);
}

static struct report_epoch *filled_epoch(uint64_t number)
{
	struct report_epoch *epoch = sample_epoch(number, 1);
	const struct report_row row = {
		.key = sample_key4("10.0.0.1", 443, "10.0.0.2", 5123, 6),
		.packets = sample_figure(60, 70, 80),
		.bytes = {.value = 9000, .low = 8000, .known = true},
	};

	epoch->ledger = (struct ledger){.offered = 105 + number,
		.received = 100 + number,
		.measured = 90 + number,
		.non_ip = 10,
		.nic_missed = 5,
		.bytes = 10000,
		.rx_ns = 1500000000};
	epoch->late = number == 1;
	epoch->closing_ns = 1000001;
	epoch->loads[1] = (struct report_load){.lcore = 3, .received = 7, .busy_ns = 2};
	epoch->measurements[0].shed_packets = 3;
	epoch->measurements[0].distinct_keys = 42;
	epoch->measurements[0].looked_at = 0.25;
	sample_rows(&epoch->measurements[0], &row, 1);
	return epoch;
}

static struct recent *recent;

static struct metrics *create(uint32_t top)
{
	struct metrics *metrics;

	recent = recent_create();
	assert_non_null(recent);
	metrics = metrics_create(top, "DPDK 1", recent);
	assert_non_null(metrics);
	return metrics;
}

static void destroy(struct metrics *metrics)
{
	metrics_destroy(metrics);
	recent_destroy(recent);
}

static void take(struct metrics *metrics, struct report_epoch *epoch)
{
	recent_take(recent, epoch);
	metrics_take(metrics, epoch, NULL);
	report_epoch_free(epoch);
}

#define ROW_LABELS                                                                                 \
	"{measurement=\"main\",src_ip=\"10.0.0.1\",dst_ip=\"10.0.0.2\",src_port=\"443\","          \
	"dst_port=\"5123\",proto=\"6\"}"

static void test_counters_are_sums_of_epochs(void **state)
{
	struct metrics *metrics = create(1);

	(void)state;
	assert_says(metrics, "sketchtap_packets_total{fate=\"offered\"} 0");
	assert_silent_about(metrics, "sketchtap_epoch_number");
	for (uint64_t n = 0; n < 3; n++)
		take(metrics, filled_epoch(n));
	assert_says(metrics, "sketchtap_packets_total{fate=\"offered\"} 318");
	assert_says(metrics, "sketchtap_packets_total{fate=\"measured\"} 273");
	assert_says(metrics, "sketchtap_packets_total{fate=\"shed\"} 0");
	assert_says(metrics, "sketchtap_measurement_packets_total"
			     "{measurement=\"main\",fate=\"measured\"} 264");
	assert_says(metrics, "sketchtap_measurement_packets_total"
			     "{measurement=\"main\",fate=\"shed\"} 9");
	assert_says(metrics, "sketchtap_bytes_total{fate=\"measured\"} 30000");
	assert_says(metrics, "sketchtap_epochs_total 3");
	assert_says(metrics, "sketchtap_late_epochs_total 1");
	assert_says(metrics, "sketchtap_closing_seconds_total 0.003000003");
	assert_says(metrics, "sketchtap_step_seconds_total{step=\"receive\"} 4.500000000");
	assert_says(metrics, "sketchtap_worker_packets_total"
			     "{worker=\"1\",lcore=\"3\",fate=\"received\"} 21");
	assert_says(metrics, "sketchtap_epoch_number 2");
	assert_says(metrics, "sketchtap_measurement_distinct_keys{measurement=\"main\"} 42");
	assert_says(metrics, "sketchtap_measurement_looked_at_ratio{measurement=\"main\"} 0.25");
	assert_says(metrics, "sketchtap_top_packets" ROW_LABELS " 70");
	assert_says(metrics, "sketchtap_top_low_packets" ROW_LABELS " 60");
	assert_says(metrics, "sketchtap_top_high_packets" ROW_LABELS " 80");
	assert_says(metrics, "sketchtap_top_low_bytes" ROW_LABELS " 8000");
	assert_silent_about(metrics, "sketchtap_top_high_bytes"); /* unknown */
	/* An epoch without rows ends samples of the last one, but no counter. */
	take(metrics, sample_epoch(3, 0));
	assert_silent_about(metrics, "sketchtap_top_");
	assert_says(metrics, "sketchtap_epochs_total 4");
	assert_says(metrics, "sketchtap_measurement_packets_total"
			     "{measurement=\"main\",fate=\"measured\"} 264");
	destroy(metrics);
}

/* Exports with the same name, or the same label after truncation, share one series. */
static void test_places(void **state)
{
	struct metrics *metrics = create(0);
	struct report_epoch *epoch = sample_epoch(0, 1), *told = report_epoch_alloc(0, 0);
	char names[2][200], line[300];

	(void)state;
	memset(names, 'n', sizeof(names));
	names[0][199] = names[1][198] = '\0';
	assert_non_null(told);
	told->deliveries = calloc(5, sizeof(told->deliveries[0]));
	assert_non_null(told->deliveries);
	told->nb_deliveries = 5;
	told->deliveries[0] = (struct report_delivery){.name = "tcp://a:1",
		.kind = "stats",
		.delivered = 1,
		.acknowledged = 2,
		.failed = 3,
		.unknown = 4,
		.dropped = 5,
		.waiting = 6,
		.spooled = 5,
		.spool_bytes = 900,
		.spool_size = 1000,
		.retries = 7,
		.reconnects = 8,
		.bytes = 9};
	told->deliveries[1] = (struct report_delivery){.name = names[0], .kind = "a", .bytes = 10};
	told->deliveries[2] = (struct report_delivery){.name = names[1], .kind = "b", .bytes = 20};
	told->deliveries[3] = (struct report_delivery){.name = names[1], .kind = "a", .bytes = 40};
	told->deliveries[4] = (struct report_delivery){.name = "tcp://a:1", .kind = "a"};
	metrics_take(metrics, epoch, told);
	report_epoch_free(epoch);
#define PLACE "{export=\"tcp://a:1\",kind=\"stats\""
	assert_says(metrics, "sketchtap_export_rows_total" PLACE ",fate=\"delivered\"} 1");
	assert_says(metrics, "sketchtap_export_rows_total" PLACE ",fate=\"acknowledged\"} 2");
	assert_says(metrics, "sketchtap_export_rows_total" PLACE ",fate=\"failed\"} 3");
	assert_says(metrics, "sketchtap_export_rows_total" PLACE ",fate=\"unknown\"} 4");
	assert_says(metrics, "sketchtap_export_rows_total" PLACE ",fate=\"dropped\"} 5");
	assert_says(metrics, "sketchtap_export_waiting_rows" PLACE "} 6");
	assert_says(metrics, "sketchtap_export_spooled_rows" PLACE "} 5");
	assert_says(metrics, "sketchtap_export_spool_bytes" PLACE "} 900");
	assert_says(metrics, "sketchtap_export_spool_size_bytes" PLACE "} 1000");
	assert_says(metrics, "sketchtap_export_retries_total" PLACE "} 7");
	assert_says(metrics, "sketchtap_export_reconnects_total" PLACE "} 8");
	assert_says(metrics, "sketchtap_export_bytes_total" PLACE "} 9");
	for (uint32_t k = 0; k < 2; k++) {
		snprintf(line, sizeof(line),
			"sketchtap_export_bytes_total{export=\"%.*s\",kind=\"%c\"} %d",
			METRICS_LABEL_MAX, names[0], "ab"[k], k == 0 ? 50 : 20);
		assert_says(metrics, line);
	}
	assert_silent_about(metrics, ",kind=\"a\"} 40");
	destroy(metrics);
}

/* Measurements come and go; each has its own sums, and the present ones keep theirs. */
static void test_measurements_change(void **state)
{
	struct metrics *metrics = create(0);
	char name[64], line[200];

	(void)state;
	for (uint32_t n = 0; n < 3 * CONFIG_MEASUREMENTS_MAX; n++) {
		struct report_epoch *epoch = sample_epoch(n, 2);

		epoch->ledger.measured = 10;
		snprintf(name, sizeof(name), "m%u", n);
		epoch->measurements[0].name = name; /* a new name each time */
		take(metrics, epoch);
		snprintf(line, sizeof(line),
			"sketchtap_measurement_packets_total"
			"{measurement=\"%s\",fate=\"measured\"} 10",
			name);
		assert_says(metrics, line);
		snprintf(line, sizeof(line),
			"sketchtap_measurement_packets_total"
			"{measurement=\"main\",fate=\"measured\"} %u",
			10 * (n + 1));
		assert_says(metrics, line);
		if (n > 0) {
			snprintf(line, sizeof(line), "{measurement=\"m%u\",", n - 1);
			assert_silent_about(metrics, line);
		}
	}
	destroy(metrics);
}

static void test_labels_are_escaped_and_bounded(void **state)
{
	static const struct {
		const char *given, *printed;
	} names[] = {
		{"a\"b\\c\n5", "a\\\"b\\\\c\\n5"},
		{"\xff gr\xc3\xbc\xc3\x9f \xed\xa0\x80",
			"\xef\xbf\xbd gr\xc3\xbc\xc3\x9f \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
		{"eth0{x=\"1\"} 5", "eth0{x=\\\"1\\\"} 5"},
	};
	char line[600], wide[300];

	(void)state;
	for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++) {
		struct metrics *metrics = create(0);
		struct report_epoch *epoch = sample_epoch(0, 0);

		epoch->ports = calloc(1, sizeof(epoch->ports[0]));
		assert_non_null(epoch->ports);
		epoch->nb_ports = 1;
		epoch->ports[0] =
			(struct report_port){.name = names[n].given, .up = true, .speed = 100000};
		take(metrics, epoch);
		snprintf(line, sizeof(line), "sketchtap_port_up{port=\"%s\"} 1", names[n].printed);
		assert_says(metrics, line);
		snprintf(line, sizeof(line),
			"sketchtap_port_speed_bytes_per_second{port=\"%s\"} 12500000000",
			names[n].printed);
		assert_says(metrics, line);
		destroy(metrics);
	}
	/* Truncated between characters. */
	for (size_t extra = 0; extra < 2; extra++) {
		struct metrics *metrics = create(0);
		struct report_epoch *epoch = sample_epoch(0, 0);
		size_t len = extra;

		memset(wide, 'x', sizeof(wide));
		for (; len + 2 < sizeof(wide); len += 2)
			memcpy(wide + len, "\xc3\xbc", 2);
		wide[len] = '\0';
		epoch->ports = calloc(1, sizeof(epoch->ports[0]));
		assert_non_null(epoch->ports);
		epoch->nb_ports = 1;
		epoch->ports[0] = (struct report_port){.name = wide};
		take(metrics, epoch);
		snprintf(line, sizeof(line), "sketchtap_port_up{port=\"%.*s\"} 0",
			(int)(METRICS_LABEL_MAX - extra), wide);
		assert_says(metrics, line);
		destroy(metrics);
	}
}

/* Counters of ports, directions and exporters. */
static void test_parts_of_a_run(void **state)
{
	struct metrics *metrics = create(0);
	struct report_epoch *epoch = sample_epoch(0, 0);

	(void)state;
	epoch->ports = calloc(2, sizeof(epoch->ports[0]));
	epoch->forwarded = calloc(2, sizeof(epoch->forwarded[0]));
	assert_true(epoch->ports != NULL && epoch->forwarded != NULL);
	epoch->nb_ports = epoch->nb_forwarded = 2;
	epoch->ports[0] = (struct report_port){.name = "a", .nic_missed = 7, .no_mbuf = 9};
	epoch->ports[1] = (struct report_port){.name = "b", .nic_errors = 8};
	epoch->forwarded[0] = (struct report_forwarded){.in = "a",
		.out = "b",
		.counts = {.received = 1},
		.so_far = {10, 6, 1, 2, 0, 1, 600},
		.timed = true,
		.p50_ns = 5,
		.max_ns = 1000000001};
	epoch->forwarded[1] = (struct report_forwarded){.in = "b", .out = "a"};
	take(metrics, epoch);
	assert_says(metrics, "sketchtap_port_lost_packets_total{port=\"a\",fate=\"nic_missed\"} 7");
	assert_says(metrics, "sketchtap_port_lost_packets_total{port=\"a\",fate=\"no_mbuf\"} 9");
	assert_says(metrics, "sketchtap_port_lost_packets_total{port=\"b\",fate=\"nic_errors\"} 8");
	assert_says(metrics,
		"sketchtap_forward_packets_total{in=\"a\",out=\"b\",fate=\"received\"} 10");
	assert_says(
		metrics, "sketchtap_forward_packets_total{in=\"a\",out=\"b\",fate=\"too_long\"} 2");
	assert_says(metrics, "sketchtap_forward_bytes_total{in=\"a\",out=\"b\"} 600");
	assert_says(metrics, "sketchtap_forward_latency_seconds"
			     "{in=\"a\",out=\"b\",percentile=\"100\"} 1.000000001");
	assert_silent_about(metrics, "latency_seconds{in=\"b\"");
	assert_silent_about(metrics, "sketchtap_exporter");
	destroy(metrics);
}

static void take_exporters(struct metrics *metrics, uint64_t number)
{
	struct report_epoch *epoch = sample_epoch(number, 0);

	epoch->collected = calloc(1, sizeof(*epoch->collected));
	assert_non_null(epoch->collected);
	epoch->collected->exporters = calloc(2, sizeof(struct exporter_row));
	assert_non_null(epoch->collected->exporters);
	epoch->collected->nb_exporters = 2;
	epoch->collected->exporters[0] = (struct exporter_row){.datagrams = 5,
		.malformed = 1,
		.lost_network = 3,
		.unknown_template = 2,
		.counts = {.counted = 40, .duplicate = 4}};
	epoch->collected->exporters[1] = (struct exporter_row){.datagrams = 6, .unusable = 1};
	take(metrics, epoch);
}

static void test_exporters(void **state)
{
	struct metrics *metrics = create(0);

	(void)state;
	take_exporters(metrics, 0);
	take_exporters(metrics, 1);
	assert_says(metrics, "sketchtap_exporters 2");
	assert_says(metrics, "sketchtap_exporter_datagrams_total{fate=\"received\"} 22");
	assert_says(metrics, "sketchtap_exporter_datagrams_total{fate=\"malformed\"} 2");
	assert_says(metrics, "sketchtap_exporter_datagrams_total{fate=\"lost_network\"} 6");
	assert_says(metrics, "sketchtap_exporter_records_total{fate=\"counted\"} 80");
	assert_says(metrics, "sketchtap_exporter_records_total{fate=\"unusable\"} 2");
	assert_says(metrics, "sketchtap_exporter_unknown_sets_total 4");
	destroy(metrics);
}

/* Every line of a scrape is a sample of the family described last, and ends correctly. */
static void check_format(const char *text, bool openmetrics)
{
	const struct metric *metric = metric_rows;
	char name[128], described[200], sample[150];

	for (; *text != '\0'; text = strchr(text, '\n') + 1) {
		if (strcmp(text, "# EOF\n") == 0)
			break;
		if (strncmp(text, "# HELP ", 7) == 0) {
			assert_int_equal(sscanf(text, "# HELP %127s", name), 1);
			do {
				assert_non_null(metric->name);
				snprintf(described, sizeof(described), "%s%s", metric->name,
					openmetrics ? "" : metric_suffix(metric));
				metric++;
			} while (strcmp(described, name) != 0);
			snprintf(sample, sizeof(sample), "%s%s", metric[-1].name,
				metric_suffix(&metric[-1]));
			snprintf(described, sizeof(described), "%s\n# TYPE %s %s\n",
				metric[-1].help, name,
				metric_type_word(!openmetrics && metric[-1].type == METRIC_INFO
							 ? METRIC_GAUGE
							 : metric[-1].type));
			assert_memory_equal(text + 8 + strlen(name), described, strlen(described));
		} else if (text[0] == '#') {
			snprintf(described, sizeof(described), "# UNIT %s ", name);
			assert_true(
				strncmp(text, "# TYPE ", 7) == 0 ||
				(openmetrics && strncmp(text, described, strlen(described)) == 0));
		} else {
			assert_memory_equal(text, sample, strlen(sample));
			assert_non_null(strchr("{ ", text[strlen(sample)]));
		}
	}
	assert_string_equal(text, openmetrics ? "# EOF\n" : "");
}

static void test_both_formats(void **state)
{
	struct metrics *metrics = create(5);
	struct text text;

	(void)state;
	take(metrics, filled_epoch(0));
	text = answer_of(metrics, "/metrics", OPENMETRICS);
	check_format(text.data, true);
	assert_non_null(strstr(text.data, "# UNIT sketchtap_bytes bytes\n"));
	text_free(&text);
	text = answer_of(metrics, "/metrics", NULL);
	check_format(text.data, false);
	assert_null(strstr(text.data, "# UNIT"));
	text_free(&text);
	destroy(metrics);
}

static void test_rows_keep_to_the_rules(void **state)
{
	(void)state;
	for (const struct metric *metric = metric_rows; metric->name != NULL; metric++) {
		size_t len = strlen(metric->name), unit = strlen(metric->unit);

		assert_true(len == strspn(metric->name, "abcdefghijklmnopqrstuvwxyz_"));
		assert_true(unit == 0 || (strcmp(metric->name + len - unit, metric->unit) == 0 &&
						 metric->name[len - unit - 1] == '_'));
		assert_true(strlen(metric->help) > 10);
		assert_null(strpbrk(metric->help, "\\\"\n"));
		for (const struct metric *other = metric_rows; other < metric; other++)
			assert_string_not_equal(other->name, metric->name);
	}
}

/* The table must have exactly these rows: | `name` | type | labels | help | */
static void test_docs_are_the_table(void **state)
{
	const struct metric *metric = metric_rows;
	FILE *file = fopen(EXPORTS_DOC, "r");
	char line[400], begin[200], end[200];

	(void)state;
	assert_non_null(file);
	while (fgets(line, sizeof(line), file) != NULL) {
		if (strncmp(line, "| `sketchtap_", 13) != 0)
			continue;
		if (metric->name == NULL)
			fail_msg("not a metric: %s", line);
		snprintf(begin, sizeof(begin), "| `%s%s` | %s | ", metric->name,
			metric_suffix(metric), metric_type_word(metric->type));
		snprintf(end, sizeof(end), "| %s |\n", metric->help);
		if (strncmp(line, begin, strlen(begin)) != 0 || strstr(line, end) == NULL)
			fail_msg("%s%s%s is documented as\n%s", metric->name, metric_suffix(metric),
				end, line);
		metric++;
	}
	fclose(file);
	if (metric->name != NULL)
		fail_msg("%s is not documented", metric->name);
}

static void test_accept(void **state)
{
	static const struct {
		const char *accept;
		bool openmetrics;
	} cases[] = {
		{NULL, false},
		{"", false},
		{"*/*", false},
		{"text/plain", false},
		{OPENMETRICS, true},
		{OPENMETRICS ";version=1.0.0", true},
		{"Application/OpenMetrics-Text ; Version=1.0.0 ; q=0.5, text/plain;q=0.4", true},
		{OPENMETRICS ";q=0.4,text/plain;q=0.5", false},
		{OPENMETRICS ";version=0.0.1", false},
		{OPENMETRICS ";version=1.0.0," OPENMETRICS ";version=0.0.1;q=0.75,"
			     "text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
			true}, /* Accept header of Prometheus 2.42 */
		{OPENMETRICS ";q=0", false},
		{OPENMETRICS ";q=nan", false},
		{OPENMETRICS "x", false},
		{",,;;,=,q=", false},
	};

	(void)state;
	for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++)
		if (metrics_wants_openmetrics(cases[c].accept) != cases[c].openmetrics)
			fail_msg("%s", cases[c].accept);
}

static void test_health(void **state)
{
	struct metrics *metrics = create(0);
	struct timespec clock;
	int64_t now, late;

	(void)state;
	clock_gettime(CLOCK_MONOTONIC, &clock);
	now = (int64_t)clock.tv_sec * SAMPLE_SECOND;
	assert_true(metrics_healthy(metrics, INT64_MAX / 2, &late)); /* not started */
	metrics_start(metrics, 10 * SAMPLE_SECOND);
	assert_true(metrics_healthy(metrics, now + 11 * SAMPLE_SECOND, &late));
	assert_false(metrics_healthy(metrics, now + 60 * SAMPLE_SECOND, &late));
	assert_in_range(late, 48 * SAMPLE_SECOND, 50 * SAMPLE_SECOND);
	metrics_start(metrics, 0); /* interval unknown */
	assert_true(metrics_healthy(metrics, INT64_MAX / 2, &late));
	destroy(metrics);
}

static void test_json(void **state)
{
	struct metrics *metrics = create(0);
	const char *first = "[{\"epoch\":5,\"measurement\":\"main\",", *at;
	struct text text;
	uint32_t rows = 0;

	(void)state;
	text = answer_of(metrics, "/api/v1/top", NULL);
	assert_string_equal(text.data, "[]\n");
	text_free(&text);
	for (uint64_t n = 0; n < RECENT_EPOCHS + 5; n++)
		take(metrics, filled_epoch(n));
	text = answer_of(metrics, "/api/v1/epochs", NULL);
	assert_memory_equal(text.data, first, strlen(first));
	for (at = text.data; (at = strstr(at, "\"epoch\":")) != NULL; at++)
		rows++;
	assert_int_equal(rows, RECENT_EPOCHS);
	assert_non_null(strstr(text.data, "},\n{\"epoch\":304,"));
	assert_string_equal(text.data + text.len - 4, "}]\n");
	text_free(&text);
	text = answer_of(metrics, "/api/v1/top", NULL);
	assert_non_null(strstr(text.data, "[{\"epoch\":304,\"measurement\":\"main\""));
	assert_non_null(strstr(text.data, "\"src_ip\":\"10.0.0.1\""));
	assert_string_equal(text.data + text.len - 4, "}]\n");
	text_free(&text);
	destroy(metrics);
}

#define HANDED_OVER 20000

static void *hand_over(void *arg)
{
	for (uint64_t n = 0; n < HANDED_OVER; n++)
		take(arg, filled_epoch(n));
	return NULL;
}

/* Returns the number after a name. */
static uint64_t said(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	assert_non_null(at);
	return strtoull(at + strlen(name), NULL, 10);
}

/* Each scrape shows one point in time, never an older one than the last. */
static void test_two_threads(void **state)
{
	struct metrics *metrics = create(1);
	pthread_t thread;
	uint64_t epochs = 0, scrapes = 0;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, hand_over, metrics), 0);
	while (epochs < HANDED_OVER) {
		struct text text = answer_of(metrics, "/metrics", NULL);
		uint64_t n = said(text.data, "\nsketchtap_epochs_total ");

		assert_true(n >= epochs);
		epochs = n;
		assert_int_equal(said(text.data, "{fate=\"nic_missed\"} "), 5 * n);
		assert_int_equal(said(text.data, "\nsketchtap_packets_total{fate=\"measured\"} "),
			90 * n + n * (n - 1) / 2 * (n > 0));
		if (n > 0)
			assert_int_equal(said(text.data, "\nsketchtap_epoch_number "), n - 1);
		text_free(&text);
		text = answer_of(metrics, "/api/v1/epochs", NULL);
		text_free(&text);
		scrapes++;
	}
	pthread_join(thread, NULL);
	print_message("# %llu scrapes\n", (unsigned long long)scrapes);
	destroy(metrics);
}

/* Prints the time of a scrape of 10 000 series. */
static void test_many_series(void **state)
{
	struct metrics *metrics = create(METRICS_TOP_MAX);
	struct report_epoch *epoch = sample_epoch(0, CONFIG_MEASUREMENTS_MAX);
	struct report_row rows[METRICS_TOP_MAX];
	struct timespec before, after;
	double best = 1e9;
	uint64_t samples = 0;
	struct text text;

	(void)state;
	for (uint32_t r = 0; r < METRICS_TOP_MAX; r++)
		rows[r] = (struct report_row){
			.key = sample_key6("2001:db8::1", (uint16_t)r, "2001:db8::2", 443, 6),
			.packets = sample_figure(60000 + r, 70000, 80000),
			.bytes = sample_figure(6000000 + r, 7000000, 8000000),
		};
	for (uint32_t m = 0; m < CONFIG_MEASUREMENTS_MAX; m++)
		sample_rows(&epoch->measurements[m], rows, METRICS_TOP_MAX);
	take(metrics, epoch);
	for (uint32_t i = 0; i < 20; i++) {
		double ms;

		clock_gettime(CLOCK_MONOTONIC, &before);
		text = answer_of(metrics, "/metrics", OPENMETRICS);
		clock_gettime(CLOCK_MONOTONIC, &after);
		ms = (double)(after.tv_sec - before.tv_sec) * 1e3 +
		     (double)(after.tv_nsec - before.tv_nsec) / 1e6;
		best = ms < best ? ms : best;
		if (i > 0)
			text_free(&text);
		else {
			for (const char *at = text.data; *at != '\0'; at++)
				samples += *at == '\n' && at[1] != '#';
			text_free(&text);
		}
	}
	assert_in_range(samples, 9000, 11000);
	print_message("# %llu series: %.2f ms\n", (unsigned long long)samples, best);
	destroy(metrics);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counters_are_sums_of_epochs),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_measurements_change),
		cmocka_unit_test(test_labels_are_escaped_and_bounded),
		cmocka_unit_test(test_parts_of_a_run),
		cmocka_unit_test(test_exporters),
		cmocka_unit_test(test_both_formats),
		cmocka_unit_test(test_rows_keep_to_the_rules),
		cmocka_unit_test(test_docs_are_the_table),
		cmocka_unit_test(test_accept),
		cmocka_unit_test(test_health),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_two_threads),
		cmocka_unit_test(test_many_series),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
