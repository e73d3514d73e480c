/* SPDX-License-Identifier: BSD-3-Clause */

#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
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
#include "report/output/writer.h"
#include "collect/options.h"
#include "kernel/options.h"
#include "parallel/keep_up.h"
#include "rx/packet/monitor.h"
#include "sketch/measurement.h"
#include "rx/port/forwarding.h"
#include "rx/port/name.h"

#define WAIT_NS      50000000 /* how long writer_wait() does */
#define NEAR_LETTERS 2        /* that a word has beside those of the format that was meant */

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

/* --- options --- */

#define ROTATE_SIZE_MIN 1024
#define ROTATE_TIME_MIN UINT64_C(1000000000) /* files are named by the second */

/* One of the two limits, which a value may name once each. */
static bool set_limit(const struct option_text *a, const char *text, struct rotate_limits *limits)
{
	bool is_time = units_time(text, &limits->period) == NULL, fits;

	if (!is_time && units_size(text, &limits->size) != NULL)
		return option_refuse(a, "is neither a time nor a size; write 1h, 1GB or 1h,1GB");
	fits = is_time ? limits->period >= ROTATE_TIME_MIN && limits->period <= a->row->max
		       : limits->size >= ROTATE_SIZE_MIN;
	return fits || option_refuse(a, is_time ? "is out of range; give 1s to 36525d"
						: "is too small; give 1KB or more");
}

static bool read_rotate(const struct option_text *a)
{
	struct rotate_limits first = {0}, second = {0};
	char text[64];
	char *comma;

	if (strlen(a->text) >= sizeof(text))
		return option_refuse(a, "is neither a time nor a size; write 1h, 1GB or 1h,1GB");
	strcpy(text, a->text);
	comma = strchr(text, ',');
	if (comma != NULL)
		*comma = '\0';
	if (!set_limit(a, text, &first) || (comma != NULL && !set_limit(a, comma + 1, &second)))
		return false;
	if ((first.period != 0 && second.period != 0) || (first.size != 0 && second.size != 0))
		return option_refuse(a, "names two of a kind; write 1h, 1GB or 1h,1GB");
	first.period += second.period;
	first.size += second.size;
	*(struct rotate_limits *)a->field = first;
	return true;
}

/* The next byte of a path in which "./" and repeated slashes are skipped. */
static const char *skip_nothing(const char *path, bool at_start)
{
	for (;;) {
		if (at_start && path[0] == '.' && path[1] == '/')
			path += 2;
		else if (at_start && path[0] == '/')
			path++;
		else
			return path;
	}
}

/* Whether two texts name one file, as far as texts can tell. */
static bool same_path(const char *a, const char *b)
{
	bool at_start = false;

	if ((*a == '/') != (*b == '/'))
		return false;
	a = skip_nothing(a, true);
	b = skip_nothing(b, true);
	while (*a == *b) {
		if (*a == '\0')
			return true;
		at_start = *a == '/';
		a = skip_nothing(a + 1, at_start);
		b = skip_nothing(b + 1, at_start);
	}
	return false;
}

static const char *option_of_rows(enum row_kind kind);

#define FORMAT_CHOICE(name, word) [FORMAT_##name] = #word,

OPTION_WORDS_OF(
	format_word, [FORMAT_AUTO] = "auto", ROW_FORMATS(FORMAT_CHOICE)[FORMAT_TABLE] = "table")

#define FORMAT_NAMED(name, word) ", " #word
static const char file_formats[] = ROW_FORMATS(FORMAT_NAMED);

/* Whether a name begins with what was meant for a format: table:x, JSON:x, jsonl:x, ndjson:x. */
static bool begins_as_format(const char *name)
{
	const char *word;
	size_t len = 0;

	while (isalpha((unsigned char)name[len]))
		len++;
	for (uint32_t i = 0; name[len] == ':' && (word = format_word(i)) != NULL; i++) {
		size_t n = strlen(word);

		if (len >= n && len <= n + NEAR_LETTERS &&
			(strncasecmp(name, word, n) == 0 ||
				strncasecmp(name + len - n, word, n) == 0))
			return true;
	}
	return false;
}

