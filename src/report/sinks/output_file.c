/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/assertion.h"
#include "base/standard_files.h"
#include "base/regular_file.h"
#include "base/signals.h"
#include "report/sinks/output_file.h"
#include "report/sinks/rotation.h"

#define OUTPUT_FILE_MODE 0644
#define OUTPUT_LINE_MAX  512

/* At the end of the run: longest wait for a pipe that accepts nothing, and time between checks. */
#define PATIENCE_MS 5000
#define LOOK_MS     100

#define IN_USE "another run writes to it; name another file, or stop that run"

#define MARK_NAME     "user.sketchtap"
#define MARK_TEXT_MAX 48

#define LINE_LEN_MAX 512
/* bytes at the end of a file in which the last row is searched */
#define TAIL_MAX     65536
/* maximum epoch number of a file that is continued, so that later numbers do not overflow */
#define EPOCH_MAX    ((uint64_t)INT64_MAX)

#define STATUS_MACHINE 1
#define STATUS_EXISTS  2

enum lock_result {
	LOCK_OURS,
	/* a process holds a read lock, which hides a lock of another run */
	LOCK_READER,
	LOCK_ANOTHER_RUN,
};

bool output_mark_read(int fd, struct output_mark *mark)
{
	char text[MARK_TEXT_MAX + 1];
	ssize_t len = fgetxattr(fd, MARK_NAME, text, MARK_TEXT_MAX);

	if (len < 0)
		return false;
	text[len] = '\0';
	return sscanf(text, "%" SCNu64 " %" SCNu64, &mark->whole, &mark->next) == 2;
}

static void remove_mark(int fd)
{
	fremovexattr(fd, MARK_NAME);
}

void output_mark_write(int fd, const struct output_mark *mark)
{
	char text[MARK_TEXT_MAX];
	int len = snprintf(text, sizeof(text), "%" PRIu64 " %" PRIu64, mark->whole, mark->next);

	if (fsetxattr(fd, MARK_NAME, text, (size_t)len, 0) != 0)
		remove_mark(fd);
}

struct output_tail {
	uint64_t keep; /* bytes of the file up to the end of its last complete row */
	bool has_epoch;
	uint64_t last_epoch;
	/* first time stamp in the first row, ns since 1970-01-01 UTC */
	bool has_start;
	int64_t start;
};

/*
 * Returns false if the row does not begin with a number. Stores UINT64_MAX if the number is larger.
 */
static bool parse_epoch(
	const struct output_form *form, const char *row, const char *end, uint64_t *epoch)
{
	size_t before = strlen(form->format->before_epoch);
	uint64_t value = 0;
	bool fits = true;
	const char *c;

	if ((size_t)(end - row) < before || memcmp(row, form->format->before_epoch, before) != 0)
		return false;
	row += before;
	for (c = row; c < end && *c >= '0' && *c <= '9'; c++)
		fits = fits && !__builtin_mul_overflow(value, 10, &value) &&
		       !__builtin_add_overflow(value, (uint64_t)(*c - '0'), &value);
	if (c == row || c == end || *c != ',')
		return false;
	*epoch = fits ? value : UINT64_MAX;
	return true;
}

static bool epoch_at(
	int fd, const struct output_form *form, uint64_t offset, uint64_t size, uint64_t *epoch)
{
	char row[LINE_LEN_MAX];
	size_t want = size - offset < sizeof(row) ? (size_t)(size - offset) : sizeof(row);
	ssize_t n = offset < size ? pread(fd, row, want, (off_t)offset) : 0;

	return n > 0 && parse_epoch(form, row, row + n, epoch);
}

/*
 * Returns the offset of the first row that begins at `offset` or later, or `size` if there is none.
 */
