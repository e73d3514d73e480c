/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Limits (ulimit) and capabilities of the process. */

#include <stdbool.h>
#include <stdint.h>

#define PROCESS_LIMITS_ERROR_MAX 256

/*
 * Checks the limits of open files and of the stack. Raises the limit of open files if necessary.
 * Returns false with one line in error[PROCESS_LIMITS_ERROR_MAX] if a limit is too low.
 */
bool process_limits_check(char *error);

/*
 * Returns the effective capabilities, one bit per CAP_*; all bits if the kernel does not report
 * them.
 */
uint64_t process_capabilities(void);
