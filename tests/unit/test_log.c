/* SPDX-License-Identifier: BSD-3-Clause */

/* Format of log lines, the effect of log levels, and silence of EAL. */

#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <rte_dev.h>
#include <rte_eal.h>

#include "base/log.h"
#include "capture.h"

static void log_everything(char *text, size_t size)
{
	capture_begin();
	log_error("no port %s", "a\nb");
	log_warning("%d lcores", 5);
	log_notice("notice");
	log_info("info");
	capture_end(text, size);
}

#define SHOWN                                                                                      \
	"sketchtap: no port a?b\n"                                                                 \
	"sketchtap: warning: 5 lcores\n"                                                           \
	"sketchtap: notice\n"

static void lines_have_their_form_before_eal(void **state)
{
	char text[4096];

	(void)state;
	log_init(LOG_LEVEL_NOTICE, true);
	log_everything(text, sizeof(text));
	assert_string_equal(text, SHOWN "sketchtap: info\n");
	log_init(LOG_LEVEL_NOTICE, false);
	log_everything(text, sizeof(text));
	assert_string_equal(text, SHOWN);
}

/*
 * Escape sequences of C0, and of C1 in UTF-8 and as bytes; complete characters beyond ASCII are
 * kept.
 */
static void lines_move_no_cursor(void **state)
{
	char text[4096];

	(void)state;
	log_init(LOG_LEVEL_NOTICE, false);
	capture_begin();
	log_error("%s",
		"\x1b[2J\x7f \xc2\x9b[2J \x9b[2J \xc2\x85 \xe2\x9b\x9b \xc3\x9b \xf0\x9f\x98\x80 \xe2\x9b"
		"\x1b \xe2 \x90");
	capture_end(text, sizeof(text));
	assert_string_equal(text,
		"sketchtap: ?[2J? ??[2J ?[2J ?? \xe2\x9b\x9b \xc3\x9b \xf0\x9f\x98\x80 \xe2\x9b"
		"? \xe2 ?\n");
}

static void level_hides_what_is_less_urgent(void **state)
{
	static const char *const shown[] = {
		[LOG_LEVEL_ERROR] = "sketchtap: no port a?b\n",
		[LOG_LEVEL_WARNING] = "sketchtap: no port a?b\nsketchtap: warning: 5 lcores\n",
		[LOG_LEVEL_NOTICE] = SHOWN,
		[LOG_LEVEL_INFO] = SHOWN "sketchtap: info\n",
	};
	char text[4096];

	(void)state;
	for (int level = LOG_LEVEL_ERROR; level <= LOG_LEVEL_INFO; level++) {
		log_init((enum log_level)level, false);
		log_everything(text, sizeof(text));
		assert_string_equal(text, shown[level]);
	}
}

/* JOURNAL_STREAM may be inherited by a process whose standard error goes elsewhere. */
static void journal_gets_priorities(void **state)
{
	char text[4096], stream[64];
	struct stat st;

	(void)state;
	capture_begin();
	assert_int_equal(fstat(STDERR_FILENO, &st), 0);
	snprintf(stream, sizeof(stream), "%llu:%llu", (unsigned long long)st.st_dev,
		(unsigned long long)st.st_ino);
	setenv("JOURNAL_STREAM", stream, 1);
	log_init(LOG_LEVEL_INFO, false);
	log_error("no port %s", "a\nb");
	log_warning("%d lcores", 5);
	log_notice("notice");
	log_info("info");
	strcat(stream, "0");
	setenv("JOURNAL_STREAM", stream, 1);
	log_init(LOG_LEVEL_NOTICE, false);
	log_notice("elsewhere");
	setenv("JOURNAL_STREAM", "nonsense", 1);
	log_init(LOG_LEVEL_NOTICE, false);
	log_notice("nowhere");
	unsetenv("JOURNAL_STREAM");
	capture_end(text, sizeof(text));
	assert_string_equal(text, "<3>no port a?b\n<4>5 lcores\n<5>notice\n<6>info\n"
				  "sketchtap: elsewhere\nsketchtap: nowhere\n");
}

static void long_message_is_one_line(void **state)
{
	char text[8192];
	char message[4 * LOG_LINE_MAX];

	(void)state;
	memset(message, 'm', sizeof(message));
	message[sizeof(message) - 1] = '\0';
	capture_begin();
	log_error("%s", message);
	capture_end(text, sizeof(text));
	assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
	assert_true(strlen(text) < LOG_LINE_MAX + 32);
}

/* Logs `count` lines with standard error in a small pipe, and one more after the pipe was read. */
static void log_to_full_pipe(int count, char *before, size_t before_size, char *after, size_t size)
{
	int ends[2], console = dup(STDERR_FILENO);
	ssize_t len;

	assert_int_equal(pipe(ends), 0);
	assert_true(fcntl(ends[1], F_SETPIPE_SZ, 4096) >= 4096);
	assert_true(dup2(ends[1], STDERR_FILENO) >= 0);
	for (int i = 0; i < count; i++)
		log_warning("line %d", i);
	len = read(ends[0], before, before_size - 1);
	before[len > 0 ? len : 0] = '\0';
	log_warning("again");
	len = read(ends[0], after, size - 1);
	after[len > 0 ? len : 0] = '\0';
	dup2(console, STDERR_FILENO);
	close(console);
	close(ends[0]);
	close(ends[1]);
}

