/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Checks process limits (ulimit) that prevent a start. */

#include <stdbool.h>

#define PROCESS_LIMITS_ERROR_MAX 256

/*
 * Raises the limit of open files if it is too low. Returns true, or false and one line in
 * error[PROCESS_LIMITS_ERROR_MAX].
 */
bool process_limits_check(char *error);
