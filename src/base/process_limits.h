/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Limits of the process (ulimit) under which nothing here can start. */

#include <stdbool.h>

#define PROCESS_LIMITS_ERROR_MAX 256

/*
 * Raises the number of open files as far as it may where it is too low. Returns true, or false and
 * one line in error[PROCESS_LIMITS_ERROR_MAX].
 */
bool process_limits_check(char *error);
