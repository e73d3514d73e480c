/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "cli/epoch_view.h"

/*
 * Runs `sketchtap follow`: prints a line for each epoch when it closes. argv[0] is "follow".
 * Returns the exit status. 0: the run ended and all was printed, or the reader closed the pipe. 1:
 * no run answers, or the connection broke. 2: usage error.
 */
int follow(int argc, char **argv);

struct following {
	const char *name; /* name of the run; NULL: the only one */
	bool json;
	uint64_t closed, number; /* copies from the last epoch_view; closed is 0 before the first */
};

/* Appends the line of an epoch to `text`. */
void following_add(struct following *following, const struct epoch_view *epoch, struct text *text);
