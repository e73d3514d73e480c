/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Prints a printable line to standard error. */

#define CLI_ERROR_MAX 2048

/* Returns `status`. */
__attribute__((format(printf, 2, 3))) int cli_error(int status, const char *format, ...);
