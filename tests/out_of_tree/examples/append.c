/* SPDX-License-Identifier: BSD-3-Clause */

/* A toy sink: appends rows to the file of append:PATH, after a line with its own key. */

#include <stdio.h>
#include <stdlib.h>

#include "report/sinks/sink.h"

struct append_keys {
	const char *greeting;
};

static const struct option_row append_rows[] = {
	{
		.name = "greeting",
		.placeholder = "WORD",
		.type = OPTION_STRING,
		OPTION_FIELD(append_keys, greeting),
		.help = "The toy: a word before the rows of each interval.",
	},
	{0},
};

static const struct option_owner append_owner = {
	.rows = append_rows,
	.size = sizeof(struct append_keys),
};

struct sink_append {
	struct sink sink;
	const char *path, *greeting;
};

static bool check(const struct sink_url *url, const struct sink_request *request, char *why)
{
	(void)request;
	if (*url->rest == '\0')
		snprintf(why, SINK_ERROR_MAX, "has no path");
	return *url->rest != '\0';
}

static struct sink *create(
	const struct sink_url *url, const struct sink_request *request, uint32_t number)
{
	const struct append_keys *keys = request->own;
	struct sink_append *append = calloc(1, sizeof(*append));

	(void)number;
	if (append == NULL)
		return NULL;
	append->path = url->rest;
	append->greeting = keys != NULL ? keys->greeting : NULL;
	return &append->sink;
}

static void bring(struct sink *sink, uint64_t rows)
{
	const struct sink_append *append = (struct sink_append *)sink;
	FILE *stream = fopen(append->path, "ae");
	bool written = stream != NULL;

	if (written && append->greeting != NULL)
		written = fprintf(stream, "%s\n", append->greeting) > 0;
	if (written)
		written = fwrite(sink->text.data, 1, sink->text.len, stream) == sink->text.len;
	if (stream != NULL)
		written = fclose(stream) == 0 && written;
	delivery_count(written ? &sink->fates->delivered : &sink->fates->failed, rows);
}

static void free_append(struct sink *sink)
{
	free(sink);
}

static const struct sink_scheme schemes[] = {
	{"append:", "append:PATH", .note = "the toy"},
	{0},
};

const struct sink_type sink_type_append = {
	.schemes = schemes,
	.keys = &append_owner,
	.check = check,
	.create = create,
	.bring = bring,
	.free = free_append,
	.ops = {.write = sink_write},
};
