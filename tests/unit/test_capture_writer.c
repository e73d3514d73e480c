/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "capture_bytes.h"
#include "rx/capture/capture_writer.h"
#include "rx/generate/synthetic.h"

#define FILE_HEADER   24
#define RECORD_HEADER 16

static char path[sizeof(TEMPORARY_PATH)];

/* Sets a file name that does not exist. */
static int setup(void **state)
{
	(void)state;
	write_temporary(path, "", 0);
	return unlink(path);
}

static int teardown(void **state)
{
	(void)state;
	unlink(path);
	return 0;
}

static off_t size_of(const char *name)
{
	struct stat stat;

	assert_int_equal(lstat(name, &stat), 0);
	return stat.st_size;
}

static struct capture_writer *open_new(const char *name, bool force)
{
	struct capture_writer *writer;
	char error[SOURCE_ERROR_MAX];

	if (capture_writer_open(&writer, name, force, error) != CAPTURE_WRITER_OK)
		fail_msg("%s", error);
	return writer;
}

/* Writes until the end or the first error, and closes. Returns the results of the calls. */
static int write_spec(struct capture_writer *writer, const char *spec_text, char *error)
{
	struct synthetic_spec spec;
	struct source *source;
	struct source_packet packet;
	int result = 0;

	assert_true(synthetic_parse(spec_text, &spec, error));
	source = generate_open(&spec, error);
	assert_non_null(source);
	while (result == 0 && source->next(source, &packet) == 1)
		result = capture_writer_write(writer, &packet, error);
	source->close(source);
	return capture_writer_close(writer, error) != 0 ? -1 : result;
}

/* The reader returns the written packets unchanged. */
static void test_round_trip(void **state)
{
	static const char *const text = "flows=100,packets=3000,size=60-9000,ipv6=0.3,rate=7";
	const char *paths[1] = {path};
	char error[SOURCE_ERROR_MAX];
	struct synthetic_spec spec;
	struct source *made, *read;
	struct source_packet a, b;
	unsigned int n = 0;

	(void)state;
	assert_int_equal(write_spec(open_new(path, false), text, error), 0);
	assert_true(synthetic_parse(text, &spec, error));
	made = generate_open(&spec, error);
	read = replay_open(paths, 1, error);
	assert_non_null(read);
	while (read->next(read, &b) == 1) {
		assert_int_equal(made->next(made, &a), 1);
		assert_int_equal(a.time, b.time);
		assert_int_equal(a.link, b.link);
		assert_int_equal(a.wire_len, b.wire_len);
		assert_int_equal(a.captured, b.captured);
		assert_memory_equal(a.data, b.data, a.captured);
		n++;
	}
	assert_int_equal(n, 3000);
	made->close(made);
	read->close(read);
}

static void test_existing_file(void **state)
{
	struct capture_writer *writer;
	char error[SOURCE_ERROR_MAX] = "";
	int fd = open(path, O_CREAT | O_WRONLY, 0600);

	(void)state;
	assert_int_equal(write(fd, "precious", 8), 8);
	close(fd);
	assert_int_equal(capture_writer_open(&writer, path, false, error), CAPTURE_WRITER_EXISTS);
	assert_non_null(strstr(error, path));
	assert_non_null(strstr(error, "--force"));
	assert_int_equal(size_of(path), 8);
	assert_int_equal(write_spec(open_new(path, true), "flows=1,packets=1", error), 0);
	assert_int_equal(size_of(path), FILE_HEADER + RECORD_HEADER + 64);
}

static void test_device(void **state)
{
	char error[SOURCE_ERROR_MAX];

	(void)state;
	assert_int_equal(write_spec(open_new("/dev/null", false), "flows=9", error), 0);
}

static void test_cannot_open(void **state)
{
	static const char *const names[] = {"/nonexistent/a.pcap", "/tmp"};
	struct capture_writer *writer;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char error[SOURCE_ERROR_MAX] = "";

		assert_int_equal(capture_writer_open(&writer, names[i], false, error),
			CAPTURE_WRITER_FAILED);
		assert_non_null(strstr(error, names[i]));
	}
}

static void test_disk_full(void **state)
{
	char error[SOURCE_ERROR_MAX] = "";

	(void)state;
	assert_int_equal(write_spec(open_new("/dev/full", false), "flows=9", error), -1);
	assert_non_null(strstr(error, "No space left"));
	assert_null(strchr(error, '\n'));
}

/* A file with a size limit, at any position, holds whole packets only. */
static void test_whole_packets_only(void **state)
{
	static const rlim_t limits[] = {10, FILE_HEADER, FILE_HEADER + 15, FILE_HEADER + 80,
		FILE_HEADER + 81, 1000000, 1048576, 1048577, 2000000};

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		struct rlimit limit, narrow;
		char error[SOURCE_ERROR_MAX] = "";
		off_t size;
		int result;

		getrlimit(RLIMIT_FSIZE, &limit);
		narrow = limit;
		narrow.rlim_cur = limits[i];
		setrlimit(RLIMIT_FSIZE, &narrow);
		result = write_spec(open_new(path, false), "flows=9,packets=50K", error);
		setrlimit(RLIMIT_FSIZE, &limit);
		assert_int_equal(result, -1);
		assert_non_null(strstr(error, path));
		assert_non_null(strstr(error, strerror(EFBIG)));
		size = size_of(path);
		if (limits[i] < FILE_HEADER) {
			assert_int_equal(size, 0);
		} else {
			assert_int_equal((size - FILE_HEADER) % (RECORD_HEADER + 64), 0);
			assert_true(size > (off_t)limits[i] - (RECORD_HEADER + 64));
		}
		unlink(path);
	}
}

/* A reader that closes standard output is not an error. */
static void test_closed_pipe(void **state)
{
	char error[SOURCE_ERROR_MAX] = "";
	struct capture_writer *writer;
	int fds[2], old;

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pipe(fds), 0);
	close(fds[0]);
	fflush(stdout);
	old = dup(STDOUT_FILENO);
	dup2(fds[1], STDOUT_FILENO);
	close(fds[1]);
	writer = open_new("-", false);
	write_spec(writer, "flows=9,packets=50K", error);
	dup2(old, STDOUT_FILENO);
	close(old);
	assert_string_equal(error, "");
}

/* Standard output is a file with contents, which must remain. */
static void test_standard_output(void **state)
{
	char error[SOURCE_ERROR_MAX] = "";
	int fd = open(path, O_CREAT | O_WRONLY | O_APPEND, 0600), old, result;

	(void)state;
	assert_int_equal(write(fd, "precious", 8), 8);
	fflush(stdout);
	old = dup(STDOUT_FILENO);
	dup2(fd, STDOUT_FILENO);
	close(fd);
	result = write_spec(open_new("-", false), "flows=9,packets=3", error);
	dup2(old, STDOUT_FILENO);
	close(old);
	assert_int_equal(result, 0);
	assert_int_equal(size_of(path), 8 + FILE_HEADER + 3 * (RECORD_HEADER + 64));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_round_trip),
		TEST(test_existing_file),
		TEST(test_device),
		TEST(test_cannot_open),
		TEST(test_disk_full),
		TEST(test_whole_packets_only),
		TEST(test_closed_pipe),
		TEST(test_standard_output),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
