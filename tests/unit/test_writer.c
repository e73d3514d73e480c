/* SPDX-License-Identifier: BSD-3-Clause */

/* The writer thread and its files: numbering, refusals, full disks, closed and blocked pipes. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/units.h"
#include "report/rows/rows.h"
#include "report/sinks/sink_queue.h"
#include "report/sinks/output_file.h"
#include "report/sinks/writer.h"
#include "print_output.h"
#include "sample_epoch.h"

#define TO(file)                                                                                   \
	{                                                                                          \
		.texts = {file}, .n = 1                                                            \
	}

/* Makes a configuration with these options of the writer. */
#define OPTIONS(...) make_config((struct writer_options){__VA_ARGS__})

static struct config make_config(struct writer_options options)
{
	struct config config = {0};

	*edit_writer_options(&config) = options;
	return config;
}
#define ROWS 3 /* rows per epoch, unless a test states otherwise */

/* Lines that the writer logged in this test. */
static struct {
	pthread_mutex_t lock;
	char lines[64][256];
	bool warning[64];
	int n;
} said = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void hear(bool warning, const char *line, void *arg)
{
	(void)arg;
	pthread_mutex_lock(&said.lock);
	if (said.n < 64) {
		snprintf(said.lines[said.n], sizeof(said.lines[0]), "%s", line);
		said.warning[said.n++] = warning;
	}
	pthread_mutex_unlock(&said.lock);
}

static int times_unread; /* written by the writer's thread until it is joined */

static void count_unread(void)
{
	times_unread++;
}

static const struct sink_log sink_log = {.log = hear, .unread = count_unread};

/* Returns the number of logged lines with this part, as warning or as notice. */
static int times_said(bool warning, const char *part)
{
	int times = 0;

	pthread_mutex_lock(&said.lock);
	for (int i = 0; i < said.n; i++)
		times += said.warning[i] == warning && strstr(said.lines[i], part) != NULL;
	pthread_mutex_unlock(&said.lock);
	return times;
}

static char folder[] = "/tmp/sketchtap-writer-XXXXXX";
static char out[64], stats[64], aside[64];

static int clean(void **state)
{
	(void)state;
	unlink(out);
	unlink(stats);
	unlink(aside);
	rmdir(out);
	said.n = 0;
	return 0;
}

static int make_folder(void **state)
{
	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	if (mkdtemp(folder) == NULL)
		return -1;
	snprintf(out, sizeof(out), "%s/out.csv", folder);
	snprintf(stats, sizeof(stats), "%s/stats.csv", folder);
	snprintf(aside, sizeof(aside), "%s/aside.csv", folder);
	return 0;
}

static int remove_folder(void **state)
{
	clean(state);
	return rmdir(folder);
}

/* Returns the whole file as a string, or NULL if it does not exist. */
static char *slurp(const char *name)
{
	struct stat st;
	int fd = open(name, O_RDONLY);
	char *content;

	if (fd < 0)
		return NULL;
	assert_int_equal(fstat(fd, &st), 0);
	content = calloc(1, (size_t)st.st_size + 1);
	assert_non_null(content);
	assert_int_equal(read(fd, content, (size_t)st.st_size), st.st_size);
	close(fd);
	return content;
}

