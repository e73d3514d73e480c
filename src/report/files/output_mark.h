/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Up to where a file holds whole epochs: what a kill in the middle of a write leaves behind that
 * must not be taken for one. It is an extended attribute of the file, so it goes where the file
 * goes, and rows stay as they are. A file that was closed in order has none.
 *
 * An epoch is written to all outputs, then it is marked in all. So where one says that epoch N is
 * next, epoch N - 1 is whole in every other one, marked there or not; but for --export deliveries, which is
 * written when the next epoch comes.
 */

#include <stdbool.h>
#include <stdint.h>

struct output_mark {
	uint64_t whole; /* bytes of whole epochs, from the beginning */
	uint64_t next;  /* the first epoch that is not in all outputs of the run */
};

/* Returns false if there is no mark; errno ENOTSUP: the file system does not support marks. */
bool output_mark_read(int fd, struct output_mark *mark);

/* If the mark cannot be written, the file has none afterwards, rather than an old one. */
void output_mark_write(int fd, const struct output_mark *mark);

void output_mark_remove(int fd);
