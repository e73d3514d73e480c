/* SPDX-License-Identifier: BSD-3-Clause */

#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

RTE_LOG_REGISTER(log_type, sketchtap, NOTICE);

void log_init(bool verbose)
{
	rte_openlog_stream(stderr);
	if (verbose) {
		rte_log_set_level(log_type, RTE_LOG_INFO);
		return;
	}
	rte_log_set_level_pattern("*", RTE_LOG_CRIT);
	rte_log_set_level(log_type, RTE_LOG_NOTICE);
}

const char *const *log_eal_args(bool verbose)
{
	static const char *const quiet[] = {
		"--log-level=*:critical",
		"--log-level=sketchtap:notice",
		NULL,
	};
	static const char *const talkative[] = {NULL};

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
	rte_log(level, (uint32_t)log_type, "sketchtap: %s%s\n",
		level == RTE_LOG_WARNING ? "warning: " : "", line);
}
