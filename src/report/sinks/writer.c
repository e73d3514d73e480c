/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assertion.h"
#include "base/clock.h"
#include "base/identity.h"
#include "base/standard_files.h"
#include "report/formats/format.h"
#include "report/formats/table.h"
#include "report/rows/rows.h"
#include "report/sinks/sink.h"
#include "report/sinks/spool.h"
#include "report/sinks/writer.h"
#include "rx/source.h"

#define WAIT_NS 50000000 /* longest wait of writer_wait() for one queue */

struct file_destination {
	/* NULL: tables of heavy hitters, not rows */
	struct columns *columns;
	struct output_file file;
	struct delivery delivery;
	size_t queue; /* bytes of waiting reports; 0: default */
	bool on_terminal;
	bool left;    /* the reader has closed its end, and this was logged */
	bool redrawn; /* each epoch replaces the previous one on the terminal */
	struct screen screen;
};

/*
 * A queue and its destination. All regular files of a run have a common queue, because an epoch is
 * complete only if all of them have it. A network sink, pipe, terminal or device has its own.
 */
struct writer_route {
	struct sink_queue *sink_queue;
	struct sink *sink; /* NULL: `files` */
	/* one for each file in the same order, or one for the network sink */
	struct delivery **deliveries;
	uint32_t nb_deliveries;
	size_t queue; /* bytes of waiting reports, the maximum of all files; 0: default */

	struct sink_log *sink_log;
	bool alone; /* the run has no other output */
	struct file_destination **files;
	uint32_t nb_files;
	/* Used only by the queue's thread while it runs. */
	struct text text;
	uint64_t next_epoch; /* first epoch that was not written yet */
	/* result of opening the files again; valid after sink_queue_reopening() returned false */
	struct sink_log_reopened reopened;
};

struct writer {
	/* Written only by writer_open(). */
	struct sink_log sink_log;
	struct file_destination **files; /* [nb_files]; each is used by the thread of its route */
	uint32_t nb_files;
	struct sink **sinks;
	uint32_t nb_sinks;
	struct writer_route *routes;
	uint32_t nb_routes;
	bool told; /* a destination gets delivery reports */
	/* set by writer_bound_end(); used by the thread that calls writer_push() */
	bool end_bounded;

	/* set by the thread that calls writer_push(); read by all threads that write files */
	atomic_bool over;

	/* Last epoch that was pushed. Used only by the thread that calls writer_push(). */
	bool has_last;
	uint64_t last_number;
	int64_t last_start, last_end;
};

static uint64_t lines_said(const struct writer_route *route)
{
	return route->sink_log->lines_said != NULL ? route->sink_log->lines_said() : 0;
}

static void format_rows(
	struct writer_route *route, struct file_destination *file, const struct report_epoch *epoch)
{
	text_clear(&route->text);
	if (file->redrawn) {
		screen_epoch(&route->text, &file->screen, epoch, lines_said(route));
	} else if (file->columns == NULL) {
		table_epoch(&route->text, epoch);
	} else {
		if (file->file.form.format->header == NULL) {
			columns_suit(&file->columns, epoch);
			file->file.form.columns = file->columns;
		}
		format_epoch(&route->text, file->file.form.format, file->columns, epoch);
	}
}

/* If the reader of standard output closed it, rows count as failed, but not as lost. */
static void account(struct file_destination *file, uint64_t rows, uint64_t lost, size_t bytes)
{
	bool arrived = lost == 0 && !file->file.unread;

	delivery_count(&file->delivery.delivered, arrived ? rows : 0);
	delivery_count(&file->delivery.failed, arrived ? 0 : rows);
	delivery_count(&file->delivery.bytes, arrived ? bytes : 0);
}

/* Writes route->text. start: start of the epoch, ns since 1970-01-01 UTC. */
static void write_text(
	struct writer_route *route, struct file_destination *file, uint64_t rows, int64_t start)
{
	if (file->on_terminal)
		progress_suspend(route->sink_log->progress);
	output_file_write(&file->file,
		&(struct output_rows){.text = &route->text, .n = rows, .start = start});
	if (file->on_terminal)
		progress_resume(route->sink_log->progress);
}

