/* SPDX-License-Identifier: BSD-3-Clause */

/* Changes of a configuration by requests, and by reading its file again. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "commands/commands.h"
#include "config/config_change.h"
#include "sketch/flow_table/flow_table.h"
#include "sketch/measurement.h"

static char path[] = "/tmp/sketchtap-change-XXXXXX";
static char width[] = "--width=2048", source[] = "--synthetic=packets=1", program[] = "sketchtap",
	    config_option[] = "--config";
static char *const arguments[] = {program, source, config_option, path, width};
#define NB_ARGUMENTS (int)(sizeof(arguments) / sizeof(arguments[0]))

static void write_file(const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static struct config load(const char *text)
{
	struct config config;

	write_file(text);
	assert_int_equal(config_load(&config, &commands, NB_ARGUMENTS, arguments, stdout, stderr),
		CONFIG_OK);
	return config;
}

static struct config change(const struct config *running, const char *words)
{
	char error[CONFIG_ERROR_MAX];
	struct config config;

	if (config_change(&config, running, words, error) != CONFIG_OK)
		fail_msg("%s: %s", words, error);
	return config;
}

static void assert_refused(const struct config *running, const char *words, const char *mentions)
{
	char error[CONFIG_ERROR_MAX] = "";
	struct config config;

	assert_int_equal(config_change(&config, running, words, error), CONFIG_EXIT_2);
	if (strstr(error, mentions) == NULL || strchr(error, '\n') != NULL)
		fail_msg("%s: '%s' does not contain '%s'", words, error, mentions);
}

static void test_words(void **state)
{
	struct config first = load("top = 7\n[measurement a]\nkey = src\n"), next, last;

	(void)state;
	/* Requests during the run take precedence over the command line. */
	next = change(&first, "add b key=dst/16 width=1024 count=bytes");
	assert_int_equal(next.nb_measurements, 2);
	assert_string_equal(next.measurements[0].name, "a");
	assert_int_equal(measurement_options(&next.measurements[0])->width, 2048);
	assert_string_equal(next.measurements[1].name, "b");
	assert_string_equal(measurement_options(&next.measurements[1])->key.name, "dst/16");
	assert_int_equal(measurement_options(&next.measurements[1])->width, 1024);
	assert_int_equal(measurement_options(&next.measurements[1])->top, 7);
	assert_int_equal(measurement_options(&next.measurements[1])->count, SKETCH_BYTES);
	assert_false(config_measures_same(&first, &next));
	last = change(&next, "remove a");
	config_free(&next);
	/* The strings belong to this configuration. */
	assert_int_equal(last.nb_measurements, 1);
	assert_string_equal(last.measurements[0].name, "b");
	assert_string_equal(measurement_options(&last.measurements[0])->key.name, "dst/16");
	config_free(&last);
	config_free(&first);
}

static void test_taken_back(void **state)
{
	struct config first = load("[measurement a]\nkey = src\n[measurement b]\n"), next, last;

	(void)state;
	next = change(&first, " change a  memory=8MB\ttop=3 ");
	assert_int_equal(measurement_options(&next.measurements[0])->memory, 8 << 20);
	assert_int_equal(measurement_options(&next.measurements[0])->width, 0);
	assert_int_equal(measurement_options(&next.measurements[0])->top, 3);
	assert_int_equal(measurement_options(&next.measurements[1])->width, 2048);
	/* A word replaces an earlier word of the same option; a word without a value removes it. */
	last = change(&next, "change a width=512 top= key=");
	assert_int_equal(measurement_options(&last.measurements[0])->memory, 0);
	assert_int_equal(measurement_options(&last.measurements[0])->width, 512);
	assert_int_equal(measurement_options(&last.measurements[0])->top, 100);
	assert_string_equal(measurement_options(&last.measurements[0])->key.name, "5tuple");
	config_free(&last);
	last = change(&next, "change a memory= top=");
	assert_true(config_measures_same(&first, &last));
	config_free(&last);
	config_free(&next);
	config_free(&first);
}

