/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/sinks/sink.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/assertion.h"
#include "base/clock.h"
#include "base/signals.h"
#include "base/units.h"
#include "report/formats/format.h"

#define OPENING_NS     (5 * SECOND_NS)
#define LINE_MAX_BYTES 1024
#define WHY_SHOWN      (SINK_ERROR_MAX - 64)

#define SINK_ROW(name) &sink_type_##name,
const struct sink_type *const sink_types[] = {SINKS(SINK_ROW) NULL};

static const struct sink_scheme *scheme_at(uint32_t i, const struct sink_type **of)
{
	for (const struct sink_type *const *type = sink_types; *type != NULL; type++)
		for (const struct sink_scheme *scheme = (*type)->schemes; scheme->prefix != NULL;
			scheme++)
			if (i-- == 0) {
				*of = *type;
				return scheme;
			}
	return NULL;
}

const char *sink_form(uint32_t i)
{
	const struct sink_type *type;
	const struct sink_scheme *scheme = scheme_at(i, &type);

	return scheme != NULL ? scheme->form : NULL;
}

const char *sink_form_note(uint32_t i)
{
	const struct sink_type *type;

	return scheme_at(i, &type)->note;
}

struct sink_url sink_url_of(const char *name)
{
	struct sink_url url = {0};

	for (uint32_t i = 0; (url.scheme = scheme_at(i, &url.type)) != NULL; i++) {
		size_t len = strlen(url.scheme->prefix);

		if (strncasecmp(name, url.scheme->prefix, len) == 0) {
			url.rest = name + len;
			return url;
		}
	}
	return (struct sink_url){0};
}

bool sink_is_url(const char *name)
{
	size_t len = 0;

	if (sink_url_of(name).type != NULL)
		return true;
	while (isalnum((unsigned char)name[len]) || name[len] == '+')
		len++;
	return len > 0 && strncmp(name + len, "://", 3) == 0;
}

const char *sink_meant(const char *name)
{
	const struct sink_scheme *scheme;
	const struct sink_type *type;

	for (uint32_t i = 0; (scheme = scheme_at(i, &type)) != NULL; i++)
		if (strncasecmp(name, scheme->prefix, strcspn(scheme->prefix, ":") + 1) == 0)
			return sink_url_of(name).type == NULL ? scheme->form : NULL;
	return NULL;
}

void sink_hide(const char *url, char shown[SINK_SHOWN_MAX])
{
	const char *host = strstr(url, "://"), *query, *at, *from;
	bool hides;

	host = from = host != NULL ? host + 3 : url;
	query = strchrnul(host, '?');
	/*
	 * The part before the @ may be a password, which may contain a / or ? that should have been
	 * escaped as %2F or %3F.
	 */
	hides = host > url && strchr(host, '@') != NULL;
	at = memrchr(host, '@', (size_t)(query - host));
	if (hides)
		from = at != NULL ? at + 1 : query;
	if (hides && from == query)
		snprintf(shown, SINK_SHOWN_MAX, "%.*s***", (int)(host - url), url);
	else
		snprintf(shown, SINK_SHOWN_MAX, "%.*s%s%.*s%s", (int)(host - url), url,
			hides ? "***@" : "", (int)(query - from), from,
			*query != '\0' ? "?***" : "");
}

static void list_schemes(char *why)
{
	int len = snprintf(why, SINK_ERROR_MAX, "unknown kind of URL; allowed:");

	for (uint32_t i = 0; sink_form(i) != NULL && len < SINK_ERROR_MAX; i++)
		len += snprintf(why + len, (size_t)(SINK_ERROR_MAX - len), "%s %s",
			i > 0 ? "," : "", sink_form(i));
}

bool sink_check(const struct sink_request *request, char *why)
{
	const struct sink_url url = sink_url_of(request->url);
	const struct sink_type *type = url.type;

	if (type == NULL) {
		list_schemes(why);
		return false;
	}
	if (type->missing != NULL) {
		snprintf(why, SINK_ERROR_MAX,
			"not supported: sketchtap was built without it, because %s", type->missing);
		return false;
	}
	if (type->rows == SINK_ENCODING_JSON && request->format != FORMAT_AUTO &&
		request->format != FORMAT_JSON) {
		snprintf(why, SINK_ERROR_MAX, "receives JSON only; omit the format");
		return false;
	}
	return type->check(&url, request, why);
}

static const struct format *format_of(
	const struct sink_type *type, const struct sink_request *request)
{
	switch (type->rows) {
	case SINK_ENCODING_JSON: return &format_json;
	case SINK_ENCODING_TEXT:
		return formats[request->format != FORMAT_AUTO ? request->format
							      : request->usual_format];
	default: return NULL;
	}
}

struct sink *sink_create(
	const struct sink_request *request, uint32_t number, struct sink_log *sink_log)
{
	const struct sink_url url = sink_url_of(request->url);
	struct sink *sink = url.type->create(&url, request, number);

	if (sink == NULL)
		return NULL;
	sink->type = url.type;
	sink->kind = request->kind;
	sink->delivery = (struct delivery){.name = request->name, .output = outputs[request->kind]};
	sink->fates = &sink->delivery;
	sink->sink_log = sink_log;
	sink->url = request->url;
	sink->label = request->label;
	sink->options = request->options;
	sink->format = format_of(url.type, request);
	if (sink->format != NULL) {
		struct column_choice choice = request->choice;

		choice.sink = true;
		choice.named = sink->format->named;
		sink->columns = columns_of(outputs[request->kind], &choice);
		if (sink->columns != NULL && sink->format->header != NULL)
			sink->format->header(&sink->header, sink->columns);
		if (sink->columns == NULL || sink->header.failed) {
			sink_free(sink);
			return NULL;
		}
	}
	return sink;
}

