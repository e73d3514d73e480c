/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdio.h>
#include <stdlib.h>

#include "report/sinks/file.h"
#include "report/formats/format.h"
#include "report/formats/table.h"

static uint64_t lines_said(const struct sink_file *to_file)
{
	return to_file->sink_log->lines_said != NULL ? to_file->sink_log->lines_said() : 0;
}

static bool concerns(const struct file_destination *sink, const struct report_epoch *epoch)
{
	return delivery_concerns(&sink->delivery, epoch);
}

static void format_rows(
	struct sink_file *to_file, struct file_destination *sink, const struct report_epoch *epoch)
{
	text_clear(&to_file->text);
	if (sink->redrawn) {
		screen_epoch(&to_file->text, &sink->screen, epoch, lines_said(to_file));
	} else if (sink->columns == NULL) {
		table_epoch(&to_file->text, epoch);
	} else {
		if (sink->file.form.format->header == NULL) {
			columns_suit(&sink->columns, epoch);
			sink->file.form.columns = sink->columns;
		}
		format_epoch(&to_file->text, sink->file.form.format, sink->columns, epoch);
	}
}

/* Rows for a reader that closed its end count as failed, but not as lost. */
static void account(struct file_destination *sink, uint64_t rows, uint64_t lost, size_t bytes)
{
	bool arrived = lost == 0 && !sink->file.unread;

	delivery_count(&sink->delivery.delivered, arrived ? rows : 0);
	delivery_count(&sink->delivery.failed, arrived ? 0 : rows);
	delivery_count(&sink->delivery.bytes, arrived ? bytes : 0);
}

/* Writes to_file->text. rows: its number of rows. start: start of their epoch, ns since 1970. */
static void write_text(
	struct sink_file *to_file, struct file_destination *sink, uint64_t rows, int64_t start)
{
	if (sink->on_terminal)
		sink_log_pause(to_file->sink_log);
	output_file_write(&sink->file,
		&(struct output_rows){.text = &to_file->text, .n = rows, .start = start});
	if (sink->on_terminal)
		sink_log_go_on(to_file->sink_log);
}

static void write_rows(
	struct sink_file *to_file, struct file_destination *sink, const struct report_epoch *epoch)
{
	uint64_t rows = delivery_rows(&sink->delivery, epoch), lost = sink->file.lost;

	format_rows(to_file, sink, epoch);
	write_text(to_file, sink, rows, epoch->start);
	account(sink, rows, sink->file.lost - lost, to_file->text.len);
}

/* All files get the rows before any file marks the epoch as complete. */
static void write_epoch(void *arg, const struct report_epoch *epoch)
{
	struct sink_file *to_file = arg;

	for (uint32_t s = 0; s < to_file->nb_sinks; s++)
		if (concerns(to_file->sinks[s], epoch))
			write_rows(to_file, to_file->sinks[s], epoch);
	if (!epoch->flows_only)
		to_file->next_epoch = epoch->number + 1;
	for (uint32_t s = 0; s < to_file->nb_sinks; s++)
		if (concerns(to_file->sinks[s], epoch))
			output_file_mark(&to_file->sinks[s]->file, to_file->next_epoch);
	for (uint32_t s = 0; s < to_file->nb_sinks; s++)
		if (concerns(to_file->sinks[s], epoch))
			output_file_pass(&to_file->sinks[s]->file, epoch->end);
}

/* No rows start before `time` (ns since 1970). */
static void pass(void *arg, int64_t time)
{
	struct sink_file *to_file = arg;

	for (uint32_t s = 0; s < to_file->nb_sinks; s++) {
		struct file_destination *sink = to_file->sinks[s];

		output_file_pass(&sink->file, time);
		if (!sink->redrawn)
			continue;
		text_clear(&to_file->text);
		screen_silence(&to_file->text, &sink->screen, time, lines_said(to_file));
		write_text(to_file, sink, 1, time);
	}
}

static void reopen_files(void *arg)
{
	struct sink_file *to_file = arg;
	struct sink_log_reopened reopened = {0};

	for (uint32_t s = 0; s < to_file->nb_sinks; s++) {
		struct output_file *file = &to_file->sinks[s]->file;
		const char *why = output_file_reopen(file);

		if (why == NULL)
			reopened.files += file->named;
		else
			snprintf(reopened.error, sizeof(reopened.error),
				"%.300s: cannot be opened again: %.100s", file->name, why);
	}
	to_file->reopened = reopened;
}

/* Logs once if the reader of standard output closed it, as head does. */
static void look_at_readers(void *arg)
{
	struct sink_file *to_file = arg;

	for (uint32_t s = 0; s < to_file->nb_sinks; s++) {
		struct file_destination *sink = to_file->sinks[s];

		if (!sink->file.unread || sink->left)
			continue;
		sink->left = true;
		if (!to_file->alone)
			sink_log_line(false,
				"standard output: closed by its reader; the other outputs go on",
				to_file->sink_log);
		else if (to_file->sink_log->unread != NULL)
			to_file->sink_log->unread();
	}
}

static void write_headers(void *arg)
{
	struct sink_file *to_file = arg;

	for (uint32_t s = 0; s < to_file->nb_sinks; s++)
		output_file_write_header(&to_file->sinks[s]->file);
}

const struct sink_queue_ops file_ops = {
	.begin = write_headers,
	.write = write_epoch,
	.pass = pass,
	.reopen = reopen_files,
	.look = look_at_readers,
};

/* A pipe cannot be reopened by name. */
const struct sink_queue_ops stream_ops = {
	.begin = write_headers,
	.write = write_epoch,
	.pass = pass,
	.look = look_at_readers,
};
