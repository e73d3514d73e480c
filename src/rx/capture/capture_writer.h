/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Writes packets to a pcap file: classic format, nanoseconds, Ethernet, byte order of this machine.
 */

#include <stdbool.h>

#include "rx/source.h"

struct capture_writer;

enum capture_writer_result {
	CAPTURE_WRITER_OK,
	CAPTURE_WRITER_EXISTS, /* and `force` is false */
	CAPTURE_WRITER_FAILED,
};

/*
 * Opens a file, device or pipe ("-" is standard output). Overwrites an existing regular file only
 * with `force`. On failure, error[SOURCE_ERROR_MAX] has one line.
 */
enum capture_writer_result capture_writer_open(
	struct capture_writer **writer, const char *path, bool force, char *error);

/*
 * Adds an Ethernet packet with a time before 2106. Returns 0, or -1 with one line in
 * error[SOURCE_ERROR_MAX]. After a failure, a regular file has only complete packets. If the reader
 * of standard output closed it, error[] is unchanged.
 */
int capture_writer_write(
	struct capture_writer *writer, const struct source_packet *packet, char *error);

/* Returns like capture_writer_write(). */
int capture_writer_close(struct capture_writer *writer, char *error);