static void write_rows(
	struct writer_route *route, struct file_destination *file, const struct report_epoch *epoch)
{
	uint64_t rows = delivery_rows(&file->delivery, epoch), lost = file->file.lost;

	format_rows(route, file, epoch);
	write_text(route, file, rows, epoch->start);
	account(file, rows, file->file.lost - lost, route->text.len);
}

/* An epoch is marked as complete only after every file has its rows. */
static void write_epoch(void *arg, const struct report_epoch *epoch)
{
	struct writer_route *route = arg;

	for (uint32_t s = 0; s < route->nb_files; s++)
		if (delivery_concerns(route->deliveries[s], epoch))
			write_rows(route, route->files[s], epoch);
	if (!epoch->flows_only)
		route->next_epoch = epoch->number + 1;
	for (uint32_t s = 0; s < route->nb_files; s++)
		if (delivery_concerns(route->deliveries[s], epoch))
			output_file_mark(&route->files[s]->file, route->next_epoch);
	for (uint32_t s = 0; s < route->nb_files; s++)
		if (delivery_concerns(route->deliveries[s], epoch))
			output_file_pass(&route->files[s]->file, epoch->end);
}

/* Every later row starts at `time` (ns since 1970-01-01 UTC) or later. */
static void pass(void *arg, int64_t time)
{
	struct writer_route *route = arg;

	for (uint32_t s = 0; s < route->nb_files; s++) {
		struct file_destination *file = route->files[s];

		output_file_pass(&file->file, time);
		if (!file->redrawn)
			continue;
		text_clear(&route->text);
		screen_silence(&route->text, &file->screen, time, lines_said(route));
		write_text(route, file, 1, time);
	}
}

static void reopen_files(void *arg)
{
	struct writer_route *route = arg;
	struct sink_log_reopened reopened = {0};

	for (uint32_t s = 0; s < route->nb_files; s++) {
		struct output_file *file = &route->files[s]->file;
		const char *why = output_file_reopen(file);

		if (why == NULL)
			reopened.files += file->named;
		else
			snprintf(reopened.error, sizeof(reopened.error),
				"%.300s: cannot open it again: %.100s", file->name, why);
	}
	route->reopened = reopened;
}

static void look_at_readers(void *arg)
{
	struct writer_route *route = arg;

	for (uint32_t s = 0; s < route->nb_files; s++) {
		struct file_destination *file = route->files[s];

		if (!file->file.unread || file->left)
			continue;
		file->left = true;
		if (!route->alone)
			sink_log_line(false,
				"standard output: closed by its reader; the other outputs go on",
				route->sink_log);
		else if (route->sink_log->unread != NULL)
			route->sink_log->unread();
	}
}

static void write_headers(void *arg)
{
	struct writer_route *route = arg;

	for (uint32_t s = 0; s < route->nb_files; s++)
		output_file_write_header(&route->files[s]->file);
}

static const struct sink_queue_ops file_ops = {
	.begin = write_headers,
	.write = write_epoch,
	.pass = pass,
	.reopen = reopen_files,
	.look = look_at_readers,
};

/* A pipe has no name by which it could be opened again. */
static const struct sink_queue_ops stream_ops = {
	.begin = write_headers,
	.write = write_epoch,
	.pass = pass,
	.look = look_at_readers,
};

static bool alloc_arrays(struct writer *writer, const struct config *config)
{
	struct sink_config_iter each = {0};
	size_t n = 1;

	while (sink_config_next(config, &each))
		n++;
	writer->files = calloc(n, sizeof(writer->files[0]));
	writer->sinks = calloc(n, sizeof(writer->sinks[0]));
	writer->routes = calloc(n, sizeof(writer->routes[0]));
	return writer->files != NULL && writer->sinks != NULL && writer->routes != NULL;
}

static struct file_destination *add_file(
	struct writer *writer, const char *option, const char *name, const struct config *config)
{
	struct file_destination *file = malloc(sizeof(*file));

	if (file == NULL)
		return NULL;
	writer->files[writer->nb_files++] = file;
	*file = (struct file_destination){
		.delivery = {.name = name},
		.on_terminal = standard_files_is_output(name) && isatty(STDOUT_FILENO),
		.file =
			{
				.name = name,
				.option = option,
				.limits = writer_options(config)->rotate,
				.sink_log = &writer->sink_log,
				.over = &writer->over,
				.fd = -1,
			},
	};
	return file;
}

