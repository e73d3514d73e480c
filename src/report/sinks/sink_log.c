/* SPDX-License-Identifier: BSD-3-Clause */

#include "report/sinks/sink_log.h"

#include <stdio.h>

void sink_log_line(bool warning, const char *line, const struct sink_log *sink_log)
{
	progress_suspend(sink_log->progress);
	sink_log->log(warning, line, sink_log->arg);
	progress_resume(sink_log->progress);
}

bool log_ratelimit_begins(struct log_ratelimit_state *ratelimit, int64_t now, char *often)
{
	if (ratelimit->logged)
		return false;
	ratelimit->hushed = now < ratelimit->quiet_until;
	if (ratelimit->hushed)
		return false;
	*often = '\0';
	if (ratelimit->often > 0)
		snprintf(often, LOG_RATELIMIT_OFTEN_MAX, " (%u more times since the last warning)",
			ratelimit->often);
	ratelimit->often = 0;
	ratelimit->logged = true;
	return true;
}

bool log_ratelimit_ends(struct log_ratelimit_state *ratelimit, int64_t now)
{
	bool said = ratelimit->logged;

	ratelimit->often += ratelimit->hushed;
	if (said)
		ratelimit->quiet_until = now + LOG_RATELIMIT_QUIET_NS;
	ratelimit->logged = ratelimit->hushed = false;
	return said;
}
