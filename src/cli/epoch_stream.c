/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/epoch_stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/connection.h"
#include "control/control_commands.h"

#define QUESTION_MAX 256
#define ROWS_KEPT    10 /* of a measurement (RECENT_ROWS); with fewer there are no more */
#define ROWS_MORE    40 /* that /sketchtap/top has */
#define PARTS_MAX    UINT16_MAX

struct epoch_stream {
	int fd;
	bool everything;
	char *rows_of;
	struct epoch_view *epoch; /* of which not all parts are there; NULL: none */
	uint64_t parts;           /* of it, that were asked for */
	bool asked_rows;          /* the question is of its rows, */
	bool asked_deliveries;    /* or of deliveries */
	char question[QUESTION_MAX];
	char answer[CONNECTION_ANSWER_MAX];
};

/* Who is gone is noticed where the answer is taken. */
static void send_request(struct epoch_stream *watch)
{
	connection_send(watch->fd, watch->question);
}

static void ask_epoch(struct epoch_stream *watch, uint64_t number, uint64_t part)
{
	snprintf(watch->question, sizeof(watch->question), CONTROL_PATH "follow,%llu,%llu",
		(unsigned long long)number, (unsigned long long)part);
	send_request(watch);
}

struct epoch_stream *epoch_stream_begin(int fd, bool everything)
{
	struct epoch_stream *watch = fd >= 0 ? calloc(1, sizeof(*watch)) : NULL;

	if (watch == NULL) {
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	watch->fd = fd;
	watch->everything = everything;
	snprintf(watch->question, sizeof(watch->question), CONTROL_PATH "follow");
	send_request(watch);
	return watch;
}

struct epoch_stream *epoch_stream_open(const char *name, bool everything, bool quiet)
{
	return epoch_stream_begin(connection_open(name, quiet), everything);
}

void epoch_stream_close(struct epoch_stream *watch)
{
	if (watch == NULL)
		return;
	close(watch->fd);
	epoch_view_free(watch->epoch);
	free(watch->rows_of);
	free(watch);
}

void epoch_stream_rows_of(struct epoch_stream *watch, const char *measurement)
{
	free(watch->rows_of);
	watch->rows_of = measurement != NULL ? strdup(measurement) : NULL;
}

int epoch_stream_fd(const struct epoch_stream *watch)
{
	return watch->fd;
}

/* --- what is answered --- */

/* All that was wanted is there. */
static enum stream_event return_epoch(struct epoch_stream *watch, struct epoch_view **epoch)
{
	*epoch = watch->epoch;
	watch->epoch = NULL;
	watch->asked_rows = watch->asked_deliveries = false;
	if ((*epoch)->failed) {
		epoch_view_free(*epoch);
		*epoch = NULL;
		return EPOCH_STREAM_ODD;
	}
	ask_epoch(watch, (*epoch)->number + 1, 0);
	return EPOCH_STREAM_EPOCH;
}

/* What is told beside epochs, of the last one, comes behind all else. */
static enum stream_event ask_deliveries(struct epoch_stream *watch, struct epoch_view **epoch)
{
	if (!watch->everything)
		return return_epoch(watch, epoch);
	snprintf(watch->question, sizeof(watch->question), CONTROL_PATH "deliveries");
	watch->asked_rows = false;
	watch->asked_deliveries = true;
	send_request(watch);
	return EPOCH_STREAM_NOTHING;
}

static enum stream_event take_deliveries(
	struct epoch_stream *watch, const struct json_node *answer, struct epoch_view **epoch)
{
	epoch_view_add_deliveries(watch->epoch, json_find(answer, "rows"));
	return return_epoch(watch, epoch);
}

/* Whether the epoch's measurement may have more rows than it came with. */
static bool ask_rows(struct epoch_stream *watch)
{
	const struct epoch_view_measurement *measurement =
		watch->rows_of != NULL ? epoch_view_find(watch->epoch, watch->rows_of) : NULL;

	if (measurement == NULL || measurement->nb_rows < ROWS_KEPT)
		return false;
	snprintf(watch->question, sizeof(watch->question), CONTROL_PATH "top,%.128s,%d",
		watch->rows_of, ROWS_MORE);
	watch->asked_rows = true;
	send_request(watch);
	return true;
}

/* Of an epoch that is the last no more they are another's. */
static enum stream_event take_rows(
	struct epoch_stream *watch, const struct json_node *answer, struct epoch_view **epoch)
{
	struct epoch_view_measurement *measurement =
		epoch_view_find(watch->epoch, json_value(answer, "measurement"));
	const struct json_node *number = json_find(answer, "epoch");