static bool add_rows(struct writer *writer, const struct requested_sink *requested,
	enum output_format how, const struct config *config)
{
	struct file_destination *file =
		add_file(writer, requested->label, requested->to.name, config);
	const struct format *format = formats[how];
	struct column_choice choice;

	if (file == NULL)
		return false;
	choice = sink_config_columns(config, format->named);
	choice.names = (enum column_names)requested->options->names;
	file->columns = columns_of(outputs[requested->kind], &choice);
	if (file->columns == NULL)
		return false;
	file->delivery.name = requested->name;
	file->delivery.output = outputs[requested->kind];
	file->queue = requested->options->queue;
	file->file.form.format = format;
	file->file.form.columns = file->columns;
	if (format->header != NULL)
		format->header(&file->file.form.header, file->columns);
	return true;
}

static bool add_network_sink(
	struct writer *writer, const struct requested_sink *requested, const struct config *config)
{
	const struct sink_request request = sink_config_request(config, requested);
	struct sink *sink;
	uint32_t number = 0;

	for (uint32_t s = 0; s < writer->nb_sinks; s++)
		number += writer->sinks[s]->type->rows == SINK_ENCODING_ENCODED;
	sink = sink_create(&request, number, &writer->sink_log);
	if (sink != NULL)
		writer->sinks[writer->nb_sinks++] = sink;
	return sink != NULL;
}

static bool add_destination(struct writer *writer, const struct requested_sink *requested,
	const struct config *config, bool table)
{
	enum output_format how = requested->to.format;

	if (sink_is_url(requested->to.name))
		return add_network_sink(writer, requested, config);
	if (how == FORMAT_AUTO && table && requested->kind == ROWS_HEAVY_HITTERS &&
		standard_files_is_output(requested->to.name))
		return true; /* the table goes to the same destination */
	if (how == FORMAT_AUTO)
		how = sink_config_format(config, requested->kind);
	return add_rows(writer, requested, how, config);
}

static bool add_table(struct writer *writer, const struct config *config)
{
	struct file_destination *file = add_file(writer, "--format table", "-", config);

	if (file == NULL)
		return false;
	file->redrawn = writer_options(config)->format == FORMAT_AUTO && screen_possible() &&
			source_of(config)->pacer != NULL;
	return true;
}

static bool add_sinks(struct writer *writer, const struct config *config)
{
	bool table = writer_shows_table(config, isatty(STDOUT_FILENO));
	struct sink_config_iter each = {0};

	while (sink_config_next(config, &each))
		if (!add_destination(writer, &each.requested, config, table))
			return false;
	return !table || add_table(writer, config);
}

/* Several outputs may write to a device, such as /dev/null. */
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

