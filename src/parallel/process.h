/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * The name of an instance, and its directory with the control socket, in EAL's runtime directory.
 */

#include <stdbool.h>

#include "config/option.h"

struct process_options {
	const char *name; /* NULL: the process ID */
};

OPTION_OWNER(process)

#define PROCESS_ERROR_MAX 512

/* name NULL: the process ID. On error, returns false with one line in error[PROCESS_ERROR_MAX]. */
bool process_claim(const char *name, char *error);

bool process_name_allowed(const char *name);

#define PROCESS_PREFIX "sketchtap-"

/*
 * Writes glob(7) patterns of the control sockets of instance `name`; NULL: of all instances. A
 * second pattern is for services in /run/sketchtap. Returns the number of patterns.
 */
#define PROCESS_PATTERNS_MAX 2
#define PROCESS_PATTERN_MAX  4200
int process_patterns(const char *name, char patterns[PROCESS_PATTERNS_MAX][PROCESS_PATTERN_MAX]);

/* Lets only this user connect to the control socket, whatever the umask is. */
void process_keep_socket_private(void);

/* Argument of the EAL option --file-prefix. */
const char *process_prefix(void);

/* Returns NULL if the path is too long for a socket address. */
const char *process_socket(void);
