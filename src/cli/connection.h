/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Client side of the control socket. */

#include <stdbool.h>

#define CONNECTION_ANSWER_MAX (1 << 17)

/*
 * Connects to a run by name; NULL: to the only one. On failure, returns -1 and, unless `quiet` is
 * set, prints the reason.
 */
int connection_open(const char *name, bool quiet);

/* Return false if the run closed the connection or timed out. */
bool connection_send(int fd, const char *command);
bool connection_receive(int fd, char *answer); /* up to CONNECTION_ANSWER_MAX bytes */
void connection_error(void);
