/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Writes Ethernet packets to a pcap file: classic format, nanoseconds, byte order of this machine
 */

#include <stdbool.h>

#include "rx/source.h"

struct capture_writer;

enum capture_writer_result {
	CAPTURE_WRITER_OK,
	CAPTURE_WRITER_EXISTS,
	CAPTURE_WRITER_FAILED,
};

/*
 * "-" is standard output. A regular file is overwritten only with `force`. On
 * CAPTURE_WRITER_FAILED, error[SOURCE_ERROR_MAX] has one line.
 */
enum capture_writer_result capture_writer_open(
	struct capture_writer **writer, const char *path, bool force, char *error);

/*
 * The time must be before 2106. Returns 0, or -1 with one line in error[SOURCE_ERROR_MAX]. After a
 * failure, a regular file has only complete packets. If the reader of a pipe closed it, error[] is
 * unchanged.
 */
int capture_writer_write(
	struct capture_writer *writer, const struct source_packet *packet, char *error);

/* Returns 0, or -1 with one line in error[SOURCE_ERROR_MAX]. Always frees the writer. */
int capture_writer_close(struct capture_writer *writer, char *error);
