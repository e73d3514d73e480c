/* SPDX-License-Identifier: BSD-3-Clause */
#include "rx/capture/capture_input.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assertion.h"
#include "base/signals.h"
#include "rx/source.h"

#define LOOK_MS 100 /* ms between checks for a signal that requests the end of the run */

#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
#define READ_BYTES 1024 /* small, so that fuzzed inputs are longer */
#else
#define READ_BYTES (256 * 1024) /* fits in a part of the L2 cache */
#endif
/* One byte of the previous read, and a whole read */
#define GZIP_BUFFER (READ_BYTES + 1)

static const uint8_t gzip_magic[2] = {0x1f, 0x8b};

static bool is_interrupted(void)
{
	if (!signals_stop_requested())
		return false;
	errno = EINTR;
	return true;
}

/* Returns false with errno EINTR only if a signal requested the end of the run. */
static bool await_bytes(const struct capture_input *input)
{
	struct pollfd bytes = {.fd = input->fd, .events = POLLIN};
	int ready;

	while ((ready = poll(&bytes, 1, LOOK_MS)) == 0 || (ready < 0 && errno == EINTR))
		if (is_interrupted())
			return false;
	return ready > 0;
}

static ssize_t read_file(struct capture_input *input, void *buffer, size_t size)
{
	uint64_t consumed = atomic_load_explicit(&input->consumed, memory_order_relaxed);
	ssize_t got;

	do {
		if (is_interrupted() || (!input->regular && !await_bytes(input)))
			return -1;
		got = read(input->fd, buffer, size);
	} while (got < 0 && (errno == EINTR || errno == EAGAIN));
	if (got > 0)
		atomic_store_explicit(
			&input->consumed, consumed + (uint64_t)got, memory_order_relaxed);
	return got;
}

/* Appends compressed bytes to those that zlib has not used. */
static ssize_t gzip_fill(struct capture_input *input)
{
	z_stream *z = &input->inflate;
	ssize_t got;

	memmove(input->compressed, z->next_in, z->avail_in);
	z->next_in = input->compressed;
	got = read_file(input, input->compressed + z->avail_in, GZIP_BUFFER - z->avail_in);
	if (got > 0)
		z->avail_in += (unsigned int)got;
	return got;
}

/* Returns 1 if a gzip member follows, 0 at the end, -1 with errno. Ignores other data. */
static int gzip_next_member(struct capture_input *input)
{
	z_stream *z = &input->inflate;

	while (z->avail_in < sizeof(gzip_magic)) {
		ssize_t got = gzip_fill(input);

		if (got <= 0)
			return (int)got;
	}
	if (memcmp(z->next_in, gzip_magic, sizeof(gzip_magic)) != 0)
		return 0;
	inflateReset(z);
	input->member_end = false;
	return 1;
}

static ssize_t read_gzip(struct capture_input *input, uint8_t *buffer, size_t size)
{
	z_stream *z = &input->inflate;

	z->next_out = buffer;
	z->avail_out = (unsigned int)size;
	while (z->next_out == buffer && input->damage == NULL) {
		int status;

		if (input->member_end) {
			status = gzip_next_member(input);
			if (status <= 0)
				return status;
		}
		if (z->avail_in == 0) {
			ssize_t got = gzip_fill(input);

			if (got < 0)
				return -1;
			if (got == 0) {
				input->damage = "truncated gzip stream";
				break;
			}
		}
		status = inflate(z, Z_NO_FLUSH);
		if (status == Z_STREAM_END)
			input->member_end = true;
		else if (status != Z_OK)
			input->damage = "corrupt gzip stream";
	}
	return z->next_out - buffer;
}

/* `head` are bytes that were already read. Returns false with errno on failure. */
static bool gzip_start(struct capture_input *input, const uint8_t *head, size_t len)
{
	z_stream *z = &input->inflate;

	input->compressed = malloc(GZIP_BUFFER);
	if (input->compressed == NULL || len > GZIP_BUFFER ||
		inflateInit2(z, 16 + MAX_WBITS) != Z_OK) {
		errno = ENOMEM;
		return false;
	}
	memcpy(input->compressed, head, len);
	z->next_in = input->compressed;
	z->avail_in = (unsigned int)len;
	input->gzip = true;
	return true;
}