static void put(const char *name, const char *content)
{
	FILE *file = fopen(name, "w");

	assert_non_null(file);
	assert_true(fputs(content, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void assert_file(const char *name, const char *expected)
{
	char *content = slurp(name);

	assert_non_null(content);
	assert_string_equal(content, expected);
	free(content);
}

static void assert_no_file(const char *name)
{
	assert_int_equal(access(name, F_OK), -1);
}

static struct report_epoch *epoch_of(uint64_t number, uint32_t nb_rows)
{
	struct report_epoch *epoch = sample_epoch(number, 1);
	struct report_row *rows = calloc(nb_rows, sizeof(*rows));

	assert_non_null(rows);
	for (uint32_t r = 0; r < nb_rows; r++)
		rows[r] = (struct report_row){
			.key = sample_key4("10.0.0.1", (uint16_t)r, "10.0.0.2", 443, 6),
			.packets = sample_figure(1, 1, 1),
			.bytes = sample_figure(60, 60, 60),
		};
	sample_rows(&epoch->measurements[0], rows, nb_rows);
	free(rows);
	return epoch;
}

/* Returns header and epochs first..last of an output, as a string that the caller frees. */
static char *expected_text(const struct output *output, bool header, int first, int last)
{
	struct text text = {0};

	if (header)
		print_header(&text, &format_csv, output, 0);
	for (int number = first; number <= last; number++) {
		struct report_epoch *epoch = epoch_of((uint64_t)number, ROWS);

		print_epoch(&text, &format_csv, output, epoch);
		report_epoch_free(epoch);
	}
	text_char(&text, '\0');
	return text.data;
}

static void assert_csv(const char *name, const struct output *output, int first, int last)
{
	char *expected = expected_text(output, true, first, last);

	assert_file(name, expected);
	free(expected);
}

static void put_csv(const char *name, const struct output *output, int first, int last)
{
	char *content = expected_text(output, true, first, last);

	put(name, content);
	free(content);
}

static struct writer *open_ok(const struct config *config, uint64_t expected_first)
{
	char error[WRITER_ERROR_MAX] = "";
	uint64_t first = 12345;
	int status = -1;
	struct writer *writer = writer_open(config, &sink_log, &first, &status, error);

	if (writer == NULL)
		fail_msg("%s", error);
	assert_int_equal(status, 0);
	assert_int_equal(first, expected_first);
	return writer;
}

/* Asserts that the error is one line with all of the parts (up to NULL). */
static void assert_refused(const struct config *config, int expected_status, ...)
{
	char error[WRITER_ERROR_MAX] = "";
	uint64_t first;
	int status = -1;
	const char *part;
	va_list parts;

	assert_null(writer_open(config, &sink_log, &first, &status, error));
	assert_int_equal(status, expected_status);
	assert_null(strchr(error, '\n'));
	va_start(parts, expected_status);
	while ((part = va_arg(parts, const char *)) != NULL) {
		if (strstr(error, part) == NULL)
			fail_msg("\"%s\" does not contain \"%s\"", error, part);
	}
	va_end(parts);
}

/* Waits for room, as a replay does. */
static void push_one(struct writer *writer, struct report_epoch *epoch)
{
	while (!writer_wait(writer, epoch))
		;
	writer_push(writer, epoch);
}

static void push(struct writer *writer, int first, int last)
{
	for (int number = first; number <= last; number++)
		push_one(writer, epoch_of((uint64_t)number, ROWS));
}

/* --- Opening, numbering, refusing */

static void test_new_files(void **state)
{
	struct config config =
		OPTIONS(.rows[ROWS_HEAVY_HITTERS] = TO(out), .rows[ROWS_STATS] = TO(stats));
	struct writer *writer = open_ok(&config, 0);

	(void)state;
	push(writer, 0, 2);
	assert_int_equal(writer_close(writer), 0);
	assert_csv(out, &output_heavy_hitters, 0, 2);
	assert_csv(stats, &output_stats, 0, 2);
	assert_int_equal(said.n, 0);
}

/* Records go only to their file, during the epoch and at its end. */
static void test_flows(void **state)
{
	struct config config = OPTIONS(.rows[ROWS_HEAVY_HITTERS] = TO(out),
		.rows[ROWS_STATS] = TO(stats), .rows[ROWS_FLOWS] = TO(aside));
	struct writer *writer = open_ok(&config, 0);
	struct report_epoch *epoch = sample_flows(0);
	struct text text = {0};

	(void)state;
	print_header(&text, &format_csv, &output_flows, 0);
	print_epoch(&text, &format_csv, &output_flows, epoch);
	print_epoch(&text, &format_csv, &output_flows, epoch);
	text_char(&text, '\0');
	push_one(writer, epoch);
	push_one(writer, sample_flows(0));
	push(writer, 0, 0);
	assert_int_equal(writer_close(writer), 0);
	assert_csv(out, &output_heavy_hitters, 0, 0);
	assert_csv(stats, &output_stats, 0, 0);
	assert_file(aside, text.data);
	text_free(&text);

	edit_writer_options(&config)->append = true;
	assert_int_equal(writer_close(open_ok(&config, 1)), 0);
}

/* There is room for all outputs. */
static void test_all_outputs(void **state)
{
	struct config config =
		OPTIONS(.rows[ROWS_HEAVY_HITTERS] = TO(out), .rows[ROWS_STATS] = TO(stats),
			.rows[ROWS_QUEUES] = TO(aside), .rows[ROWS_PREFIXES] = TO("/dev/null"),
			.rows[ROWS_FLOWS] = TO("/dev/null"), .format = FORMAT_TABLE);

	(void)state;
	assert_int_equal(writer_close(open_ok(&config, 0)), 0);
	assert_csv(out, &output_heavy_hitters, 0, -1);
}

/* Epochs first..last as JSON lines. */
static struct text json_text(int first, int last)
{
	struct text text = {0};

	for (int number = first; number <= last; number++) {
		struct report_epoch *epoch = epoch_of((uint64_t)number, ROWS);

		print_epoch(&text, &format_json, &output_heavy_hitters, epoch);
		report_epoch_free(epoch);
	}
	text_char(&text, '\0');
	return text;
}

/* A destination may be repeated, more often than there are kinds of rows. */
static void test_many_destinations(void **state)
{
	struct config config = OPTIONS(.rows[ROWS_STATS] = TO("json:/dev/null"));
	struct option_list *to = &edit_writer_options(&config)->rows[ROWS_HEAVY_HITTERS];
	char names[40][80];
	struct writer *writer;

	(void)state;
	for (to->n = 0; to->n < 40; to->n++) {
		snprintf(names[to->n], sizeof(names[0]), "csv:%s/many-%u", folder, to->n);
		to->texts[to->n] = names[to->n];
	}
	writer = open_ok(&config, 0);
	push(writer, 0, 2);
	assert_int_equal(writer_close(writer), 0);
	for (uint32_t d = 0; d < to->n; d++) {
		assert_csv(names[d] + strlen("csv:"), &output_heavy_hitters, 0, 2);
		unlink(names[d] + strlen("csv:"));
	}
}

/* Checks that a file of `written` epochs continues correctly after a kill or a power failure. */
static void assert_json_goes_on(int written, int cut, uint64_t marked, uint64_t expected_first)
{
	char name[80];
	struct config config = OPTIONS(.append = true);
	struct text text = json_text(0, written - 1), whole = json_text(0, 3);
	struct text before = json_text(0, (int)marked - 1);
	struct writer *writer;
	int fd;

	snprintf(name, sizeof(name), "json:%s", out);
	edit_writer_options(&config)->rows[ROWS_HEAVY_HITTERS] = (struct option_list)TO(name);
	text.data[text.len - 1 - (size_t)cut] = '\0';
	put(out, text.data);
	fd = open(out, O_RDWR);
	output_mark_write(fd, &(struct output_mark){.whole = before.len - 1, .next = marked});
	close(fd);
	writer = open_ok(&config, expected_first);
	push(writer, (int)expected_first, 3);
	assert_int_equal(writer_close(writer), 0);
	assert_file(out, whole.data);
	unlink(out);
	text_free(&text);
	text_free(&whole);
	text_free(&before);
}

/* Ends within an epoch, after one, within a row, or before the mark. */
static void test_json_append(void **state)
{
	(void)state;
	assert_json_goes_on(3, 0, 3, 3);
	assert_json_goes_on(3, 0, 2, 2);
	assert_json_goes_on(3, 10, 2, 2);
	assert_json_goes_on(3, 500, 2, 2);
	assert_json_goes_on(3, 10, 3, 2);
	assert_json_goes_on(1, 0, 0, 0);
	assert_json_goes_on(1, 10, 1, 0); /* its only epoch is removed */
}

static void test_no_epochs(void **state)
{
	struct config config = OPTIONS(.rows[ROWS_HEAVY_HITTERS] = TO(out), .format = FORMAT_CSV);

	(void)state;
	assert_int_equal(writer_close(open_ok(&config, 0)), 0);
	assert_csv(out, &output_heavy_hitters, 0, -1);
	assert_no_file(stats);
}

static void test_existing_file_is_refused(void **state)
{
	struct config config =
		OPTIONS(.rows[ROWS_HEAVY_HITTERS] = TO(out), .rows[ROWS_STATS] = TO(stats));

	(void)state;
	put(stats, "precious\n");
	assert_refused(&config, 2, stats, "--stats", "--append", "--force", NULL);
	assert_file(stats, "precious\n");
	assert_no_file(out); /* created first, and removed */
}

static int lock_all(int fd, short type)
{
	return fcntl(fd, F_OFD_SETLK, &(struct flock){.l_type = type});
}

/*
 * Readers may lock the file, which neither blocks nor fails a run; only a lock of another run does.
 */
static void test_locks_of_readers(void **state)
{
	struct config config = OPTIONS(.rows[ROWS_HEAVY_HITTERS] = TO(out), .append = true);
	uint64_t epoch = 0;

	(void)state;
	put(out, "");
	for (int kind = 0; kind < 4; kind++) {
		int fd = open(out, O_RDONLY);
		struct writer *writer;

		if (kind == 1)
			assert_int_equal(flock(fd, LOCK_SH), 0);
		if (kind == 2)
			assert_int_equal(flock(fd, LOCK_EX), 0);
		if (kind == 3)
			assert_int_equal(lock_all(fd, F_RDLCK), 0);
		writer = open_ok(&config, epoch);
		if (kind != 3) /* this lock hides that of a run, and is logged */
			assert_refused(&config, 1, out, "another run", NULL);
		push(writer, (int)epoch, (int)epoch);
		assert_int_equal(writer_close(writer), 0);
		assert_int_equal(times_said(true, "locked by a reader"), kind == 3);
		epoch++;
		close(fd);
	}
	assert_csv(out, &output_heavy_hitters, 0, 3);
}

/* A run that is refused because of one file does not touch the other, in any order. */
static void test_force_and_a_file_in_use(void **state)
{
	struct config config = OPTIONS(.rows[ROWS_HEAVY_HITTERS] = TO(out),
		.rows[ROWS_STATS] = TO(stats), .force = true);
	const char *const files[] = {out, stats};

	(void)state;
	for (int taken = 0; taken < 2; taken++) {
		int fd;

		put(out, "kept\n");
		put(stats, "kept, too\n");
		fd = open(files[taken], O_RDWR);
		assert_int_equal(lock_all(fd, F_WRLCK), 0);
		assert_refused(&config, 1, files[taken], "another run", NULL);
		close(fd);
		assert_file(out, "kept\n");
		assert_file(stats, "kept, too\n");
	}
}

static struct output_file file_of(const char *name)
{
	return (struct output_file){
		.name = name, .option = "--output", .sink_log = &sink_log, .fd = -1};
}

/* A file that a run created and abandons may belong to another run by now. */
static void test_abandoned_file_of_another(void **state)
{
	struct output_file creator = file_of(out), other = file_of(out);
	char error[WRITER_ERROR_MAX];

	(void)state;
	assert_int_equal(output_file_open(&creator, OUTPUT_APPEND, error, sizeof(error)), 0);
	assert_int_equal(output_file_open(&other, OUTPUT_FORCE, error, sizeof(error)), 0);
	assert_int_equal(output_file_lock(&other, error, sizeof(error)), 0);
	output_file_abandon(&creator);
	assert_file(out, "");
	output_file_close(&other);
	unlink(out);
	/* In the other order, the other run learns that its file was removed. */
	creator = file_of(out);
	other = file_of(out);
	assert_int_equal(output_file_open(&creator, OUTPUT_APPEND, error, sizeof(error)), 0);
	assert_int_equal(output_file_open(&other, OUTPUT_FORCE, error, sizeof(error)), 0);
	output_file_abandon(&creator);
	assert_no_file(out);
	assert_int_equal(output_file_lock(&other, error, sizeof(error)), 1);
	assert_non_null(strstr(error, "removed"));
	output_file_close(&other);
}

static void test_force(void **state)
{
	struct config config = OPTIONS(.rows[ROWS_HEAVY_HITTERS] = TO(out),
		.rows[ROWS_STATS] = TO(stats), .force = true);
	struct writer *writer;

	(void)state;
	put(out, "something long that has to go\n");
	writer = open_ok(&config, 0);
	push(writer, 0, 0);
	assert_int_equal(writer_close(writer), 0);
	assert_csv(out, &output_heavy_hitters, 0, 0);
	assert_csv(stats, &output_stats, 0, 0);
	assert_int_equal(said.n, 0);
}

static void test_nothing_is_destroyed_when_another_fails(void **state)
{
	struct config config = OPTIONS(.rows[ROWS_HEAVY_HITTERS] = TO(out),
		.rows[ROWS_STATS] = TO(folder), .force = true);
	char missing[80];

	(void)state;
	put(out, "precious\n");
	assert_refused(&config, 1, folder, "is a directory", NULL);
	assert_file(out, "precious\n");

	snprintf(missing, sizeof(missing), "%s/missing/x.csv", folder);
	edit_writer_options(&config)->rows[ROWS_STATS] = (struct option_list)TO(missing);
	assert_refused(&config, 1, missing, "No such file or directory", NULL);
	assert_file(out, "precious\n");
}

static void test_unwritable_folder(void **state)
{
	struct config config = OPTIONS(.rows[ROWS_HEAVY_HITTERS] = TO(out));

	(void)state;
	if (geteuid() == 0 && seteuid(65534) != 0) { /* root may write anywhere */
		print_message("no other user to be had: skipped\n");
		skip();
	}
	chmod(folder, 0500);
	assert_refused(&config, 1, out, "Permission denied", NULL);
	if (getuid() == 0)
		assert_int_equal(seteuid(0), 0);
	chmod(folder, 0700);
}

static void test_two_outputs_in_one_file(void **state)
{
	struct config config =
		OPTIONS(.rows[ROWS_HEAVY_HITTERS] = TO(out), .rows[ROWS_STATS] = TO(out));
	struct writer *writer;

	(void)state;
	assert_refused(&config, 2, out, "--output", "--stats", NULL);
	assert_no_file(out);

	edit_writer_options(&config)->rows[ROWS_HEAVY_HITTERS] = (struct option_list)TO("-");
	edit_writer_options(&config)->rows[ROWS_STATS] = (struct option_list)TO("/dev/stdout");
	assert_refused(&config, 2, "--output", "--stats", NULL);

	config = OPTIONS(.rows[ROWS_HEAVY_HITTERS] = TO(out), .rows[ROWS_STATS] = TO("-"),
		.format = FORMAT_TABLE);
	assert_refused(&config, 2, "--stats", "--format table", NULL);

	config = OPTIONS(.rows[ROWS_HEAVY_HITTERS] = TO(out), .rows[ROWS_STATS] = TO(aside),
		.append = true);
	put(out, "");
	assert_int_equal(symlink(out, aside), 0);
	assert_refused(&config, 1, out, NULL);

	config = OPTIONS(.rows[ROWS_HEAVY_HITTERS] = TO("/dev/null"),
		.rows[ROWS_STATS] = TO("/dev/null"));
	writer = open_ok(&config, 0);
	push(writer, 0, 1);
	assert_int_equal(writer_close(writer), 0);
}

static void test_append(void **state)
{
	struct config config = OPTIONS(.rows[ROWS_HEAVY_HITTERS] = TO(out),
		.rows[ROWS_STATS] = TO(stats), .append = true);
	char *before, *after, *whole;
	struct writer *writer;

	(void)state;
	put_csv(out, &output_heavy_hitters, 0, 4);
	put_csv(stats, &output_stats, 0, 9); /* the higher number counts */
	writer = open_ok(&config, 10);
	push(writer, 10, 11);
	assert_int_equal(writer_close(writer), 0);
	assert_csv(stats, &output_stats, 0, 11);
	before = expected_text(&output_heavy_hitters, true, 0, 4);
	after = expected_text(&output_heavy_hitters, false, 10, 11);
	whole = calloc(1, strlen(before) + strlen(after) + 1);
	assert_non_null(whole);
	strcat(strcpy(whole, before), after);
	assert_file(out, whole);
	free(before);
	free(after);
	free(whole);
	assert_int_equal(said.n, 0);
}

static void test_append_to_nothing(void **state)
{
	struct config config = OPTIONS(.rows[ROWS_HEAVY_HITTERS] = TO(out),
		.rows[ROWS_STATS] = TO(stats), .append = true);
	struct writer *writer;

	(void)state;
	put(stats, "");
	writer = open_ok(&config, 0);
	assert_int_equal(writer_close(writer), 0);
	assert_csv(out, &output_heavy_hitters, 0, -1);
	assert_csv(stats, &output_stats, 0, -1);

	writer = open_ok(&config, 0); /* only headers exist */
	push(writer, 0, 1);
	assert_int_equal(writer_close(writer), 0);
	assert_csv(out, &output_heavy_hitters, 0, 1);
}

static void test_append_cuts_half_a_row(void **state)
{
	struct config config = OPTIONS(.rows[ROWS_HEAVY_HITTERS] = TO(out), .append = true);
	char *content = expected_text(&output_heavy_hitters, true, 0, 4);
	size_t len = strlen(content), header = strcspn(content, "\n") + 1;

	(void)state;
	/* Truncated by a crash: within the last row of epoch 4, and within the header. */
	for (size_t cut = 1; cut <= 60; cut += 7) {
		struct writer *writer;

		content[len - cut] = '\0';
		put(out, content);
		said.n = 0;
		writer = open_ok(&config, 5);
		assert_int_equal(times_said(true, "unfinished last row"), 1);
		assert_int_equal(times_said(true, out), 1);
		assert_int_equal(writer_close(writer), 0);
		*(strrchr(content, '\n') + 1) = '\0';
		assert_file(out, content);
		free(content);
		content = expected_text(&output_heavy_hitters, true, 0, 4);
	}
	for (size_t cut = 1; cut < header; cut += 11) {
		struct writer *writer;

		content[header - cut] = '\0';
		put(out, content);
		writer = open_ok(&config, 0);
		push(writer, 0, 0);
		assert_int_equal(writer_close(writer), 0);
		assert_csv(out, &output_heavy_hitters, 0, 0);
		free(content);
		content = expected_text(&output_heavy_hitters, true, 0, 4);
	}
	free(content);
}

/* --- State after a kill */

/* Runs the epochs up to `last` and exits without closing once all are written. */
static void run_and_kill(const struct config *config, int last)
{
	char *expected = expected_text(&output_stats, true, 0, last);
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (child == 0) {
		uint64_t first;
		char error[WRITER_ERROR_MAX];
		struct writer *writer = writer_open(config, &sink_log, &first, &status, error);
		struct output_mark mark = {0};
		int fd = open(stats, O_RDONLY);
		struct stat st = {0};

		if (writer == NULL)
			_exit(1);
		push(writer, 0, last);
		/*
		 * The last output is marked last. Before its first epoch it has a mark, and then a
		 * header.
		 */
		while (!output_mark_read(fd, &mark) || mark.next < (uint64_t)(last + 1) ||
			fstat(fd, &st) != 0 || (size_t)st.st_size < strlen(expected))
			usleep(1000);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_file(stats, expected);
	free(expected);
}

/* Appends the state in the middle of an epoch: `rows` of its rows, and some bytes. */
static void put_rows(const char *name, int number, uint32_t rows, const char *rest)
{
	struct report_epoch *epoch = epoch_of((uint64_t)number, rows);
	struct text text = {0};
	int fd = open(name, O_WRONLY | O_APPEND);

	print_epoch(&text, &format_csv, &output_heavy_hitters, epoch);
	text_str(&text, rest);
	assert_int_equal(write(fd, text.data, text.len), text.len);
	close(fd);
	text_free(&text);
	report_epoch_free(epoch);
}

static void go_on_after_kill(const struct config *config, int next)
{
	struct writer *writer = open_ok(config, (uint64_t)next);

	push(writer, next, next + 1);
	assert_int_equal(writer_close(writer), 0);
}

/* Killed within a row, between two, or after the last one; and between two files. */
static void test_append_cuts_an_unfinished_epoch(void **state)
{
	struct config config = OPTIONS(.rows[ROWS_HEAVY_HITTERS] = TO(out),
		.rows[ROWS_STATS] = TO(stats), .append = true);
	const uint32_t rows[] = {0, 1, ROWS - 1, ROWS, 3000};
	const char *const rests[] = {"", "5", "5,main,2000"};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (size_t r = 0; r < sizeof(rests) / sizeof(rests[0]); r++) {
			bool unfinished = rows[i] > 0 || *rests[r] != '\0';

			run_and_kill(&config, 4);
			put_rows(out, 5, rows[i], rests[r]);
			go_on_after_kill(&config, 5);
			assert_csv(out, &output_heavy_hitters, 0, 6);
			assert_csv(stats, &output_stats, 0, 6);
			assert_int_equal(times_said(true, "unfinished last epoch"), unfinished);
			assert_int_equal(said.n, unfinished);
			clean(NULL);
		}
	}
}

/* Killed when all files had the epoch, but not all of them were marked. */
static void test_append_keeps_an_epoch_that_all_have(void **state)
{
	struct config config = OPTIONS(.rows[ROWS_HEAVY_HITTERS] = TO(out),
		.rows[ROWS_STATS] = TO(stats), .append = true);
	char *with_epoch = expected_text(&output_stats, true, 0, 5);
	const struct output_mark mark = {.whole = strlen(with_epoch), .next = 6};
	int fd;

	(void)state;
	run_and_kill(&config, 4);
	put_rows(out, 5, ROWS, "");
	put(stats, with_epoch);
	fd = open(stats, O_WRONLY);
	output_mark_write(fd, &mark);
	close(fd);
	go_on_after_kill(&config, 6);
	assert_csv(out, &output_heavy_hitters, 0, 7);
	assert_csv(stats, &output_stats, 0, 7);
	assert_int_equal(said.n, 0);
	free(with_epoch);
}

static uint64_t count_lines(const char *text)
{
	uint64_t lines = 0;

	for (; (text = strchr(text, '\n')) != NULL; text++)
		lines++;
	return lines;
}

/* Deliveries are written after the epoch is in all other files: a kill then leaves part of them. */
static void test_append_cuts_unfinished_deliveries(void **state)
{
	struct config config = OPTIONS(.rows[ROWS_HEAVY_HITTERS] = TO(out),
		.rows[ROWS_STATS] = TO(stats), .rows[ROWS_DELIVERIES] = TO(aside), .append = true);
	static const char half[] = "4,2026-11-20T13:52:44.000000Z,2026-11-20T13:52:45.000000Z,x,"
				   "stats,1,1,0,0,0,0,0,,0,0,9\n";
	char *content;
	int fd;

	(void)state;
	run_and_kill(&config, 4);
	fd = open(aside, O_WRONLY | O_APPEND);
	assert_int_equal(write(fd, half, strlen(half)), strlen(half));
	close(fd);
	go_on_after_kill(&config, 5);
	assert_csv(out, &output_heavy_hitters, 0, 6);
	content = slurp(aside);
	/* Two sinks in each epoch; nothing of the epoch before the kill. */
	assert_int_equal(count_lines(content), 1 + 2 * (4 + 2));
	assert_null(strstr(content, "\n4,"));
	assert_int_equal(times_said(true, "unfinished last epoch"), 1);
	free(content);
}

/*
 * The first epoch of a file whose mark is older than its header: kept completely, or removed and
 * logged.
 */
static void test_append_after_a_kill_in_the_first_epoch(void **state)
{
	struct config config = OPTIONS(.rows[ROWS_HEAVY_HITTERS] = TO(out),
		.rows[ROWS_STATS] = TO(stats), .append = true);
	char *with_epoch = expected_text(&output_stats, true, 0, 0);
	const struct output_mark mark = {.whole = strlen(with_epoch), .next = 1};
	int fd;

	(void)state;
	for (int all_have_it = 0; all_have_it <= 1; all_have_it++) {
		run_and_kill(&config, -1);
		put_rows(out, 0, ROWS, "");
		if (all_have_it) {
			put(stats, with_epoch);
			fd = open(stats, O_WRONLY);
			output_mark_write(fd, &mark);
			close(fd);
		}
		go_on_after_kill(&config, all_have_it);
		assert_csv(out, &output_heavy_hitters, 0, all_have_it + 1);
		assert_csv(stats, &output_stats, 0, all_have_it + 1);
		assert_int_equal(times_said(true, "unfinished last epoch"), !all_have_it);
		assert_int_equal(said.n, !all_have_it);
		clean(NULL);
	}
	free(with_epoch);
}

/* A power failure: the last rows are not on disk, although the mark is. */
static void test_append_to_a_file_that_is_shorter(void **state)
{
	struct config config = OPTIONS(.rows[ROWS_HEAVY_HITTERS] = TO(out),
		.rows[ROWS_STATS] = TO(stats), .append = true);
	char *expected = expected_text(&output_heavy_hitters, true, 0, 4);
	char *whole = expected_text(&output_heavy_hitters, true, 0, 3);
	size_t row = (strlen(expected) - strlen(whole)) / ROWS; /* all rows have this length */

	(void)state;
	for (size_t len = strlen(whole) + row; len < strlen(expected); len += 10) {
		run_and_kill(&config, 4);
		assert_int_equal(truncate(out, (off_t)len), 0);
		assert_int_equal(writer_close(open_ok(&config, 5)), 0);
		assert_csv(out, &output_heavy_hitters, 0, 3);
		assert_csv(stats, &output_stats, 0, 4);
		assert_int_equal(times_said(true, "unfinished last epoch"), 1);
		clean(NULL);
	}
	free(whole);
	free(expected);
}

/* Another program may append rows to a file that was closed normally. */
static void test_append_after_a_stranger(void **state)
{
	struct config config = OPTIONS(.rows[ROWS_HEAVY_HITTERS] = TO(out), .append = true);
	struct writer *writer = open_ok(&config, 0);

	(void)state;
	push(writer, 0, 0);
	assert_int_equal(writer_close(writer), 0);
	put_rows(out, 1, ROWS, "");
	go_on_after_kill(&config, 2);
	assert_csv(out, &output_heavy_hitters, 0, 3);
	assert_int_equal(said.n, 0);
}

/* The first epoch of a file just started by a rotation. */
static void test_append_after_a_kill_in_a_new_file(void **state)
{
	struct config config = OPTIONS(.rows[ROWS_HEAVY_HITTERS] = TO(out),
		.rows[ROWS_STATS] = TO(stats), .append = true, .rotate = {.size = 1 << 20});

	(void)state;
	run_and_kill(&config, -1);
	put_rows(out, 0, 2, "");
	go_on_after_kill(&config, 0);
	assert_csv(out, &output_heavy_hitters, 0, 1);
	assert_csv(stats, &output_stats, 0, 1);
}

/* If marks are not possible, this is logged when it matters. */
static void test_append_without_marks(void **state)
{
	char mounted[64], name[80];
	struct config config = OPTIONS(.rows[ROWS_HEAVY_HITTERS] = TO(name), .append = true);

	(void)state;
	if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) {
		print_message("mounting a file system is not permitted: skipped\n");
		skip();
	}
	snprintf(mounted, sizeof(mounted), "%s/ramfs", folder);
	snprintf(name, sizeof(name), "%s/out.csv", mounted);
	assert_int_equal(mkdir(mounted, 0700), 0);
	assert_int_equal(mount("ramfs", mounted, "ramfs", 0, NULL), 0);
	go_on_after_kill(&config, 0);
	assert_int_equal(said.n, 0);
	go_on_after_kill(&config, 2);
	assert_csv(name, &output_heavy_hitters, 0, 3);
	assert_int_equal(times_said(true, "no extended attributes"), 1);
	assert_int_equal(said.n, 1);
	assert_int_equal(umount(mounted), 0);
	assert_int_equal(rmdir(mounted), 0);
}

static void assert_append_refused(const char *content, const char *why)
{
	struct config config = OPTIONS(.rows[ROWS_HEAVY_HITTERS] = TO(out), .append = true);

	put(out, content);
	assert_refused(&config, 1, out, why, NULL);
	assert_file(out, content);
}

static void assert_last_row_refused(const char *row)
{
	struct text text = {0};

	print_header(&text, &format_csv, &output_heavy_hitters, 0);
	text_str(&text, row);
	text_char(&text, '\0');
	assert_append_refused(text.data, "interval number");
	text_free(&text);
}

static void test_append_to_a_stranger(void **state)
{
	char *content = expected_text(&output_stats, true, 0, 3);

	(void)state;
	assert_append_refused(content, "header");
	free(content);
	assert_append_refused("something else", "header");
	assert_append_refused("something else\nand more\n", "header");
	assert_last_row_refused("no number,x\n");
	assert_last_row_refused("\n");
	assert_last_row_refused("12\n");
}

/* A number must remain for every later epoch. */
static void test_append_to_large_numbers(void **state)
{
	struct config config = OPTIONS(.rows[ROWS_HEAVY_HITTERS] = TO(out), .append = true);
	struct text text = {0};

	(void)state;
	assert_last_row_refused("99999999999999999999999,x\n");
	assert_last_row_refused("18446744073709551615,x\n");
	assert_last_row_refused("18446744073709551614,x\n"); /* the next number could not be read */
	assert_last_row_refused("18446744073709551613,x\n");
	assert_last_row_refused("9223372036854775808,x\n");
	print_header(&text, &format_csv, &output_heavy_hitters, 0);
	text_str(&text, "9223372036854775807,x\n");
	text_char(&text, '\0');
	put(out, text.data);
	text_free(&text);
	assert_int_equal(writer_close(open_ok(&config, UINT64_C(9223372036854775808))), 0);
}

/* 3 GB, mostly a hole: only both ends are read. */
static void test_append_reads_the_tail_alone(void **state)
{
	struct config config = OPTIONS(.rows[ROWS_HEAVY_HITTERS] = TO(out), .append = true);
	static const char end[] = "\n4711,main,the rest of a row\n4712,ma";
	const off_t size = INT64_C(3) << 30;
	struct stat st;
	int fd;

	(void)state;
	put_csv(out, &output_heavy_hitters, 0, 0);
	fd = open(out, O_WRONLY);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, end, strlen(end), size), strlen(end));
	close(fd);
	assert_int_equal(writer_close(open_ok(&config, 4712)), 0);
	assert_int_equal(stat(out, &st), 0);
	assert_int_equal(st.st_size, size + (off_t)strlen(end) - (off_t)strlen("4712,ma"));
	assert_true(st.st_blocks < 1000);
}

