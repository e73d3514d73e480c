/* SPDX-License-Identifier: BSD-3-Clause */

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/signals.h"
#include "base/standard_files.h"
#include "base/units.h"
#include "report/output/format.h"
#include "report/output/output.h"
#include "report/output/screen.h"
#include "report/output/table.h"
#include "report/outlet/writer.h"
#include "collect/options.h"
#include "kernel/options.h"
#include "parallel/keep_up.h"
#include "sketch/measurement.h"
#include "rx/port/name.h"

#define WAIT_NS 50000000 /* how long writer_wait() does */

/* What is written, and where it goes. */
struct sink {
	/* Of rows; NULL: the table for a person. Those of a format without a header are as the last
	 * epoch's measurements need them. */
	struct columns *columns;
	struct output_file file;
	bool on_terminal;
	bool left;    /* by who read it */
	bool redrawn; /* there: each epoch over the last */
	struct screen screen;
};

/* Rows for which the queue had no room. */
struct losses {
	uint64_t rows;
	uint64_t now;  /* of them, since there was room last */
	bool dropping; /* there was none for the last that came */
};

struct writer {
	/* Written by writer_open() alone, then read. */
	struct writer_voice voice;
	pthread_t thread;
	uint32_t nb_sinks;

	/* The thread's own, from its start to its end. */
	struct sink *sinks; /* [nb_sinks] */
	struct text text;
	uint64_t next_epoch; /* the first that was not written */

	pthread_mutex_t lock;              /* guards what follows */
	pthread_cond_t work;               /* an epoch was queued, or one of the others was set */
	pthread_cond_t room;               /* the queue is not full any more */
	struct report_epoch *first, *last; /* of the queue; NULL: it is empty */
	uint32_t queued;                   /* epochs in it, */
	size_t flow_bytes;                 /* and records, */
	size_t flow_bytes_max;             /* of which there may be so many */
	uint32_t reopens_asked, reopens_done;
	struct writer_reopened reopened; /* by the last that is done */
	bool passed;                     /* all that is queued, and then the time up to passed_ns */
	int64_t passed_ns;
	bool closing;

	/* The pushing thread's own. */
	struct losses epochs, flows;
};

static void screen_begin(const struct writer_voice *voice)
{
	if (voice->progress != NULL)
		progress_suspend(voice->progress);
}

static void screen_end(const struct writer_voice *voice)
{
	if (voice->progress != NULL)
		progress_resume(voice->progress);
}

static void writer_say(bool warning, const char *line, void *arg)
{
	const struct writer_voice *voice = arg;

	screen_begin(voice);
	voice->say(warning, line, voice->arg);
	screen_end(voice);
}

/* The thread */

/* Whether the epoch says something that goes there. */
static bool concerns(const struct sink *sink, const struct report_epoch *epoch)
{
	return !epoch->flows_only ||
	       (sink->columns != NULL && sink->columns->output == &output_flows);
}

static uint64_t rows_of(const struct sink *sink, const struct report_epoch *epoch)
{
	return sink->columns != NULL ? output_rows(sink->columns->output, epoch)
				     : table_rows(epoch);
}

static uint64_t lines_said(const struct writer *writer)
{
	return writer->voice.lines_said != NULL ? writer->voice.lines_said() : 0;
}

static bool keeps_records(const struct report_measurement *measurement)
{
	const struct sketch_ops *ops =
		measurement->sketch != NULL ? sketch_find(measurement->sketch) : NULL;

	return ops != NULL && (ops->caps & SKETCH_RECORDS) != 0;
}

static struct column_choice choice_of_epoch(const struct report_epoch *epoch)
{
	struct column_choice choice = {.key_fields = report_key_fields(epoch)};

	choice.records = key_fields_of(choice.key_fields, KEY_COLUMN_RECORD) != 0;
	choice.collected = epoch->ledger.collected;
	choice.kept_up = epoch->ledger.kept_up;
	for (uint32_t m = 0; m < epoch->nb_measurements; m++) {
		choice.records |= keeps_records(&epoch->measurements[m]);
		choice.deep |= epoch->measurements[m].deep;
	}
	return choice;
}

/* Other measurements may have other columns; without memory for them they keep what they have. */
static void suit_columns(struct sink *sink, const struct report_epoch *epoch)
{
	struct column_choice choice = choice_of_epoch(epoch);
	const struct column_choice *before = &sink->columns->choice;
	struct columns *columns;

	if (choice.key_fields == before->key_fields && choice.records == before->records &&
		choice.deep == before->deep)
		return;
	choice.named = before->named;
	columns = columns_of(sink->columns->output, &choice);
	if (columns == NULL)
		return;
	free(sink->columns);
	sink->columns = columns;
	sink->file.form.columns = columns;
}

