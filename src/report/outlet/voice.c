/* SPDX-License-Identifier: BSD-3-Clause */

#include "report/outlet/voice.h"

void voice_pause(const struct writer_voice *voice)
{
	if (voice->progress != NULL)
		progress_suspend(voice->progress);
}

void voice_go_on(const struct writer_voice *voice)
{
	if (voice->progress != NULL)
		progress_resume(voice->progress);
}

void voice_say(bool warning, const char *line, void *arg)
{
	const struct writer_voice *voice = arg;

	voice_pause(voice);
	voice->say(warning, line, voice->arg);
	voice_go_on(voice);
}
