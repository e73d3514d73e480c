/* SPDX-License-Identifier: BSD-3-Clause */

#include "report/sinks/sink_log.h"

#include <stdio.h>

void sink_log_pause(const struct sink_log *voice)
{
	if (voice->progress != NULL)
		progress_suspend(voice->progress);
}

void sink_log_go_on(const struct sink_log *voice)
{
	if (voice->progress != NULL)
		progress_resume(voice->progress);
}

void sink_log_line(bool warning, const char *line, void *arg)
{
	const struct sink_log *voice = arg;

	sink_log_pause(voice);
	voice->say(warning, line, voice->arg);
	sink_log_go_on(voice);
}

bool log_ratelimit_begins(struct log_ratelimit_state *trouble, int64_t now, char *often)
{
	if (trouble->said)
		return false;
	trouble->hushed = now < trouble->quiet_until;
	if (trouble->hushed)
		return false;
	*often = '\0';
	if (trouble->often > 0)
		snprintf(often, LOG_RATELIMIT_OFTEN_MAX, " (and so %u times since that was said)",
			trouble->often);
	trouble->often = 0;
	trouble->said = true;
	return true;
}

bool log_ratelimit_ends(struct log_ratelimit_state *trouble, int64_t now)
{
	bool said = trouble->said;

	trouble->often += trouble->hushed;
	if (said)
		trouble->quiet_until = now + LOG_RATELIMIT_QUIET_NS;
	trouble->said = trouble->hushed = false;
	return said;
}
