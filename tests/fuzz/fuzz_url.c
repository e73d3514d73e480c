/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Any text as the URL of a sink: refused with a reason, or a sink that can be created. Its
 * displayed form contains no password.
 */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "report/sinks/sink.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void hear(bool warning, const char *line, void *arg)
{
	(void)warning;
	(void)line;
	(void)arg;
}

static void try_kind(const char *url, enum row_kind kind)
{
	static struct sink_log sink_log = {.log = hear};
	static const struct config config;
	static const struct sink_options options;
	const struct sink_request request = {
		.url = url,
		.name = url,
		.kind = kind,
		.usual_format = FORMAT_CSV,
		.options = &options,
		.config = &config,
	};
	char why[SINK_ERROR_MAX] = "";

	if (sink_check(&request, why)) {
		struct sink *sink = sink_create(&request, 0, &sink_log);

		require(sink != NULL && why[0] == '\0');
		sink_free(sink);
	} else {
		require(why[0] != '\0' && strlen(why) < sizeof(why));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *url = malloc(size + 1), shown[SINK_SHOWN_MAX];
	const char *place;

	require(url != NULL);
	memcpy(url, data, size);
	url[size] = '\0';
	if (strlen(url) > 0 && sink_is_url(url)) {
		try_kind(url, ROWS_HEAVY_HITTERS);
		try_kind(url, ROWS_STATS);
		sink_hide(url, shown);
		require(strlen(shown) < sizeof(shown));
		/* The text before it is a scheme or the path of a socket. */
		place = strstr(shown, "://");
		require(place == NULL || strstr(place, "secret@") == NULL);
	}
	free(url);
	return 0;
}