static void write_rows(struct writer *writer, struct sink *sink, const struct report_epoch *epoch)
{
	const struct output_rows rows = {
		.text = &writer->text,
		.n = rows_of(sink, epoch),
		.start = epoch->start,
	};

	if (sink->columns != NULL && sink->file.form.format->header == NULL)
		suit_columns(sink, epoch);
	text_clear(&writer->text);
	if (sink->redrawn)
		screen_epoch(&writer->text, &sink->screen, epoch, lines_said(writer));
	else if (sink->columns != NULL)
		format_epoch(&writer->text, sink->file.form.format, sink->columns, epoch);
	else
		table_epoch(&writer->text, epoch);
	if (sink->on_terminal)
		screen_begin(&writer->voice);
	output_file_write(&sink->file, &rows);
	if (sink->on_terminal)
		screen_end(&writer->voice);
}

/* Files are complete only when all have the epoch: until then a kill takes it from each of them. */
static void write_epoch(struct writer *writer, const struct report_epoch *epoch)
{
	for (uint32_t s = 0; s < writer->nb_sinks; s++)
		if (concerns(&writer->sinks[s], epoch))
			write_rows(writer, &writer->sinks[s], epoch);
	if (!epoch->flows_only)
		writer->next_epoch = epoch->number + 1;
	for (uint32_t s = 0; s < writer->nb_sinks; s++)
		if (concerns(&writer->sinks[s], epoch))
			output_file_mark(&writer->sinks[s].file, writer->next_epoch);
	for (uint32_t s = 0; s < writer->nb_sinks; s++)
		if (concerns(&writer->sinks[s], epoch))
			output_file_pass(&writer->sinks[s].file, epoch->end);
}

/* Nothing came until `time`. */
static void pass(struct writer *writer, int64_t time)
{
	for (uint32_t s = 0; s < writer->nb_sinks; s++) {
		struct sink *sink = &writer->sinks[s];
		const struct output_rows rows = {.text = &writer->text, .n = 1, .start = time};

		output_file_pass(&sink->file, time);
		if (!sink->redrawn)
			continue;
		text_clear(&writer->text);
		screen_silence(&writer->text, &sink->screen, time, lines_said(writer));
		output_file_write(&sink->file, &rows);
	}
}

static size_t flow_bytes(const struct report_epoch *epoch)
{
	return sizeof(*epoch) + epoch->nb_measurements * sizeof(epoch->measurements[0]) +
	       output_rows(&output_flows, epoch) * sizeof(struct report_flow);
}

static struct report_epoch *take_first(struct writer *writer)
{
	struct report_epoch *epoch = writer->first;

	writer->first = epoch->next;
	if (writer->first == NULL)
		writer->last = NULL;
	if (epoch->flows_only)
		writer->flow_bytes -= flow_bytes(epoch);
	else
		writer->queued--;
	return epoch;
}

static void put_last(struct writer *writer, struct report_epoch *epoch)
{
	if (writer->first == NULL)
		writer->first = epoch;
	else
		writer->last->next = epoch;
	writer->last = epoch;
	if (epoch->flows_only)
		writer->flow_bytes += flow_bytes(epoch);
	else
		writer->queued++;
}

struct task {
	struct report_epoch *epoch; /* NULL: none */
	bool reopen, end;
	uint32_t reopens; /* that are done with it */
	bool passed;
	int64_t passed_ns;
};

/* Waits for something to do. The end comes when the queue is empty. */
static struct task next_task(struct writer *writer)
{
	struct task task = {0};

	pthread_mutex_lock(&writer->lock);
	while (writer->first == NULL && writer->reopens_asked == writer->reopens_done &&
		!writer->passed && !writer->closing)
		pthread_cond_wait(&writer->work, &writer->lock);
	task.reopens = writer->reopens_asked;
	task.reopen = writer->reopens_asked != writer->reopens_done;
	if (writer->first != NULL) {
		task.epoch = take_first(writer);
		pthread_cond_signal(&writer->room);
	} else {
		task.passed = writer->passed;
		task.passed_ns = writer->passed_ns;
		writer->passed = false;
		task.end = writer->closing;
	}
	pthread_mutex_unlock(&writer->lock);
	return task;
}

