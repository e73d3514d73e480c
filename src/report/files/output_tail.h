/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Reads the first and the last row of an existing output file, without the rest. */

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "report/formats/format.h"

/* Form of an output file. */
struct output_form {
	struct text header; /* first line, with its end; empty: none */
	const struct format *format;
	const struct columns *columns; /* columns of its rows */
};

struct output_tail {
	uint64_t keep;  /* bytes up to the end of the last whole row */
	bool has_epoch; /* last_epoch is valid */
	uint64_t last_epoch;
	bool has_start; /* `start` is valid: first time in the first row, ns since 1970-01-01 UTC */
	int64_t start;
};

/*
 * Reads the epoch of the row that begins at `offset` and ends before `size`. Returns false if there
 * is none.
 */
bool output_tail_epoch_at(
	int fd, const struct output_form *form, uint64_t offset, uint64_t size, uint64_t *epoch);

/* Returns the offset of the first row of the last epoch. `tail` was read from this file. */
uint64_t output_tail_last_epoch(
	int fd, const struct output_form *form, const struct output_tail *tail);

/* Returns NULL, or the reason why rows cannot be appended to the file of `size` bytes. */
const char *output_tail_read(
	int fd, const struct output_form *form, uint64_t size, struct output_tail *tail);
