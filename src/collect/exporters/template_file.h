/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Saves templates in a text file. First line: sketchtap-templates 1. Then one line per definition:
 * PROTOCOL ADDRESS DOMAIN STARTED SET CHECKSUM. SET is a template set in hexadecimal; sets 65535
 * and 65534 have sampling intervals and roles (collect/collector_templates.c). STARTED is the start
 * of the exporter by its own clock (ms since 1970-01-01 UTC), or 0. CHECKSUM covers the line and
 * the first line.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/exporters/exporter.h"

struct template_file_entry {
	struct exporter_id id;
	int64_t started;
	const uint8_t *set;
	uint32_t len;
};

/*
 * Calls take() for each entry. *damaged: number of ignored lines, also those for which take()
 * returned false. Returns 0 or an error of base/regular_file.h: ENOENT if there is no file, EINVAL
 * if it is not a regular one, EBADMSG if it has another format.
 */
int template_file_read(const char *path,
	bool (*take)(void *arg, const struct template_file_entry *entry), void *arg,
	uint64_t *damaged);

/* Returns 0 or an error of base/regular_file.h; EINVAL if it is not a regular file. */
int template_file_check(const char *path);

/* The old file stays complete until template_file_end(), which always frees the writer. */
struct template_writer;
int template_file_begin(struct template_writer **writer, const char *path);
void template_file_put(struct template_writer *writer, const struct template_file_entry *entry);
int template_file_end(struct template_writer *writer);

/*
 * Writes the file in its own thread, so that a slow disk never delays the decoder. The decoder
 * copies templates to preallocated memory. Only the decoder calls the functions; after its end, the
 * thread that ends the run.
 */
struct template_saver;

/* Returns the memory for saving `template_bytes` of decoded templates. */
size_t template_saver_memory(size_t template_bytes);

/* `path` must outlive the thread. Returns 0 or errno. */
int template_saver_start(struct template_saver **saver, const char *path, size_t template_bytes);
/* Waits for the current write. NULL is allowed. */
void template_saver_stop(struct template_saver *saver);

/* Returns true at most every ten seconds, if templates changed or the last write failed. */
bool template_saver_is_due(struct template_saver *saver, bool changed, int64_t now);

/* Without a new copy, template_saver_save() writes the previous one again. */
void template_saver_clear(struct template_saver *saver);
void template_saver_put(struct template_saver *saver, const struct template_file_entry *entry);

void template_saver_save(struct template_saver *saver, int64_t now);
void template_saver_wait(struct template_saver *saver);

/* Returns the result of the last complete write: 0 or errno. */
int template_saver_status(const struct template_saver *saver);