static void reopen_files(struct writer *writer, uint32_t reopens)
{
	struct writer_reopened reopened = {0};

	for (uint32_t s = 0; s < writer->nb_sinks; s++) {
		struct output_file *file = &writer->sinks[s].file;
		const char *why = output_file_reopen(file);

		if (why == NULL)
			reopened.files += file->named;
		else
			snprintf(reopened.error, sizeof(reopened.error),
				"%.300s: cannot be opened again: %.100s", file->name, why);
	}
	pthread_mutex_lock(&writer->lock);
	writer->reopened = reopened;
	writer->reopens_done = reopens;
	pthread_mutex_unlock(&writer->lock);
}

/* Who reads standard output may close it, as head does. */
static void look_at_readers(struct writer *writer)
{
	for (uint32_t s = 0; s < writer->nb_sinks; s++) {
		struct sink *sink = &writer->sinks[s];

		if (!sink->file.unread || sink->left)
			continue;
		sink->left = true;
		if (writer->nb_sinks > 1)
			writer_say(false,
				"standard output: closed by its reader; the other outputs go on",
				&writer->voice);
		else if (writer->voice.unread != NULL)
			writer->voice.unread();
	}
}

static void *writer_main(void *arg)
{
	struct writer *writer = arg;
	struct task task;

	for (uint32_t s = 0; s < writer->nb_sinks; s++)
		output_file_write_header(&writer->sinks[s].file);
	look_at_readers(writer);
	do {
		task = next_task(writer);
		if (task.reopen)
			reopen_files(writer, task.reopens);
		if (task.epoch != NULL) {
			write_epoch(writer, task.epoch);
			report_epoch_free(task.epoch);
		}
		if (task.passed)
			pass(writer, task.passed_ns);
		look_at_readers(writer);
	} while (!task.end);
	return NULL;
}

/* Opening */

static uint32_t key_fields_of_run(const struct config *config)
{
	uint32_t fields = 0;

	for (uint32_t m = 0; m < config->nb_measurements; m++)
		fields |= measurement_options(&config->measurements[m])->key.fields;
	return fields;
}

static struct column_choice choice_of_config(const struct config *config, bool named)
{
	uint32_t fields = key_fields_of_run(config);

	return (struct column_choice){
		.key_fields = fields,
		.records = measurements_any(config, SKETCH_RECORDS) ||
			   key_fields_of(fields, KEY_COLUMN_RECORD) != 0,
		.collected = collect_asked(config),
		.kept_up = keep_up_given(config),
		.deep = measurements_deep(config),
		.named = named,
	};
}

/* Returns NULL where memory is missing. */
static struct sink *add_sink(
	struct writer *writer, const char *option, const char *name, const struct config *config)
{
	struct sink *sinks =
		reallocarray(writer->sinks, writer->nb_sinks + 1, sizeof(writer->sinks[0]));
	struct sink *sink;

	if (sinks == NULL)
		return NULL;
	writer->sinks = sinks;
	sink = &sinks[writer->nb_sinks++];
	*sink = (struct sink){
		.on_terminal = standard_files_is_output(name) && isatty(STDOUT_FILENO),
		.file =
			{
				.name = name,
				.option = option,
				.limits = writer_options(config)->rotate,
				.say = writer_say,
				.say_arg = &writer->voice,
				.fd = -1,
			},
	};
	return sink;
}

/* What rows look like where nothing is said: --format is about heavy hitters. */
static enum output_format usual_format(const struct config *config, enum row_kind kind)
{
	bool said = kind == ROWS_HEAVY_HITTERS && formats[writer_options(config)->format] != NULL;

	return said ? writer_options(config)->format : FORMAT_CSV;
}

/* Returns false where memory is missing. */
static bool add_rows(struct writer *writer, enum row_kind kind,
	const struct destination *destination, const struct config *config)
{
	struct sink *sink = add_sink(writer, outputs[kind]->option, destination->name, config);
	const struct format *format = formats[destination->format];
	struct column_choice choice;

	if (sink == NULL)
		return false;
	choice = choice_of_config(config, format->named);
	sink->columns = columns_of(outputs[kind], &choice);
	if (sink->columns == NULL)
		return false;
	sink->file.form.format = format;
	sink->file.form.columns = sink->columns;
	if (format->header != NULL)
		format->header(&sink->file.form.header, sink->columns);
	return true;
}