	if (measurement != NULL && number != NULL &&
		strtoull(number->value, NULL, 10) == watch->epoch->number)
		epoch_view_set_rows(watch->epoch, measurement, json_find(answer, "rows"));
	return ask_deliveries(watch, epoch);
}

/* Ports and workers come behind all measurements. */
static bool has_all_measurements(const struct json_node *answer)
{
	return json_find(answer, "ports") != NULL || json_find(answer, "workers") != NULL;
}

static enum stream_event take_parts(
	struct epoch_stream *watch, const struct json_node *answer, struct epoch_view **epoch)
{
	uint64_t number = strtoull(json_value(answer, "epoch"), NULL, 10);
	uint64_t parts = strtoull(json_value(answer, "parts"), NULL, 10);
	uint64_t left = strtoull(json_value(answer, "left_off"), NULL, 10);

	/* Its further parts were asked for too late: this is the oldest that is there. */
	if (watch->epoch != NULL && watch->epoch->number != number) {
		epoch_view_free(watch->epoch);
		watch->epoch = NULL;
		ask_epoch(watch, number, 0);
		return EPOCH_STREAM_NOTHING;
	}
	if (watch->epoch == NULL) {
		watch->epoch = epoch_view_alloc();
		watch->parts = 0;
	}
	if (watch->epoch == NULL || left > parts)
		return EPOCH_STREAM_ODD;
	epoch_view_add_answer(watch->epoch, answer);
	if (left > 0 && (watch->everything || !has_all_measurements(answer))) {
		/* Each answer brings some, or there was no end. */
		if (parts - left <= watch->parts || parts > PARTS_MAX)
			return EPOCH_STREAM_ODD;
		watch->parts = parts - left;
		ask_epoch(watch, number, watch->parts);
		return EPOCH_STREAM_NOTHING;
	}
	if (ask_rows(watch))
		return EPOCH_STREAM_NOTHING;
	return ask_deliveries(watch, epoch);
}

static enum stream_event take_answer(
	struct epoch_stream *watch, const struct json_node *answer, struct epoch_view **epoch)
{
	if (watch->asked_deliveries)
		return take_deliveries(watch, answer, epoch);
	if (watch->asked_rows)
		return take_rows(watch, answer, epoch);
	if (json_find(answer, "epoch") != NULL)
		return take_parts(watch, answer, epoch);
	if (json_find(answer, "ended") != NULL)
		return EPOCH_STREAM_ENDED;
	if (json_find(answer, "waiting") == NULL)
		return EPOCH_STREAM_ODD;
	send_request(watch); /* the same again */
	return EPOCH_STREAM_NOTHING;
}

enum stream_event epoch_stream_take(struct epoch_stream *watch, struct epoch_view **epoch)
{
	enum stream_event news = EPOCH_STREAM_ODD;
	struct json_node *root;

	*epoch = NULL;
	if (!connection_receive(watch->fd, watch->answer))
		return EPOCH_STREAM_GONE;
	root = json_read(watch->answer);
	if (root != NULL && root->first != NULL)
		news = take_answer(watch, root->first, epoch);
	json_free(root);
	return news;
}