/* Goes over the destinations of all kinds; kind and i are 0 at first. */
static const char *next_destination(const struct config *config, enum row_kind *kind, uint32_t *i)
{
	while (*kind < ROW_KINDS && *i == writer_options(config)->rows[*kind].n) {
		(*kind)++;
		*i = 0;
	}
	return *kind < ROW_KINDS ? writer_options(config)->rows[*kind].texts[(*i)++] : NULL;
}

static bool check_output(const struct config *config, enum row_kind kind, const char *text,
	struct option_fault *fault)
{
	const struct destination to = destination_of(text);
	const char *name = to.name, *option = option_of_rows(kind), *other;
	enum row_kind k = 0;
	uint32_t i = 0;

	if (to.format == FORMAT_AUTO && begins_as_format(name))
		return option_fault(fault, option, NULL,
			"'%.100s' looks like a format that is none; allowed: %s (a table "
			"is --format table); a file that is called so is ./%.100s",
			name, file_formats + 2, name);
	if (*name == '\0')
		return option_fault(fault, option, NULL,
			"'%.200s' names no file; give %.200sFILE, or %.200s- for standard output",
			text, text, text);
	if (strcmp(name, "/dev/null") == 0)
		return true;
	while ((other = next_destination(config, &k, &i)) != text)
		if (same_path(destination_of(other).name, name))
			return option_fault(fault, option, NULL,
				"'%.200s' is where --%s goes; give another file", name,
				option_of_rows(k));
	return true;
}

static bool check_outputs(const struct config *config, const struct measurement_config *measurement,
	struct option_fault *fault)
{
	enum row_kind kind = 0;
	uint32_t i = 0;

	(void)measurement;
	for (const char *text; (text = next_destination(config, &kind, &i)) != NULL;)
		if (!check_output(config, kind, text, fault))
			return false;
	return true;
}

bool writer_shows_table(const struct config *config, bool terminal)
{
	const struct option_list *to = &writer_options(config)->rows[ROWS_HEAVY_HITTERS];

	if (writer_options(config)->format != FORMAT_AUTO || !terminal)
		return writer_options(config)->format == FORMAT_TABLE;
	for (uint32_t i = 0; i < to->n; i++) {
		const struct destination destination = destination_of(to->texts[i]);

		if (destination.format == FORMAT_AUTO && standard_files_is_output(destination.name))
			return true;
	}
	return false;
}

bool writer_to_stdout(const struct config *config, enum row_kind kind)
{
	for (uint32_t i = 0; i < writer_options(config)->rows[kind].n; i++)
		if (!standard_files_is_output(
			    destination_of(writer_options(config)->rows[kind].texts[i]).name))
			return false;
	return true;
}

bool writer_names_files(const struct config *config)
{
	for (enum row_kind kind = 0; kind < ROW_KINDS; kind++)
		if (!writer_to_stdout(config, kind))
			return true;
	return false;
}

static const char *lacks_file(
	const struct config *config, const struct measurement_config *measurement)
{
	(void)measurement;
	return writer_names_files(config) ? NULL : option_lacks_file(NULL);
}

static const char *lacks_forced(
	const struct config *config, const struct measurement_config *measurement)
{
	return config_asks(config, NULL, "profile") ? NULL : lacks_file(config, measurement);
}

static const char *lacks_records(
	const struct config *config, const struct measurement_config *measurement)
{
	(void)measurement;
	return measurements_any(config, SKETCH_RECORDS) ? NULL : "without --sketch flow-table";
}

static const char *lacks_keep_up(
	const struct config *config, const struct measurement_config *measurement)
{
	(void)measurement;
	return keep_up_options(config)->keep_up != KEEP_UP_OFF ? NULL : "without --keep-up";
}

