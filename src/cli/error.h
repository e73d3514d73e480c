/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#define CLI_ERROR_MAX 2048

/* Prints a line with unprintable characters replaced. Returns `status`. */
__attribute__((format(printf, 2, 3))) int cli_error(int status, const char *format, ...);