static uint64_t next_row(int fd, uint64_t offset, uint64_t size)
{
	char bytes[TAIL_MAX];
	ssize_t n = offset > 0 ? pread(fd, bytes, sizeof(bytes), (off_t)offset - 1) : 0;
	const char *end = n > 0 ? memchr(bytes, '\n', (size_t)n) : NULL;
	uint64_t row = end != NULL ? offset + (uint64_t)(end - bytes) : size;

	if (offset == 0)
		return 0;
	return row < size ? row : size;
}

/* Searches by bisection, since epoch numbers never decrease from row to row. */
static uint64_t last_epoch_begin(
	int fd, const struct output_form *form, const struct output_tail *tail)
{
	uint64_t low = form->header.len, high = tail->keep, begin = tail->keep;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		uint64_t row = next_row(fd, middle, tail->keep), epoch;

		if (row >= high) {
			high = middle;
		} else if (epoch_at(fd, form, row, tail->keep, &epoch) &&
			   epoch == tail->last_epoch) {
			begin = row;
			high = middle;
		} else {
			low = row + 1;
		}
	}
	return begin;
}

static void read_start(int fd, const struct output_form *form, struct output_tail *tail)
{
	const char *before = form->format->before_start;
	char row[LINE_LEN_MAX];
	ssize_t n = pread(fd, row, sizeof(row) - 1, (off_t)form->header.len);

	row[n > 0 ? n : 0] = '\0';
	for (const char *at = strstr(row, before); at != NULL && !tail->has_start;
		at = strstr(at + 1, before))
		tail->has_start = text_read_time(at + strlen(before), &tail->start);
}

static const char *check_header(int fd, const struct text *header, uint64_t size)
{
	char line[LINE_LEN_MAX];
	size_t want = size < header->len ? (size_t)size : header->len;
	ssize_t n;

	if (want > sizeof(line))
		want = sizeof(line);
	n = pread(fd, line, want, 0);
	if (n < 0)
		return strerror(errno);
	if ((size_t)n != want || memcmp(line, header->data, want) != 0)
		return "its first line is not the expected header; name another file";
	return NULL;
}

/* If the format has no header, the first line must be a row of the format. */
static const char *check_first_row(int fd, const struct output_form *form, uint64_t size)
{
	const char *before = form->format->before_epoch;
	char bytes[TAIL_MAX];
	ssize_t n = pread(fd, bytes, size < sizeof(bytes) ? size : sizeof(bytes), 0);
	size_t len = n > 0 ? (size_t)n : 0;
	const char *end = memchr(bytes, '\n', len);

	if (n < 0)
		return strerror(errno);
	if (end != NULL ? form->format->is_row(bytes, (size_t)(end - bytes), form->columns)
			: memcmp(bytes, before, len < strlen(before) ? len : strlen(before)) == 0)
		return NULL;
	return "its first line is not a row of this output; name another file";
}

/* Reads the last row. Returns the reason if rows cannot be appended, else NULL. */
static const char *read_rows_of(
	int fd, const struct output_form *form, uint64_t size, struct output_tail *tail)
{
	char bytes[TAIL_MAX];
	uint64_t start = size > sizeof(bytes) ? size - sizeof(bytes) : 0;
	const struct text *header = &form->header;
	const char *why =
		header->len > 0 ? check_header(fd, header, size) : check_first_row(fd, form, size);
	const char *end, *row;
	ssize_t n;

	*tail = (struct output_tail){0};
	if (why != NULL || size < header->len)
		return why;
	n = pread(fd, bytes, (size_t)(size - start), (off_t)start);
	if (n < 0)
		return strerror(errno);
	end = memrchr(bytes, '\n', (size_t)n);
	if (end == NULL && start == 0 && header->len == 0)
		return NULL;
	if (end == NULL)
		return "its last line is too long to be a row";
	tail->keep = start + (uint64_t)(end - bytes) + 1;
	if (tail->keep == header->len)
		return NULL;
	row = memrchr(bytes, '\n', (size_t)(end - bytes));
	if (row != NULL)
		row++;
	else if (start == 0 && header->len == 0)
		row = bytes;
	if (row == NULL || !parse_epoch(form, row, end, &tail->last_epoch))
		return "its last row does not begin with an interval number; name another file";
	if (tail->last_epoch > EPOCH_MAX)
		return "the interval number of its last row is too large to continue; name another "
		       "file";
	tail->has_epoch = true;
	read_start(fd, form, tail);
	return NULL;
}

