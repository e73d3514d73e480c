/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "cli/epoch_view.h"

/*
 * sketchtap follow: prints epochs as a run closes them, a line each. argv[0] is "follow". Returns
 * the exit status: 0 where the run ended and all was printed, or nobody reads any more; 1 where no
 * run answers, or it went without a word; 2: a mistake in the text.
 */
int follow(int argc, char **argv);

struct following {
	const char *name; /* of the run; NULL: the one that runs */
	bool json;
	uint64_t closed, number; /* of the last epoch; closed 0: none yet */
};

/* Adds the epoch's line. */
void following_add(struct following *following, const struct epoch_view *epoch, struct text *text);
