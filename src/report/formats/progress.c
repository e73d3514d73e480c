/* SPDX-License-Identifier: BSD-3-Clause */

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/assertion.h"
#include "report/formats/progress.h"

#define PROGRESS_PERIOD_NS UINT64_C(500000000)

void progress_init(struct progress *progress, int fd, bool enabled)
{
	*progress = (struct progress){.fd = fd, .enabled = enabled && isatty(fd)};
	pthread_mutex_init(&progress->lock, NULL);
}

/* Writes nothing if the time is unknown. */
static void format_time_left(char *text, size_t size, const struct progress_state *state)
{
	double left = (double)state->elapsed_ns / 1e9 * (1 - state->done) / state->done;
	unsigned int seconds;

	text[0] = '\0';
	if (!(state->done > 0 && left < 100 * 3600))
		return;
	seconds = (unsigned int)(left + 0.5);
	if (seconds >= 3600)
		snprintf(text, size, "  %u:%02u:%02u left", seconds / 3600, seconds / 60 % 60,
			seconds % 60);
	else
		snprintf(text, size, "  %02u:%02u left", seconds / 60, seconds % 60);
}

size_t progress_format(char line[PROGRESS_LINE_MAX], const struct progress_state *state)
{
	char done[32], left[32] = "";
	int len;

	if (state->done >= 0) {
		snprintf(done, sizeof(done), "%5.1f%%", state->done * 100);
		format_time_left(left, sizeof(left), state);
	} else {
		snprintf(done, sizeof(done), "%.1fM packets", (double)state->packets / 1e6);
	}
	len = snprintf(line, PROGRESS_LINE_MAX, "%s  %.2f Mpps  %.2f Gbps%s", done,
		state->pps / 1e6, state->bps / 1e9, left);
	return len < PROGRESS_LINE_MAX ? (size_t)len : PROGRESS_LINE_MAX - 1;
}

/* Does nothing while the terminal does not accept output. */
static void draw(struct progress *progress, const char *line, size_t len)
{
	struct pollfd pollfd = {.fd = progress->fd, .events = POLLOUT};
	char out[2 * PROGRESS_LINE_MAX + 2];
	size_t width = len > progress->shown ? len : progress->shown;
	int n;

	if (poll(&pollfd, 1, 0) != 1)
		return;
	n = snprintf(
		out, sizeof(out), "\r%-*.*s%s", (int)width, (int)len, line, len == 0 ? "\r" : "");
	if (write(progress->fd, out, (size_t)n) == n)
		progress->shown = len;
}

static void mark(struct progress *progress, uint64_t packets, uint64_t bytes, uint64_t now_ns)
{
	progress->last_ns = now_ns;
	progress->last_packets = packets;
	progress->last_bytes = bytes;
}

static void update(
	struct progress *progress, double done, uint64_t packets, uint64_t bytes, uint64_t now_ns)
{
	char line[PROGRESS_LINE_MAX];
	struct progress_state state = {.done = done, .packets = packets};
	uint64_t since;

	if (!progress->begun) {
		progress->begun = true;
		progress->begin_ns = now_ns;
		mark(progress, packets, bytes, now_ns);
	}
	since = now_ns - progress->last_ns;
	if (since < PROGRESS_PERIOD_NS)
		return;
	state.pps = (double)(packets - progress->last_packets) * 1e9 / (double)since;
	state.bps = (double)(bytes - progress->last_bytes) * 8e9 / (double)since;
	state.elapsed_ns = now_ns - progress->begin_ns;
	draw(progress, line, progress_format(line, &state));
	mark(progress, packets, bytes, now_ns);
}

void progress_update(
	struct progress *progress, double done, uint64_t packets, uint64_t bytes, uint64_t now_ns)
{
	if (!progress->enabled)
		return;
	pthread_mutex_lock(&progress->lock);
	if (progress->suspended == 0)
		update(progress, done, packets, bytes, now_ns);
	pthread_mutex_unlock(&progress->lock);
}

void progress_suspend(struct progress *progress)
{
	if (progress == NULL)
		return;
	pthread_mutex_lock(&progress->lock);
	progress->suspended++;
	if (progress->shown > 0)
		draw(progress, "", 0);
	pthread_mutex_unlock(&progress->lock);
}

void progress_resume(struct progress *progress)
{
	if (progress == NULL)
		return;
	pthread_mutex_lock(&progress->lock);
	VERIFY(progress->suspended, >, 0U);
	progress->suspended--;
	pthread_mutex_unlock(&progress->lock);
}

void progress_clear(struct progress *progress)
{
	progress_suspend(progress);
	progress_resume(progress);
}

static const struct option_row progress_rows[] = {
	{
		.name = "no-progress",
		.group = OPTION_GROUP_HOST,
		.type = OPTION_FLAG,
		.rare = true,
		OPTION_FIELD(progress_options, none),
		.config_only = true,
		.help = "Draw no progress line on a terminal.",
	},
	{0},
};

const struct option_owner progress_owner = {
	.rows = progress_rows,
	.size = sizeof(struct progress_options),
};
