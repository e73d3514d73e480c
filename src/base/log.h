/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Logs messages to standard error, one line each: "sketchtap: ...", and "sketchtap: warning: ..."
 * for warnings. A line for systemd's journal is a priority and the text. Uses rte_log, so that
 * EAL's --log-level applies. Works before rte_eal_init(). Never called on the packet path.
 *
 * After log_init() no log call blocks, including calls of DPDK. Lines are dropped while nothing
 * reads the pipe or while the terminal is stopped. The next line that is written follows a note
 * with the number of dropped lines.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_log.h>

#include "base/log_level.h"

#define LOG_LINE_MAX 1024 /* bytes; longer messages are truncated */

extern int log_type; /* log type "sketchtap" of RTE_LOG_REGISTER() */

/*
 * Call once, before rte_eal_init(). Sends all log messages to standard error only. EAL would also
 * send them to syslog. Unless `verbose`, shows messages of sketchtap from `level` upwards, and of
 * DPDK only critical ones: sketchtap logs each failed call of DPDK itself, with advice.
 */
void log_init(enum log_level level, bool verbose);
bool log_is_verbose(void);

/*
 * Returns EAL arguments that set the levels of log_init() again. They apply to drivers, which
 * rte_eal_init() loads as plugins after log_init(). The list ends with NULL. It must precede the
 * user's EAL arguments.
 */
const char *const *log_eal_args(enum log_level level, bool verbose);

/*
 * Stores the first error line that DPDK or a driver logs between the two calls, even if its level
 * is not shown. A driver returns only an error number, and logs the reason. log_catch_end() writes
 * the line to text[size] without the name of the function, or "" if there was none. Only one thread
 * at a time may use these functions.
 */
void log_catch_begin(void);
void log_catch_end(char *text, size_t size);

/* Returns the number of lines written, including those of DPDK. Thread-safe. */
uint64_t log_lines_written(void);

__attribute__((format(printf, 2, 3))) void log_line(uint32_t level, const char *format, ...);

#define log_error(...)   log_line(RTE_LOG_ERR, __VA_ARGS__)
#define log_warning(...) log_line(RTE_LOG_WARNING, __VA_ARGS__)
#define log_notice(...)  log_line(RTE_LOG_NOTICE, __VA_ARGS__)
#define log_info(...)    log_line(RTE_LOG_INFO, __VA_ARGS__) /* --log-level info */
