/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define PROCESS_LIMITS_ERROR_MAX 256

/* Raises the limit of open files. Returns false with a line in error[PROCESS_LIMITS_ERROR_MAX]. */
bool process_limits_check(char *error);

/* Returns one bit per effective CAP_*; all bits if the kernel does not report them. */
uint64_t process_capabilities(void);
