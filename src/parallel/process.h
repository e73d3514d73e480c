/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * This process among others of its kind: a name, and a directory of that name under EAL's runtime
 * directory, which holds the control socket. The directory is locked as long as the process lives,
 * and removed when it ends; the next start removes what a killed process without a name left.
 */

#include <stdbool.h>

#include "config/option.h"

struct process_options {
	const char *name; /* NULL: its process number */
};

OPTION_OWNER(process)

#define PROCESS_ERROR_MAX 512

/*
 * Takes the name (NULL: one from the process number). Call once, before EAL starts. Returns true,
 * or false with one line in error[PROCESS_ERROR_MAX].
 */
bool process_claim(const char *name, char *error);

/* Letters, digits, dots, dashes and underscores, not too many. */
bool process_name_allowed(const char *name);

/* Prefix of the directory name, before the name of the instance. */
#define PROCESS_PREFIX "sketchtap-"

/*
 * Patterns of glob(7) that match the control sockets of this user's processes with the name (NULL:
 * with any): where EAL of this environment puts them, and, where it says nothing of that, where the
 * service's unit does. Returns how many patterns there are.
 */
#define PROCESS_PATTERNS_MAX 2
#define PROCESS_PATTERN_MAX  4200
int process_patterns(const char *name, char patterns[PROCESS_PATTERNS_MAX][PROCESS_PATTERN_MAX]);

/* Lets only this user connect to the control socket, whatever the umask was when EAL made it. */
void process_keep_socket_private(void);

const char *process_prefix(void); /* EAL's --file-prefix */
const char *process_socket(
	void); /* where EAL puts the control socket; NULL: its path is too long */
