/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Keeps a file of templates (collect/exporters/template_file.h) by a thread of its own, so that a
 * disk which is slow, full or gone holds up nobody who decodes. That one copies what is to be saved
 * into memory which was set aside, and hands it over; the thread makes the file of it. These
 * functions are the decoder's, and after its end of who ends the run.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/exporters/template_file.h"

struct template_saver;

/* Of templates that take so many bytes while they are known. */
size_t template_saver_memory(size_t template_bytes);

/* The path is not copied. Returns 0 or errno. */
int template_saver_start(struct template_saver **saver, const char *path, size_t template_bytes);
/* Waits for what is being saved. NULL: nothing. */
void template_saver_stop(struct template_saver *saver);

/*
 * Whether the file is to be written at the time `now`: its templates `changed`, or it could not be
 * written; and ten seconds have passed since it was tried. Not while it is being written.
 */
bool template_saver_is_due(struct template_saver *saver, bool changed, int64_t now);

/* Where it is due: a new copy, set by set; without one, what was copied before is saved again. */
void template_saver_clear(struct template_saver *saver);
void template_saver_put(struct template_saver *saver, const struct template_file_entry *entry);

/* Hands the copy over. */
void template_saver_save(struct template_saver *saver, int64_t now);
/* Until nothing is being saved. */
void template_saver_wait(struct template_saver *saver);

/* Of what was saved last, when template_saver_is_due() or _wait() was called: 0 or errno. */
int template_saver_status(const struct template_saver *saver);