static bool add_kind(
	struct writer *writer, enum row_kind kind, const struct config *config, bool table)
{
	for (uint32_t d = 0; d < writer_options(config)->rows[kind].n; d++) {
		struct destination destination =
			destination_of(writer_options(config)->rows[kind].texts[d]);

		if (destination.format == FORMAT_AUTO) {
			if (table && kind == ROWS_HEAVY_HITTERS &&
				standard_files_is_output(destination.name))
				continue; /* the table goes there */
			destination.format = usual_format(config, kind);
		}
		if (!add_rows(writer, kind, &destination, config))
			return false;
	}
	return true;
}

static bool add_table(struct writer *writer, const struct config *config)
{
	struct sink *sink = add_sink(writer, "--format table", "-", config);

	if (sink == NULL)
		return false;
	sink->redrawn = writer_options(config)->format == FORMAT_AUTO &&
			(port_given(config) || kernel_given(config) || collect_listens(config)) &&
			screen_possible();
	return true;
}

static bool add_sinks(struct writer *writer, const struct config *config)
{
	bool table = writer_shows_table(config, isatty(STDOUT_FILENO));

	for (enum row_kind kind = 0; kind < ROW_KINDS; kind++)
		if (!add_kind(writer, kind, config, table))
			return false;
	return !table || add_table(writer, config);
}

/* /dev/null may be named twice. */
static bool is_device(const char *name)
{
	struct stat st;

	return stat(name, &st) == 0 && S_ISCHR(st.st_mode);
}

static bool same_name(const char *a, const char *b)
{
	if (standard_files_is_output(a) || standard_files_is_output(b))
		return standard_files_is_output(a) && standard_files_is_output(b);
	return strcmp(a, b) == 0 && !is_device(a);
}

/* Returns false where `same` is true of any two sinks, with one line in error. */
static bool sinks_differ(const struct writer *writer,
	bool (*same)(const struct sink *a, const struct sink *b), char *error)
{
	for (uint32_t a = 0; a < writer->nb_sinks; a++) {
		for (uint32_t b = a + 1; b < writer->nb_sinks; b++) {
			const struct sink *first = &writer->sinks[a], *second = &writer->sinks[b];

			if (!same(first, second))
				continue;
			snprintf(error, WRITER_ERROR_MAX,
				"%s and %s would both write to %.300s; name a file for one",
				first->file.option, second->file.option, first->file.name);
			return false;
		}
	}
	return true;
}

static bool same_sink_name(const struct sink *a, const struct sink *b)
{
	return same_name(a->file.name, b->file.name);
}

static bool same_sink_file(const struct sink *a, const struct sink *b)
{
	return output_file_same(&a->file, &b->file);
}

static enum output_file_mode file_mode(const struct config *config)
{
	if (writer_options(config)->append)
		return OUTPUT_APPEND;
	return writer_options(config)->force ? OUTPUT_FORCE : OUTPUT_NEW;
}

static int open_files(struct writer *writer, const struct config *config, char *error)
{
	enum output_file_mode mode = file_mode(config);

	if (!sinks_differ(writer, same_sink_name, error))
		return 2;
	for (uint32_t s = 0; s < writer->nb_sinks; s++) {
		int status =
			output_file_open(&writer->sinks[s].file, mode, error, WRITER_ERROR_MAX);

		if (status != 0)
			return status;
	}
	for (uint32_t s = 0; s < writer->nb_sinks; s++) {
		const struct output_file *file = &writer->sinks[s].file;

		if (!config_spares_inputs(
			    config, file->option, file->name, file->fd, error, WRITER_ERROR_MAX))
			return 2;
	}
	return sinks_differ(writer, same_sink_file, error) ? 0 : 1;
}

/* The files are open: claims them and finds where they go on. Returns 0 or the exit status. */
static int look_at_files(struct writer *writer, char *error)
{
	uint64_t next = 0;

	for (uint32_t s = 0; s < writer->nb_sinks; s++) {
		struct output_file *file = &writer->sinks[s].file;

		if (output_file_lock(file, error, WRITER_ERROR_MAX) != 0)
			return 1;
		if (file->next > next)
			next = file->next;
	}
	for (uint32_t s = 0; s < writer->nb_sinks; s++) {
		if (output_file_look(&writer->sinks[s].file, next, error, WRITER_ERROR_MAX) != 0)
			return 1;
	}
	return 0;
}

