/* SPDX-License-Identifier: BSD-3-Clause */

#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "base/journal.h"

RTE_LOG_REGISTER(log_type, sketchtap, NOTICE);

static bool journal; /* standard error goes there */

/* The levels of the options, of rte_log and of syslog stand in the same order. */
#define RTE_LEVEL(level)    ((uint32_t)RTE_LOG_ERR + (uint32_t)(level))
#define SYSLOG_LEVEL(level) ((level)-RTE_LOG_EMERG)

void log_init(enum log_level level, bool verbose)
{
	rte_openlog_stream(stderr);
	journal = journal_reads(STDERR_FILENO);
	if (verbose) {
		rte_log_set_level(log_type, RTE_LOG_INFO);
		return;
	}
	rte_log_set_level_pattern("*", RTE_LOG_CRIT);
	rte_log_set_level(log_type, RTE_LEVEL(level));
}

const char *const *log_eal_args(enum log_level level, bool verbose)
{
	static const char *const ours[] = {
		[LOG_LEVEL_ERROR] = "--log-level=sketchtap:error",
		[LOG_LEVEL_WARNING] = "--log-level=sketchtap:warning",
		[LOG_LEVEL_NOTICE] = "--log-level=sketchtap:notice",
		[LOG_LEVEL_INFO] = "--log-level=sketchtap:info",
	};
	static const char *quiet[] = {"--log-level=*:critical", NULL, NULL};
	static const char *const talkative[] = {NULL};

	quiet[1] = ours[level];
	return verbose ? talkative : quiet;
}

void log_line(uint32_t level, const char *format, ...)
{
	char line[LOG_LINE_MAX];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	/* One message is one line, whatever names of files and devices hold. */
	for (char *c = line; *c != '\0'; c++) {
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
	}
	if (journal)
		rte_log(level, (uint32_t)log_type, "<%u>%s\n", SYSLOG_LEVEL(level), line);
	else
		rte_log(level, (uint32_t)log_type, "sketchtap: %s%s\n",
			level == RTE_LOG_WARNING ? "warning: " : "", line);
}
