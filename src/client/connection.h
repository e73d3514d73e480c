/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* The control socket of a running sketchtap, from the side of who asks. */

#include <stdbool.h>

#define CONNECTION_ANSWER_MAX (1 << 17)

/*
 * Connects to the run of that name; NULL: to the one that runs. Returns -1 where that is none, or
 * one of several; with the reason on standard error, or quiet.
 */
int connection_open(const char *name, bool quiet);

/* Each returns false where the run closed the connection. */
bool connection_send(int fd, const char *command);
bool connection_receive(int fd, char *answer); /* into answer[CONNECTION_ANSWER_MAX] */
