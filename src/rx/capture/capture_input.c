/* SPDX-License-Identifier: BSD-3-Clause */
#include "rx/capture/capture_input.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/signals.h"
#include "rx/capture/source.h"

#define LOOK_MS 100 /* between two looks whether a wait shall end */

/* Larger buffers read no faster: libpcap's own work per packet is what is left. */
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
#define STDIO_BUFFER 1024 /* whose end inputs reach */
#define GZIP_BUFFER  1024
#else
#define STDIO_BUFFER (256 * 1024)
#define GZIP_BUFFER  (128 * 1024)
#endif

static const uint8_t gzip_magic[2] = {0x1f, 0x8b};

/*
 * Waits until there are bytes or the end. A signal that asks for the end of the run ends the wait,
 * with EINTR; any other does not.
 */
static bool await_bytes(const struct capture_input *input)
{
	struct pollfd bytes = {.fd = input->fd, .events = POLLIN};
	int ready;

	while ((ready = poll(&bytes, 1, LOOK_MS)) == 0 || (ready < 0 && errno == EINTR)) {
		if (signals_stop_requested()) {
			errno = EINTR;
			return false;
		}
	}
	return ready > 0;
}

/*
 * read(2) that counts and waits, also where the descriptor does not block. Returns the bytes read,
 * 0 at the end, -1 with errno.
 */
static ssize_t read_file(struct capture_input *input, void *buffer, size_t size)
{
	uint64_t consumed = atomic_load_explicit(&input->consumed, memory_order_relaxed);
	ssize_t got;

	do {
		if (!input->regular && !await_bytes(input))
			return -1;
		got = read(input->fd, buffer, size);
	} while (got < 0 && (errno == EINTR || errno == EAGAIN));
	if (got > 0)
		atomic_store_explicit(
			&input->consumed, consumed + (uint64_t)got, memory_order_relaxed);
	return got;
}

/* Appends to the compressed bytes that wait. Returns as read_file() does. */
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

/*
 * At the end of a member: 1 where another one begins, 0 where the file ends. What follows the last
 * member and is none is ignored, as gzip(1) does.
 */
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
				input->damage = "the gzip stream ends too early";
				break;
			}
		}
		status = inflate(z, Z_NO_FLUSH);
		if (status == Z_STREAM_END)
			input->member_end = true;
		else if (status != Z_OK)
			input->damage = "the gzip stream is corrupt";
	}
	return z->next_out - buffer;
}

/* The file turned out to be gzip: hands the bytes already read to zlib. */
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

static void keep_magic(struct capture_input *input, const uint8_t *buffer, ssize_t len)
{
	for (ssize_t i = 0; i < len && input->magic_len < CAPTURE_INPUT_MAGIC; i++)
		input->magic[input->magic_len++] = buffer[i];
}

static ssize_t read_some(struct capture_input *input, uint8_t *buffer, size_t size)
{
	return input->gzip ? read_gzip(input, buffer, size) : read_file(input, buffer, size);
}

/* Fills the buffer as far as the magic reaches, however a pipe or gzip members cut it. */
static ssize_t read_head(struct capture_input *input, uint8_t *buffer, size_t size)
{
	size_t have = 0;

	while (have < CAPTURE_INPUT_MAGIC && have < size) {
		ssize_t got = read_some(input, buffer + have, size - have);

		if (got < 0)
			return -1;
		if (got == 0)
			break;
		have += (size_t)got;
	}
	return (ssize_t)have;
}

/* The read function of the stream. The first read brings the whole magic. */
static ssize_t stream_read(void *cookie, char *chars, size_t size)
{
	struct capture_input *input = cookie;
	uint8_t *buffer = (uint8_t *)chars;
	ssize_t got;

	if (input->started) {
		got = read_some(input, buffer, size);
	} else {
		input->started = true;
		got = read_head(input, buffer, size < GZIP_BUFFER ? size : GZIP_BUFFER);
		if (got >= (ssize_t)sizeof(gzip_magic) &&
			memcmp(buffer, gzip_magic, sizeof(gzip_magic)) == 0) {
			if (!gzip_start(input, buffer, (size_t)got))
				return -1;
			got = read_head(input, buffer, size);
		}
	}
	keep_magic(input, buffer, got);
	return got;
}

static int stream_close(void *cookie)
{
	struct capture_input *input = cookie;

	return input->fd == STDIN_FILENO ? 0 : close(input->fd);
}

/* What can be told without reading. Fills regular and size. */
static bool check_file(struct capture_input *input, const char *path, char *error)
{
	struct stat stat;
	off_t start;

	if (fstat(input->fd, &stat) != 0) {
		source_error(error, "%s: cannot be read: %s", path, strerror(errno));
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

static FILE *open_stream(struct capture_input *input)
{
	static const cookie_io_functions_t functions = {
		.read = stream_read,
		.close = stream_close,
	};
	FILE *stream;

	input->stdio_buffer = malloc(STDIO_BUFFER);
	if (input->stdio_buffer == NULL)
		return NULL;
	stream = fopencookie(input, "rb", functions);
	if (stream == NULL) {
		free(input->stdio_buffer);
		return NULL;
	}
	setvbuf(stream, input->stdio_buffer, _IOFBF, STDIO_BUFFER);
	/* One thread reads it: a lock per fread() would cost as much as the rest of libpcap. */
	__fsetlocking(stream, FSETLOCKING_BYCALLER);
	return stream;
}

FILE *capture_input_open(struct capture_input *input, const char *path, char *error)
{
	FILE *stream;

	memset(input, 0, sizeof(*input));
	/* A FIFO's writer is waited for like its bytes. */
	input->fd = strcmp(path, "-") == 0 ? STDIN_FILENO
					   : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (input->fd < 0) {
		source_error(error, "%s: cannot be opened: %s", path, strerror(errno));
		return NULL;
	}
	if (check_file(input, path, error)) {
		stream = open_stream(input);
		if (stream != NULL)
			return stream;
		source_error(error, "%s: no memory for a buffer of %d bytes", path, STDIO_BUFFER);
	}
	stream_close(input);
	return NULL;
}

void capture_input_free(struct capture_input *input)
{
	if (input->gzip)
		inflateEnd(&input->inflate);
	free(input->compressed);
	free(input->stdio_buffer);
}