static const char *shown_name(const struct output_file *file)
{
	return standard_files_is_output(file->name) ? "standard output" : file->name;
}

static const char *path_of(const struct output_file *file)
{
	return file->target != NULL ? file->target : file->name;
}

__attribute__((format(printf, 3, 4))) static void log_file(
	const struct output_file *file, bool warning, const char *format, ...)
{
	char line[OUTPUT_LINE_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	sink_log_line(warning, line, file->sink_log);
}

static int fail(struct output_file *file, char *error, size_t size, const char *why)
{
	/* The name is truncated so that the reason always fits. */
	snprintf(error, size, "%s %.300s: %s", file->option, shown_name(file), why);
	return STATUS_MACHINE;
}

static int open_stdout(struct output_file *file, char *error, size_t size)
{
	struct stat st;

	file->fd = STDOUT_FILENO;
	if (fstat(file->fd, &st) < 0)
		return fail(file, error, size, strerror(errno));
	if (S_ISFIFO(st.st_mode)) {
		int own = standard_files_own_pipe(STDOUT_FILENO);

		file->fd = own >= 0 ? own : STDOUT_FILENO;
	}
	file->regular = S_ISREG(st.st_mode);
	file->header_due = file->form.header.len > 0;
	return 0;
}

static int open_entry(struct output_file *file, const struct file_entry *entry, int flags,
	char *error, size_t size)
{
	file->fd = file_entry_open(entry, flags, OUTPUT_FILE_MODE);
	return file->fd >= 0 ? 0 : fail(file, error, size, file_error(errno));
}

static int open_new(
	struct output_file *file, const struct file_entry *entry, char *error, size_t size)
{
	if (open_entry(file, entry, O_WRONLY | O_APPEND, error, size) != 0)
		return STATUS_MACHINE;
	file->created = true;
	file->regular = true;
	file->named = true;
	file->header_due = true;
	return 0;
}

/* Waits until a FIFO has a reader. Only a signal that stops the run interrupts the wait. */
static int open_stream(
	struct output_file *file, const struct file_entry *entry, char *error, size_t size)
{
	struct stat st;
	int status;

	do
		status = open_entry(file, entry, O_WRONLY | O_NOCTTY, error, size);
	while (status != 0 && errno == EINTR && !signals_stop_requested());
	if (status != 0)
		return status;
	if (fstat(file->fd, &st) == 0 && S_ISFIFO(st.st_mode))
		fcntl(file->fd, F_SETFL, O_NONBLOCK); /* other writers may fill the FIFO */
	file->header_due = true;
	return 0;
}

static int open_existing(struct output_file *file, enum output_file_mode mode,
	const struct file_entry *entry, char *error, size_t size)
{
	/*
	 * Without O_APPEND, open() fails for a file that permits only appending (chattr +a). It
	 * must fail before the file is truncated.
	 */
	int flags = mode == OUTPUT_APPEND ? O_RDWR | O_APPEND : O_WRONLY;
	struct output_mark mark;

	if (mode == OUTPUT_NEW) {
		fail(file, error, size, "exists; --append continues it, --force overwrites it");
		return STATUS_EXISTS;
	}
	if (open_entry(file, entry, flags, error, size) != 0)
		return STATUS_MACHINE;
	if (fcntl(file->fd, F_SETFL, O_APPEND) < 0)
		return fail(file, error, size, strerror(errno));
	file->appended = mode == OUTPUT_APPEND;
	file->had_mark = file->appended && output_mark_read(file->fd, &mark);
	if (file->had_mark)
		file->next = mark.next;
	file->regular = true;
	file->named = true;
	file->size = (uint64_t)entry->status.st_size;
	file->header_due = true;
	return 0;
}

static bool rotates(const struct output_file *file)
{
	return file->named && (file->limits.period > 0 || file->limits.size > 0);
}

/*
 * If the file has no rows, takes the last epoch number from the latest complete file: the previous
 * run ended after that file was completed.
 */
static void take_number_of_latest(struct output_file *file)
{
	struct output_tail tail;
	struct stat st;
	int fd = rotation_latest(path_of(file));

	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 &&
		read_rows_of(fd, &file->form, (uint64_t)st.st_size, &tail) == NULL) {
		file->has_epoch = tail.has_epoch;
		file->last_epoch = tail.last_epoch;
	}
	close(fd);
}

