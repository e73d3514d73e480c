/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Limits (ulimit) and capabilities of the process. */

#include <stdbool.h>
#include <stdint.h>

#define PROCESS_LIMITS_ERROR_MAX 256

/*
 * Raises the limit of open files if it is too low. Returns true, or false and one line in
 * error[PROCESS_LIMITS_ERROR_MAX].
 */
bool process_limits_check(char *error);

/* Returns the effective capabilities, as bits; all if the kernel does not report them. */
uint64_t process_capabilities(void);
