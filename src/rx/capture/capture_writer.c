/* SPDX-License-Identifier: BSD-3-Clause */
#include "rx/capture/capture_writer.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assertion.h"
#include "base/regular_file.h"
#include "base/units.h"

#define BUFFER_SIZE (1024 * 1024)

/* Classic format (draft-ietf-opsawg-pcap) */
struct file_header {
	uint32_t magic;
	uint16_t major, minor;
	uint32_t reserved[2];
	uint32_t snaplen;
	uint32_t link_type;
};

struct record_header {
	uint32_t seconds;
	uint32_t nanoseconds;
	uint32_t captured;
	uint32_t original;
};

#define MAGIC_NANOSECONDS  UINT32_C(0xa1b23c4d)
#define LINK_TYPE_ETHERNET 1

struct capture_writer {
	const char *path;
	int fd;
	bool failed;
	bool header_written;
	size_t used;
	uint8_t buffer[BUFFER_SIZE];
};

static size_t whole_records(const struct capture_writer *writer, size_t length)
{
	size_t whole = writer->header_written ? 0 : sizeof(struct file_header);

	if (length < whole)
		return 0;
	for (;;) {
		struct record_header header;
		size_t next;

		if (length - whole < sizeof(header))
			return whole;
		memcpy(&header, writer->buffer + whole, sizeof(header));
		next = whole + sizeof(header) + header.captured;
		if (next > length)
			return whole;
		whole = next;
	}
}

/* `done` bytes of the buffer are in the file. Removes an incomplete last record. Returns -1. */
static int fail(struct capture_writer *writer, size_t done, int reason, char *error)
{
	off_t part = (off_t)(done - whole_records(writer, done));
	off_t end = lseek(writer->fd, 0, SEEK_CUR);

	writer->failed = true;
	writer->used = 0;
	if (reason == EPIPE && writer->fd == STDOUT_FILENO)
		return -1;
	source_error(error, "%s: cannot write: %s%s", writer->path, strerror(reason),
		part > 0 && end >= part && ftruncate(writer->fd, end - part) != 0
			? "; its last packet is incomplete"
			: "");
	return -1;
}

static int flush(struct capture_writer *writer, char *error)
{
	size_t done = 0;

	while (done < writer->used) {
		ssize_t wrote = write(writer->fd, writer->buffer + done, writer->used - done);

		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote <= 0)
			return fail(writer, done, wrote < 0 ? errno : ENOSPC, error);
		done += (size_t)wrote;
	}
	writer->header_written = true;
	writer->used = 0;
	return 0;
}

enum capture_writer_result capture_writer_open(
	struct capture_writer **writer, const char *path, bool force, char *error)
{
	static const struct file_header header = {
		.magic = MAGIC_NANOSECONDS,
		.major = 2,
		.minor = 4,
		.snaplen = PACKET_BYTES_MAX,
		.link_type = LINK_TYPE_ETHERNET,
	};
	bool standard = strcmp(path, "-") == 0;
	struct capture_writer *w = malloc(sizeof(*w));

	if (w == NULL) {
		source_error(
			error, "%s: out of memory for a buffer of %d bytes", path, BUFFER_SIZE);
		return CAPTURE_WRITER_FAILED;
	}
	w->path = path;
	w->failed = false;
	w->header_written = false;
	w->fd = standard ? STDOUT_FILENO : regular_file_create(path, force);
	if (w->fd < 0) {
		bool exists = errno == EEXIST;

		if (exists)
			source_error(error, "%s: exists; --force overwrites it", path);
		else
			source_error(error, "%s: cannot open: %s", path, file_error(errno));
		free(w);
		return exists ? CAPTURE_WRITER_EXISTS : CAPTURE_WRITER_FAILED;
	}
	memcpy(w->buffer, &header, sizeof(header));
	w->used = sizeof(header);
	*writer = w;
	return CAPTURE_WRITER_OK;
}

int capture_writer_write(
	struct capture_writer *writer, const struct source_packet *packet, char *error)
{
	const struct record_header header = {
		.seconds = (uint32_t)(packet->time / SECOND_NS),
		.nanoseconds = (uint32_t)(packet->time % SECOND_NS),
		.captured =
			packet->captured < PACKET_BYTES_MAX ? packet->captured : PACKET_BYTES_MAX,
		.original = packet->wire_len,
	};

	if (writer->failed)
		return -1;
	if (BUFFER_SIZE - writer->used < sizeof(header) + header.captured &&
		flush(writer, error) != 0)
		return -1;
	ASSERT(writer->used + sizeof(header) + header.captured, <=, BUFFER_SIZE);
	memcpy(writer->buffer + writer->used, &header, sizeof(header));
	memcpy(writer->buffer + writer->used + sizeof(header), packet->data, header.captured);
	writer->used += sizeof(header) + header.captured;
	return 0;
}

int capture_writer_close(struct capture_writer *writer, char *error)
{
	int result = writer->failed ? -1 : flush(writer, error);

	if (writer->fd != STDOUT_FILENO && close(writer->fd) != 0 && result == 0) {
		source_error(error, "%s: cannot write: %s", writer->path, strerror(errno));
		result = -1;
	}
	free(writer);
	return result;
}