static int open_named(struct output_file *file, enum output_file_mode mode,
	const struct file_entry *entry, char *error, size_t size)
{
	if (!entry->exists)
		return open_new(file, entry, error, size);
	if (S_ISDIR(entry->status.st_mode))
		return fail(file, error, size, "is a directory; name a file");
	if (!S_ISREG(entry->status.st_mode))
		return open_stream(file, entry, error, size);
	return open_existing(file, mode, entry, error, size);
}

int output_file_open(struct output_file *file, enum output_file_mode mode, char *error, size_t size)
{
	struct file_entry entry;
	int status;

	if (standard_files_is_output(file->name))
		return open_stdout(file, error, size);
	status = file_entry_find(&entry, file->name);
	if (status != 0)
		return fail(file, error, size, file_error(status));
	status = open_named(file, mode, &entry, error, size);
	file_entry_close(&entry);
	file->appends = mode == OUTPUT_APPEND;
	/* The user made a link that exists at the start. A later one may be an attack. */
	if (status == 0 && file->named && entry.is_link)
		file->target = realpath(file->name, NULL);
	return status;
}

/*
 * Locks the file for writing until the process ends. A process that can only read the file can take
 * a read lock; the run goes on (LOCK_READER). If the file system does not support locks, returns
 * LOCK_OURS.
 */
static enum lock_result lock(int fd)
{
	for (;;) {
		struct flock range = {.l_type = F_WRLCK, .l_start = INT64_MAX, .l_len = 1};

		if (fcntl(fd, F_OFD_SETLK, &range) == 0 || (errno != EAGAIN && errno != EACCES))
			return LOCK_OURS;
		if (fcntl(fd, F_OFD_GETLK, &range) != 0 || range.l_type == F_RDLCK)
			return LOCK_READER;
		if (range.l_type == F_WRLCK)
			return LOCK_ANOTHER_RUN;
	}
}

static bool is_open(const struct output_file *file, const struct stat *st)
{
	struct stat opened;

	return fstat(file->fd, &opened) == 0 && opened.st_dev == st->st_dev &&
	       opened.st_ino == st->st_ino;
}

static bool has_name(const struct output_file *file, const char *path)
{
	struct stat named;

	return stat(path, &named) == 0 && is_open(file, &named);
}

int output_file_lock(struct output_file *file, char *error, size_t size)
{
	enum lock_result result;
	struct stat st;

	if (!file->named)
		return 0;
	result = lock(file->fd);
	if (result == LOCK_ANOTHER_RUN)
		return fail(file, error, size, IN_USE);
	file->locked = true;
	if (result == LOCK_READER)
		log_file(file, true,
			"%.300s: locked by a reader: cannot check whether another run writes to it",
			shown_name(file));
	/* Rows that another run wrote after open() must not be truncated. */
	if (fstat(file->fd, &st) == 0 && (uint64_t)st.st_size != file->size)
		return fail(file, error, size, "another run wrote to it just now; start again");
	if (!has_name(file, file->name))
		return fail(file, error, size, "was removed or replaced just now; start again");
	return 0;
}

