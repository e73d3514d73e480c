/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* What an existing CSV file of ours holds, from its two ends: the rest is not read. */

#include <stdbool.h>
#include <stdint.h>

#include "report/text.h"

struct output_tail {
	uint64_t keep;  /* bytes up to the end of the last whole row; what follows is unfinished */
	bool has_epoch; /* there is a row, and the last one is of this epoch */
	uint64_t last_epoch;
	bool has_start; /* the first row starts then, ns since 1970 */
	int64_t start;
};

/* Returns NULL, or why rows cannot be appended to the file of `size` bytes. */
const char *output_tail_read(
	int fd, const struct text *header, uint64_t size, struct output_tail *tail);
