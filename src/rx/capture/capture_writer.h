/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Writes packets to a pcap file: classic format, nanoseconds, Ethernet, this machine's byte
 * order. */

#include <stdbool.h>

#include "rx/source.h"

struct capture_writer;

enum capture_writer_result {
	CAPTURE_WRITER_OK,
	CAPTURE_WRITER_EXISTS, /* a file of this name is there, and `force` was not given */
	CAPTURE_WRITER_FAILED,
};

/*
 * Opens path ("-" is standard output). An existing regular file is overwritten with `force` only;
 * devices and pipes are written to. Anything but CAPTURE_WRITER_OK comes with one line in
 * error[SOURCE_ERROR_MAX].
 */
enum capture_writer_result capture_writer_open(
	struct capture_writer **writer, const char *path, bool force, char *error);

/*
 * Adds an Ethernet packet of a time before 2106. Returns 0, or -1 and one line in error[]: then a
 * regular file holds whole packets only, and nothing more is written. Who reads standard output and
 * closes it, where SIGPIPE is ignored, wants no more: -1, and error[] is left alone.
 */
int capture_writer_write(
	struct capture_writer *writer, const struct source_packet *packet, char *error);

/* Writes what is buffered, closes the file, frees the writer. Returns as capture_writer_write(). */
int capture_writer_close(struct capture_writer *writer, char *error);
