/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Log messages to standard error, one line each: "sketchtap: ...", and "sketchtap: warning: ..."
 * for warnings. For systemd's journal the line is a priority and the text. Uses rte_log, so that
 * EAL's --log-level applies. Works before rte_eal_init(). Never called on the packet path.
 *
 * After log_init() no line blocks, including those of DPDK. If nothing reads the pipe, or the
 * terminal is stopped, lines are dropped; the next written line is preceded by their number.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_log.h>

#include "base/log_level.h"

#define LOG_LINE_MAX 1024 /* bytes; longer messages are truncated */

extern int log_type; /* RTE_LOG_REGISTER's number for "sketchtap" */

/*
 * Call once, before rte_eal_init(). Sends all logging only to standard error; EAL would also use
 * syslog. Unless verbose, shows messages of sketchtap from this level, and only critical messages
 * of DPDK: sketchtap logs each failed call itself, with advice.
 */
void log_init(enum log_level level, bool verbose);
bool log_is_verbose(void);

/*
 * Same as log_init(), for drivers, which rte_eal_init() loads as plugins. Returns arguments for
 * EAL, NULL at the end, which must precede the user's own.
 */
const char *const *log_eal_args(enum log_level level, bool verbose);

/*
 * Between these calls, stores the first error line of DPDK or a driver, shown or not: drivers
 * report a reason only there, and return a number. log_catch_begin() clears it. log_catch_end()
 * writes it to text[size] without the name of the function; "": none. One thread at a time.
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
