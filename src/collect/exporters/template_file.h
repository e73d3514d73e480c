/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Templates in a file, so that they outlive the collector. Text, a line for each definition:
 *
 *   sketchtap-templates 1
 *   PROTOCOL ADDRESS DOMAIN STARTED SET CHECKSUM
 *
 * with the set in hexadecimal digits, or, with the number 65535 and a length before it as a set has
 * them, what options said of the domain's sampling (sampling_write()). STARTED is when the exporter
 * started, by its own clock, in ms since 1970-01-01 UTC, or 0. The checksum is of what stands before
 * it in its line and of the first line, so that a damaged line costs itself, and the next where the
 * line's end was hit.
 */

#include <stdbool.h>
#include <stdint.h>

#include "collect/exporters/exporter.h"

struct template_file_entry {
	struct exporter_id id;
	int64_t started;
	const uint8_t *set;
	uint32_t len;
};

/*
 * Calls take() for each entry, in the file's order; false from it is as if the line were damaged.
 * Returns 0, or an error of base/regular_file.h; of a file that is not there ENOENT, of what is no
 * regular file EINVAL, of a file of something else EBADMSG.
 * *damaged: lines that were left out.
 */
int template_file_read(const char *path,
	bool (*take)(void *arg, const struct template_file_entry *entry), void *arg,
	uint64_t *damaged);

/*
 * Whether a file of this name could be written, as far as names and rights tell: 0, or an error of
 * base/regular_file.h; EINVAL where something lies there which is no regular file.
 */
int template_file_check(const char *path);

/*
 * Writes the file anew: the old one stays whole until the new one is on the disk. Each returns 0
 * or an error of base/regular_file.h. After template_file_end() the writer is gone, whatever it returns.
 */
struct template_writer;
int template_file_begin(struct template_writer **writer, const char *path);
void template_file_put(struct template_writer *writer, const struct template_file_entry *entry);
int template_file_end(struct template_writer *writer);