/* --- Full disks */

/*
 * Asserts that every epoch is complete or missing, after one header. Returns the number of epochs.
 */
static int assert_whole_epochs(const char *name, int last)
{
	char *content = slurp(name), *expected, *at;
	int found = 0;

	assert_non_null(content);
	expected = expected_text(&output_heavy_hitters, true, 0, -1);
	assert_int_equal(strncmp(content, expected, strlen(expected)), 0);
	at = content + strlen(expected);
	free(expected);
	for (int number = 0; number <= last; number++) {
		expected = expected_text(&output_heavy_hitters, false, number, number);
		if (strncmp(at, expected, strlen(expected)) == 0) {
			at += strlen(expected);
			found++;
		}
		free(expected);
	}
	assert_string_equal(at, "");
	free(content);
	return found;
}

static void assert_full_disk(const char *name, const char *why, void (*make_room)(void))
{
	struct config config = OPTIONS(.rows[ROWS_HEAVY_HITTERS] = TO(name), .format = FORMAT_CSV);
	struct writer *writer = open_ok(&config, 0);
	int last = -1;
	uint64_t lost;

	while (times_said(true, why) == 0 && last < 5000) {
		last++;
		push(writer, last, last);
	}
	/* More than the queue holds, so that some are tried while the disk is full. */
	push(writer, last + 1, last + 2 * SINK_QUEUE_DEFAULT);
	last += 2 * SINK_QUEUE_DEFAULT;
	make_room();
	while (times_said(false, "resumed") == 0 && last < 10000) {
		last++;
		push(writer, last, last);
	}
	lost = writer_close(writer);
	assert_int_equal(times_said(true, why), 1);
	assert_int_equal(times_said(false, "resumed"), 1);
	assert_true(lost > 0);
	assert_int_equal(lost % ROWS, 0);
	assert_int_equal(assert_whole_epochs(name, last) + (int)(lost / ROWS), last + 1);
}

