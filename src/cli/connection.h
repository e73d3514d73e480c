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

/* Each returns false if the run closed the connection, or does not answer in time. */
bool connection_send(int fd, const char *command);
bool connection_receive(int fd, char *answer); /* into answer[CONNECTION_ANSWER_MAX] */
/* After either returned false, with its errno: reports the cause on standard error. */
void connection_error(void);