/* Many buffers can be filled without a read of the file, so this checks for a stop request. */
static ssize_t read_some(struct capture_input *input, uint8_t *buffer, size_t size)
{
	if (is_interrupted())
		return -1;
	return input->gzip ? read_gzip(input, buffer, size) : read_file(input, buffer, size);
}

static void append_up_to(struct capture_input *input, size_t n)
{
	while (!input->ended && (size_t)(input->end - input->at) < n) {
		ssize_t got = read_some(input, input->end, READ_BYTES);

		if (got > 0)
			input->end += got;
		if (got < 0)
			input->failure = errno;
		input->ended = got <= 0;
	}
}

static void start(struct capture_input *input)
{
	size_t len;

	append_up_to(input, sizeof(gzip_magic));
	len = (size_t)(input->end - input->at);
	if (len < sizeof(gzip_magic) || memcmp(input->at, gzip_magic, sizeof(gzip_magic)) != 0)
		return;
	if (!gzip_start(input, input->at, len)) {
		input->failure = errno;
		input->ended = true;
	}
	input->end = input->buffer;
}

size_t capture_input_fill(struct capture_input *input, size_t n)
{
	size_t left = (size_t)(input->end - input->at);

	ASSERT(n, <=, CAPTURE_INPUT_WHOLE);
	memmove(input->buffer, input->at, left);
	input->at = input->buffer;
	input->end = input->buffer + left;
	append_up_to(input, n);
	left = (size_t)(input->end - input->at);
	return left < n ? left : n;
}

uint32_t capture_input_magic(struct capture_input *input)
{
	bool there = capture_input_have(input, sizeof(uint32_t)) == sizeof(uint32_t);

	return there ? capture_u32(input->at, false) : 0;
}

void capture_input_explain(const struct capture_input *input, const char *cut, char *error)
{
	if (input->failure != 0)
		source_error(error, "cannot read further: %s", strerror(input->failure));
	else
		source_error(error, "truncated: %s", cut);
}

static bool check_file(struct capture_input *input, const char *path, char *error)
{
	struct stat stat;
	off_t start;

	if (fstat(input->fd, &stat) != 0) {
		source_error(error, "%s: cannot read: %s", path, strerror(errno));
		return false;
	}
	if (S_ISDIR(stat.st_mode)) {
		source_error(error, "%s: is a directory; name a capture file", path);
		return false;
	}
	start = lseek(input->fd, 0, SEEK_CUR);
	input->regular = S_ISREG(stat.st_mode) && start >= 0;
	if (input->regular && stat.st_size > start)
		input->size = (uint64_t)(stat.st_size - start);
	return true;
}

bool capture_input_open(struct capture_input *input, const char *path, char *error)
{
	memset(input, 0, sizeof(*input));
	/*
	 * Without O_NONBLOCK, open() waits until a FIFO has a writer, and ignores a stop request.
	 */
	input->fd = strcmp(path, "-") == 0 ? STDIN_FILENO
					   : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (input->fd < 0) {
		source_error(error, "%s: cannot open: %s", path, strerror(errno));
		return false;
	}
	if (check_file(input, path, error)) {
		input->buffer = malloc(CAPTURE_INPUT_WHOLE + READ_BYTES);
		input->at = input->end = input->buffer;
		if (input->buffer != NULL) {
			start(input);
			return true;
		}
		source_error(error, "%s: out of memory", path);
	}
	capture_input_close(input);
	return false;
}

void capture_input_close(struct capture_input *input)
{
	if (input->fd >= 0 && input->fd != STDIN_FILENO)
		close(input->fd);
	input->fd = -1;
	if (input->gzip)
		inflateEnd(&input->inflate);
	input->gzip = false;
	free(input->compressed);
	free(input->buffer);
	input->compressed = input->buffer = NULL;
}