static const struct option_row writer_rows[] = {
	{
		.name = "output",
		.placeholder = "FILE",
		.group = OPTION_GROUP_REPORT,
		.type = OPTION_LIST,
		OPTION_FIELD(writer_options, rows[ROWS_HEAVY_HITTERS]),
		.default_text = "-",
		.help = "Where the heavy hitters go; - is standard output. json:FILE (or json:-) "
			"gets JSON lines in place of CSV; a file that is called so is "
			"./json:FILE. Repeatable, for several destinations, as are --stats, "
			"--queues, --rules, --flows, --states and --forwarded.",
	},
	{
		.name = "stats",
		.placeholder = "FILE",
		.group = OPTION_GROUP_REPORT,
		.type = OPTION_LIST,
		OPTION_FIELD(writer_options, rows[ROWS_STATS]),
		.default_note = "not written",
		.help = "Where the account of each interval's packets goes, as CSV; - is "
			"standard output.",
	},
	{
		.name = "queues",
		.placeholder = "FILE",
		.group = OPTION_GROUP_REPORT,
		.type = OPTION_LIST,
		.rare = true,
		OPTION_FIELD(writer_options, rows[ROWS_QUEUES]),
		.default_note = "not written",
		.help = "Where it goes how each interval's packets were spread over workers and "
			"queues, as CSV; - is standard output.",
	},
	{
		.name = "rules",
		.rare = true,
		.placeholder = "FILE",
		.group = OPTION_GROUP_REPORT,
		.type = OPTION_LIST,
		.lacks = monitor_option_lacks,
		OPTION_FIELD(writer_options, rows[ROWS_RULES]),
		.default_note = "not written",
		.help = "Where the packets, bytes and flows of every rule of --monitor go, as CSV; "
			"- is standard output.",
	},
	{
		.name = "flows",
		.rare = true,
		.placeholder = "FILE",
		.group = OPTION_GROUP_REPORT,
		.type = OPTION_LIST,
		.lacks = lacks_records,
		OPTION_FIELD(writer_options, rows[ROWS_FLOWS]),
		.default_note = "not written",
		.help = "Where every record of every flow-table goes, as CSV, within seconds after "
			"it ended: by --idle-timeout, or with the interval; - is standard output.",
	},
	{
		.name = "states",
		.rare = true,
		.placeholder = "FILE",
		.group = OPTION_GROUP_REPORT,
		.type = OPTION_LIST,
		.lacks = lacks_keep_up,
		OPTION_FIELD(writer_options, rows[ROWS_STATES]),
		.default_note = "not written",
		.help = "Where it goes what --keep-up gave up, when and why, as CSV; - is standard "
			"output.",
	},
	{
		.name = "forwarded",
		.rare = true,
		.placeholder = "FILE",
		.group = OPTION_GROUP_REPORT,
		.type = OPTION_LIST,
		.lacks = forward_option_lacks,
		OPTION_FIELD(writer_options, rows[ROWS_FORWARDED]),
		.default_note = "not written",
		.help = "Where it goes what --forward sent of each interval's packets, what it did "
			"not and why, and how long packets took, as CSV; - is standard output.",
	},
	{
		.name = "format",
		.placeholder = "FORMAT",
		.group = OPTION_GROUP_REPORT,
		.type = OPTION_CHOICE,
		.word = format_word,
		OPTION_FIELD(writer_options, format),
		.default_text = "auto",
		.help = "Of the heavy hitters: csv, json, table (for people), or auto (a table "
			"where standard output is a terminal, of a port one that is drawn again "
			"and again; else CSV). Of what doctor finds: csv, or a table.",
	},
	{
		.name = "append",
		.group = OPTION_GROUP_REPORT,
		.type = OPTION_FLAG,
		.lacks = lacks_file,
		OPTION_FIELD(writer_options, append),
		.set = "existing",
		.help = "Go on after the last interval of output files that exist. Without it "
			"and without --force such files are refused.",
	},
	{
		.name = "force",
		.group = OPTION_GROUP_REPORT,
		.type = OPTION_FLAG,
		.lacks = lacks_forced,
		OPTION_FIELD(writer_options, force),
		.set = "existing",
		.help = "Replace output files that exist, or take the --profile of another host.",
	},
	{
		.name = "rotate",
		.placeholder = "TIME|SIZE",
		.group = OPTION_GROUP_REPORT,
		.type = OPTION_OWN,
		.lacks = lacks_file,
		.read = read_rotate,
		OPTION_FIELD(writer_options, rotate),
		.max = OPTION_CENTURY,
		.default_note = "one file each",
		.help = "Begin new output files at each multiple of a time in UTC (1h), or before "
			"one grows beyond a size (1GB), or both (1h,1GB); what is written at once, "
			"an interval or 65536 records of --flows, is in one file even so. "
			"stats.csv is renamed to stats-20261120T170000Z.csv, by the second in "
			"which its first interval starts, and never over a file that exists.",
	},
	{0},
};