static void set_file_limit(rlim_t bytes)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void lift_file_limit(void)
{
	set_file_limit(RLIM_INFINITY);
}

static void test_file_limit(void **state)
{
	(void)state;
	set_file_limit(20011);
	assert_full_disk(out, "File too large", lift_file_limit);
}

static char filler[80];

static void remove_filler(void)
{
	unlink(filler);
}

/* In a separate mount namespace, so that no other process sees the file system. */
static void test_full_file_system(void **state)
{
	char mounted[64], name[80];
	int fd;

	(void)state;
	if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) {
		print_message("mounting a small tmpfs is not permitted: skipped\n");
		skip();
	}
	snprintf(mounted, sizeof(mounted), "%s/tmpfs", folder);
	snprintf(name, sizeof(name), "%s/out.csv", mounted);
	snprintf(filler, sizeof(filler), "%s/filler", mounted);
	assert_int_equal(mkdir(mounted, 0700), 0);
	assert_int_equal(mount("tmpfs", mounted, "tmpfs", 0, "size=4m"), 0);
	fd = open(filler, O_WRONLY | O_CREAT, 0600);
	assert_int_equal(posix_fallocate(fd, 0, (4 << 20) - 65536), 0);
	close(fd);

	assert_full_disk(name, "No space left on device", remove_filler);

	assert_int_equal(umount(mounted), 0);
	assert_int_equal(rmdir(mounted), 0);
}

/* The header also waits for room. */
static void test_full_from_the_start(void **state)
{
	(void)state;
	set_file_limit(10);
	assert_full_disk(out, "File too large", lift_file_limit);
}

/* If half a row cannot be removed, nothing is appended to it. */
static void test_half_row_that_stays(void **state)
{
	struct config config = OPTIONS(.force = true, .format = FORMAT_CSV);
	int fd = memfd_create("sealed", MFD_ALLOW_SEALING | MFD_CLOEXEC);
	struct writer *writer;
	char name[32], *content, *whole;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	snprintf(name, sizeof(name), "/dev/fd/%d", fd);
	edit_writer_options(&config)->rows[ROWS_HEAVY_HITTERS] = (struct option_list)TO(name);
	writer = open_ok(&config, 0);
	whole = expected_text(&output_heavy_hitters, true, 0, 9);
	set_file_limit(strlen(whole) + 200);
	push(writer, 0, 10);
	while (times_said(true, "cannot be removed") == 0)
		usleep(1000);
	lift_file_limit();
	push(writer, 11, 12);
	assert_int_equal(writer_close(writer), 3 * ROWS);
	assert_int_equal(said.n, 1);
	content = slurp(name);
	assert_int_equal(strlen(content), strlen(whole) + 200);
	assert_memory_equal(content, whole, strlen(whole));
	free(content);
	free(whole);
	close(fd);
}

/* An epoch without rows does not prove that the disk has room again. */
static void test_epochs_without_rows_resume_nothing(void **state)
{
	struct config config = OPTIONS(.rows[ROWS_HEAVY_HITTERS] = TO(out), .format = FORMAT_CSV);
	struct writer *writer = open_ok(&config, 0);
	char *written = expected_text(&output_heavy_hitters, true, 0, 1);

	(void)state;
	set_file_limit(strlen(written));
	push(writer, 0, 2);
	for (int number = 3; number < 10; number++) {
		push_one(writer, sample_epoch((uint64_t)number, 1));
		push(writer, number, number);
	}
	assert_int_equal(writer_close(writer), 8 * ROWS);
	lift_file_limit();
	assert_file(out, written);
	assert_int_equal(said.n, 1);
	free(written);
}

/* --- Pipes */

/* Opens a pipe and writes the name under which its write end can be opened. */
static void make_pipe(int fds[2], char name[32])
{
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	snprintf(name, 32, "/dev/fd/%d", fds[1]);
}

/* Reads a pipe until all writers have closed it. */
struct reader {
	int fd;
	pthread_t thread;
	struct text text;
};

static void *read_all(void *arg)
{
	struct reader *reader = arg;
	char bytes[4096];
	ssize_t n;

	while ((n = read(reader->fd, bytes, sizeof(bytes))) > 0)
		text_add(&reader->text, bytes, (size_t)n);
	return NULL;
}

