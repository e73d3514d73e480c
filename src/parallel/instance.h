/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * This process among others of its kind: a name, and a directory of that name under EAL's runtime
 * directory, which holds the control socket. The directory is locked as long as the process lives,
 * and removed when it ends; the next start removes what a killed process without a name left.
 */

#include <stdbool.h>

#define INSTANCE_ERROR_MAX 512

/*
 * Takes the name (NULL: one from the process number). Call once, before EAL starts. Returns true,
 * or false with one line in error[INSTANCE_ERROR_MAX].
 */
bool instance_claim(const char *name, char *error);

const char *instance_prefix(void); /* EAL's --file-prefix */
const char *instance_socket(
	void); /* where EAL puts the control socket; NULL: its path is too long */