void sink_free(struct sink *sink)
{
	free(sink->columns);
	text_free(&sink->header);
	text_free(&sink->text);
	sink->type->free(sink);
}

int sink_absent(char *why, const char *reason)
{
	snprintf(why, SINK_ERROR_MAX, "%.*s; start it, or omit require", WHY_SHOWN, reason);
	return 1;
}

int sink_open(struct sink *sink, bool require, char *why)
{
	return sink->type->open != NULL ? sink->type->open(sink, require, why) : 0;
}

int64_t sink_patience(const struct sink *sink, uint32_t usual)
{
	if (sink->sink_queue != NULL)
		return sink_queue_patience(sink->sink_queue, usual);
	return signals_stop_requested() ? 0 : OPENING_NS;
}

uint64_t sink_rows(struct sink *sink, const struct report_epoch *epoch)
{
	uint64_t rows = delivery_rows(&sink->delivery, epoch);

	VERIFY(sink->format, !=, NULL);
	if (rows > 0 && sink->format->header == NULL)
		columns_suit(&sink->columns, epoch);
	return rows;
}

uint64_t sink_format(struct sink *sink, const struct report_epoch *epoch, struct text *text)
{
	uint64_t rows = sink_rows(sink, epoch);

	if (rows == 0)
		return 0;
	text_clear(text);
	format_epoch(text, sink->format, sink->columns, epoch);
	if (!text->failed)
		return rows;
	delivery_count(&sink->delivery.failed, rows);
	return 0;
}

void sink_write(void *arg, const struct report_epoch *epoch)
{
	struct sink *sink = arg;
	uint64_t rows = sink_format(sink, epoch, &sink->text);

	VERIFY(sink->type->bring, !=, NULL);
	if (rows > 0)
		sink->type->bring(sink, rows);
}

bool sink_roused(struct sink *sink)
{
	return sink_queue_roused(sink->sink_queue) || atomic_exchange(&sink->roused, false);
}

bool sink_hurries(struct sink *sink)
{
	bool ends = !sink->hurried && sink_queue_ending(sink->sink_queue);

	sink->hurried |= ends;
	return sink_roused(sink) || ends;
}

void sink_say(const struct sink *sink, bool warning, const char *format, ...)
{
	char line[LINE_MAX_BYTES];
	va_list args;
	int len = snprintf(line, sizeof(line), "%.200s: ", sink->delivery.name);

	va_start(args, format);
	vsnprintf(line + len, sizeof(line) - (size_t)len, format, args);
	va_end(args);
	sink_log_line(warning, line, sink->sink_log);
}

void sink_warn(const struct sink *sink, struct log_ratelimit_state *ratelimit, const char *why,
	const char *what)
{
	char often[LOG_RATELIMIT_OFTEN_MAX];

	if (log_ratelimit_begins(ratelimit, clock_now(CLOCK_MONOTONIC), often))
		sink_say(sink, true, "%s; %s%s", why, what, often);
}

void sink_say_waits(struct sink *sink, const char *why)
{
	sink_warn(sink, &sink->waits, why, "rows wait until the receiver accepts them");
}

void sink_warn_refused(struct sink *sink, const char *why)
{
	if (!sink->left)
		sink_warn(sink, &sink->refuses, why, "the refused rows are lost");
}

void sink_warn_doubtful(struct sink *sink, const char *why)
{
	if (!sink->left)
		sink_warn(sink, &sink->doubts, why, "its rows may be lost");
}

static uint64_t newly(const _Atomic uint64_t *count, uint64_t *told)
{
	uint64_t now = atomic_load_explicit(count, memory_order_relaxed), before = *told;

	*told = now;
	return now - before;
}

static void log_takes(struct sink *sink)
{
	uint64_t failed = newly(&sink->delivery.failed, &sink->told_failed);
	uint64_t unknown = newly(&sink->delivery.unknown, &sink->told_unknown);
	char lost[48] = "", doubtful[64] = "";

	if (failed > 0)
		snprintf(lost, sizeof(lost), "; %llu rows were lost", (unsigned long long)failed);
	if (unknown > 0)
		snprintf(doubtful, sizeof(doubtful), "; %llu may be lost",
			(unsigned long long)unknown);
	sink_say(sink, false, "resumed%s%s", lost, doubtful);
}

void sink_say_takes(struct sink *sink)
{
	struct log_ratelimit_state *const ratelimits[] = {
		&sink->waits, &sink->refuses, &sink->doubts};
	bool said = false;

	for (size_t t = 0; t < sizeof(ratelimits) / sizeof(ratelimits[0]); t++)
		if (log_ratelimit_goes_on(ratelimits[t]))
			said |= log_ratelimit_ends(ratelimits[t], clock_now(CLOCK_MONOTONIC));
	if (said)
		log_takes(sink);
}

void sink_leave(struct sink *sink, const char *why)
{
	if (!sink->left)
		sink_say(sink, true, "%s at the end of the run; %s", why,
			sink->spooled != NULL ? "its rows stay in the spool"
					      : "its waiting rows may be lost");
	sink->left = true;
}

bool sink_gives_up(struct sink *sink, int64_t *since, const char *why)
{
	if (!sink->left && sink_queue_gives_up(sink->sink_queue, since))
		sink_leave(sink, why);
	return sink->left;
}

enum sink_pause sink_pause(struct sink *sink, int64_t *since, const char *why)
{
	const struct timespec pause = {.tv_nsec = SINK_PAUSE_NS};

	if (sink_hurries(sink))
		return SINK_HURRIES;
	if (sink_gives_up(sink, since, why))
		return SINK_GAVE_UP;
	nanosleep(&pause, NULL);
	return SINK_PAUSED;
}