/*
 * Finds the last complete epoch in a file of `size` bytes.
 *
 * If the file is longer than its mark, the run was killed before it marked the last epoch. If it is
 * shorter, a power failure or another program removed bytes, and its last epoch may be incomplete.
 * Without a mark, every complete row counts.
 */
static const char *read_tail(const struct output_file *file, int fd, uint64_t size, uint64_t next,
	struct output_tail *tail)
{
	struct output_mark mark;
	bool marked = output_mark_read(fd, &mark);
	uint64_t end = size, epoch;
	const char *why;

	/* the mark was made before the header was written */
	if (marked && mark.whole < file->form.header.len)
		mark.whole = file->form.header.len;
	if (marked && size > mark.whole &&
		!(epoch_at(fd, &file->form, mark.whole, size, &epoch) && epoch + 1 == next))
		end = mark.whole;
	why = read_rows_of(fd, &file->form, end, tail);
	if (why != NULL || !marked || size >= mark.whole || !tail->has_epoch)
		return why;
	end = last_epoch_begin(fd, &file->form, tail);
	return read_rows_of(fd, &file->form, end, tail);
}

static void warn_if_unmarked(const struct output_file *file)
{
	struct output_mark mark;

	if (file->has_epoch && !output_mark_read(file->fd, &mark) && errno == ENOTSUP)
		log_file(file, true,
			"%.300s: no extended attributes on its file system: cannot detect an "
			"interval that a killed run left incomplete",
			shown_name(file));
}

int output_file_look(struct output_file *file, uint64_t next, char *error, size_t size)
{
	struct output_tail tail;
	const char *why;

	if (file->appended) {
		why = read_tail(file, file->fd, file->size, next, &tail);
		if (why != NULL)
			return fail(file, error, size, why);
		file->keep = tail.keep;
		file->header_due = file->keep == 0;
		file->has_epoch = tail.has_epoch;
		file->last_epoch = tail.last_epoch;
		file->has_start = tail.has_start;
		file->start = tail.start;
		warn_if_unmarked(file);
	}
	if (file->appends && !file->has_epoch && rotates(file))
		take_number_of_latest(file);
	return 0;
}

/* If the file ends with an incomplete row, its old mark stays. */
static void mark(struct output_file *file)
{
	struct stat st;

	if (!file->named || file->gone || fstat(file->fd, &st) != 0)
		return;
	output_mark_write(
		file->fd, &(struct output_mark){.whole = (uint64_t)st.st_size, .next = file->next});
	file->marked = true;
}

void output_file_mark(struct output_file *file, uint64_t next)
{
	file->next = next;
	mark(file);
}

int output_file_start(struct output_file *file, uint64_t next, char *error, size_t size)
{
	uint64_t cut = file->size - file->keep;

	VERIFY(file->keep, <=, file->size);
	if (cut > 0 && ftruncate(file->fd, (off_t)file->keep) < 0)
		return fail(file, error, size, strerror(errno));
	if (cut > 0 && file->keep > 0)
		log_file(file, true, "%.300s: removed an unfinished last %s of %llu bytes",
			shown_name(file), file->had_mark ? "epoch" : "row",
			(unsigned long long)cut);
	output_file_mark(file, next);
	return 0;
}

/* Returns true if this run created the file, it is empty, and no other run can lock it. */
static bool is_ours_and_empty(const struct output_file *file)
{
	struct stat st;

	return file->created && (file->locked || lock(file->fd) == LOCK_OURS) &&
	       fstat(file->fd, &st) == 0 && st.st_size == 0 && has_name(file, file->name);
}

void output_file_abandon(struct output_file *file)
{
	struct file_entry entry;

	if (is_ours_and_empty(file) && file_entry_find(&entry, file->name) == 0) {
		if (entry.exists && !entry.is_link && is_open(file, &entry.status))
			unlinkat(entry.folder, entry.name, 0);
		file_entry_close(&entry);
	}
	output_file_close(file);
}