static bool sinks_differ(const struct writer *writer,
	bool (*same)(const struct file_destination *a, const struct file_destination *b),
	char *error)
{
	for (uint32_t a = 0; a < writer->nb_files; a++) {
		for (uint32_t b = a + 1; b < writer->nb_files; b++) {
			const struct file_destination *first = writer->files[a],
						      *second = writer->files[b];

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

static bool same_sink_name(const struct file_destination *a, const struct file_destination *b)
{
	return same_name(a->file.name, b->file.name);
}

static bool same_sink_file(const struct file_destination *a, const struct file_destination *b)
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
	for (uint32_t s = 0; s < writer->nb_files; s++) {
		int status =
			output_file_open(&writer->files[s]->file, mode, error, WRITER_ERROR_MAX);

		if (status != 0)
			return status;
	}
	for (uint32_t s = 0; s < writer->nb_files; s++) {
		const struct output_file *file = &writer->files[s]->file;

		if (!config_spares_inputs(
			    config, file->option, file->name, file->fd, error, WRITER_ERROR_MAX))
			return 2;
	}
	return sinks_differ(writer, same_sink_file, error) ? 0 : 1;
}

/* If the file is shorter than the header, it must begin with a part of it. */
static bool has_header(const struct output_file *file)
{
	const struct text *header = &file->form.header;
	size_t len = file->size < header->len ? (size_t)file->size : header->len;
	char *line = malloc(len + 1);
	bool has = line != NULL && pread(file->fd, line, len, 0) == (ssize_t)len &&
		   memcmp(line, header->data, len) == 0;

	free(line);
	return has;
}

static void make_header(struct file_destination *sink, uint32_t nb_columns)
{
	sink->columns->n = nb_columns;
	text_clear(&sink->file.form.header);
	sink->file.form.format->header(&sink->file.form.header, sink->columns);
}

/*
 * Newer versions add columns at the end. A file of a previous version is continued without these,
 * so that a service also starts after an upgrade.
 */
static void keep_columns(struct file_destination *sink, const struct sink_log *sink_log)
{
	const struct output_file *file = &sink->file;
	char line[WRITER_ERROR_MAX];
	uint32_t n;

	if (!file->appended || file->form.header.len == 0 || sink->columns->varies ||
		has_header(file))
		return;
	n = sink->columns->n;
	for (uint32_t kept = n - 1; kept > 0; kept--) {
		make_header(sink, kept);
		if (!has_header(file))
			continue;
		snprintf(line, sizeof(line),
			"%s %.300s: continues a file of an earlier version, without %s; rename it "
			"to get all columns",
			file->option, file->name, sink->columns->list[kept].name);
		sink_log->log(true, line, sink_log->arg);
		return;
	}
	make_header(sink, n);
}

/*
 * Delivery reports are written later than other rows: each file has only its own mark. Returns 0 or
 * the exit status.
 */
static int look_at_files(struct writer *writer, char *error)
{
	uint64_t next = 0;

	for (uint32_t s = 0; s < writer->nb_files; s++) {
		struct output_file *file = &writer->files[s]->file;

		if (output_file_lock(file, error, WRITER_ERROR_MAX) != 0)
			return 1;
		keep_columns(writer->files[s], &writer->sink_log);
		if (file->next > next)
			next = file->next;
	}
	for (uint32_t s = 0; s < writer->nb_files; s++) {
		struct file_destination *sink = writer->files[s];

		if (output_file_look(&sink->file,
			    sink->delivery.output == &output_deliveries ? sink->file.next : next,
			    error, WRITER_ERROR_MAX) != 0)
			return 1;
	}
	return 0;
}

static uint64_t first_epoch_of(const struct writer *writer)
{
	uint64_t first = 0;

	for (uint32_t s = 0; s < writer->nb_files; s++) {
		const struct output_file *file = &writer->files[s]->file;

		if (file->has_epoch && file->last_epoch >= first)
			first = file->last_epoch + 1;
	}
	return first;
}

/* Opens, locks and reads all files before it changes one. Returns 0 or the exit status. */
static int open_sinks(
	struct writer *writer, const struct config *config, uint64_t *first_epoch, char *error)
{
	int status = open_files(writer, config, error);

	if (status == 0)
		status = look_at_files(writer, error);
	if (status != 0)
		return status;
	*first_epoch = first_epoch_of(writer);
	for (uint32_t s = 0; s < writer->nb_files; s++) {
		if (output_file_start(
			    &writer->files[s]->file, *first_epoch, error, WRITER_ERROR_MAX) != 0)
			return 1;
	}
	return 0;
}

static void writer_free(struct writer *writer)
{
	for (uint32_t r = 0; r < writer->nb_routes; r++) {
		sink_queue_free(writer->routes[r].sink_queue);
		free(writer->routes[r].files);
		free(writer->routes[r].deliveries);
		text_free(&writer->routes[r].text);
	}
	for (uint32_t s = 0; s < writer->nb_files; s++) {
		free(writer->files[s]->columns);
		free(writer->files[s]);
	}
	for (uint32_t r = 0; r < writer->nb_sinks; r++) {
		sink_spool_close(writer->sinks[r]->spooled);
		sink_free(writer->sinks[r]);
	}
	free(writer->sinks);
	free(writer->routes);
	free(writer->files);
	free(writer);
}

static struct writer_route *add_route(struct writer *writer, uint64_t first_epoch)
{
	struct writer_route *route = &writer->routes[writer->nb_routes++];

	VERIFY(writer->nb_routes, <=, writer->nb_files + writer->nb_sinks);
	*route = (struct writer_route){
		.sink_log = &writer->sink_log,
		.alone = writer->nb_files + writer->nb_sinks == 1,
		.files = calloc(writer->nb_files + 1, sizeof(route->files[0])),
		.next_epoch = first_epoch,
		.deliveries = calloc(writer->nb_files + 1, sizeof(route->deliveries[0])),
	};
	return route->files != NULL && route->deliveries != NULL ? route : NULL;
}

static void add_to_route(struct writer_route *route, struct file_destination *sink)
{
	route->deliveries[route->nb_deliveries++] = &sink->delivery;
	route->files[route->nb_files++] = sink;
	if (sink->queue > route->queue)
		route->queue = sink->queue;
}

/* Pipes, terminals and devices get their own routes, because each of them may stall. */
static bool make_routes(struct writer *writer, uint64_t first_epoch)
{
	struct writer_route *files = NULL, *route;

	for (uint32_t s = 0; s < writer->nb_files; s++) {
		bool regular = writer->files[s]->file.regular;

		route = regular && files != NULL ? files : add_route(writer, first_epoch);
		if (route == NULL)
			return false;
		if (regular)
			files = route;
		add_to_route(route, writer->files[s]);
		writer->told |= writer->files[s]->delivery.output == &output_deliveries;
	}
	for (uint32_t r = 0; r < writer->nb_sinks; r++) {
		route = add_route(writer, first_epoch);
		if (route == NULL)
			return false;
		route->sink = writer->sinks[r];
		route->queue = route->sink->options->queue;
		route->deliveries[route->nb_deliveries++] = &route->sink->delivery;
		writer->told |= route->sink->delivery.output == &output_deliveries;
	}
	return true;
}

static bool is_regular(const struct writer_route *route)
{
	return route->nb_files > 0 && route->files[0]->file.regular;
}

static const struct sink_queue_ops *ops_of(const struct sink *network_sink)
{
	return network_sink->spooled != NULL ? &sink_spool_ops : &network_sink->type->ops;
}

static bool make_queue(struct writer *writer, struct writer_route *route)
{
	const struct sink_queue_ops *files = is_regular(route) ? &file_ops : &stream_ops;
	const struct sink_queue_params params = {
		.ops = route->sink == NULL ? files : ops_of(route->sink),
		.place = route->sink == NULL            ? (void *)route
			 : route->sink->spooled == NULL ? (void *)route->sink
							: route->sink->spooled,
		.name = route->nb_deliveries > 1 ? "the disk" : route->deliveries[0]->name,
		.deliveries = route->deliveries,
		.nb_deliveries = route->nb_deliveries,
		.queue = route->queue,
		.keeps = route->sink != NULL && route->sink->spooled != NULL,
		.sink_log = &writer->sink_log,
	};

	route->sink_queue = sink_queue_create(&params);
	if (route->sink != NULL)
		route->sink->sink_queue = route->sink_queue;
	return route->sink_queue != NULL;
}

/* On failure, no thread is running. */
static bool start_queues(struct writer *writer)
{
	uint32_t started = 0;

	for (uint32_t r = 0; r < writer->nb_routes; r++)
		if (!make_queue(writer, &writer->routes[r]))
			return false;
	while (started < writer->nb_routes &&
		sink_queue_start(writer->routes[started].sink_queue) == 0)
		started++;
	if (started == writer->nb_routes)
		return true;
	while (started > 0)
		sink_queue_end(writer->routes[--started].sink_queue);
	return false;
}

static int open_network_sink(struct sink *sink, char *error)
{
	char why[SINK_ERROR_MAX], shown[SINK_SHOWN_MAX];
	int status = sink_open(sink, sink->options->require, why);

	if (status != 0) {
		sink_hide(sink->url, shown);
		snprintf(error, WRITER_ERROR_MAX, "%s %s: %s", sink->label, shown, why);
	}
	return status;
}

static int open_spool(struct sink *sink, char *error)
{
	const struct spool_options *options = &sink->options->spool;
	struct spool_found found;
	char why[SPOOL_WHY_MAX];

	if (options->text == NULL)
		return 0;
	if (!sink_spool_open(sink, why, &found)) {
		snprintf(error, WRITER_ERROR_MAX, "%s spool %.*s: %s", sink->label,
			(int)options->folder_len, options->text, why);
		return 1;
	}
	if (found.damaged > 0)
		sink_say(sink, true,
			"%u files of its spool are damaged and have the ending .damaged; at least "
			"%llu rows are lost",
			found.damaged, (unsigned long long)found.damaged_rows);
	if (found.rows > 0)
		sink_say(
			sink, false, "%llu rows wait in its spool", (unsigned long long)found.rows);
	return 0;
}

/* Opens network sinks and spools first, so that no file has changed if one cannot be opened. */
static int open_destinations(
	struct writer *writer, const struct config *config, uint64_t *first_epoch, char *error)
{
	int status = 0;

	for (uint32_t s = 0; status == 0 && s < writer->nb_sinks; s++)
		status = open_network_sink(writer->sinks[s], error);
	for (uint32_t s = 0; status == 0 && s < writer->nb_sinks; s++)
		status = open_spool(writer->sinks[s], error);
	return status == 0 ? open_sinks(writer, config, first_epoch, error) : status;
}

static void log_run(struct writer *writer)
{
	char line[128];
	uint32_t r = 0;

	while (r < writer->nb_sinks && writer->sinks[r]->columns == NULL)
		r++;
	if (r == writer->nb_sinks)
		return;
	snprintf(line, sizeof(line), "run ID of rows sent to URLs: %s", identity_run());
	sink_log_line(false, line, &writer->sink_log);
}

struct writer *writer_open(const struct config *config, const struct sink_log *sink_log,
	uint64_t *first_epoch, int *status, char *error)
{
	struct writer *writer = calloc(1, sizeof(*writer));

	*status = 1;
	if (writer != NULL)
		writer->sink_log = *sink_log;
	if (writer == NULL || !alloc_arrays(writer, config) || !add_sinks(writer, config))
		snprintf(error, WRITER_ERROR_MAX, "out of memory");
	else
		*status = open_destinations(writer, config, first_epoch, error);
	if (writer == NULL)
		return NULL;
	if (*status == 0 && (!make_routes(writer, *first_epoch) || !start_queues(writer))) {
		snprintf(
			error, WRITER_ERROR_MAX, "cannot start the threads that write the outputs");
		*status = 1;
	}
	if (*status != 0) {
		for (uint32_t s = 0; s < writer->nb_files; s++)
			output_file_abandon(&writer->files[s]->file);
		writer_free(writer);
		return NULL;
	}
	writer_bound_flows(writer, WRITER_FLOWS);
	log_run(writer);
	return writer;
}

static const char *missing_column(const struct columns *others, const struct columns *columns)
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

static bool header_takes(const char *option, const char *name, const struct columns *header,
	const struct column_choice *choice, char *error)
{
	struct columns *columns;
	const char *missing;

	if (!header->varies)
		return true;
	columns = columns_of(header->output, choice);
	if (columns == NULL) {
		snprintf(error, WRITER_ERROR_MAX,
			"%s %.300s: cannot check its columns: out of memory", option, name);
		return false;
	}
	missing = missing_column(header, columns);
	if (missing != NULL)
		snprintf(error, WRITER_ERROR_MAX,
			"%s %.300s: its header has no column %s; write json:FILE, or start the run "
			"with a measurement that has this column",
			option, name, missing);
	free(columns);
	return missing == NULL;
}

static bool sink_takes(const struct sink *network_sink, const struct config *config,
	const struct requested_sink *requested, char *error)
{
	const struct sink_request request = sink_config_request(config, requested);
	char why[SINK_ERROR_MAX];

	if (sink_check(&request, why))
		return network_sink->format == NULL || network_sink->format->header == NULL ||
		       header_takes(requested->label, request.url, network_sink->columns,
			       &request.choice, error);
	snprintf(error, WRITER_ERROR_MAX, "%s %.200s: %s", requested->label, request.url, why);
	return false;
}

/* Sinks cannot change during a run, so the configurations have the same sinks. */
static bool sinks_take(const struct writer *writer, const struct config *config, char *error)
{
	struct sink_config_iter each = {0};
	uint32_t r = 0;

	while (sink_config_next(config, &each))
		if (sink_is_url(each.requested.to.name) && r < writer->nb_sinks &&
			!sink_takes(writer->sinks[r++], config, &each.requested, error))
			return false;
	return true;
}

bool writer_takes(const struct writer *writer, const struct config *config, char *error)
{
	struct column_choice choice = sink_config_columns(config, false);

	for (uint32_t s = 0; s < writer->nb_files; s++) {
		const struct file_destination *sink = writer->files[s];
		const struct format *format = sink->file.form.format;

		choice.names =
			sink->columns != NULL ? sink->columns->choice.names : COLUMN_NAMES_OURS;
		if (format != NULL && format->header != NULL && !is_device(sink->file.name) &&
			!header_takes(
				sink->file.option, sink->file.name, sink->columns, &choice, error))
			return false;
	}
	return sinks_take(writer, config, error);
}

static bool tells(const struct writer_route *route)
{
	for (uint32_t d = 0; d < route->nb_deliveries; d++)
		if (route->deliveries[d]->output == &output_deliveries)
			return true;
	return false;
}

static struct report_epoch *alloc_deliveries(const struct writer *writer)
{
	struct report_epoch *report = report_epoch_alloc(0, 0);

	if (report == NULL)
		return NULL;
	report->deliveries =
		calloc(writer->nb_files + writer->nb_sinks, sizeof(report->deliveries[0]));
	if (report->deliveries == NULL) {
		report_epoch_free(report);
		return NULL;
	}
	report->deliveries_only = true;
	return report;
}

/* Rows in the spool are older than rows in the queue. */
static bool find_oldest(const struct writer_route *route, int64_t *start)
{
	return (route->sink != NULL && route->sink->spooled != NULL &&
		       sink_spool_oldest(route->sink->spooled, start)) ||
	       sink_queue_oldest(route->sink_queue, start);
}

static struct report_epoch *look_at_deliveries(struct writer *writer)
{
	struct report_epoch *report = alloc_deliveries(writer);
	uint32_t n = 0;

	if (report == NULL)
		return NULL;
	report->number = writer->last_number;
	report->start = writer->last_start;
	report->end = writer->last_end;
	for (uint32_t r = 0; r < writer->nb_routes; r++) {
		const struct writer_route *route = &writer->routes[r];

		for (uint32_t d = 0; d < route->nb_deliveries; d++) {
			struct report_delivery *delivery = &report->deliveries[n];

			if (route->deliveries[d]->output == &output_deliveries)
				continue;
			*delivery = delivery_look(route->deliveries[d]);
			n++;
			delivery->waits =
				delivery->waiting > 0 && find_oldest(route, &delivery->oldest);
		}
	}
	report->nb_deliveries = n;
	return report;
}

struct report_epoch *writer_deliveries(const struct writer *writer)
{
	struct report_epoch *report = alloc_deliveries(writer);
	uint32_t n = 0;

	for (uint32_t r = 0; report != NULL && r < writer->nb_routes; r++)
		for (uint32_t d = 0; d < writer->routes[r].nb_deliveries; d++)
			report->deliveries[n++] = delivery_totals(writer->routes[r].deliveries[d]);
	if (report != NULL)
		report->nb_deliveries = n;
	return report;
}

static void push_to_all(struct writer *writer, struct report_epoch *epoch)
{
	for (uint32_t r = 0; r < writer->nb_routes; r++)
		sink_queue_push(writer->routes[r].sink_queue, epoch);
	report_epoch_free(epoch);
}

static bool any_takes_deliveries(struct writer *writer)
{
	for (uint32_t r = 0; r < writer->nb_routes; r++)
		if (tells(&writer->routes[r]) &&
			sink_queue_takes_deliveries(writer->routes[r].sink_queue))
			return true;
	return false;
}

/* If no destination has room for the report, its counts become part of the next one. */
static void push_deliveries(struct writer *writer)
{
	struct report_epoch *report =
		writer->told && writer->has_last && any_takes_deliveries(writer)
			? look_at_deliveries(writer)
			: NULL;

	if (report != NULL)
		push_to_all(writer, report);
	writer->has_last = false;
}

void writer_push(struct writer *writer, struct report_epoch *epoch)
{
	if (writer->has_last && writer->last_number != epoch->number)
		push_deliveries(writer);
	writer->has_last = true;
	writer->last_number = epoch->number;
	writer->last_start = epoch->start;
	writer->last_end = epoch->end;
	push_to_all(writer, epoch);
}

void writer_bound_flows(struct writer *writer, uint64_t rows)
{
	for (uint32_t r = 0; r < writer->nb_routes; r++)
		sink_queue_bound_flows(
			writer->routes[r].sink_queue, rows * sizeof(struct report_flow));
}

void writer_bound_end(struct writer *writer)
{
	writer->end_bounded = true;
}

int64_t writer_written(const struct writer *writer, int64_t reported)
{
	int64_t start;

	for (uint32_t r = 0; r < writer->nb_routes; r++) {
		const struct writer_route *route = &writer->routes[r];
		bool lasts =
			is_regular(route) || (route->sink != NULL && route->sink->spooled != NULL);

		if (lasts && sink_queue_oldest(route->sink_queue, &start) && start < reported)
			reported = start;
	}
	return reported;
}

bool writer_wait(struct writer *writer, const struct report_epoch *epoch)
{
	for (uint32_t r = 0; r < writer->nb_routes; r++)
		if (!sink_queue_wait(writer->routes[r].sink_queue, epoch,
			    clock_now(CLOCK_MONOTONIC) + WAIT_NS))
			return false;
	return true;
}

void writer_wait_for_room(struct writer *writer, const struct report_epoch *epoch, int64_t ns)
{
	int64_t end = clock_now(CLOCK_MONOTONIC) + ns;

	for (uint32_t r = 0; r < writer->nb_routes; r++)
		if (!sink_queue_drops(writer->routes[r].sink_queue, epoch))
			(void)sink_queue_wait(writer->routes[r].sink_queue, epoch, end);
}

void writer_pass(struct writer *writer, int64_t end)
{
	for (uint32_t r = 0; r < writer->nb_routes; r++)
		sink_queue_pass(writer->routes[r].sink_queue, end);
}

void writer_reopen(struct writer *writer)
{
	for (uint32_t r = 0; r < writer->nb_routes; r++)
		sink_queue_reopen(writer->routes[r].sink_queue);
}

bool writer_reopening(struct writer *writer, struct sink_log_reopened *reopened)
{
	*reopened = (struct sink_log_reopened){0};
	for (uint32_t r = 0; r < writer->nb_routes; r++) {
		const struct writer_route *route = &writer->routes[r];

		if (route->sink == NULL && sink_queue_reopening(route->sink_queue))
			return true;
		if (is_regular(route))
			*reopened = route->reopened;
	}
	return false;
}

uint64_t writer_close(struct writer *writer)
{
	uint64_t lost = 0;

	atomic_store(&writer->over, writer->end_bounded);
	/* All threads end at the same time, since each may have to wait for its receiver. */
	for (uint32_t r = 0; r < writer->nb_routes; r++)
		if (!tells(&writer->routes[r]))
			sink_queue_finish(writer->routes[r].sink_queue);
	for (uint32_t r = 0; r < writer->nb_routes; r++)
		if (!tells(&writer->routes[r]))
			lost += sink_queue_end(writer->routes[r].sink_queue);
	for (uint32_t r = 0; r < writer->nb_routes; r++)
		if (tells(&writer->routes[r]) && writer->routes[r].sink == NULL)
			sink_queue_settle(writer->routes[r].sink_queue);
	push_deliveries(writer);
	for (uint32_t r = 0; r < writer->nb_routes; r++)
		if (tells(&writer->routes[r]))
			lost += sink_queue_end(writer->routes[r].sink_queue);
	for (uint32_t s = 0; s < writer->nb_files; s++) {
		output_file_close(&writer->files[s]->file);
		lost += writer->files[s]->file.lost;
	}
	for (uint32_t r = 0; r < writer->nb_sinks; r++)
		lost += delivery_lost(&writer->sinks[r]->delivery) + writer->sinks[r]->dropped;
	writer_free(writer);
	return lost;
}
