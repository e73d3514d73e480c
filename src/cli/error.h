/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* A line on standard error, of what others may have written: it is made printable. */

#define CLI_ERROR_MAX 2048

/* Returns the status. */
__attribute__((format(printf, 2, 3))) int cli_error(int status, const char *format, ...);
