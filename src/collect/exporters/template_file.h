/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Saves templates in a file, so that they survive a restart of the collector. A text file, one line
 * per definition:
 *
 *   sketchtap-templates 1
 *   PROTOCOL ADDRESS DOMAIN STARTED SET CHECKSUM
 *
 * SET is the set in hexadecimal digits, or, with the number 65535 and a length in front as in a
 * set, the sampling of the domain (sampling_write()), or, with 65534, the roles of its interfaces
 * (collect/collector_templates.c). STARTED is the start of the exporter by its
 * own clock, in ms since 1970-01-01 UTC, or 0. CHECKSUM covers the rest of its line and the first
 * line, so that damage loses only its line, and the next one if the line end is damaged.
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
 * Calls take() for each entry, in file order. An entry for which it returns false counts as
 * damaged. Returns 0 or an error of base/regular_file.h: ENOENT if the file does not exist, EINVAL
 * if it is not a regular file, EBADMSG if it has another format. *damaged: ignored lines.
 */
int template_file_read(const char *path,
	bool (*take)(void *arg, const struct template_file_entry *entry), void *arg,
	uint64_t *damaged);

/*
 * Checks by names and permissions if the file can be written. Returns 0 or an error of
 * base/regular_file.h; EINVAL if it exists and is not a regular file.
 */
int template_file_check(const char *path);

/*
 * Replaces the file. The old one stays complete until the new one is on disk. Each function returns
 * 0 or an error of base/regular_file.h. template_file_end() always frees the writer.
 */
struct template_writer;
int template_file_begin(struct template_writer **writer, const char *path);
void template_file_put(struct template_writer *writer, const struct template_file_entry *entry);
int template_file_end(struct template_writer *writer);
