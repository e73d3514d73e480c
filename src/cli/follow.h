/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "cli/epoch_view.h"

/*
 * Runs `sketchtap follow`; argv[0] is "follow". Returns the exit status. 0: the run ended, or the
 * reader closed the pipe. 1: no run answers, or the connection broke. 2: usage error.
 */
int follow(int argc, char **argv);

struct following {
	const char *name; /* NULL: the only run */
	bool json;
	uint64_t closed, number; /* copied from the last epoch; 0: none yet */
};

void following_add(struct following *following, const struct epoch_view *epoch, struct text *text);
