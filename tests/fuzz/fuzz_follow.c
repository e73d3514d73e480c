/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Any bytes as replies to a client that follows a run, separated by 0 bytes: epochs with complete
 * and printable lines, valid JSON, and a screen of the right size. The number of requests is
 * bounded.
 */

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/epoch_stream.h"
#include "cli/follow.h"
#include "cli/top_screen.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define DEPTH_MAX 8

static void require(bool holds)
{
	if (!holds)
		abort();
}

/* --- JSON (RFC 8259): functions return the end of the value, or NULL if it is invalid --- */

static const char *after_value(const char *at, int depth);

static const char *after_string(const char *at)
{
	if (at == NULL || *at++ != '"')
		return NULL;
	for (; *at != '"'; at++) {
		if ((unsigned char)*at < ' ' || (*at == '\\' && *++at == '\0'))
			return NULL;
	}
	return at + 1;
}

static const char *after_digits(const char *at)
{
	return isdigit((unsigned char)*at) ? at + strspn(at, "0123456789") : NULL;
}

static const char *after_number(const char *at)
{
	at += *at == '-';
	at = *at == '0' ? at + 1 : after_digits(at);
	if (at != NULL && *at == '.')
		at = after_digits(at + 1);
	if (at != NULL && *at == 'e') {
		at++;
		at = after_digits(at + (*at == '-' || *at == '+'));
	}
	return at;
}

/* Reads the elements of an object or an array. */
static const char *after_parts(const char *at, char end, int depth)
{
	if (*at == end)
		return at + 1;
	for (;;) {
		if (end == '}') {
			at = after_string(at);
			if (at == NULL || *at++ != ':')
				return NULL;
		}
		at = after_value(at, depth + 1);
		if (at == NULL || *at == end)
			return at != NULL ? at + 1 : NULL;
		if (*at++ != ',')
			return NULL;
	}
}

static const char *after_value(const char *at, int depth)
{
	static const char *const words[] = {"true", "false", "null"};

	for (size_t w = 0; w < sizeof(words) / sizeof(words[0]); w++)
		if (strncmp(at, words[w], strlen(words[w])) == 0)
			return at + strlen(words[w]);
	if (depth > DEPTH_MAX)
		return NULL;
	switch (*at) {
	case '{': return after_parts(at + 1, '}', depth);
	case '[': return after_parts(at + 1, ']', depth);
	case '"': return after_string(at);
	default: return after_number(at);
	}
}

/* --- output of an epoch --- */

static void check_line(const struct epoch_view *epoch, bool json)
{
	struct following following = {.json = json};
	struct text text = {0};
	const char *end;

	following_add(&following, epoch, &text);
	require(!text.failed && text.len > 1);
	text_char(&text, '\0');
	end = text.data + text.len - 2;
	require(*end == '\n');
	for (const char *at = text.data; at < end; at++)
		require((unsigned char)*at >= ' ' && *at != 0x7f);
	if (json)
		require(after_value(text.data, 0) == end);
	text_free(&text);
}

static void check_pictures(struct view *view)
{
	static const uint32_t sizes[][2] = {{24, 80}, {8, 40}, {50, 200}, {1, 1}};

	for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
		struct top_screen screen = {
			.rows = sizes[s][0], .columns = sizes[s][1], .utf8 = s % 2 == 0};

		view->places = s % 2 == 1;
		require(top_screen_draw(&screen, view));
		for (uint32_t r = 0; r < screen.rows; r++) {
			const struct text *text = &screen.lines[r].text;
			uint32_t characters = 0;

			for (size_t at = 0; at < text->len; at++)
				characters += ((unsigned char)text->data[at] & 0xc0) != 0x80;
			require(characters <= screen.columns);
		}
		top_screen_free(&screen);
	}
}

/* --- run --- */

static void answer_all(const char *data, size_t size, bool everything)
{
	int ends[2];
	struct epoch_stream *stream;
	struct view view = {0};
	struct epoch_view *epoch;
	enum stream_event event = EPOCH_STREAM_NOTHING;
	char question[512], last[512] = "";
	size_t at = 0;

	require(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
	stream = epoch_stream_begin(ends[0], everything);
	require(stream != NULL);
	while (at < size && (event == EPOCH_STREAM_NOTHING || event == EPOCH_STREAM_EPOCH)) {
		size_t len = strnlen(data + at, size - at);
		ssize_t asked;

		if (len == 0) {
			at++;
			continue;
		}
		asked = recv(ends[1], question, sizeof(question) - 1, MSG_DONTWAIT);
		require(asked > 0);
		question[asked] = '\0';
		/* No request is repeated, unless the reply asks the client to wait. */
		require(strcmp(question, last) != 0 || event == EPOCH_STREAM_EPOCH ||
			memmem(data, at, "waiting", 7) != NULL);
		strcpy(last, question);
		if (send(ends[1], data + at, len, MSG_DONTWAIT) != (ssize_t)len)
			break; /* the reply is longer than the socket takes */
		at += len + 1;
		event = epoch_stream_take(stream, &epoch);
		if (event != EPOCH_STREAM_EPOCH)
			continue;
		check_line(epoch, false);
		check_line(epoch, true);
		view_add(&view, epoch);
		check_pictures(&view);
		if (epoch->nb_measurements > 0)
			epoch_stream_rows_of(stream, epoch->measurements[0].values.name);
	}
	view_clear(&view);
	epoch_stream_close(stream);
	close(ends[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	answer_all((const char *)data, size, false);
	answer_all((const char *)data, size, true);
	return 0;
}