static void start_reader(struct reader *reader, int fd)
{
	*reader = (struct reader){.fd = fd};
	assert_int_equal(pthread_create(&reader->thread, NULL, read_all, reader), 0);
}

/* Returns the text, which the caller frees. */
static char *stop_reader(struct reader *reader)
{
	pthread_join(reader->thread, NULL);
	text_char(&reader->text, '\0');
	assert_false(reader->text.failed);
	return reader->text.data;
}

static void test_closed_pipe(void **state)
{
	struct config config = OPTIONS(.rows[ROWS_STATS] = TO(stats));
	char name[32];
	struct writer *writer;
	int fds[2];

	(void)state;
	make_pipe(fds, name);
	edit_writer_options(&config)->rows[ROWS_HEAVY_HITTERS] = (struct option_list)TO(name);
	writer = open_ok(&config, 0);
	close(fds[1]);
	close(fds[0]);
	push(writer, 0, 99);
	assert_int_equal(writer_close(writer), 100 * ROWS);
	assert_int_equal(times_said(true, "closed by its reader"), 1);
	assert_int_equal(said.n, 1);
	assert_csv(stats, &output_stats, 0, 99); /* the other one continues */
}

#define LONG_EPOCH 3000 /* rows: several times the capacity of a pipe */

/*
 * The writer is blocked in its first epoch, the queue holds SINK_QUEUE_DEFAULT more, the rest is
 * dropped.
 */
static void test_blocked_pipe_drops(void **state)
{
	const int pushed = 3 * SINK_QUEUE_DEFAULT;
	struct config config = OPTIONS(.format = FORMAT_CSV);
	struct reader reader;
	struct writer *writer;
	char name[32], *content;
	uint64_t lost, lines;
	int fds[2];

	(void)state;
	make_pipe(fds, name);
	edit_writer_options(&config)->rows[ROWS_HEAVY_HITTERS] = (struct option_list)TO(name);
	writer = open_ok(&config, 0);
	writer_push(writer, epoch_of(0, LONG_EPOCH));
	for (int bytes = 0; bytes < 4096; usleep(1000)) /* until it writes rows */
		assert_int_equal(ioctl(fds[0], FIONREAD, &bytes), 0);
	for (int number = 1; number < pushed; number++)
		writer_push(writer, epoch_of((uint64_t)number, LONG_EPOCH));
	assert_int_equal(times_said(true, "does not keep up"), 1);
	assert_int_equal(said.n, 1);

	start_reader(&reader, fds[0]);
	push_one(writer, epoch_of((uint64_t)pushed, LONG_EPOCH));
	assert_int_equal(times_said(false, "keeps up again"), 1);
	close(fds[1]);
	lost = writer_close(writer);
	content = stop_reader(&reader);
	lines = count_lines(content) - 1;
	assert_int_equal(lost % LONG_EPOCH, 0);
	assert_int_equal(lost + lines, (uint64_t)(pushed + 1) * LONG_EPOCH);
	/* The first epoch, those in the queue, and the last one. */
	assert_int_equal(lines / LONG_EPOCH, SINK_QUEUE_DEFAULT + 2);
	free(content);
	close(fds[0]);
}

/*
 * A paced source waits for room once, and not at a sink that drops. At the end, the wait for the
 * reader is limited to seconds.
 */
static void test_wait_for_room(void **state)
{
	struct config config = OPTIONS(.format = FORMAT_CSV);
	struct writer *writer;
	struct report_epoch *epoch = epoch_of(2 * SINK_QUEUE_DEFAULT, LONG_EPOCH);
	char name[32];
	uint64_t lost;
	int64_t begin;
	int fds[2];

	(void)state;
	make_pipe(fds, name);
	edit_writer_options(&config)->rows[ROWS_HEAVY_HITTERS] = (struct option_list)TO(name);
	writer = open_ok(&config, 0);
	writer_bound_end(writer);
	writer_push(writer, epoch_of(0, LONG_EPOCH));
	for (int bytes = 0; bytes < 4096; usleep(1000)) /* until it writes rows */
		assert_int_equal(ioctl(fds[0], FIONREAD, &bytes), 0);
	for (uint64_t number = 1; number <= SINK_QUEUE_DEFAULT; number++) {
		writer_wait_for_room(writer, epoch, INT64_MAX / 2);
		writer_push(writer, epoch_of(number, LONG_EPOCH));
	}
	begin = clock_now(CLOCK_MONOTONIC);
	writer_wait_for_room(writer, epoch, SECOND_NS / 20);
	assert_true(clock_now(CLOCK_MONOTONIC) - begin >= SECOND_NS / 20);
	writer_push(writer, epoch_of(SINK_QUEUE_DEFAULT + 1, LONG_EPOCH));
	assert_int_equal(times_said(true, "does not keep up"), 1);
	for (uint64_t number = SINK_QUEUE_DEFAULT + 2; number < 2 * SINK_QUEUE_DEFAULT; number++) {
		writer_wait_for_room(writer, epoch, INT64_MAX / 2);
		writer_push(writer, epoch_of(number, LONG_EPOCH));
	}
	writer_wait_for_room(writer, epoch, INT64_MAX / 2);
	writer_push(writer, epoch);
	lost = writer_close(writer);
	assert_int_equal(lost, (2 * SINK_QUEUE_DEFAULT + 1) * LONG_EPOCH);
	close(fds[1]);
	close(fds[0]);
}

/* The maximum number of records waits; the rest is dropped by whole reports, and epochs are not. */
static void test_blocked_flows(void **state)
{
	const uint32_t reports = 4000, bound = 3000;
	struct config config = OPTIONS(.rows[ROWS_HEAVY_HITTERS] = TO(out), .format = FORMAT_CSV);
	struct reader reader;
	struct writer *writer;
	char name[32], *content;
	uint64_t lost, lines;
	int fds[2];

	(void)state;
	make_pipe(fds, name);
	fcntl(fds[0], F_SETPIPE_SZ, 4096);
	edit_writer_options(&config)->rows[ROWS_FLOWS] = (struct option_list)TO(name);
	writer = open_ok(&config, 0);
	writer_bound_flows(writer, bound);
	for (uint32_t r = 0; r < reports; r++)
		writer_push(writer, sample_flows(0));
	for (uint64_t number = 0; number < SINK_QUEUE_DEFAULT; number++)
		writer_push(writer, epoch_of(number, ROWS));
	assert_int_equal(times_said(true, "--flows does not keep up"), 1);
	assert_int_equal(said.n, 1);

	start_reader(&reader, fds[0]);
	push_one(writer, sample_flows(0));
	assert_int_equal(times_said(false, "--flows keeps up again"), 1);
	assert_int_equal(said.n, 2);
	close(fds[1]);
	lost = writer_close(writer);
	content = stop_reader(&reader);
	lines = count_lines(content) - 1;
	assert_int_equal(lost % 3, 0);
	assert_int_equal(lost + lines, 3 * (reports + 1));
	assert_in_range(lines, 3, bound + 100); /* includes the contents of the pipe */
	assert_csv(out, &output_heavy_hitters, 0, SINK_QUEUE_DEFAULT - 1);
	free(content);
	close(fds[0]);
}

/* Sums of columns over the delivery rows of an export; each row must balance. */
struct told {
	uint64_t rows, delivered, failed, dropped, waiting; /* waiting: in the last row */
	uint64_t lines;
};

static struct told deliveries_of(const char *content, const char *export)
{
	struct told sum = {0};

	for (const char *line = strchr(content, '\n'); line != NULL && line[1] != '\0';
		line = strchr(line + 1, '\n')) {
		unsigned long long rows, delivered, acknowledged, failed, unknown, dropped, waiting;
		char name[64], kind[32];

		assert_int_equal(
			sscanf(line + 1,
				"%*u,%*[^,],%*[^,],%63[^,],%31[^,],%llu,%llu,%llu,%llu,%llu,%llu,"
				"%*u,%llu",
				name, kind, &rows, &delivered, &acknowledged, &failed, &unknown,
				&dropped, &waiting),
			9);
		if (strcmp(name, export) != 0)
			continue;
		assert_int_equal(rows + sum.waiting,
			delivered + acknowledged + failed + unknown + dropped + waiting);
		sum.lines++;
		sum.rows += rows;
		sum.delivered += delivered;
		sum.failed += failed;
		sum.dropped += dropped;
		sum.waiting = waiting;
	}
	return sum;
}

/* A pipe without a reader blocks neither a file nor the delivery counts of both. */
static void test_blocked_pipe_and_files(void **state)
{
	const int pushed = 3 * SINK_QUEUE_DEFAULT;
	struct config config = OPTIONS(.rows[ROWS_STATS] = TO(stats),
		.rows[ROWS_DELIVERIES] = TO(aside), .format = FORMAT_CSV);
	struct reader reader;
	struct writer *writer;
	struct told told;
	char name[32], *content, *account;
	uint64_t lost, lines;
	int fds[2];

	(void)state;
	make_pipe(fds, name);
	edit_writer_options(&config)->rows[ROWS_HEAVY_HITTERS] = (struct option_list)TO(name);
	writer = open_ok(&config, 0);
	for (int number = 0; number < pushed; number++) {
		struct report_epoch *epoch = epoch_of((uint64_t)number, LONG_EPOCH);

		while (number < SINK_QUEUE_DEFAULT && !writer_wait(writer, epoch))
			;
		writer_push(writer, epoch);
		if (number >= SINK_QUEUE_DEFAULT) /* time for the disk: only the pipe is full */
			usleep(2000);
	}
	for (account = NULL;
		account == NULL || deliveries_of(account, stats).lines < 2 * SINK_QUEUE_DEFAULT;) {
		free(account);
		usleep(1000);
		account = slurp(aside);
	}
	told = deliveries_of(account, name);
	assert_int_equal(told.delivered, 0);
	assert_true(told.waiting > 0);
	free(account);

	start_reader(&reader, fds[0]);
	close(fds[1]);
	lost = writer_close(writer);
	content = stop_reader(&reader);
	lines = count_lines(content) - 1;
	account = slurp(aside);
	told = deliveries_of(account, name);
	assert_int_equal(told.lines, pushed);
	assert_int_equal(told.rows, (uint64_t)pushed * LONG_EPOCH);
	assert_int_equal(told.delivered, lines);
	assert_int_equal(told.waiting, 0);
	assert_true(told.dropped > 0);
	lost -= told.dropped;
	told = deliveries_of(account, stats);
	assert_int_equal(told.rows, pushed);
	assert_int_equal(told.waiting, 0);
	assert_int_equal(told.dropped, lost);
	assert_true(times_said(true, "does not keep up") > 0);
	free(account);
	free(content);
	close(fds[0]);
}