bool output_file_same(const struct output_file *a, const struct output_file *b)
{
	struct stat st_a, st_b;

	return fstat(a->fd, &st_a) == 0 && fstat(b->fd, &st_b) == 0 && !S_ISCHR(st_a.st_mode) &&
	       st_a.st_dev == st_b.st_dev && st_a.st_ino == st_b.st_ino;
}

static bool wait_until_writable(const struct output_file *file)
{
	struct pollfd pollfd = {.fd = file->fd, .events = POLLOUT};
	int waited = 0;

	while (poll(&pollfd, 1, LOOK_MS) <= 0) {
		bool ends =
			signals_stop_requested() || (file->over != NULL && atomic_load(file->over));

		waited = ends ? waited + LOOK_MS : 0;
		if (waited >= PATIENCE_MS)
			return false;
	}
	return true;
}

/*
 * Removes the last `done` bytes that were written to a regular file. With O_APPEND they end at the
 * file position, even if another program truncated the file before. Returns false if another
 * process has written bytes after them.
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

/* Otherwise the next row would be appended to an incomplete one. */
static void give_up(struct output_file *file, int error)
{
	log_file(file, true,
		"%.300s: %s, and an incomplete row cannot be removed; all later rows are lost",
		shown_name(file), strerror(error));
	file->gone = true;
}

/* Writes to a pipe or terminal only as much as fits, so that the call does not block. */
static ssize_t write_some(const struct output_file *file, const char *data, size_t len)
{
	if (file->regular)
		return write(file->fd, data, len);
	if (!wait_until_writable(file)) {
		errno = ETIMEDOUT;
		return -1;
	}
	return standard_files_write(file->fd, data, len < PIPE_BUF ? len : PIPE_BUF);
}

/* Returns 0, or an errno after removing what was written. */
static int write_all(struct output_file *file, const struct text *text)
{
	size_t done = 0;

	while (done < text->len) {
		ssize_t n = write_some(file, text->data + done, text->len - done);
		int error = n < 0 ? errno : EIO;

		if (n > 0) {
			done += (size_t)n;
		} else if (error != EINTR && error != EAGAIN) {
			if (!roll_back(file, done))
				give_up(file, error);
			return error;
		}
	}
	return 0;
}

static void count_lost(struct output_file *file, int error, uint64_t rows)
{
	if (error == EPIPE && !file->gone && standard_files_is_output(file->name))
		file->gone = file->unread = true;
	if (file->unread)
		return;
	file->lost += rows;
	file->lost_now += rows;
	if (file->error == 0 && !file->gone) {
		if (error == EPIPE)
			log_file(file, true,
				"%.300s: closed by its reader; all later rows are lost",
				shown_name(file));
		else if (error == ETIMEDOUT && !file->regular)
			log_file(file, true,
				"%.300s: its reader does not read, and the run is ending; all "
				"later rows are lost",
				shown_name(file));
		else
			log_file(file, true,
				"%.300s: %s; rows are lost until it can be written again",
				shown_name(file), strerror(error));
	}
	file->gone |= error == EPIPE || (error == ETIMEDOUT && !file->regular);
	file->error = error;
}

static void count_written(struct output_file *file, uint64_t rows)
{
	file->here += rows;
	if (file->error != 0)
		log_file(file, false, "%.300s: resumed; %llu rows were lost", shown_name(file),
			(unsigned long long)file->lost_now);
	file->error = 0;
	file->lost_now = 0;
}

static int write_header(struct output_file *file)
{
	struct stat st;
	int error;

	/* also if another program truncated the file, such as logrotate with copytruncate */
	if (file->named && fstat(file->fd, &st) == 0 && st.st_size == 0) {
		file->header_due = true;
		file->has_start = false;
	}
	if (!file->header_due)
		return 0;
	error = file->form.header.failed ? ENOMEM : write_all(file, &file->form.header);
	file->header_due = error != 0;
	return error;
}