static uint64_t first_epoch_of(const struct writer *writer)
{
	uint64_t first = 0;

	for (uint32_t s = 0; s < writer->nb_sinks; s++) {
		const struct output_file *file = &writer->sinks[s].file;

		if (file->has_epoch && file->last_epoch >= first)
			first = file->last_epoch + 1;
	}
	return first;
}

/* First every file is opened, locked and read, then any is changed. Returns 0 or the exit
 * status. */
static int open_sinks(struct writer *writer, const struct config *config, char *error)
{
	int status = open_files(writer, config, error);

	if (status == 0)
		status = look_at_files(writer, error);
	if (status != 0)
		return status;
	writer->next_epoch = first_epoch_of(writer);
	for (uint32_t s = 0; s < writer->nb_sinks; s++) {
		if (output_file_start(&writer->sinks[s].file, writer->next_epoch, error,
			    WRITER_ERROR_MAX) != 0)
			return 1;
	}
	return 0;
}

static void writer_free(struct writer *writer)
{
	for (uint32_t s = 0; s < writer->nb_sinks; s++)
		free(writer->sinks[s].columns);
	free(writer->sinks);
	text_free(&writer->text);
	pthread_cond_destroy(&writer->room);
	pthread_cond_destroy(&writer->work);
	pthread_mutex_destroy(&writer->lock);
	free(writer);
}

static struct writer *writer_alloc(const struct writer_voice *voice)
{
	struct writer *writer = calloc(1, sizeof(*writer));
	pthread_condattr_t monotonic;

	if (writer == NULL)
		return NULL;
	writer->voice = *voice;
	writer->flow_bytes_max = WRITER_FLOWS * sizeof(struct report_flow);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_mutex_init(&writer->lock, NULL);
	pthread_cond_init(&writer->work, &monotonic);
	pthread_cond_init(&writer->room, &monotonic);
	pthread_condattr_destroy(&monotonic);
	return writer;
}

struct writer *writer_open(const struct config *config, const struct writer_voice *voice,
	uint64_t *first_epoch, int *status, char *error)
{
	struct writer *writer = writer_alloc(voice);

	*status = 1;
	if (writer == NULL || !add_sinks(writer, config))
		snprintf(error, WRITER_ERROR_MAX, "no memory for the output files");
	else
		*status = open_sinks(writer, config, error);
	if (writer == NULL)
		return NULL;
	*first_epoch = writer->next_epoch;
	if (*status == 0 && signals_start_thread(&writer->thread, writer_main, writer) != 0) {
		snprintf(error, WRITER_ERROR_MAX, "cannot start the thread that writes the files");
		*status = 1;
	}
	if (*status != 0) {
		for (uint32_t s = 0; s < writer->nb_sinks; s++)
			output_file_abandon(&writer->sinks[s].file);
		writer_free(writer);
		return NULL;
	}
	return writer;
}

/* Other measurements */

/* A column of `columns` that others lack; NULL: they have them all. */
static const char *lacks_column(const struct columns *others, const struct columns *columns)
{
	for (uint32_t c = 0; c < columns->n; c++) {
		uint32_t o = 0;

		while (o < others->n && strcmp(others->list[o].name, columns->list[c].name) != 0)
			o++;
		if (o == others->n)
			return columns->list[c].name;
	}
	return NULL;
}

static bool sink_takes(const struct sink *sink, const struct column_choice *choice, char *error)
{
	struct columns *columns = columns_of(sink->columns->output, choice);
	const char *lacks = columns != NULL ? lacks_column(sink->columns, columns) : "any memory";

	free(columns);
	if (lacks == NULL)
		return true;
	snprintf(error, WRITER_ERROR_MAX,
		"%s %.300s: its header has no column %s; give json:FILE, whose rows may change, or "
		"start the run with such a measurement",
		sink->file.option, sink->file.name, lacks);
	return false;
}

bool writer_takes(const struct writer *writer, const struct config *config, char *error)
{
	struct column_choice choice = choice_of_config(config, false);

	for (uint32_t s = 0; s < writer->nb_sinks; s++) {
		const struct sink *sink = &writer->sinks[s];
		const struct format *format = sink->file.form.format;

		if (format != NULL && format->header != NULL && !is_device(sink->file.name) &&
			!sink_takes(sink, &choice, error))
			return false;
	}
	return true;
}

/* The reporter's side */

static uint64_t epoch_rows(const struct writer *writer, const struct report_epoch *epoch)
{
	uint64_t rows = 0;

	for (uint32_t s = 0; s < writer->nb_sinks; s++)
		if (concerns(&writer->sinks[s], epoch))
			rows += rows_of(&writer->sinks[s], epoch);
	return rows;
}