/* A run whose file names no measurement has one. */
static void test_without_sections(void **state)
{
	struct config first = load("top = 7\n"), next;

	(void)state;
	next = change(&first, "add b key=dst");
	assert_int_equal(next.nb_measurements, 2);
	assert_string_equal(next.measurements[0].name, "main");
	assert_int_equal(measurement_options(&next.measurements[0])->top, 7);
	config_free(&next);
	assert_refused(&first, "remove main", "measurement main: the last one");
	config_free(&first);
}

/* A value with parts, and an old option name, replace the earlier value. */
static void test_parts(void **state)
{
	struct config first =
		load("[measurement a]\nsketch = flow-table\nflow-detail = tcp,after=3\n");
	struct config next = change(&first, "change a flow-detail=rate,max=50");
	const struct measurement_config *a = &next.measurements[0];

	(void)state;
	assert_int_equal(flow_table_options(a)->deep, FLOW_RATE);
	assert_int_equal(flow_table_options(a)->deep_after, 16);
	assert_int_equal(flow_table_options(a)->deep_flows, 50);
	assert_false(config_measures_same(&first, &next));
	config_free(&first);
	first = change(&next, "change a deep=tcp");
	assert_int_equal(flow_table_options(&first.measurements[0])->deep, FLOW_TCP);
	assert_int_equal(flow_table_options(&first.measurements[0])->deep_flows, 0);
	config_free(&next);
	next = change(&first, "change a flow-detail=");
	assert_int_equal(flow_table_options(&next.measurements[0])->deep, FLOW_COUNT);
	assert_int_equal(flow_table_options(&next.measurements[0])->deep_after, 16);
	assert_refused(&next, "change a flow-detail=rate,after=0", "flow-detail after: '0'");
	config_free(&first);
	config_free(&next);
}

static void test_refused(void **state)
{
	static const struct {
		const char *words, *mentions;
	} rows[] = {
		{"", "write add, change or remove"},
		{"add", "write add, change or remove"},
		{"forget a", "'forget': unknown command"},
		{"add a", "exists already"},
		{"add a/b", "not a name of a measurement"},
		{"change b top=1", "'b': no such measurement"},
		{"change a top", "'top': not KEY=VALUE"},
		{"change a =src", "'=src': no key before ="},
		{"change a =", "'=': no key before ="},
		{"change a widht=1", "widht: unknown key; did you mean width?"},
		{"change a workers=2", "workers: applies to the whole run"},
		{"change a help=all", "help: only for the command line"},
		{"change a config=/etc/passwd", "config: only for the command line"},
		{"change a width=1000", "width: 1000: not a power of two"},
		{"change a top=1 top=2", "top: given twice"},
		{"change a width=1024 memory=1MB", "memory: contradicts width"},
		{"change a idle-timeout=1s", "idle-timeout: has no effect"},
	};
	struct config first = load("[measurement a]\n");

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_refused(&first, rows[i].words, rows[i].mentions);
	config_free(&first);
}

static void test_too_many(void **state)
{
	struct config config = load("[measurement a]\n");

	(void)state;
	for (int i = 1; i < CONFIG_MEASUREMENTS_MAX; i++) {
		struct config next;
		char words[32];

		snprintf(words, sizeof(words), "add m%d", i);
		next = change(&config, words);
		config_free(&config);
		config = next;
		assert_int_equal(config.nb_measurements, i + 1);
	}
	assert_refused(&config, "add more", "measurement more: one too many");
	config_free(&config);
}

