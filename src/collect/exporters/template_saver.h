/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Saves the template file (collect/exporters/template_file.h) in a thread of its own, so that a
 * slow or full disk never delays the decoder. The decoder copies templates to preallocated memory
 * and passes the copy to the thread. Functions are called by the decoder and, after its end, by the
 * thread that ends the run.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/exporters/template_file.h"

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
 * Build a new copy set by set, if a write is due. Without a new copy, template_saver_save() writes
 * the previous one.
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
