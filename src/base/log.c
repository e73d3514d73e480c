/* SPDX-License-Identifier: BSD-3-Clause */

#include "base/log.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/journal.h"
#include "base/printable.h"
#include "base/standard_files.h"

RTE_LOG_REGISTER(log_type, sketchtap, NOTICE);

static bool stderr_is_journal;

/* Log levels are in the same order in enum log_level, rte_log and syslog. */
#define RTE_LEVEL(level)    ((uint32_t)RTE_LOG_ERR + (uint32_t)(level))
#define SYSLOG_LEVEL(level) ((level)-RTE_LOG_EMERG)

/* A pipe that poll() reports as writable accepts PIPE_BUF bytes without blocking (pipe(7)). */
#define NOTE_MAX  128
#define PIECE_MAX (PIPE_BUF - NOTE_MAX)

static bool has_room(void)
{
	struct pollfd pollfd = {.fd = STDERR_FILENO, .events = POLLOUT};

	return poll(&pollfd, 1, 0) == 1;
}

static _Atomic uint64_t lines_written;

/* Returns false if standard error has no room. Ignores other write errors. */
static bool put(const char *text, size_t len)
{
	while (len > 0) {
		ssize_t n = standard_files_write(STDERR_FILENO, text, len);

		if (n <= 0)
			return n == 0 || errno != EAGAIN;
		text += n;
		len -= (size_t)n;
	}
	return true;
}

static bool put_after_note(uint64_t lost, const char *text, size_t len)
{
	char out[NOTE_MAX + PIECE_MAX];
	int note = snprintf(out, NOTE_MAX,
		"%s%llu line%s missing here: standard error was not read\n",
		stderr_is_journal ? "<4>" : "sketchtap: warning: ", (unsigned long long)lost,
		lost == 1 ? " is" : "s are");

	memcpy(out + note, text, len);
	return put(out, (size_t)note + len);
}

static uint64_t count_lines(const char *text, size_t len)
{
	uint64_t lines = 0;

	for (size_t i = 0; i < len; i++)
		lines += text[i] == '\n';
	return lines;
}

#define TYPES_MAX  2048 /* maximum number of DPDK's log types */
#define CAUGHT_MAX 256

/* The lock of the log stream protects `on` and `text`. */
static struct {
	bool on;
	uint32_t nb_types;
	int shown[TYPES_MAX]; /* log levels before log_catch_begin() */
	char text[CAUGHT_MAX];
} caught;

/* Returns true if the line must not be shown. */
static bool keep_or_hide(const char *text, size_t size)
{
	int level = rte_log_cur_msg_loglevel(), type = rte_log_cur_msg_logtype();

	if (!caught.on || level <= 0 || type == log_type)
		return false;
	if (caught.text[0] == '\0' && level <= (int)RTE_LOG_ERR)
		snprintf(caught.text, sizeof(caught.text), "%.*s", (int)size, text);
	return type < (int)caught.nb_types && level > caught.shown[type];
}

/* Reports dropped lines as written, because stdio would otherwise keep them in its buffer. */
static ssize_t write_or_lose(void *cookie, const char *text, size_t size)
{
	static uint64_t lost; /* protected by the lock of the log stream */

	(void)cookie;
	if (keep_or_hide(text, size))
		return (ssize_t)size;
	for (size_t done = 0, len; done < size; done += len) {
		len = size - done < PIECE_MAX ? size - done : PIECE_MAX;
		if (!has_room() || !(lost > 0 ? put_after_note(lost, text + done, len)
					      : put(text + done, len))) {
			lost += count_lines(text + done, len);
			continue;
		}
		atomic_fetch_add_explicit(
			&lines_written, count_lines(text + done, len), memory_order_relaxed);
		lost = 0;
	}
	return (ssize_t)size;
}

static FILE *lossy_stream(void)
{
	static FILE *stream;
	static char buffer[PIECE_MAX];

	if (stream == NULL) {
		stream = fopencookie(NULL, "w", (cookie_io_functions_t){.write = write_or_lose});
		if (stream == NULL)
			return stderr;
		setvbuf(stream, buffer, _IOLBF, sizeof(buffer));
	}
	return stream;
}

static void catch_errors(bool on)
{
	FILE *stream = lossy_stream();

	flockfile(stream);
	caught.on = on;
	if (on)
		caught.text[0] = '\0';
	funlockfile(stream);
}

void log_catch_begin(void)
{
	for (uint32_t type = caught.on ? TYPES_MAX : 0;
		type < TYPES_MAX && rte_log_get_level(type) >= 0; type++) {
		caught.shown[type] = rte_log_get_level(type);
		if (caught.shown[type] < (int)RTE_LOG_ERR)
			rte_log_set_level(type, RTE_LOG_ERR);
		caught.nb_types = type + 1;
	}
	catch_errors(true);
}

void log_catch_end(char *text, size_t size)
{
	const char *begin;
	size_t length;

	catch_errors(false); /* From here on, no thread writes caught.text. */
	for (uint32_t type = 0; type < caught.nb_types; type++)
		rte_log_set_level(type, (uint32_t)caught.shown[type]);
	begin = strstr(caught.text, "(): ");
	begin = begin != NULL ? begin + 4 : caught.text;
	begin += strspn(begin, " ");
	length = strcspn(begin, "\n");
	if (length > 0 && begin[length - 1] == '.')
		length--;
	snprintf(text, size, "%.*s", (int)length, begin);
}

static bool is_verbose;

bool log_is_verbose(void)
{
	return is_verbose;
}

/* poll() does not suffice: another process may fill the same pipe between poll() and write(). */
static void stop_blocking(void)
{
	int fd = standard_files_own_pipe(STDERR_FILENO);

	if (fd < 0)
		return;
	dup2(fd, STDERR_FILENO);
	close(fd);
}

void log_init(enum log_level level, bool verbose)
{
	stop_blocking();
	is_verbose = verbose;
	rte_openlog_stream(lossy_stream());
	stderr_is_journal = journal_reads(STDERR_FILENO);
	if (verbose) {
		rte_log_set_level(log_type, RTE_LOG_INFO);
		return;
	}
	rte_log_set_level_pattern("*", RTE_LOG_CRIT);
	rte_log_set_level(log_type, RTE_LEVEL(level));
}

const char *const *log_eal_args(enum log_level level, bool verbose)
{
	static const char *const ours[] = {
		[LOG_LEVEL_ERROR] = "--log-level=sketchtap:error",
		[LOG_LEVEL_WARNING] = "--log-level=sketchtap:warning",
		[LOG_LEVEL_NOTICE] = "--log-level=sketchtap:notice",
		[LOG_LEVEL_INFO] = "--log-level=sketchtap:info",
	};
	static const char *quiet[] = {"--log-level=*:critical", NULL, NULL};
	static const char *const verbose_args[] = {NULL};

	quiet[1] = ours[level];
	return verbose ? verbose_args : quiet;
}

uint64_t log_lines_written(void)
{
	return atomic_load_explicit(&lines_written, memory_order_relaxed);
}

void log_line(uint32_t level, const char *format, ...)
{
	char line[LOG_LINE_MAX];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	make_printable(line);
	if (stderr_is_journal)
		rte_log(level, (uint32_t)log_type, "<%u>%s\n", SYSLOG_LEVEL(level), line);
	else
		rte_log(level, (uint32_t)log_type, "sketchtap: %s%s\n",
			level == RTE_LOG_WARNING ? "warning: " : "", line);
}
