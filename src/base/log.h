/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * What is said to a person, on standard error, one line each: "sketchtap: ...". Through rte_log, so
 * that
 * --eal=--log-level and a service's journal see levels. Never called on the packet path.
 */

#include <stdbool.h>
#include <stdint.h>

#include <rte_log.h>

extern int log_type; /* RTE_LOG_REGISTER's number for "sketchtap" */

void log_init(bool verbose);

__attribute__((format(printf, 2, 3))) void log_line(uint32_t level, const char *format, ...);

#define log_error(...)   log_line(RTE_LOG_ERR, __VA_ARGS__)
#define log_warning(...) log_line(RTE_LOG_WARNING, __VA_ARGS__)
#define log_notice(...)  log_line(RTE_LOG_NOTICE, __VA_ARGS__)
#define log_info(...)    log_line(RTE_LOG_INFO, __VA_ARGS__) /* shown with --verbose */
