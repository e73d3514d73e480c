/* SPDX-License-Identifier: BSD-3-Clause */

#include "report/files/output_tail.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define LINE_LEN_MAX 512

/* bytes at the end of a file that are searched for the last row; rows have a few hundred */
#define TAIL_MAX 65536

/*
 * Largest epoch number to continue from. At most INT64_MAX intervals fit into time stamps, so that
 * later numbers do not overflow.
 */
#define EPOCH_MAX ((uint64_t)INT64_MAX)

/* Reads the epoch number at the beginning of a row. UINT64_MAX if it does not fit. */
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

bool output_tail_epoch_at(
	int fd, const struct output_form *form, uint64_t offset, uint64_t size, uint64_t *epoch)
{
	char row[LINE_LEN_MAX];
	size_t want = size - offset < sizeof(row) ? (size_t)(size - offset) : sizeof(row);
	ssize_t n = offset < size ? pread(fd, row, want, (off_t)offset) : 0;

	return n > 0 && parse_epoch(form, row, row + n, epoch);
}

/* Returns the offset of the first row that begins at `offset` or later, or `size`. */
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

/* Binary search: epoch numbers never decrease from row to row. */
uint64_t output_tail_last_epoch(
	int fd, const struct output_form *form, const struct output_tail *tail)
{
	uint64_t low = form->header.len, high = tail->keep, begin = tail->keep;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		uint64_t row = next_row(fd, middle, tail->keep), epoch;

		if (row >= high) {
			high = middle;
		} else if (output_tail_epoch_at(fd, form, row, tail->keep, &epoch) &&
			   epoch == tail->last_epoch) {
			begin = row;
			high = middle;
		} else {
			low = row + 1;
		}
	}
	return begin;
}

/* Reads the first time stamp in the first row after the header. */
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

/* Returns NULL, or the fault in the first line of a file of `size` bytes. */
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

/* As check_header(), for a format without headers: the first row must be one of the format. */
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

const char *output_tail_read(
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
	if (why != NULL || size < header->len) /* the header is incomplete */
		return why;
	n = pread(fd, bytes, (size_t)(size - start), (off_t)start);
	if (n < 0)
		return strerror(errno);
	end = memrchr(bytes, '\n', (size_t)n);
	if (end == NULL && start == 0 && header->len == 0) /* the first row is incomplete */
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
