/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Stores in an output file the length of its complete epochs, so that the next run finds an epoch
 * that a killed run left incomplete. The mark is an extended attribute: it moves with the file and
 * rows are unchanged. A file that was closed normally has no mark.
 *
 * An epoch is written to all outputs, then marked in all. If one mark has `next` = N, every other
 * output has epoch N - 1 complete, marked or not. The exception is --export deliveries, which is
 * written one epoch later.
 */

#include <stdbool.h>
#include <stdint.h>

struct output_mark {
	uint64_t whole; /* bytes of complete epochs, from the beginning of the file */
	uint64_t next;  /* first epoch not yet in all outputs of the run */
};

/* Returns false if there is no mark; errno ENOTSUP: the file system does not support marks. */
bool output_mark_read(int fd, struct output_mark *mark);

/* Writes the mark, or removes the old one on failure. */
void output_mark_write(int fd, const struct output_mark *mark);

void output_mark_remove(int fd);
