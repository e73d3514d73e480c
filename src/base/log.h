/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * What is said to a person, on standard error, one line each: "sketchtap: ...", and
 * "sketchtap: warning: ..." for warnings; for the journal only the text, behind its priority.
 * Through rte_log, so that EAL's --log-level holds for it
 * too. Works before rte_eal_init(). Never called on the packet path.
 *
 * From log_init() on no line blocks, DPDK's neither: what a pipe that nobody reads or a stopped
 * terminal has no room for is lost, and how many lines that were is said before the next one.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_log.h>

#include "base/log_level.h"

#define LOG_LINE_MAX 1024 /* bytes; a longer message is cut */

extern int log_type; /* RTE_LOG_REGISTER's number for "sketchtap" */

/*
 * Call once, before rte_eal_init(). All logging goes to standard error alone (EAL by itself would
 * add syslog). Unless verbose, only ours of this level are shown, and from DPDK only what is
 * critical: a failed call is told by our own line, which names what to do.
 */
void log_init(enum log_level level, bool verbose);
bool log_is_verbose(void);

/*
 * The same for what does not exist yet when log_init() runs: drivers are plugins that
 * rte_eal_init() loads. Arguments for EAL, NULL at the end, to be put before the user's own.
 */
const char *const *log_eal_args(enum log_level level, bool verbose);

/*
 * In between, the first line that DPDK or a driver calls an error is kept, whether it is shown or
 * not: a driver tells there why it refuses, and returns no more than a number. log_catch_begin()
 * again forgets it. log_catch_end() puts it into text[size] without its function's name; "": none.
 * For one thread.
 */
void log_catch_begin(void);
void log_catch_end(char *text, size_t size);

/* How many lines were written, by anybody, DPDK too. From any thread. */
uint64_t log_lines_written(void);

__attribute__((format(printf, 2, 3))) void log_line(uint32_t level, const char *format, ...);

#define log_error(...)   log_line(RTE_LOG_ERR, __VA_ARGS__)
#define log_warning(...) log_line(RTE_LOG_WARNING, __VA_ARGS__)
#define log_notice(...)  log_line(RTE_LOG_NOTICE, __VA_ARGS__)
#define log_info(...)    log_line(RTE_LOG_INFO, __VA_ARGS__) /* --log-level info */