/* A sink that blocks until it is released. */
struct stall {
	pthread_mutex_t lock;
	atomic_bool begun; /* the thread has taken a report */
	uint64_t written, missed;
};

static void count_missed(void *place, const struct report_epoch *epoch)
{
	struct stall *stall = place;

	(void)epoch;
	stall->missed++;
}

static void write_when_free(void *place, const struct report_epoch *epoch)
{
	struct stall *stall = place;

	(void)epoch;
	atomic_store(&stall->begun, true);
	pthread_mutex_lock(&stall->lock);
	stall->written++;
	pthread_mutex_unlock(&stall->lock);
}

/* No kind of report takes room of the other, and each loss is logged once. */
static void test_accounts_have_a_bound(void **state)
{
	static const struct sink_queue_ops ops = {.write = write_when_free, .miss = count_missed};
	const int pushed = 4 * SINK_QUEUE_DEFAULT;
	struct stall stall = {.lock = PTHREAD_MUTEX_INITIALIZER};
	struct delivery of_stats = {.name = "s", .output = &output_stats};
	struct delivery of_all = {.name = "d", .output = &output_deliveries};
	struct delivery *deliveries[] = {&of_stats, &of_all};
	const struct sink_queue_params params = {.ops = &ops,
		.place = &stall,
		.name = "the disk",
		.deliveries = deliveries,
		.nb_deliveries = 2,
		.sink_log = &sink_log};
	struct sink_queue *queue = sink_queue_create(&params);
	uint64_t dropped;

	(void)state;
	assert_non_null(queue);
	pthread_mutex_lock(&stall.lock);
	assert_int_equal(sink_queue_start(queue), 0);
	for (int number = 0; number < pushed; number++) {
		struct report_epoch *told = report_epoch_alloc(0, 0),
				    *epoch = epoch_of((uint64_t)number, ROWS);

		told->deliveries_only = true;
		told->deliveries = calloc(1, sizeof(told->deliveries[0]));
		told->nb_deliveries = 1;
		sink_queue_push(queue, told);
		/* A report taken later would make room, and the next loss would be a new one. */
		while (!atomic_load(&stall.begun))
			usleep(1000);
		sink_queue_push(queue, epoch);
		report_epoch_free(told);
		report_epoch_free(epoch);
	}
	assert_int_equal(times_said(true, "--export deliveries does not keep up"), 1);
	assert_int_equal(times_said(true, "the disk does not keep up"), 1);
	assert_int_equal(said.n, 2);
	pthread_mutex_unlock(&stall.lock);
	dropped = sink_queue_end(queue);
	assert_int_equal(dropped, of_stats.dropped + of_all.dropped);
	assert_int_equal(dropped, stall.missed);
	assert_int_equal(dropped + stall.written, 2 * pushed);
	assert_int_equal(stall.written, 2 * SINK_QUEUE_DEFAULT + 1);
	sink_queue_free(queue);
}

struct sharer {
	struct sink_queue *sink_queue;
	int64_t shares[3];
	uint32_t n;
};

static void look_at_share(void *place, const struct report_epoch *epoch)
{
	struct sharer *sharer = place;

	(void)epoch;
	while (!sink_queue_ending(sharer->sink_queue))
		usleep(1000);
	sharer->shares[sharer->n++] = sink_queue_share(sharer->sink_queue);
}

/* The ten seconds at the end are shared by the waiting reports. */
static void test_shares(void **state)
{
	static const struct sink_queue_ops ops = {.write = look_at_share};
	struct report_epoch *epoch = epoch_of(0, ROWS);
	struct sharer sharer = {0};
	struct delivery of_stats = {.name = "s", .output = &output_stats};
	struct delivery *deliveries[] = {&of_stats};
	const struct sink_queue_params params = {.ops = &ops,
		.place = &sharer,
		.name = "the place",
		.deliveries = deliveries,
		.nb_deliveries = 1,
		.sink_log = &sink_log};
	const int64_t second = INT64_C(1000000000);

	(void)state;
	sharer.sink_queue = sink_queue_create(&params);
	assert_non_null(sharer.sink_queue);
	for (int e = 0; e < 3; e++)
		sink_queue_push(sharer.sink_queue, epoch);
	assert_int_equal(sink_queue_start(sharer.sink_queue), 0);
	assert_int_equal(sink_queue_end(sharer.sink_queue), 0);
	assert_int_equal(sharer.n, 3);
	for (int e = 0; e < 3; e++)
		assert_in_range(sharer.shares[e], 9 * second / (3 - e),
			10 * second / (3 - e) + second / 100);
	sink_queue_free(sharer.sink_queue);
	report_epoch_free(epoch);
}

/* Epochs that find the queue full but have no rows for the sink are not a loss. */
static void test_nothing_lost(void **state)
{
	static const struct sink_queue_ops ops = {.write = write_when_free, .miss = count_missed};
	struct report_epoch *epoch = epoch_of(0, 3); /* without records */
	struct stall stall = {.lock = PTHREAD_MUTEX_INITIALIZER};
	struct delivery of_flows = {.name = "f", .output = &output_flows};
	struct delivery *deliveries[] = {&of_flows};
	const struct sink_queue_params params = {.ops = &ops,
		.place = &stall,
		.name = "the place",
		.deliveries = deliveries,
		.nb_deliveries = 1,
		.sink_log = &sink_log};
	struct sink_queue *queue = sink_queue_create(&params);

	(void)state;
	assert_non_null(queue);
	pthread_mutex_lock(&stall.lock);
	assert_int_equal(sink_queue_start(queue), 0);
	for (int number = 0; number < 2 * SINK_QUEUE_DEFAULT; number++)
		sink_queue_push(queue, epoch);
	assert_true(stall.missed > 0);
	pthread_mutex_unlock(&stall.lock);
	sink_queue_settle(queue);
	sink_queue_push(queue, epoch);
	assert_int_equal(sink_queue_end(queue), 0);
	assert_int_equal(said.n, 0);
	sink_queue_free(queue);
	report_epoch_free(epoch);
}

/*
 * Epochs use limited memory, without affecting records; a single one may have any size. After a
 * loss the next one waits until half of the memory is free.
 */
static void test_epochs_are_bounded_in_bytes(void **state)
{
	static const struct sink_queue_ops ops = {.write = write_when_free, .miss = count_missed};
	const uint32_t rows = 1000;
	struct report_epoch *epoch = epoch_of(0, rows), *large = epoch_of(0, 100 * rows);
	struct report_epoch *flows = sample_flows(0);
	const size_t bytes = output_bytes(epoch);
	struct stall stall = {.lock = PTHREAD_MUTEX_INITIALIZER};
	struct delivery of_rows = {.name = "h", .output = &output_heavy_hitters};
	struct delivery of_flows = {.name = "f", .output = &output_flows};
	struct delivery *deliveries[] = {&of_rows, &of_flows};
	const struct sink_queue_params params = {.ops = &ops,
		.place = &stall,
		.name = "the place",
		.deliveries = deliveries,
		.nb_deliveries = 2,
		.queue = 4 * bytes + bytes / 2,
		.sink_log = &sink_log};
	struct sink_queue *queue = sink_queue_create(&params);

	(void)state;
	assert_in_range(bytes, rows * sizeof(struct report_row),
		rows * sizeof(struct report_row) + 10 * sizeof(struct report_measurement));
	assert_non_null(queue);
	sink_queue_bound_flows(queue, SIZE_MAX);
	pthread_mutex_lock(&stall.lock);
	assert_int_equal(sink_queue_start(queue), 0);
	sink_queue_push(queue, epoch);
	while (!atomic_load(&stall.begun))
		usleep(1000);
	for (int number = 0; number < 10; number++)
		sink_queue_push(queue, epoch);
	assert_int_equal(of_rows.dropped, 6 * rows);
	assert_false(sink_queue_wait(queue, epoch, clock_now(CLOCK_MONOTONIC) + 1000000));
	for (uint32_t n = 0; n < 100; n++)
		sink_queue_push(queue, flows);
	assert_int_equal(of_flows.dropped, 0);
	assert_int_equal(times_said(true, "the place does not keep up"), 1);
	pthread_mutex_unlock(&stall.lock);
	sink_queue_settle(queue);
	assert_int_equal(stall.written, 1 + 4 + 100);

	/* Larger than the limit: if nothing else waits. */
	pthread_mutex_lock(&stall.lock);
	atomic_store(&stall.begun, false);
	assert_true(sink_queue_wait(queue, large, INT64_MAX));
	sink_queue_push(queue, large);
	while (!atomic_load(&stall.begun))
		usleep(1000);
	assert_int_equal(times_said(false, "the place keeps up again; 6000 rows were lost"), 1);
	sink_queue_push(queue, large);
	sink_queue_push(queue, epoch);
	assert_int_equal(of_rows.dropped, 7 * rows);
	/* Not logged again within a minute. */
	assert_int_equal(times_said(true, "the place does not keep up"), 1);
	pthread_mutex_unlock(&stall.lock);
	assert_int_equal(sink_queue_end(queue), 7 * rows);
	assert_int_equal(stall.written, 1 + 4 + 100 + 2);
	sink_queue_free(queue);
	report_epoch_free(epoch);
	report_epoch_free(large);
	report_epoch_free(flows);
}