void output_file_write_header(struct output_file *file)
{
	int error = file->gone ? 0 : write_header(file);

	if (error != 0)
		count_lost(file, error, 0);
}

static bool write_rows(struct output_file *file, const struct output_rows *rows)
{
	int error = file->gone ? EPIPE : write_header(file);

	if (error == 0)
		error = rows->text->failed ? ENOMEM : write_all(file, rows->text);
	if (error != 0)
		count_lost(file, error, rows->n);
	else
		count_written(file, rows->n);
	return error == 0;
}

/*
 * Returns the reason why the run must not continue in the file, else NULL. If others may write to
 * the folder, the name may now lead to a file of another user.
 */
static const char *distrust(const struct output_file *file, const struct stat *st)
{
	struct stat opened;

	if (!S_ISREG(st->st_mode))
		return "is no longer a regular file";
	if (is_open(file, st))
		return NULL;
	if (st->st_nlink > 1)
		return "has other hard links";
	if (st->st_uid != geteuid() && st->st_uid != 0 &&
		(fstat(file->fd, &opened) != 0 || st->st_uid != opened.st_uid))
		return "belongs to another user now";
	return NULL;
}

static int open_path(const char *path, const char **why)
{
	/* O_NONBLOCK: if the file is a FIFO, do not wait for a reader */
	const int flags = O_RDWR | O_APPEND | O_NONBLOCK;
	struct file_entry entry;
	int fd = -1, error = file_entry_find(&entry, path);

	if (error == 0) {
		if (entry.is_link)
			error = ELOOP;
		else if ((fd = file_entry_open(&entry, flags, OUTPUT_FILE_MODE)) < 0)
			error = errno;
		file_entry_close(&entry);
	}
	if (error != 0)
		*why = error == ELOOP || error == FILE_LINK_TO_NOTHING ? "is a symbolic link now"
								       : file_error(error);
	return fd;
}