static void test_read_again(void **state)
{
	struct config first = load("top = 7\nmax-loss = 50%\n[measurement a]\n"), next;
	char error[CONFIG_ERROR_MAX];

	(void)state;
	assert_int_equal(config_read_again(&next, &first, error), CONFIG_OK);
	assert_true(config_measures_same(&first, &next));
	config_free(&next);
	/* Lines and comments make no difference; options for all measurements do. */
	write_file("; more\n[measurement a]\n[sketchtap]\nmax-loss = 50%\ntop = 7\n");
	assert_int_equal(config_read_again(&next, &first, error), CONFIG_OK);
	assert_true(config_measures_same(&first, &next));
	config_free(&next);
	write_file("top = 8\nmax-loss = 50%\n[measurement a]\n");
	assert_int_equal(config_read_again(&next, &first, error), CONFIG_OK);
	assert_false(config_measures_same(&first, &next));
	config_free(&next);
	write_file("top = 7\nmax-loss = 51%\n[measurement a]\n");
	assert_int_equal(config_read_again(&next, &first, error), CONFIG_EXIT_2);
	assert_non_null(strstr(error, ":2: max-loss: cannot change during a run"));
	write_file("top = 7\n[measurement a]\n");
	assert_int_equal(config_read_again(&next, &first, error), CONFIG_EXIT_2);
	assert_non_null(strstr(error, "max-loss: removed"));
	/* The order of lines and the notation of a value make no difference. */
	write_file("max-loss = 0.5\ntop = 7\n[measurement a]\n");
	assert_int_equal(config_read_again(&next, &first, error), CONFIG_OK);
	assert_true(config_measures_same(&first, &next));
	config_free(&next);
	write_file("top = 7\nmax-loss = 50%\n[measurement a]\nkey = none\n");
	assert_int_equal(config_read_again(&next, &first, error), CONFIG_EXIT_2);
	assert_non_null(strstr(error, ":4: key: 'none'"));
	/* A missing file is a system error, not a mistake in the configuration. */
	assert_int_equal(unlink(path), 0);
	assert_int_equal(config_read_again(&next, &first, error), CONFIG_EXIT_1);
	assert_non_null(strstr(error, "No such file"));
	write_file("");
	config_free(&first);
}

/* Sections with keys of their own do not change when measurements change. */
static void test_other_sections(void **state)
{
	static const char text[] = "[export x]\nwhat = stats\nurl = a\n[measurement a]\n"
				   "[measurement b]\n[export y]\nwhat = queues\nurl = b\n";
	static const struct {
		const char *text, *mentions;
	} rows[] = {
		{"[export x]\nwhat = stats\nurl = a\n", "a section was removed"},
		{"[export x]\nwhat = stats\nurl = a\n[export z]\nwhat = queues\nurl = b\n",
			":4: [export z]: cannot be added during a run"},
		{"[export x]\nwhat = stats\nurl = a\n[export y]\nwhat = queues\nurl = c\n",
			":6: url: cannot change during a run"},
	};
	struct config first = load(text), next;
	char error[CONFIG_ERROR_MAX];

	(void)state;
	next = change(&first, "remove a");
	assert_int_equal(next.nb_measurements, 1);
	assert_int_equal(next.nb_named, 2);
	assert_string_equal(next.named[1].title, "[export y]");
	assert_int_equal(config_named_line(&next, &next.named[1], "url"), 8);
	config_free(&next);
	write_file("[export y]\nurl = b\nwhat = queues\n[measurement a]\ntop = 3\n"
		   "[export x]\nurl = a\nwhat = stats\n");
	assert_int_equal(config_read_again(&next, &first, error), CONFIG_OK);
	config_free(&next);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		write_file(rows[i].text);
		assert_int_equal(config_read_again(&next, &first, error), CONFIG_EXIT_2);
		if (strstr(error, rows[i].mentions) == NULL)
			fail_msg("'%s' does not contain '%s'", error, rows[i].mentions);
	}
	config_free(&first);
}

static int make_file(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	return fd >= 0 ? close(fd) : -1;
}

static int remove_file(void **state)
{
	(void)state;
	return unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_taken_back),
		cmocka_unit_test(test_without_sections),
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_too_many),
		cmocka_unit_test(test_other_sections),
		cmocka_unit_test(test_read_again),
	};

	return cmocka_run_group_tests(tests, make_file, remove_file);
}