/* --- another writer of the same pipe or socket --- */

int __real_poll(struct pollfd *fds, nfds_t n, int timeout);
int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout);

static int other_writer = -1; /* fills the pipe after poll() has reported room */

int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout)
{
	static const char page[4096] = "of another process\n";
	int ready = __real_poll(fds, n, timeout);

	if (other_writer >= 0 && ready == 1) {
		int flags = fcntl(other_writer, F_GETFL);

		fcntl(other_writer, F_SETFL, flags | O_NONBLOCK);
		while (write(other_writer, page, sizeof(page)) > 0)
			;
		fcntl(other_writer, F_SETFL, flags);
	}
	return ready;
}

/* Sets standard error to `end`, which `other` also writes to. */
static void log_beside(int end, int other, int reader)
{
	int console = dup(STDERR_FILENO);
	char text[4096 + 1], expected[] = "is missing here";
	size_t used = 0;
	ssize_t len;

	assert_true(dup2(end, STDERR_FILENO) >= 0);
	log_init(LOG_LEVEL_NOTICE, false);
	/* A separate file description, because the other writer has changed the flags. */
	other_writer = other;
	alarm(60);
	log_warning("lost");
	other_writer = -1;
	assert_int_equal(fcntl(other, F_GETFL) & O_NONBLOCK, 0);
	fcntl(reader, F_SETFL, O_NONBLOCK);
	while (read(reader, text, sizeof(text) - 1) > 0)
		;
	log_warning("again");
	alarm(0);
	while (used < sizeof(text) - 1 &&
		(len = read(reader, text + used, sizeof(text) - 1 - used)) > 0)
		used += (size_t)len;
	text[used] = '\0';
	dup2(console, STDERR_FILENO);
	close(console);
	assert_non_null(strstr(text, expected));
	assert_non_null(strstr(text, "sketchtap: warning: again\n"));
	assert_null(strstr(text, "lost\n"));
}

static void line_does_not_wait_where_others_write_too(void **state)
{
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	log_beside(ends[1], ends[1], ends[0]);
	close(ends[0]);
	close(ends[1]);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	log_beside(ends[1], ends[1], ends[0]);
	close(ends[0]);
	close(ends[1]);
}

static void line_is_lost_rather_than_waited_for(void **state)
{
	char before[8192], after[4096], expected[4096];
	int whole = 0;

	(void)state;
	log_init(LOG_LEVEL_NOTICE, false);
	alarm(20);
	log_to_full_pipe(1000, before, sizeof(before), after, sizeof(after));
	alarm(0);
	for (const char *c = before; *c != '\0'; c++)
		whole += *c == '\n';
	assert_true(whole > 0 && whole < 1000);
	assert_int_equal(before[strlen(before) - 1], '\n');
	snprintf(expected, sizeof(expected),
		"sketchtap: warning: %d lines are missing here: standard error was not read\n"
		"sketchtap: warning: again\n",
		1000 - whole);
	assert_string_equal(after, expected);
}

static void eal_is_silent_and_keeps_our_levels(void **state)
{
	char text[8192];
	char prefix[64];
	const char *const own[] = {"test_log", "--no-huge", "--no-pci", "--iova-mode=va", "-m",
		"64", "--no-shconf", "--no-telemetry", prefix, NULL};
	char *argv[16] = {0};
	int argc = 0;
	int started;
	char *arguments[16]; /* EAL reorders them */

	(void)state;
	snprintf(prefix, sizeof(prefix), "--file-prefix=test_log_%d", (int)getpid());
	for (const char *const *word = own; *word != NULL; word++)
		argv[argc++] = strdup(*word);
	for (const char *const *word = log_eal_args(LOG_LEVEL_NOTICE, false); *word != NULL; word++)
		argv[argc++] = strdup(*word);
	memcpy(arguments, argv, sizeof(arguments));
	log_init(LOG_LEVEL_NOTICE, false);
	capture_begin();
	started = rte_eal_init(argc, arguments);
	/*
	 * Drivers are plugins: the first call fails inside one, the second because there is none.
	 */
	rte_eal_hotplug_add("vdev", "net_af_packet0", "iface=no_such_interface");
	rte_eal_hotplug_add("vdev", "net_no_such_driver0", "");
	capture_end(text, sizeof(text));
	assert_true(started >= 0);
	assert_string_equal(text, "");
	log_everything(text, sizeof(text));
	assert_string_equal(text, SHOWN);
	assert_null(*log_eal_args(LOG_LEVEL_NOTICE, true));
	rte_eal_cleanup();
	assert_int_equal(rmdir(rte_eal_get_runtime_dir()), 0);
	while (argc > 0)
		free(argv[--argc]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_have_their_form_before_eal),
		cmocka_unit_test(lines_move_no_cursor),
		cmocka_unit_test(level_hides_what_is_less_urgent),
		cmocka_unit_test(journal_gets_priorities),
		cmocka_unit_test(long_message_is_one_line),
		cmocka_unit_test(line_does_not_wait_where_others_write_too),
		cmocka_unit_test(line_is_lost_rather_than_waited_for),
		cmocka_unit_test(eal_is_silent_and_keeps_our_levels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
