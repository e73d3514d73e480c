/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/output_file.h"

#define OUTPUT_FILE_MODE 0644
#define OUTPUT_LINE_MAX  512

/* The last row is looked for in so many bytes at the end of a file; rows are a few hundred. */
#define OUTPUT_TAIL_MAX 65536

#define STATUS_MACHINE 1
#define STATUS_EXISTS  2

bool output_file_is_stdout(const char *name)
{
	return strcmp(name, "-") == 0 || strcmp(name, "/dev/stdout") == 0;
}

static const char *shown_name(const struct output_file *file)
{
	return output_file_is_stdout(file->name) ? "standard output" : file->name;
}

__attribute__((format(printf, 3, 4))) static void say(
	const struct output_file *file, bool warning, const char *format, ...)
{
	char line[OUTPUT_LINE_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	file->say(warning, line, file->say_arg);
}

/* Where the unfinished row after the last end of line begins, and what the last whole one says. */
struct tail {
	uint64_t keep;
	bool has_epoch;
	uint64_t last_epoch;
};

/* The number that a row begins with. */
static bool parse_epoch(const char *row, const char *end, uint64_t *epoch)
{
	uint64_t value = 0;
	const char *c;

	for (c = row; c < end && *c >= '0' && *c <= '9'; c++) {
		if (__builtin_mul_overflow(value, 10, &value) ||
			__builtin_add_overflow(value, (uint64_t)(*c - '0'), &value))
			return false;
	}
	if (c == row || c == end || *c != ',' || value == UINT64_MAX)
		return false;
	*epoch = value;
	return true;
}

/* Returns NULL or what is wrong with the first line of a file of `size` bytes. */
static const char *check_header(int fd, const struct text *header, uint64_t size)
{
	char line[OUTPUT_LINE_MAX];
	size_t want = size < header->len ? (size_t)size : header->len;
	ssize_t n;

	if (want > sizeof(line))
		want = sizeof(line);
	n = pread(fd, line, want, 0);
	if (n < 0)
		return strerror(errno);
	if ((size_t)n != want || memcmp(line, header->data, want) != 0)
		return "its first line is not the header that goes there; name another file";
	return NULL;
}

/* Returns NULL or why rows cannot be appended to a file of `size` bytes. */
static const char *read_tail(int fd, const struct text *header, uint64_t size, struct tail *tail)
{
	char bytes[OUTPUT_TAIL_MAX];
	uint64_t start = size > sizeof(bytes) ? size - sizeof(bytes) : 0;
	const char *why = check_header(fd, header, size), *end, *row;
	ssize_t n;

	*tail = (struct tail){0};
	if (why != NULL || size < header->len) /* the header itself is unfinished */
		return why;
	n = pread(fd, bytes, (size_t)(size - start), (off_t)start);
	if (n < 0)
		return strerror(errno);
	end = memrchr(bytes, '\n', (size_t)n);
	if (end == NULL)
		return "its last line is too long to be a row";
	tail->keep = start + (uint64_t)(end - bytes) + 1;
	if (tail->keep == header->len)
		return NULL;
	row = memrchr(bytes, '\n', (size_t)(end - bytes));
	if (row == NULL || !parse_epoch(row + 1, end, &tail->last_epoch))
		return "its last row does not begin with an epoch number; name another file";
	tail->has_epoch = true;
	return NULL;
}

static int fail(struct output_file *file, char *error, size_t size, const char *why)
{
	/* Room is left for the reason, however long the name is. */
	snprintf(error, size, "%s %.300s: %s", file->option, shown_name(file), why);
	return STATUS_MACHINE;
}

static int open_stdout(struct output_file *file, char *error, size_t size)
{
	struct stat st;

	file->fd = STDOUT_FILENO;
	if (fstat(file->fd, &st) < 0)
		return fail(file, error, size, strerror(errno));
	file->regular = S_ISREG(st.st_mode);
	file->header_due = file->header.len > 0;
	return 0;
}

static int open_new(struct output_file *file, char *error, size_t size)
{
	file->fd = open(
		file->name, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, OUTPUT_FILE_MODE);
	if (file->fd < 0)
		return fail(file, error, size, strerror(errno));
	file->created = true;
	file->regular = true;
	file->named = true;
	file->header_due = true;
	return 0;
}

/* Pipes, terminals, /dev/null: nothing in them can be overwritten. A FIFO waits for its reader. */
static int open_stream(struct output_file *file, char *error, size_t size)
{
	file->fd = open(file->name, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	if (file->fd < 0)
		return fail(file, error, size, strerror(errno));
	file->header_due = true;
	return 0;
}

static int open_append(struct output_file *file, uint64_t length, char *error, size_t size)
{
	struct tail tail;
	const char *why;

	file->fd = open(file->name, O_RDWR | O_APPEND | O_CLOEXEC);
	if (file->fd < 0)
		return fail(file, error, size, strerror(errno));
	why = read_tail(file->fd, &file->header, length, &tail);
	if (why != NULL)
		return fail(file, error, size, why);
	file->keep = tail.keep;
	file->has_epoch = tail.has_epoch;
	file->last_epoch = tail.last_epoch;
	return 0;
}

static int open_force(struct output_file *file, char *error, size_t size)
{
	/* An append-only file (chattr +a) refuses this one, before anything was emptied. */
	file->fd = open(file->name, O_WRONLY | O_CLOEXEC);
	if (file->fd < 0)
		return fail(file, error, size, strerror(errno));
	if (fcntl(file->fd, F_SETFL, O_APPEND) < 0)
		return fail(file, error, size, strerror(errno));
	return 0;
}

static int open_existing(struct output_file *file, enum output_file_mode mode, uint64_t length,
	char *error, size_t size)
{
	int status;

	if (mode == OUTPUT_NEW) {
		fail(file, error, size,
			"exists; --append goes on after its last row, --force overwrites it");
		return STATUS_EXISTS;
	}
	status = mode == OUTPUT_APPEND ? open_append(file, length, error, size)
				       : open_force(file, error, size);
	if (status != 0)
		return status;
	file->regular = true;
	file->named = true;
	file->cut = length - file->keep;
	file->header_due = file->keep == 0;
	return 0;
}

int output_file_open(struct output_file *file, enum output_file_mode mode, char *error, size_t size)
{
	struct stat st;

	if (output_file_is_stdout(file->name))
		return open_stdout(file, error, size);
	if (stat(file->name, &st) < 0) {
		if (errno != ENOENT)
			return fail(file, error, size, strerror(errno));
		return open_new(file, error, size);
	}
	if (S_ISDIR(st.st_mode))
		return fail(file, error, size, "is a directory; name a file");
	if (!S_ISREG(st.st_mode))
		return open_stream(file, error, size);
	return open_existing(file, mode, (uint64_t)st.st_size, error, size);
}

int output_file_start(struct output_file *file, char *error, size_t size)
{
	if (file->cut == 0)
		return 0;
	if (ftruncate(file->fd, (off_t)file->keep) < 0)
		return fail(file, error, size, strerror(errno));
	if (file->keep > 0)
		say(file, true, "%.300s: removed an unfinished last row of %llu bytes",
			shown_name(file), (unsigned long long)file->cut);
	return 0;
}

void output_file_abandon(struct output_file *file)
{
	if (file->created)
		unlink(file->name);
	output_file_close(file);
}

bool output_file_same(const struct output_file *a, const struct output_file *b)
{
	struct stat st_a, st_b;

	return fstat(a->fd, &st_a) == 0 && fstat(b->fd, &st_b) == 0 && !S_ISCHR(st_a.st_mode) &&
	       st_a.st_dev == st_b.st_dev && st_a.st_ino == st_b.st_ino;
}

static void wait_until_writable(int fd)
{
	struct pollfd pollfd = {.fd = fd, .events = POLLOUT};

	poll(&pollfd, 1, -1);
}

/*
 * Takes the last `done` bytes that were written off a regular file again. The file position, not
 * the size before, tells where they begin: with O_APPEND it follows a file that was emptied in
 * between. Returns false where that cannot be, also because somebody else wrote behind them.
 */
static bool roll_back(const struct output_file *file, size_t done)
{
	struct stat st;
	off_t end;

	if (!file->regular || done == 0)
		return true;
	end = lseek(file->fd, 0, SEEK_CUR);
	return end >= (off_t)done && fstat(file->fd, &st) == 0 && st.st_size == end &&
	       ftruncate(file->fd, end - (off_t)done) == 0 &&
	       lseek(file->fd, end - (off_t)done, SEEK_SET) >= 0;
}

/* The next row would continue the unfinished one: no more is written. */
static void give_up(struct output_file *file, int error)
{
	say(file, true,
		"%.300s: %s, and an unfinished row cannot be removed; its rows are lost from here "
		"on",
		shown_name(file), strerror(error));
	file->gone = true;
}

/* Returns 0, or the errno for which the text was not written. */
static int write_all(struct output_file *file, const struct text *text)
{
	size_t done = 0;

	while (done < text->len) {
		ssize_t n = write(file->fd, text->data + done, text->len - done);
		int error = n < 0 ? errno : EIO;

		if (n > 0) {
			done += (size_t)n;
		} else if (error == EAGAIN) { /* standard output may be set so by its reader */
			wait_until_writable(file->fd);
		} else if (error != EINTR) {
			if (!roll_back(file, done))
				give_up(file, error);
			return error;
		}
	}
	return 0;
}

static void count_lost(struct output_file *file, int error, uint64_t rows)
{
	file->lost += rows;
	file->lost_now += rows;
	if (file->error == 0 && !file->gone) {
		if (error == EPIPE)
			say(file, true,
				"%.300s: closed by its reader; its rows are lost from here on",
				shown_name(file));
		else
			say(file, true, "%.300s: %s; rows are lost until it can be written again",
				shown_name(file), strerror(error));
	}
	file->gone |= error == EPIPE;
	file->error = error;
}

static void count_written(struct output_file *file)
{
	if (file->error != 0)
		say(file, false, "%.300s: resumed; %llu rows were lost", shown_name(file),
			(unsigned long long)file->lost_now);
	file->error = 0;
	file->lost_now = 0;
}

/* Returns 0 or an errno. */
static int write_header(struct output_file *file)
{
	struct stat st;
	int error;

	if (file->named && fstat(file->fd, &st) == 0 && st.st_size == 0)
		file->header_due = true;
	if (!file->header_due)
		return 0;
	error = file->header.failed ? ENOMEM : write_all(file, &file->header);
	file->header_due = error != 0;
	return error;
}

void output_file_write_header(struct output_file *file)
{
	int error = file->gone ? 0 : write_header(file);

	if (error != 0)
		count_lost(file, error, 0);
}

void output_file_write(struct output_file *file, const struct text *rows_text, uint64_t rows)
{
	int error;

	if (rows == 0) { /* says nothing about whether the file can be written again */
		output_file_write_header(file);
		return;
	}
	error = file->gone ? EPIPE : write_header(file);
	if (error == 0)
		error = rows_text->failed ? ENOMEM : write_all(file, rows_text);
	if (error != 0)
		count_lost(file, error, rows);
	else
		count_written(file);
}

/* Returns the new descriptor, or -1 with the reason. */
static int open_again(const struct output_file *file, const char **why)
{
	/* Should a FIFO have taken the name, O_NONBLOCK keeps us from waiting for its reader. */
	int fd = open(
		file->name, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, OUTPUT_FILE_MODE);
	struct tail tail = {0};
	struct stat st;

	*why = NULL;
	if (fd < 0 || fstat(fd, &st) < 0)
		*why = strerror(errno);
	else if (!S_ISREG(st.st_mode))
		*why = "is no longer a regular file";
	else
		*why = read_tail(fd, &file->header, (uint64_t)st.st_size, &tail);
	if (*why == NULL && (uint64_t)st.st_size > tail.keep && ftruncate(fd, (off_t)tail.keep) < 0)
		*why = strerror(errno);
	if (*why != NULL && fd >= 0) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static void close_fd(struct output_file *file)
{
	if (close(file->fd) == 0 || errno == EINTR)
		return;
	/* A network file system may say so late that the disk is full, and not for which rows. */
	say(file, true, "%.300s: %s when it was closed; rows may be missing", shown_name(file),
		strerror(errno));
	file->lost++;
}

void output_file_reopen(struct output_file *file)
{
	const char *why;
	int fd;

	if (!file->named)
		return;
	fd = open_again(file, &why);
	if (fd < 0) {
		say(file, true, "%.300s: cannot be opened again: %s; the old file is kept",
			file->name, why);
		return;
	}
	close_fd(file);
	file->fd = fd;
	file->header_due = false;
	file->gone = false;
	output_file_write_header(file);
}

void output_file_close(struct output_file *file)
{
	if (file->fd >= 0 && !output_file_is_stdout(file->name))
		close_fd(file);
	text_free(&file->header);
}
