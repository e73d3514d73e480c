/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * The name of an instance, and its directory in the runtime directory of EAL. The directory has the
 * control socket. The process locks the directory, and removes it at the end. If a process is
 * killed, the next start of sketchtap removes its directory, unless it was started with --name.
 */

#include <stdbool.h>

#include "config/option.h"

struct process_options {
	const char *name; /* NULL: the process ID */
};

OPTION_OWNER(process)

#define PROCESS_ERROR_MAX 512

/*
 * Creates and locks the directory of the instance `name`. NULL: the process ID is the name. Call
 * once, before EAL starts. Returns false on error, with one line in error[PROCESS_ERROR_MAX].
 */
bool process_claim(const char *name, char *error);

/*
 * Returns true if the name is short enough, with only letters, digits, dots, dashes, underscores.
 */
bool process_name_allowed(const char *name);

/* The directory name is this prefix and the name of the instance. */
#define PROCESS_PREFIX "sketchtap-"

/*
 * Writes glob(7) patterns of the control sockets of instances. `name` selects an instance; NULL:
 * all names. The first pattern is for the runtime directory of EAL. If $RUNTIME_DIRECTORY does not
 * set this directory, a second pattern is for /run/sketchtap, where services have it. Returns the
 * number of patterns.
 */
#define PROCESS_PATTERNS_MAX 2
#define PROCESS_PATTERN_MAX  4200
int process_patterns(const char *name, char patterns[PROCESS_PATTERNS_MAX][PROCESS_PATTERN_MAX]);

/* Allows only this user to connect to the control socket, independently of the umask. */
void process_keep_socket_private(void);

/* Returns the argument for the option --file-prefix of EAL. */
const char *process_prefix(void);

/* Returns the path of the control socket, or NULL if it is too long for a socket address. */
const char *process_socket(void);