/*
 * After a loss records wait until half of their room is free, so that one loss is not told as many.
 * An empty queue takes any number.
 */
static bool has_room(const struct writer *writer, const struct report_epoch *epoch)
{
	size_t max = writer->flows.dropping ? writer->flow_bytes_max / 2 : writer->flow_bytes_max;

	if (!epoch->flows_only)
		return writer->queued < WRITER_QUEUE;
	return writer->flow_bytes == 0 || writer->flow_bytes + flow_bytes(epoch) <= max;
}

/* Returns false where there is no room. */
static bool enqueue(struct writer *writer, struct report_epoch *epoch)
{
	bool room;

	pthread_mutex_lock(&writer->lock);
	room = has_room(writer, epoch);
	if (room) {
		put_last(writer, epoch);
		pthread_cond_signal(&writer->work);
	}
	pthread_mutex_unlock(&writer->lock);
	return room;
}

static void drop(struct writer *writer, struct losses *losses, struct report_epoch *epoch)
{
	uint64_t rows = epoch_rows(writer, epoch);

	if (!losses->dropping)
		writer_say(true,
			epoch->flows_only
				? "--flows does not keep up; its rows are lost until it does"
				: "the outputs do not keep up; rows are lost until they do",
			&writer->voice);
	losses->dropping = true;
	losses->rows += rows;
	losses->now += rows;
	report_epoch_free(epoch);
}

static void say_resumed(struct writer *writer, struct losses *losses)
{
	char line[WRITER_ERROR_MAX];

	snprintf(line, sizeof(line), "%s again; %llu rows were lost",
		losses == &writer->flows ? "--flows keeps up" : "the outputs keep up",
		(unsigned long long)losses->now);
	losses->dropping = false;
	losses->now = 0;
	writer_say(false, line, &writer->voice);
}

void writer_push(struct writer *writer, struct report_epoch *epoch)
{
	struct losses *losses = epoch->flows_only ? &writer->flows : &writer->epochs;

	if (!enqueue(writer, epoch))
		drop(writer, losses, epoch);
	else if (losses->dropping)
		say_resumed(writer, losses);
}

void writer_bound_flows(struct writer *writer, uint64_t rows)
{
	pthread_mutex_lock(&writer->lock);
	writer->flow_bytes_max = rows * sizeof(struct report_flow);
	pthread_mutex_unlock(&writer->lock);
}

bool writer_wait(struct writer *writer, const struct report_epoch *epoch)
{
	struct timespec until;
	bool room;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += WAIT_NS;
	until.tv_sec += until.tv_nsec / SECOND_NS;
	until.tv_nsec %= SECOND_NS;
	pthread_mutex_lock(&writer->lock);
	while (!has_room(writer, epoch) &&
		pthread_cond_timedwait(&writer->room, &writer->lock, &until) == 0)
		;
	room = has_room(writer, epoch);
	pthread_mutex_unlock(&writer->lock);
	return room;
}

void writer_pass(struct writer *writer, int64_t end)
{
	pthread_mutex_lock(&writer->lock);
	writer->passed = true;
	writer->passed_ns = end;
	pthread_cond_signal(&writer->work);
	pthread_mutex_unlock(&writer->lock);
}

void writer_reopen(struct writer *writer)
{
	pthread_mutex_lock(&writer->lock);
	writer->reopens_asked++;
	pthread_cond_signal(&writer->work);
	pthread_mutex_unlock(&writer->lock);
}

bool writer_reopening(struct writer *writer, struct writer_reopened *reopened)
{
	bool reopening;

	pthread_mutex_lock(&writer->lock);
	reopening = writer->reopens_asked != writer->reopens_done;
	*reopened = writer->reopened;
	pthread_mutex_unlock(&writer->lock);
	return reopening;
}

static void end_thread(struct writer *writer)
{
	pthread_mutex_lock(&writer->lock);
	writer->closing = true;
	pthread_cond_signal(&writer->work);
	pthread_mutex_unlock(&writer->lock);
}

uint64_t writer_close(struct writer *writer)
{
	uint64_t lost = writer->epochs.rows + writer->flows.rows;

	end_thread(writer);
	pthread_join(writer->thread, NULL);
	for (uint32_t s = 0; s < writer->nb_sinks; s++) {
		output_file_close(&writer->sinks[s].file);
		lost += writer->sinks[s].file.lost;
	}
	writer_free(writer);
	return lost;
}
