/* SPDX-License-Identifier: BSD-3-Clause */

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/identity.h"
#include "base/standard_files.h"
#include "base/units.h"
#include "report/output/format.h"
#include "report/output/output.h"
#include "report/outlet/file_place.h"
#include "report/outlet/remote.h"
#include "report/outlet/writer.h"
#include "collect/options.h"
#include "kernel/options.h"
#include "parallel/keep_up.h"
#include "sketch/measurement.h"
#include "rx/port/name.h"
#include "rx/packet/monitor.h"
#include "rx/port/forwarding.h"

#define NEAR_LETTERS 2 /* that a word has beside those of the format that was meant */

/* An outlet and what it brings reports to: files, or a place that a URL names. */
struct route {
	struct outlet *outlet;
	struct file_place files;
	struct remote *remote; /* NULL: files */
	struct delivery **deliveries;
	uint32_t nb_deliveries;
};

struct writer {
	/* Written by writer_open() alone, then read. */
	struct writer_voice voice;
	struct file_sink **sinks; /* each the own of its route's thread */
	uint32_t nb_sinks;
	struct remote **remotes; /* [nb_remotes] */
	uint32_t nb_remotes;
	struct route *routes; /* [nb_routes] */
	uint32_t nb_routes;
	bool told; /* there is a place for what became of rows */

	/* The pushing thread's own: the epoch that was handed over last. */
	bool has_last;
	uint64_t last_number;
	int64_t last_start, last_end;
};

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
static struct file_sink *add_sink(
	struct writer *writer, const char *option, const char *name, const struct config *config)
{
	struct file_sink **sinks =
		reallocarray(writer->sinks, writer->nb_sinks + 1, sizeof(writer->sinks[0]));
	struct file_sink *sink = malloc(sizeof(*sink));

