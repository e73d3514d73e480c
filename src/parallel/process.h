/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Instance name, and a directory of that name in EAL's runtime directory, which holds the control
 * socket. The process locks the directory and removes it when it ends. The next start removes the
 * directory of a killed process without a name.
 */

#include <stdbool.h>

#include "config/option.h"

struct process_options {
	const char *name; /* NULL: the process ID */
};

OPTION_OWNER(process)

#define PROCESS_ERROR_MAX 512

/*
 * Claims the name (NULL: derived from the process ID). Call once, before EAL starts. Returns true,
 * or false with one line in error[PROCESS_ERROR_MAX].
 */
bool process_claim(const char *name, char *error);

/* Returns true for letters, digits, dots, dashes and underscores, within the length limit. */
bool process_name_allowed(const char *name);

/* First part of the directory name, before the name of the instance. */
#define PROCESS_PREFIX "sketchtap-"

/*
 * Writes patterns of glob(7) that match the control sockets of this user's processes with the name
 * (NULL: any name): in EAL's runtime directory, and if the environment does not set that, also in
 * the service's. Returns the number of patterns.
 */
#define PROCESS_PATTERNS_MAX 2
#define PROCESS_PATTERN_MAX  4200
int process_patterns(const char *name, char patterns[PROCESS_PATTERNS_MAX][PROCESS_PATTERN_MAX]);

/*
 * Allows only this user to connect to the control socket, regardless of the umask when EAL made it.
 */
void process_keep_socket_private(void);

const char *process_prefix(void); /* EAL's --file-prefix */
const char *process_socket(
	void); /* path of the control socket of EAL; NULL: the path is too long */