/* The limit of a section also applies to records, if it is below that of the run. */
static void test_records_have_the_smaller_bound(void **state)
{
	static const struct sink_queue_ops ops = {.write = write_when_free};
	struct report_epoch *flows = sample_flows(0);
	const size_t bytes = output_bytes(flows);
	const struct {
		size_t queue, run;
		uint64_t wait;
	} bounds[] = {{7 * bytes, SIZE_MAX, 7}, {7 * bytes, 3 * bytes, 3}, {0, 9 * bytes, 9}};

	(void)state;
	for (size_t b = 0; b < sizeof(bounds) / sizeof(bounds[0]); b++) {
		struct stall stall = {.lock = PTHREAD_MUTEX_INITIALIZER};
		struct delivery of_flows = {.name = "f", .output = &output_flows};
		struct delivery *delivery = &of_flows;
		const struct sink_queue_params params = {.ops = &ops,
			.place = &stall,
			.name = "the place",
			.deliveries = &delivery,
			.nb_deliveries = 1,
			.queue = bounds[b].queue,
			.sink_log = &sink_log};
		struct sink_queue *queue = sink_queue_create(&params);

		assert_non_null(queue);
		sink_queue_bound_flows(queue, bounds[b].run);
		pthread_mutex_lock(&stall.lock);
		assert_int_equal(sink_queue_start(queue), 0);
		sink_queue_push(queue, flows);
		while (!atomic_load(&stall.begun))
			usleep(1000);
		for (uint32_t n = 0; n < 20; n++)
			sink_queue_push(queue, flows);
		pthread_mutex_unlock(&stall.lock);
		assert_int_equal(sink_queue_end(queue), 3 * (20 - bounds[b].wait));
		assert_int_equal(stall.written, 1 + bounds[b].wait);
		sink_queue_free(queue);
	}
	report_epoch_free(flows);
}

/*
 * A sink that stores rows for the next run has limited time at the end of this one, although it
 * makes progress.
 */
static void test_patience_at_the_end(void **state)
{
	static const struct sink_queue_ops ops = {.write = write_when_free};
	struct sink_queue_params params = {.ops = &ops, .sink_log = &sink_log, .second = 1000000};

	(void)state;
	for (int keeps = 0; keeps < 2; keeps++) {
		struct sink_queue *queue;

		params.keeps = keeps == 1;
		queue = sink_queue_create(&params);
		assert_non_null(queue);
		assert_int_equal(sink_queue_patience(queue, 60), 60 * params.second);
		sink_queue_finish(queue);
		assert_in_range(sink_queue_patience(queue, 60), 1, 5 * params.second);
		usleep(16000);
		assert_int_equal(sink_queue_patience(queue, 60), keeps ? 0 : 5 * params.second);
		sink_queue_free(queue);
	}
}

struct pusher {
	struct writer *writer;
	int nb_epochs;
	uint32_t nb_rows;
	atomic_int pushed;
};

static void *push_all(void *arg)
{
	struct pusher *pusher = arg;

	for (int number = 0; number < pusher->nb_epochs; number++) {
		push_one(pusher->writer, epoch_of((uint64_t)number, pusher->nb_rows));
		atomic_fetch_add_explicit(&pusher->pushed, 1, memory_order_relaxed);
	}
	return NULL;
}

static void test_blocked_pipe_is_waited_for(void **state)
{
	struct config config = OPTIONS(.format = FORMAT_CSV);
	struct pusher pusher = {.nb_epochs = 3 * SINK_QUEUE_DEFAULT, .nb_rows = LONG_EPOCH};
	struct reader reader;
	pthread_t thread;
	char name[32], *content;
	int fds[2];

	(void)state;
	make_pipe(fds, name);
	edit_writer_options(&config)->rows[ROWS_HEAVY_HITTERS] = (struct option_list)TO(name);
	pusher.writer = open_ok(&config, 0);
	assert_int_equal(pthread_create(&thread, NULL, push_all, &pusher), 0);
	while (atomic_load_explicit(&pusher.pushed, memory_order_relaxed) < SINK_QUEUE_DEFAULT)
		usleep(1000);
	usleep(20000); /* time to exceed the limit, which must not happen */
	assert_in_range(atomic_load_explicit(&pusher.pushed, memory_order_relaxed),
		SINK_QUEUE_DEFAULT, SINK_QUEUE_DEFAULT + 1);

	start_reader(&reader, fds[0]);
	pthread_join(thread, NULL);
	close(fds[1]);
	assert_int_equal(writer_close(pusher.writer), 0);
	content = stop_reader(&reader);
	assert_int_equal(count_lines(content), 1 + 3 * SINK_QUEUE_DEFAULT * LONG_EPOCH);
	assert_int_equal(said.n, 0);
	free(content);
	close(fds[0]);
}

/* Standard output made non-blocking by its reader: the writer waits while the pipe is full. */
static void test_pipe_that_does_not_block(void **state)
{
	struct config config = OPTIONS(.rows[ROWS_HEAVY_HITTERS] = TO("-"), .format = FORMAT_CSV);
	int fds[2], saved = dup(STDOUT_FILENO);
	struct reader reader;
	struct writer *writer;
	uint64_t lost, first;
	char error[WRITER_ERROR_MAX], *content;
	int status;

	(void)state;
	assert_int_equal(pipe2(fds, O_NONBLOCK | O_CLOEXEC), 0);
	fcntl(fds[0], F_SETFL, 0);
	fflush(stdout);
	dup2(fds[1], STDOUT_FILENO);
	close(fds[1]);
	writer = writer_open(&config, &sink_log, &first, &status, error);
	for (int number = 0; writer != NULL && number < 3; number++)
		push_one(writer, epoch_of((uint64_t)number, LONG_EPOCH));
	start_reader(&reader, fds[0]);
	lost = writer != NULL ? writer_close(writer) : UINT64_MAX;
	dup2(saved, STDOUT_FILENO);
	close(saved);
	content = stop_reader(&reader);
	assert_int_equal(lost, 0);
	assert_int_equal(count_lines(content), 1 + 3 * LONG_EPOCH);
	free(content);
	close(fds[0]);
}

/* --- Standard output */

/*
 * Runs two epochs with standard output in a file (or a terminal); returns the number of lost rows.
 */
static uint64_t run_with_stdout(struct config *config, int fd)
{
	char error[WRITER_ERROR_MAX];
	int status, saved = dup(STDOUT_FILENO);
	uint64_t first, lost = UINT64_MAX;
	struct writer *writer;

	fflush(stdout);
	dup2(fd, STDOUT_FILENO);
	writer = writer_open(config, &sink_log, &first, &status, error);
	if (writer != NULL) {
		push(writer, 0, 1);
		lost = writer_close(writer);
	}
	dup2(saved, STDOUT_FILENO);
	close(saved);
	return lost;
}

static void run_into_file(struct config *config)
{
	int fd = open(aside, O_RDWR | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(run_with_stdout(config, fd), 0);
	close(fd);
}

static void assert_table_shown(bool shown)
{
	char *content = slurp(aside);

	assert_non_null(content);
	assert_true((strncmp(content, "epoch 0  ", 9) == 0) == shown);
	assert_true((strstr(content, "\nepoch 1  ") != NULL) == shown);
	free(content);
}

static void test_formats_on_standard_output(void **state)
{
	struct config config = OPTIONS(.rows[ROWS_HEAVY_HITTERS] = TO("-"));

	(void)state;
	run_into_file(&config); /* not a terminal */
	assert_csv(aside, &output_heavy_hitters, 0, 1);
	edit_writer_options(&config)->format = FORMAT_CSV;
	run_into_file(&config);
	assert_csv(aside, &output_heavy_hitters, 0, 1);
	edit_writer_options(&config)->format = FORMAT_TABLE;
	run_into_file(&config);
	assert_table_shown(true);

	config = OPTIONS(.rows[ROWS_HEAVY_HITTERS] = TO(out), .rows[ROWS_STATS] = TO("-"),
		.force = true);
	run_into_file(&config);
	assert_csv(out, &output_heavy_hitters, 0, 1);
	assert_csv(aside, &output_stats, 0, 1);
	config =
		OPTIONS(.rows[ROWS_HEAVY_HITTERS] = TO(out), .format = FORMAT_TABLE, .force = true);
	run_into_file(&config);
	assert_csv(out, &output_heavy_hitters, 0, 1);
	assert_table_shown(true);
}

static void test_terminal_shows_the_table(void **state)
{
	struct config config = OPTIONS(.rows[ROWS_HEAVY_HITTERS] = TO("-"));
	int master = posix_openpt(O_RDWR | O_NOCTTY), terminal;
	char shown[64] = "";

	(void)state;
	if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0) {
		print_message("no pseudo terminal to be had: skipped\n");
		skip();
	}
	terminal = open(ptsname(master), O_RDWR | O_NOCTTY);
	assert_true(terminal >= 0);
	assert_int_equal(run_with_stdout(&config, terminal), 0);
	assert_int_equal(read(master, shown, 9), 9);
	assert_string_equal(shown, "epoch 0  ");
	close(terminal);
	close(master);
}

/*
 * A reader that closes standard output, like head, wants no more rows: this is neither a loss nor
 * an error.
 */
static void test_closed_standard_output(void **state)
{
	struct config config = OPTIONS(.rows[ROWS_HEAVY_HITTERS] = TO("-"), .format = FORMAT_TABLE);
	int fds[2];

	(void)state;
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	close(fds[0]);
	times_unread = 0;
	assert_int_equal(run_with_stdout(&config, fds[1]), 0);
	assert_int_equal(said.n, 0);
	assert_int_equal(times_unread, 1);
	edit_writer_options(&config)->rows[ROWS_STATS] = (struct option_list)TO(stats);
	assert_int_equal(run_with_stdout(&config, fds[1]), 0);
	assert_int_equal(times_unread, 1); /* another output exists */
	assert_int_equal(times_said(false, "the other outputs go on"), 1);
	assert_int_equal(said.n, 1);
	assert_csv(stats, &output_stats, 0, 1);
	close(fds[1]);
}

/* --- Log rotation */

static void wait_for_size(const char *name, size_t size)
{
	struct stat st = {0};

	for (int i = 0; i < 10000 && (stat(name, &st) != 0 || st.st_size < (off_t)size); i++)
		usleep(1000);
	assert_int_equal(st.st_size, size);
}

static void wait_for_epochs(const char *name, int last)
{
	char *expected = expected_text(&output_heavy_hitters, true, 0, last);

	wait_for_size(name, strlen(expected));
	free(expected);
}