	if (sinks != NULL)
		writer->sinks = sinks;
	if (sinks == NULL || sink == NULL) {
		free(sink);
		return NULL;
	}
	sinks[writer->nb_sinks++] = sink;
	*sink = (struct file_sink){
		.delivery = {.name = name},
		.on_terminal = standard_files_is_output(name) && isatty(STDOUT_FILENO),
		.file =
			{
				.name = name,
				.option = option,
				.limits = writer_options(config)->rotate,
				.say = voice_say,
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
	struct file_sink *sink = add_sink(writer, outputs[kind]->option, destination->name, config);
	const struct format *format = formats[destination->format];
	struct column_choice choice;

	if (sink == NULL)
		return false;
	choice = choice_of_config(config, format->named);
	sink->columns = columns_of(outputs[kind], &choice);
	if (sink->columns == NULL)
		return false;
	sink->delivery.output = outputs[kind];
	sink->file.form.format = format;
	sink->file.form.columns = sink->columns;
	if (format->header != NULL)
		format->header(&sink->file.form.header, sink->columns);
	return true;
}

static struct remote_request request_of(
	const struct config *config, enum row_kind kind, const struct destination *destination)
{
	return (struct remote_request){
		.url = destination->name,
		.kind = kind,
		.format = destination->format,
		.usual_format = usual_format(config, kind),
		.choice = choice_of_config(config, false),
		.config = config,
	};
}

/* Returns false where memory is missing. */
static bool add_remote(struct writer *writer, enum row_kind kind,
	const struct destination *destination, const struct config *config)
{
	const struct remote_request request = request_of(config, kind, destination);
	struct remote **remotes =
		reallocarray(writer->remotes, writer->nb_remotes + 1, sizeof(writer->remotes[0]));
	struct remote *remote;

	if (remotes == NULL)
		return false;
	writer->remotes = remotes;
	remote = remote_create(&request, writer->nb_remotes, &writer->voice);
	if (remote == NULL)
		return false;
	remotes[writer->nb_remotes++] = remote;
	return true;
}

static bool add_kind(
	struct writer *writer, enum row_kind kind, const struct config *config, bool table)
{
	for (uint32_t d = 0; d < writer_options(config)->rows[kind].n; d++) {
		struct destination destination =
			destination_of(writer_options(config)->rows[kind].texts[d]);

		if (remote_is_url(destination.name)) {
			if (!add_remote(writer, kind, &destination, config))
				return false;
			continue;
		}
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
	struct file_sink *sink = add_sink(writer, "--format table", "-", config);

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
	bool (*same)(const struct file_sink *a, const struct file_sink *b), char *error)
{
	for (uint32_t a = 0; a < writer->nb_sinks; a++) {
		for (uint32_t b = a + 1; b < writer->nb_sinks; b++) {
			const struct file_sink *first = writer->sinks[a],
					       *second = writer->sinks[b];

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

static bool same_sink_name(const struct file_sink *a, const struct file_sink *b)
{
	return same_name(a->file.name, b->file.name);
}

static bool same_sink_file(const struct file_sink *a, const struct file_sink *b)
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
			output_file_open(&writer->sinks[s]->file, mode, error, WRITER_ERROR_MAX);

		if (status != 0)
			return status;
	}
	for (uint32_t s = 0; s < writer->nb_sinks; s++) {
		const struct output_file *file = &writer->sinks[s]->file;

		if (!config_spares_inputs(
			    config, file->option, file->name, file->fd, error, WRITER_ERROR_MAX))
			return 2;
	}
	return sinks_differ(writer, same_sink_file, error) ? 0 : 1;
}

/*
 * The files are open: claims them and finds where they go on. What one says of the others' epochs is
 * not true of deliveries, which are written later. Returns 0 or the exit status.
 */
static int look_at_files(struct writer *writer, char *error)
{
	uint64_t next = 0;

	for (uint32_t s = 0; s < writer->nb_sinks; s++) {
		struct output_file *file = &writer->sinks[s]->file;

		if (output_file_lock(file, error, WRITER_ERROR_MAX) != 0)
			return 1;
		if (file->next > next)
			next = file->next;
	}
	for (uint32_t s = 0; s < writer->nb_sinks; s++) {
		struct file_sink *sink = writer->sinks[s];

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

	for (uint32_t s = 0; s < writer->nb_sinks; s++) {
		const struct output_file *file = &writer->sinks[s]->file;

		if (file->has_epoch && file->last_epoch >= first)
			first = file->last_epoch + 1;
	}
	return first;
}

/* First every file is opened, locked and read, then any is changed. Returns 0 or the exit
 * status. */
static int open_sinks(
	struct writer *writer, const struct config *config, uint64_t *first_epoch, char *error)
{
	int status = open_files(writer, config, error);

	if (status == 0)
		status = look_at_files(writer, error);
	if (status != 0)
		return status;
	*first_epoch = first_epoch_of(writer);
	for (uint32_t s = 0; s < writer->nb_sinks; s++) {
		if (output_file_start(
			    &writer->sinks[s]->file, *first_epoch, error, WRITER_ERROR_MAX) != 0)
			return 1;
	}
	return 0;
}

static void writer_free(struct writer *writer)
{
	for (uint32_t r = 0; r < writer->nb_routes; r++) {
		outlet_free(writer->routes[r].outlet);
		free(writer->routes[r].files.sinks);
		free(writer->routes[r].deliveries);
		text_free(&writer->routes[r].files.text);
	}
	for (uint32_t s = 0; s < writer->nb_sinks; s++) {
		free(writer->sinks[s]->columns);
		free(writer->sinks[s]);
	}
	for (uint32_t r = 0; r < writer->nb_remotes; r++)
		remote_free(writer->remotes[r]);
	free(writer->remotes);
	free(writer->routes);
	free(writer->sinks);
	free(writer);
}

/* One with room for all sinks, or for a remote. Returns NULL where memory is missing. */
static struct route *add_route(struct writer *writer, uint64_t first_epoch)
{
	struct route *route = &writer->routes[writer->nb_routes++];

	*route = (struct route){
		.files = {.voice = &writer->voice,
			.alone = writer->nb_sinks + writer->nb_remotes == 1,
			.sinks = calloc(writer->nb_sinks + 1, sizeof(route->files.sinks[0])),
			.next_epoch = first_epoch},
		.deliveries = calloc(writer->nb_sinks + 1, sizeof(route->deliveries[0])),
	};
	return route->files.sinks != NULL && route->deliveries != NULL ? route : NULL;
}

static void add_to_route(struct route *route, struct file_sink *sink)
{
	route->deliveries[route->nb_deliveries++] = &sink->delivery;
	route->files.sinks[route->files.nb_sinks++] = sink;
}

/* Regular files go together; anything else may hold up what goes there, and nothing else. */
static bool make_routes(struct writer *writer, uint64_t first_epoch)
{
	struct route *files = NULL, *route;

	writer->routes = calloc(writer->nb_sinks + writer->nb_remotes, sizeof(writer->routes[0]));
	if (writer->routes == NULL)
		return false;
	for (uint32_t s = 0; s < writer->nb_sinks; s++) {
		bool regular = writer->sinks[s]->file.regular;

		route = regular && files != NULL ? files : add_route(writer, first_epoch);
		if (route == NULL)
			return false;
		if (regular)
			files = route;
		add_to_route(route, writer->sinks[s]);
		writer->told |= writer->sinks[s]->delivery.output == &output_deliveries;
	}
	for (uint32_t r = 0; r < writer->nb_remotes; r++) {
		route = add_route(writer, first_epoch);
		if (route == NULL)
			return false;
		route->remote = writer->remotes[r];
		route->deliveries[route->nb_deliveries++] = &route->remote->delivery;
		writer->told |= route->remote->delivery.output == &output_deliveries;
	}
	return true;
}

static bool is_regular(const struct route *route)
{
	return route->files.nb_sinks > 0 && route->files.sinks[0]->file.regular;
}

static bool make_outlet(struct writer *writer, struct route *route)
{
	const struct outlet_ops *files = is_regular(route) ? &file_ops : &stream_ops;
	const struct outlet_params params = {
		.ops = route->remote != NULL ? &route->remote->scheme->ops : files,
		.place = route->remote != NULL ? (void *)route->remote : &route->files,
		.name = route->nb_deliveries > 1 ? "the disk" : route->deliveries[0]->name,
		.deliveries = route->deliveries,
		.nb_deliveries = route->nb_deliveries,
		.say = voice_say,
		.say_arg = &writer->voice,
	};

	route->outlet = outlet_create(&params);
	if (route->remote != NULL)
		route->remote->outlet = route->outlet;
	return route->outlet != NULL;
}

/* Returns false where memory or threads are missing. Then none of them runs. */
static bool start_outlets(struct writer *writer)
{
	uint32_t started = 0;

	for (uint32_t r = 0; r < writer->nb_routes; r++)
		if (!make_outlet(writer, &writer->routes[r]))
			return false;
	while (started < writer->nb_routes && outlet_start(writer->routes[started].outlet) == 0)
		started++;
	if (started == writer->nb_routes)
		return true;
	while (started > 0)
		outlet_end(writer->routes[--started].outlet);
	return false;
}

/* By which a person finds rows again. */
static void say_run(struct writer *writer)
{
	char line[128];
	uint32_t r = 0;

	while (r < writer->nb_remotes && writer->remotes[r]->columns == NULL)
		r++;
	if (r == writer->nb_remotes)
		return;
	snprintf(line, sizeof(line), "rows that go to URLs are those of run %s", identity_run());
	voice_say(false, line, &writer->voice);
}

struct writer *writer_open(const struct config *config, const struct writer_voice *voice,
	uint64_t *first_epoch, int *status, char *error)
{
	struct writer *writer = calloc(1, sizeof(*writer));

	*status = 1;
	if (writer != NULL)
		writer->voice = *voice;
	if (writer == NULL || !add_sinks(writer, config))
		snprintf(error, WRITER_ERROR_MAX, "no memory for the output files");
	else
		*status = open_sinks(writer, config, first_epoch, error);
	if (writer == NULL)
		return NULL;
	if (*status == 0 && (!make_routes(writer, *first_epoch) || !start_outlets(writer))) {
		snprintf(
			error, WRITER_ERROR_MAX, "cannot start the threads that write the outputs");
		*status = 1;
	}
	if (*status != 0) {
		for (uint32_t s = 0; s < writer->nb_sinks; s++)
			output_file_abandon(&writer->sinks[s]->file);
		writer_free(writer);
		return NULL;
	}
	writer_bound_flows(writer, WRITER_FLOWS);
	say_run(writer);
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

/* Whether a header of these columns has all that rows then have. */
static bool header_takes(const char *option, const char *name, const struct columns *header,
	const struct column_choice *choice, char *error)
{
	struct columns *columns = columns_of(header->output, choice);
	const char *lacks = columns != NULL ? lacks_column(header, columns) : "any memory";

	free(columns);
	if (lacks == NULL)
		return true;
	snprintf(error, WRITER_ERROR_MAX,
		"%s %.300s: its header has no column %s; give it json: rows, which may change, or "
		"start the run with such a measurement",
		option, name, lacks);
	return false;
}

static bool remote_takes(const struct remote *remote, const struct config *config, char *error)
{
	const struct destination destination = {remote->asked_format, remote->delivery.name};
	const struct remote_request request = request_of(config, remote->kind, &destination);
	const char *option = outputs[request.kind]->option;
	char why[REMOTE_WHY_MAX];

	if (remote_check(&request, why))
		return remote->format == NULL || remote->format->header == NULL ||
		       header_takes(option, request.url, remote->columns, &request.choice, error);
	snprintf(error, WRITER_ERROR_MAX, "%s %.200s %s", option, request.url, why);
	return false;
}

bool writer_takes(const struct writer *writer, const struct config *config, char *error)
{
	struct column_choice choice = choice_of_config(config, false);

	for (uint32_t s = 0; s < writer->nb_sinks; s++) {
		const struct file_sink *sink = writer->sinks[s];
		const struct format *format = sink->file.form.format;

		if (format != NULL && format->header != NULL && !is_device(sink->file.name) &&
			!header_takes(
				sink->file.option, sink->file.name, sink->columns, &choice, error))
			return false;
	}
	for (uint32_t r = 0; r < writer->nb_remotes; r++)
		if (!remote_takes(writer->remotes[r], config, error))
			return false;
	return true;
}

/* The reporter's side */

static bool tells(const struct route *route)
{
	for (uint32_t d = 0; d < route->nb_deliveries; d++)
		if (route->deliveries[d]->output == &output_deliveries)
			return true;
	return false;
}

/* NULL where memory is missing. */
static struct report_epoch *alloc_deliveries(const struct writer *writer)
{
	struct report_epoch *report = report_epoch_alloc(0, 0);

	if (report == NULL)
		return NULL;
	report->deliveries =
		calloc(writer->nb_sinks + writer->nb_remotes, sizeof(report->deliveries[0]));
	if (report->deliveries == NULL) {
		report_epoch_free(report);
		return NULL;
	}
	report->deliveries_only = true;
	return report;
}

/* What became of the rows of the last epoch; NULL where memory is missing. */
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
		const struct route *route = &writer->routes[r];

		for (uint32_t d = 0; d < route->nb_deliveries; d++) {
			struct report_delivery *delivery = &report->deliveries[n];

			if (route->deliveries[d]->output == &output_deliveries)
				continue;
			*delivery = delivery_look(route->deliveries[d]);
			n++;
			delivery->waits = delivery->waiting > 0 &&
					  outlet_oldest(route->outlet, &delivery->oldest);
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
		outlet_push(writer->routes[r].outlet, epoch);
	report_epoch_free(epoch);
}

/* What became of the last epoch is told when another begins. */
static void tell_deliveries(struct writer *writer)
{
	struct report_epoch *report =
		writer->told && writer->has_last ? look_at_deliveries(writer) : NULL;

	if (report != NULL)
		push_to_all(writer, report);
	writer->has_last = false;
}

void writer_push(struct writer *writer, struct report_epoch *epoch)
{
	if (writer->has_last && writer->last_number != epoch->number)
		tell_deliveries(writer);
	writer->has_last = true;
	writer->last_number = epoch->number;
	writer->last_start = epoch->start;
	writer->last_end = epoch->end;
	push_to_all(writer, epoch);
}

void writer_bound_flows(struct writer *writer, uint64_t rows)
{
	for (uint32_t r = 0; r < writer->nb_routes; r++)
		outlet_bound_flows(writer->routes[r].outlet, rows * sizeof(struct report_flow));
}

bool writer_wait(struct writer *writer, const struct report_epoch *epoch)
{
	for (uint32_t r = 0; r < writer->nb_routes; r++)
		if (!outlet_wait(writer->routes[r].outlet, epoch))
			return false;
	return true;
}

void writer_pass(struct writer *writer, int64_t end)
{
	for (uint32_t r = 0; r < writer->nb_routes; r++)
		outlet_pass(writer->routes[r].outlet, end);
}

void writer_reopen(struct writer *writer)
{
	for (uint32_t r = 0; r < writer->nb_routes; r++)
		outlet_reopen(writer->routes[r].outlet);
}

bool writer_reopening(struct writer *writer, struct writer_reopened *reopened)
{
	*reopened = (struct writer_reopened){0};
	for (uint32_t r = 0; r < writer->nb_routes; r++) {
		const struct route *route = &writer->routes[r];

		/* A place that a URL names looks its name up for each connection anyway. */
		if (route->remote == NULL && outlet_reopening(route->outlet))
			return true;
		if (is_regular(route))
			*reopened = route->files.reopened;
	}
	return false;
}

uint64_t writer_close(struct writer *writer)
{
	uint64_t lost = 0;

	/* All at once: each may wait for somebody who takes nothing. */
	for (uint32_t r = 0; r < writer->nb_routes; r++)
		if (!tells(&writer->routes[r]))
			outlet_finish(writer->routes[r].outlet);
	for (uint32_t r = 0; r < writer->nb_routes; r++)
		if (!tells(&writer->routes[r]))
			lost += outlet_end(writer->routes[r].outlet);
	for (uint32_t r = 0; r < writer->nb_routes; r++)
		if (tells(&writer->routes[r]) && writer->routes[r].remote == NULL)
			outlet_settle(writer->routes[r].outlet);
	tell_deliveries(writer);
	for (uint32_t r = 0; r < writer->nb_routes; r++)
		if (tells(&writer->routes[r]))
			lost += outlet_end(writer->routes[r].outlet);
	for (uint32_t s = 0; s < writer->nb_sinks; s++) {
		output_file_close(&writer->sinks[s]->file);
		lost += writer->sinks[s]->file.lost;
	}
	for (uint32_t r = 0; r < writer->nb_remotes; r++)
		lost += delivery_lost(&writer->remotes[r]->delivery);
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

static bool check_remote(const struct config *config, enum row_kind kind, const char *text,
	struct option_fault *fault)
{
	const struct destination to = destination_of(text);
	const struct remote_request request = request_of(config, kind, &to);
	char why[REMOTE_WHY_MAX], shown[REMOTE_SHOWN_MAX];

	if (remote_check(&request, why))
		return true;
	remote_hide(text, shown);
	return option_fault(fault, option_of_rows(kind), NULL, "'%s' %s", shown, why);
}

static bool check_output(const struct config *config, enum row_kind kind, const char *text,
	struct option_fault *fault)
{
	const struct destination to = destination_of(text);
	const char *name = to.name, *option = option_of_rows(kind), *other;
	enum row_kind k = 0;
	uint32_t i = 0;

	if (remote_is_url(name))
		return check_remote(config, kind, text, fault);
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
	enum row_kind kind = 0;
	uint32_t i = 0;

	(void)measurement;
	for (const char *text; (text = next_destination(config, &kind, &i)) != NULL;) {
		const char *name = destination_of(text).name;

		if (!standard_files_is_output(name) && !remote_is_url(name))
			return NULL;
	}
	return option_lacks_file(NULL);
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
		.needs = remote_needs,
		OPTION_FIELD(writer_options, rows[ROWS_HEAVY_HITTERS]),
		.default_text = "-",
		.help = "Where the heavy hitters go; - is standard output. json:FILE (or json:-) "
			"gets JSON lines in place of CSV; a file that is called so is "
			"./json:FILE. tcp://HOST:PORT and unix:PATH get the rows of a file, "
			"kafka://HOST[:PORT],.../TOPIC and "
			"clickhouse://HOST[:PORT]/TABLE as JSON; "
			"ipfix://HOST:PORT (UDP) and ipfix+tcp://HOST:PORT are collectors of "
			"IPFIX, for --flows too. Repeatable, for several "
			"destinations, as are --stats, --queues, --rules, --flows, --states, "
			"--deliveries and --forwarded.",
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
		.needs = remote_needs,
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
		.name = "deliveries",
		.rare = true,
		.placeholder = "FILE",
		.group = OPTION_GROUP_REPORT,
		.type = OPTION_LIST,
		OPTION_FIELD(writer_options, rows[ROWS_DELIVERIES]),
		.default_note = "not written",
		.help = "Where it goes what became of each interval's rows at each place that they "
			"go to, as CSV; - is standard output.",
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
