/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * The bytes of a capture file, plain or gzip, as a stdio stream for libpcap. It counts what was
 * read, for the progress line.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <zlib.h>

#define CAPTURE_INPUT_MAGIC 6 /* bytes at the head of a file that tell what it is */

struct capture_input {
	int fd;
	bool regular;
	uint64_t size;                      /* bytes from the start to the end, where regular */
	_Atomic uint64_t consumed;          /* bytes read from fd; written by the reader only */
	uint8_t magic[CAPTURE_INPUT_MAGIC]; /* of the uncompressed stream */
	unsigned int magic_len;
	bool started;
	const char *damage; /* NULL, or what is wrong with the file below the capture format */

	bool gzip;
	bool member_end; /* between two gzip members */
	z_stream inflate;
	uint8_t *compressed;

	char *stdio_buffer;
};

/*
 * Opens path ("-" is standard input). Returns the stream, whose fclose() closes the file, or NULL
 * and one line in error[SOURCE_ERROR_MAX]. *input must outlive the stream; after fclose(),
 * capture_input_free().
 */
FILE *capture_input_open(struct capture_input *input, const char *path, char *error);
void capture_input_free(struct capture_input *input);
