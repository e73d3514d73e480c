/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Logs to standard error with rte_log. After log_init(), lines for which standard error has no
 * room are dropped, so that no log call blocks. The next line reports their number.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_log.h>

#include "base/log_level.h"

#define LOG_LINE_MAX 1024 /* bytes; longer lines are truncated */

extern int log_type;

/* Call before rte_eal_init(). Unless `verbose`, hides messages of DPDK that are not critical. */
void log_init(enum log_level level, bool verbose);
bool log_is_verbose(void);

/*
 * Returns EAL arguments, ending with NULL, that set the levels of log_init() for drivers that EAL
 * loads as plugins. They must precede the user's EAL arguments.
 */
const char *const *log_eal_args(enum log_level level, bool verbose);

/*
 * Stores the first error line that DPDK logs between the two calls, even if its level is hidden.
 * log_catch_end() writes it to text[size], or "" if there was none. Not thread-safe.
 */
void log_catch_begin(void);
void log_catch_end(char *text, size_t size);

/* Includes lines of DPDK. Thread-safe. */
uint64_t log_lines_written(void);

__attribute__((format(printf, 2, 3))) void log_line(uint32_t level, const char *format, ...);

#define log_error(...)   log_line(RTE_LOG_ERR, __VA_ARGS__)
#define log_warning(...) log_line(RTE_LOG_WARNING, __VA_ARGS__)
#define log_notice(...)  log_line(RTE_LOG_NOTICE, __VA_ARGS__)
#define log_info(...)    log_line(RTE_LOG_INFO, __VA_ARGS__)