static const char *lacks_collector(
	const struct config *config, const struct measurement_config *measurement)
{
	(void)measurement;
	return collect_asked(config) ? NULL : "without --listen";
}

/* The file of templates is replaced as a whole: nothing else may lie there. */
static bool check_templates(const struct config *config,
	const struct measurement_config *measurement, struct option_fault *fault)
{
	const char *file = collect_options(config)->templates;
	enum row_kind kind = 0;
	uint32_t i = 0;

	(void)measurement;
	for (const char *text;
		file != NULL && (text = next_destination(config, &kind, &i)) != NULL;)
		if (same_path(destination_of(text).name, file))
			return option_fault(fault, "templates", NULL,
				"'%.200s' is where --%s goes; give another file", file,
				option_of_rows(kind));
	return true;
}

static const struct option_row collected_rows[] = {
	{
		.name = "exporters",
		.lacks = lacks_collector,
		.placeholder = "FILE",
		.group = OPTION_GROUP_REPORT,
		.type = OPTION_LIST,
		OPTION_FIELD(writer_options, rows[ROWS_EXPORTERS]),
		.default_note = "not written",
		.help = "Where the account of each exporter's datagrams and records goes, as CSV: "
			"what was counted, lost, waits or could not be read; - is standard output.",
	},
	{
		.name = "paths",
		.lacks = lacks_collector,
		.placeholder = "FILE",
		.group = OPTION_GROUP_REPORT,
		.type = OPTION_LIST,
		OPTION_FIELD(writer_options, rows[ROWS_PATHS]),
		.default_note = "not written",
		.help = "Where the path of each flow through the exporters goes, as CSV; - is "
			"standard output.",
	},
	{
		.name = "links",
		.lacks = lacks_collector,
		.placeholder = "FILE",
		.group = OPTION_GROUP_REPORT,
		.type = OPTION_LIST,
		OPTION_FIELD(writer_options, rows[ROWS_LINKS]),
		.default_note = "not written",
		.help = "Where the load of each exporter's interfaces goes, by records and by the "
			"interfaces' own counters, as CSV; - is standard output.",
	},
	{0},
};

const struct option_owner collected_writer_owner = {
	.rows = collected_rows,
	.size = sizeof(struct writer_options),
	.fills = &writer_owner,
	.check = check_templates,
};

const struct option_owner writer_owner = {
	.rows = writer_rows,
	.size = sizeof(struct writer_options),
	.check = check_outputs,
};

static const char *option_of_rows(enum row_kind kind)
{
	const struct option_row *row = kind < ROWS_EXPORTERS ? writer_rows : collected_rows;

	while (row->offset != offsetof(struct writer_options, rows[kind]))
		row++;
	return row->name;
}
