/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/epoch_stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assertion.h"
#include "cli/connection.h"
#include "control/control_commands.h"

#define QUESTION_MAX 256
#define ROWS_KEPT    10 /* rows per measurement of /sketchtap/follow (RECENT_ROWS) */
#define ROWS_MORE    40 /* rows of /sketchtap/top */
#define PARTS_MAX    UINT16_MAX

struct epoch_stream {
	int fd;
	bool everything;
	char *rows_of;
	struct epoch_view *epoch;
	uint64_t parts;
	bool asked_rows;
	bool asked_deliveries;
	char question[QUESTION_MAX];
	char answer[CONNECTION_ANSWER_MAX];
};

static void send_request(struct epoch_stream *stream)
{
	connection_send(stream->fd, stream->question);
}

static void ask_epoch(struct epoch_stream *stream, uint64_t number, uint64_t part)
{
	snprintf(stream->question, sizeof(stream->question), CONTROL_PATH "follow,%llu,%llu",
		(unsigned long long)number, (unsigned long long)part);
	send_request(stream);
}

struct epoch_stream *epoch_stream_begin(int fd, bool everything)
{
	struct epoch_stream *stream = fd >= 0 ? calloc(1, sizeof(*stream)) : NULL;

	if (stream == NULL) {
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	stream->fd = fd;
	stream->everything = everything;
	snprintf(stream->question, sizeof(stream->question), CONTROL_PATH "follow");
	send_request(stream);
	return stream;
}

struct epoch_stream *epoch_stream_open(const char *name, bool everything, bool quiet)
{
	return epoch_stream_begin(connection_open(name, quiet), everything);
}

void epoch_stream_close(struct epoch_stream *stream)
{
	if (stream == NULL)
		return;
	close(stream->fd);
	epoch_view_free(stream->epoch);
	free(stream->rows_of);
	free(stream);
}

void epoch_stream_rows_of(struct epoch_stream *stream, const char *measurement)
{
	free(stream->rows_of);
	stream->rows_of = measurement != NULL ? strdup(measurement) : NULL;
}

int epoch_stream_fd(const struct epoch_stream *stream)
{
	return stream->fd;
}

static enum stream_event return_epoch(struct epoch_stream *stream, struct epoch_view **epoch)
{
	VERIFY(stream->epoch, !=, NULL);
	*epoch = stream->epoch;
	stream->epoch = NULL;
	stream->asked_rows = stream->asked_deliveries = false;
	if ((*epoch)->failed) {
		epoch_view_free(*epoch);
		*epoch = NULL;
		return EPOCH_STREAM_ODD;
	}
	ask_epoch(stream, (*epoch)->number + 1, 0);
	return EPOCH_STREAM_EPOCH;
}

static enum stream_event ask_deliveries(struct epoch_stream *stream, struct epoch_view **epoch)
{
	if (!stream->everything)
		return return_epoch(stream, epoch);
	snprintf(stream->question, sizeof(stream->question), CONTROL_PATH "deliveries");
	stream->asked_rows = false;
	stream->asked_deliveries = true;
	send_request(stream);
	return EPOCH_STREAM_NOTHING;
}

static enum stream_event take_deliveries(
	struct epoch_stream *stream, const struct json_node *answer, struct epoch_view **epoch)
{
	epoch_view_add_deliveries(stream->epoch, json_find(answer, "rows"));
	return return_epoch(stream, epoch);
}

static bool ask_rows(struct epoch_stream *stream)
{
	const struct epoch_view_measurement *measurement =
		stream->rows_of != NULL ? epoch_view_find(stream->epoch, stream->rows_of) : NULL;

	if (measurement == NULL || measurement->nb_rows < ROWS_KEPT)
		return false;
	snprintf(stream->question, sizeof(stream->question), CONTROL_PATH "top,%.128s,%d",
		stream->rows_of, ROWS_MORE);
	stream->asked_rows = true;
	send_request(stream);
	return true;
}

static enum stream_event take_rows(
	struct epoch_stream *stream, const struct json_node *answer, struct epoch_view **epoch)
{
	struct epoch_view_measurement *measurement =
		epoch_view_find(stream->epoch, json_value(answer, "measurement"));
	const struct json_node *number = json_find(answer, "epoch");

	if (measurement != NULL && number != NULL &&
		strtoull(number->value, NULL, 10) == stream->epoch->number)
		epoch_view_set_rows(stream->epoch, measurement, json_find(answer, "rows"));
	return ask_deliveries(stream, epoch);
}

/* Ports and workers come after the last measurement. */
static bool has_all_measurements(const struct json_node *answer)
{
	return json_find(answer, "ports") != NULL || json_find(answer, "workers") != NULL;
}

static enum stream_event take_parts(
	struct epoch_stream *stream, const struct json_node *answer, struct epoch_view **epoch)
{
	uint64_t number = strtoull(json_value(answer, "epoch"), NULL, 10);
	uint64_t parts = strtoull(json_value(answer, "parts"), NULL, 10);
	uint64_t left = strtoull(json_value(answer, "left_off"), NULL, 10);

	/* The run no longer stores stream->epoch. Receive its oldest epoch instead. */
	if (stream->epoch != NULL && stream->epoch->number != number) {
		epoch_view_free(stream->epoch);
		stream->epoch = NULL;
		ask_epoch(stream, number, 0);
		return EPOCH_STREAM_NOTHING;
	}
	if (stream->epoch == NULL) {
		stream->epoch = epoch_view_alloc();
		stream->parts = 0;
	}
	if (stream->epoch == NULL || left > parts)
		return EPOCH_STREAM_ODD;
	epoch_view_add_answer(stream->epoch, answer);
	if (left > 0 && (stream->everything || !has_all_measurements(answer))) {
		/* An answer without new parts would cause an endless loop. */
		if (parts - left <= stream->parts || parts > PARTS_MAX)
			return EPOCH_STREAM_ODD;
		stream->parts = parts - left;
		ask_epoch(stream, number, stream->parts);
		return EPOCH_STREAM_NOTHING;
	}
	if (ask_rows(stream))
		return EPOCH_STREAM_NOTHING;
	return ask_deliveries(stream, epoch);
}

static enum stream_event take_answer(
	struct epoch_stream *stream, const struct json_node *answer, struct epoch_view **epoch)
{
	if (stream->asked_deliveries)
		return take_deliveries(stream, answer, epoch);
	if (stream->asked_rows)
		return take_rows(stream, answer, epoch);
	if (json_find(answer, "epoch") != NULL)
		return take_parts(stream, answer, epoch);
	if (json_find(answer, "ended") != NULL)
		return EPOCH_STREAM_ENDED;
	if (json_find(answer, "waiting") == NULL)
		return EPOCH_STREAM_ODD;
	send_request(stream);
	return EPOCH_STREAM_NOTHING;
}

enum stream_event epoch_stream_take(struct epoch_stream *stream, struct epoch_view **epoch)
{
	enum stream_event event = EPOCH_STREAM_ODD;
	struct json_node *root;

	*epoch = NULL;
	if (!connection_receive(stream->fd, stream->answer))
		return EPOCH_STREAM_GONE;
	root = json_read(stream->answer);
	if (root != NULL && root->first != NULL)
		event = take_answer(stream, root->first, epoch);
	json_free(root);
	return event;
}
