/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Client side of the control socket. */

#include <stdbool.h>

#define CONNECTION_ANSWER_MAX (1 << 17)

/*
 * Connects to a run by name; NULL: to the only one. Returns -1 if there is none or several. Prints
 * the reason to standard error, unless `quiet` is set.
 */
int connection_open(const char *name, bool quiet);

/* Return false if the run closed the connection or timed out. */
bool connection_send(int fd, const char *command);
bool connection_receive(int fd, char *answer); /* into answer[CONNECTION_ANSWER_MAX] */
/* Prints why connection_send() or connection_receive() returned false; uses errno. */
void connection_error(void);