/* Pushes epoch 0 and waits until it is in the file. */
static void write_first_epoch(struct writer *writer)
{
	push(writer, 0, 0);
	wait_for_epochs(out, 0);
}

static struct sink_log_reopened reopen(struct writer *writer)
{
	struct sink_log_reopened reopened;

	writer_reopen(writer);
	while (writer_reopening(writer, &reopened))
		sched_yield();
	return reopened;
}

static void test_reopen(void **state)
{
	struct config config = OPTIONS(.rows[ROWS_HEAVY_HITTERS] = TO(out));
	struct writer *writer = open_ok(&config, 0);
	struct sink_log_reopened reopened;

	(void)state;
	write_first_epoch(writer);
	assert_int_equal(rename(out, aside), 0);
	reopened = reopen(writer);
	assert_int_equal(reopened.files, 1);
	assert_string_equal(reopened.error, "");
	push(writer, 1, 2);
	assert_int_equal(writer_close(writer), 0);
	assert_csv(aside, &output_heavy_hitters, 0, 0);
	assert_csv(out, &output_heavy_hitters, 1, 2);
	assert_int_equal(said.n, 0);
}

/* A deleted file may be open elsewhere: this is logged, and is not a loss. */
static void test_rows_in_a_deleted_file(void **state)
{
	struct config config = OPTIONS(.rows[ROWS_HEAVY_HITTERS] = TO(out));

	(void)state;
	for (int reopens = 0; reopens < 2; reopens++) {
		struct writer *writer = open_ok(&config, 0);

		write_first_epoch(writer);
		unlink(out);
		if (reopens)
			writer_reopen(writer);
		push(writer, 1, 1);
		assert_int_equal(writer_close(writer), 0);
		assert_int_equal(times_said(true, reopens ? "out.csv: the file was deleted during "
							    "the run: 3 rows"
							  : "deleted during the run: 6 rows"),
			1);
		assert_int_equal(said.n, 1);
		if (reopens)
			assert_csv(out, &output_heavy_hitters, 1, 1);
		clean(NULL);
	}
}

static void test_reopen_the_same_file(void **state)
{
	struct config config = OPTIONS(.rows[ROWS_HEAVY_HITTERS] = TO(out));
	struct writer *writer = open_ok(&config, 0);

	(void)state;
	write_first_epoch(writer);
	writer_reopen(writer);
	push(writer, 1, 1);
	assert_int_equal(writer_close(writer), 0);
	assert_csv(out, &output_heavy_hitters, 0, 1);
}

static void test_reopen_fails(void **state)
{
	struct config config = OPTIONS(.rows[ROWS_HEAVY_HITTERS] = TO(out));
	struct writer *writer = open_ok(&config, 0);
	struct sink_log_reopened reopened;

	(void)state;
	write_first_epoch(writer);
	assert_int_equal(rename(out, aside), 0);
	assert_int_equal(mkdir(out, 0700), 0);
	reopened = reopen(writer);
	assert_int_equal(reopened.files, 0);
	assert_non_null(strstr(reopened.error, "cannot open it again"));
	push(writer, 1, 1);
	assert_int_equal(writer_close(writer), 0);
	assert_int_equal(times_said(true, "cannot open it again"), 1);
	assert_csv(aside, &output_heavy_hitters, 0, 1);
}

/* Possible objects in place of the file when it is opened again. */
static void put_link_to_nothing(const char *victim)
{
	unlink(victim);
	assert_int_equal(symlink(victim, out), 0);
}

static void put_link(const char *victim)
{
	assert_int_equal(symlink(victim, out), 0);
}

static void put_hard_link(const char *victim)
{
	assert_int_equal(link(victim, out), 0);
}

static void put_file_of_another(const char *victim)
{
	(void)victim;
	put(out, "");
	if (chown(out, 65534, 65534) != 0) {
		print_message("not root: a FIFO instead of a file of another user\n");
		unlink(out);
		assert_int_equal(mkfifo(out, 0600), 0);
	}
}

/* In a folder writable by others: their links do not redirect rows, and are logged. */
static void test_names_that_others_took(void **state)
{
	void (*const puts[])(const char *) = {
		put_link_to_nothing, put_link, put_hard_link, put_file_of_another};
	struct config config = OPTIONS(.rows[ROWS_HEAVY_HITTERS] = TO(out), .rotate = {.size = 1});
	struct stat st;

	(void)state;
	for (size_t i = 0; i < 2 * sizeof(puts) / sizeof(puts[0]); i++) {
		bool rotated = i % 2 != 0;
		struct writer *writer;

		edit_writer_options(&config)->rotate.size = rotated ? 1 : 0;
		put(stats, "");
		writer = open_ok(&config, 0);
		write_first_epoch(writer);
		assert_int_equal(rename(out, aside), 0);
		puts[i / 2](stats);
		if (!rotated)
			assert_int_not_equal(*reopen(writer).error, '\0');
		push(writer, 1, 2);
		assert_int_equal(writer_close(writer), 0);
		assert_int_equal(
			times_said(true, rotated ? "cannot be rotated" : "cannot open it again"),
			1);
		assert_csv(aside, &output_heavy_hitters, 0, 2);
		assert_true(stat(out, &st) != 0 || st.st_size == 0);
		clean(NULL);
	}
}

/* A name that was a link from the start is valid. */
static void test_name_that_is_a_link(void **state)
{
	struct config config = OPTIONS(.rows[ROWS_HEAVY_HITTERS] = TO(out), .append = true);
	struct writer *writer;

	(void)state;
	put(stats, "");
	assert_int_equal(symlink("stats.csv", out), 0);
	writer = open_ok(&config, 0);
	write_first_epoch(writer);
	assert_int_equal(reopen(writer).files, 1);
	push(writer, 1, 1);
	assert_string_equal(reopen(writer).error, "");
	wait_for_epochs(out, 1);
	assert_int_equal(rename(stats, aside), 0);
	assert_string_equal(reopen(writer).error, "");
	push(writer, 2, 3);
	assert_int_equal(writer_close(writer), 0);
	assert_csv(aside, &output_heavy_hitters, 0, 1);
	assert_csv(stats, &output_heavy_hitters, 2, 3);
	assert_int_equal(said.n, 0);
}

/* logrotate's copytruncate: the open file is truncated. */
static void test_emptied_file_gets_a_header(void **state)
{
	struct config config = OPTIONS(.rows[ROWS_HEAVY_HITTERS] = TO(out));
	struct writer *writer = open_ok(&config, 0);

	(void)state;
	write_first_epoch(writer);
	assert_int_equal(truncate(out, 0), 0);
	push(writer, 1, 1);
	assert_int_equal(writer_close(writer), 0);
	assert_csv(out, &output_heavy_hitters, 1, 1);
}

/* Epochs from one thread, reopening from another: no row is lost or out of order. */
static void test_push_and_reopen_at_once(void **state)
{
	const int epochs = 2000;
	struct config config =
		OPTIONS(.rows[ROWS_HEAVY_HITTERS] = TO(out), .rows[ROWS_STATS] = TO(stats));
	struct pusher pusher = {.nb_epochs = epochs, .nb_rows = ROWS};
	pthread_t thread;

	(void)state;
	pusher.writer = open_ok(&config, 0);
	assert_int_equal(pthread_create(&thread, NULL, push_all, &pusher), 0);
	while (atomic_load_explicit(&pusher.pushed, memory_order_relaxed) < epochs) {
		writer_reopen(pusher.writer);
		sched_yield();
	}
	pthread_join(thread, NULL);
	writer_reopen(pusher.writer);
	assert_int_equal(writer_close(pusher.writer), 0);
	assert_csv(out, &output_heavy_hitters, 0, epochs - 1);
	assert_csv(stats, &output_stats, 0, epochs - 1);
}

#define TEST(function) cmocka_unit_test_setup(function, clean)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_new_files),
		TEST(test_flows),
		TEST(test_all_outputs),
		TEST(test_many_destinations),
		TEST(test_json_append),
		TEST(test_no_epochs),
		TEST(test_existing_file_is_refused),
		TEST(test_force),
		TEST(test_force_and_a_file_in_use),
		TEST(test_locks_of_readers),
		TEST(test_abandoned_file_of_another),
		TEST(test_nothing_is_destroyed_when_another_fails),
		TEST(test_unwritable_folder),
		TEST(test_two_outputs_in_one_file),
		TEST(test_append),
		TEST(test_append_to_nothing),
		TEST(test_append_cuts_half_a_row),
		TEST(test_append_cuts_an_unfinished_epoch),
		TEST(test_append_keeps_an_epoch_that_all_have),
		TEST(test_append_to_a_file_that_is_shorter),
		TEST(test_append_after_a_stranger),
		TEST(test_append_cuts_unfinished_deliveries),
		TEST(test_append_after_a_kill_in_the_first_epoch),
		TEST(test_append_after_a_kill_in_a_new_file),
		TEST(test_append_without_marks),
		TEST(test_append_to_a_stranger),
		TEST(test_append_to_large_numbers),
		TEST(test_append_reads_the_tail_alone),
		TEST(test_file_limit),
		TEST(test_full_file_system),
		TEST(test_full_from_the_start),
		TEST(test_half_row_that_stays),
		TEST(test_epochs_without_rows_resume_nothing),
		TEST(test_closed_pipe),
		TEST(test_blocked_pipe_drops),
		TEST(test_wait_for_room),
		TEST(test_blocked_flows),
		TEST(test_blocked_pipe_and_files),
		TEST(test_accounts_have_a_bound),
		TEST(test_shares),
		TEST(test_nothing_lost),
		TEST(test_epochs_are_bounded_in_bytes),
		TEST(test_records_have_the_smaller_bound),
		TEST(test_patience_at_the_end),
		TEST(test_blocked_pipe_is_waited_for),
		TEST(test_pipe_that_does_not_block),
		TEST(test_formats_on_standard_output),
		TEST(test_terminal_shows_the_table),
		TEST(test_closed_standard_output),
		TEST(test_reopen),
		TEST(test_rows_in_a_deleted_file),
		TEST(test_reopen_the_same_file),
		TEST(test_reopen_fails),
		TEST(test_names_that_others_took),
		TEST(test_name_that_is_a_link),
		TEST(test_emptied_file_gets_a_header),
		TEST(test_push_and_reopen_at_once),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
