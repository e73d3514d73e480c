/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Saves templates in a file, so that they survive a restart of the collector. A text file, one line
 * per definition:
 *
 *   sketchtap-templates 1
 *   PROTOCOL ADDRESS DOMAIN STARTED SET CHECKSUM
 *
 * SET is a template set in hexadecimal digits. Two set IDs have other contents: 65535 has the
 * sampling intervals of the domain (sampling_write()), and 65534 has the roles of its interfaces
 * (collect/collector_templates.c). STARTED is the start of the exporter by its own clock, in ms
 * since 1970-01-01 UTC, or 0. CHECKSUM covers the rest of its line and the first line of the file.
 * So damage loses only its line, and the next one if the line end is damaged.
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
 * Calls take() for each entry, in file order. An entry for which it returns false counts as
 * damaged. Returns 0 or an error of base/regular_file.h: ENOENT if the file does not exist, EINVAL
 * if it is not a regular file, EBADMSG if it has another format. Sets *damaged to the number of
 * ignored lines.
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
 * The next three functions replace the file. The old file stays complete until the new one is on
 * disk. template_file_begin() and template_file_end() return 0 or an error of base/regular_file.h.
 * template_file_end() always frees the writer.
 */
struct template_writer;
int template_file_begin(struct template_writer **writer, const char *path);
void template_file_put(struct template_writer *writer, const struct template_file_entry *entry);
int template_file_end(struct template_writer *writer);

/*
 * Saves the file in its own thread, so that a slow or full disk never delays the decoder. The
 * decoder copies templates to preallocated memory and passes the copy to the thread. Only the
 * decoder calls the functions. After its end, the thread that ends the run calls them.
 */
struct template_saver;

/* Returns the memory for saving `template_bytes` of decoded templates. */
size_t template_saver_memory(size_t template_bytes);

/* Starts the thread. `path` must outlive it. Returns 0 or errno. */
int template_saver_start(struct template_saver **saver, const char *path, size_t template_bytes);
/* Waits for the current write, and ends the thread. NULL is allowed. */
void template_saver_stop(struct template_saver *saver);

/*
 * Returns true if the file must be written: templates changed or the last write failed, ten seconds
 * have passed since the last write started, and none is in progress.
 */
bool template_saver_is_due(struct template_saver *saver, bool changed, int64_t now);

/*
 * If a write is due, the caller builds a new copy: it clears the old one and puts each set. Without
 * a new copy, template_saver_save() writes the previous one.
 */
void template_saver_clear(struct template_saver *saver);
void template_saver_put(struct template_saver *saver, const struct template_file_entry *entry);

/* Passes the copy to the thread. */
void template_saver_save(struct template_saver *saver, int64_t now);
/* Waits until no write is in progress. */
void template_saver_wait(struct template_saver *saver);

/*
 * Returns the result of the last write that template_saver_is_due() or _wait() found complete: 0 or
 * errno.
 */
int template_saver_status(const struct template_saver *saver);