static int open_again(const struct output_file *file, struct output_tail *tail, const char **why)
{
	int fd = open_path(path_of(file), why);
	struct stat st;

	if (fd < 0)
		return -1;
	*why = fstat(fd, &st) < 0 ? strerror(errno) : distrust(file, &st);
	if (*why == NULL && !is_open(file, &st) && lock(fd) == LOCK_ANOTHER_RUN)
		*why = IN_USE;
	if (*why == NULL)
		*why = read_tail(file, fd, (uint64_t)st.st_size, file->next, tail);
	if (*why == NULL && (uint64_t)st.st_size > tail->keep &&
		ftruncate(fd, (off_t)tail->keep) < 0)
		*why = strerror(errno);
	if (*why != NULL) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Some file systems report a full disk late: the number of lost rows is unknown. */
static void warned_late(struct output_file *file, const char *when)
{
	log_file(file, true, "%.300s: %s when the file was %s; rows may be missing",
		shown_name(file), strerror(errno), when);
	file->lost++;
}

static void warn_if_deleted(struct output_file *file)
{
	struct stat st;

	/* A memory file, which is named by its descriptor (/proc/self/fd/N), never has a link. */
	if (!file->named || file->here == 0 || fstat(file->fd, &st) != 0 || st.st_nlink > 0 ||
		has_name(file, file->name))
		return;
	log_file(file, true,
		"%.300s: the file was deleted during the run: %llu rows are lost unless another "
		"process has it open",
		shown_name(file), (unsigned long long)file->here);
}

static void close_fd(struct output_file *file)
{
	warn_if_deleted(file);
	file->here = 0;
	if (file->marked && !file->gone) /* the rows are complete now; another program may append */
		remove_mark(file->fd);
	file->marked = false;
	if (close(file->fd) != 0 && errno != EINTR)
		warned_late(file, "closed");
}

static void sync_rows(struct output_file *file)
{
	if (fdatasync(file->fd) != 0 && errno != EINVAL && errno != EROFS)
		warned_late(file, "synchronized");
}

static const char *change_file(struct output_file *file)
{
	struct output_tail tail = {0};
	const char *why = NULL;
	int fd = open_again(file, &tail, &why);

	if (fd < 0)
		return why;
	close_fd(file);
	lock(fd); /* if it is the same file, closing the old descriptor has released the lock */
	file->fd = fd;
	file->header_due = false;
	file->has_start = tail.has_start;
	file->start = tail.start;
	file->gone = false;
	file->stuck = false;
	mark(file);
	output_file_write_header(file);
	return NULL;
}

const char *output_file_reopen(struct output_file *file)
{
	const char *why;

	if (!file->named)
		return NULL;
	why = change_file(file);
	if (why != NULL)
		log_file(file, true, "%.300s: cannot open it again: %s; the old file is kept",
			file->name, why);
	return why;
}

static const char *rename_entry(struct output_file *file, const struct file_entry *entry)
{
	char name[NAME_MAX + 1];
	const char *why;
	int error = rotation_rename(entry, file->start, name);

	if (error != 0)
		return error == EEXIST ? "all 10000 names for this second exist already"
				       : strerror(error);
	sync_rows(file);
	why = change_file(file);
	if (why != NULL)
		rotation_undo(entry, name);
	error = rotation_sync_folder(entry);
	if (why == NULL && error != 0)
		log_file(file, true, "%.300s: %s; a power failure may undo the renaming", name,
			strerror(error));
	return why;
}

static const char *rename_complete(struct output_file *file)
{
	struct file_entry entry;
	const char *why;

	if (file_entry_find(&entry, path_of(file)) != 0)
		return change_file(file);
	/* If another program has renamed the file, it is complete, and a new file begins. */
	why = entry.exists && is_open(file, &entry.status) ? rename_entry(file, &entry)
							   : change_file(file);
	file_entry_close(&entry);
	return why;
}

static void rotate(struct output_file *file)
{
	const char *why;

	if (file->gone) /* a file that ends with an incomplete row is never complete */
		return;
	why = rename_complete(file);
	if (why != NULL && !file->stuck)
		log_file(file, true, "%.300s: cannot be rotated: %s; the file continues to grow",
			file->name, why);
	file->stuck = why != NULL;
}

static int64_t period_of(const struct output_file *file, int64_t time)
{
	int64_t period = (int64_t)file->limits.period;

	return time / period - (time % period < 0);
}

static bool belong_here(const struct output_file *file, const struct output_rows *rows)
{
	struct stat st;

	if (!file->has_start)
		return true;
	if (file->limits.period > 0 && period_of(file, rows->start) != period_of(file, file->start))
		return false;
	return file->limits.size == 0 || fstat(file->fd, &st) != 0 || st.st_size == 0 ||
	       (uint64_t)st.st_size + rows->text->len <= file->limits.size;
}

void output_file_write(struct output_file *file, const struct output_rows *rows)
{
	/* without rows, success would not mean that the file can be written again */
	if (rows->n == 0) {
		output_file_write_header(file);
		return;
	}
	if (rotates(file) && !belong_here(file, rows))
		rotate(file);
	if (write_rows(file, rows) && !file->has_start) {
		file->has_start = true;
		file->start = rows->start;
	}
}

void output_file_pass(struct output_file *file, int64_t time)
{
	if (rotates(file) && file->limits.period > 0 && file->has_start &&
		period_of(file, time) > period_of(file, file->start))
		rotate(file);
}

void output_file_close(struct output_file *file)
{
	/* A failed header counts as one lost row. */
	if (file->header_due && file->error != 0 && file->lost == 0)
		file->lost = 1;
	if (file->fd >= 0 && !standard_files_is_output(file->name))
		close_fd(file);
	else if (file->fd > STDERR_FILENO)
		close(file->fd);
	text_free(&file->form.header);
	free(file->target);
	file->target = NULL;
}
