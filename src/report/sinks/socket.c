/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Sink: text rows on a TCP or Unix socket (tcp://, unix:). If the connection breaks within an
 * epoch, the next connection gets all rows of this epoch.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "report/sinks/sink.h"
#include "report/sinks/socket_client.h"

#define PATIENCE_S        60
/* A master that waits for another collector answers later. */
#define MASTER_PATIENCE_S 150
/* After this many broken connections in an epoch, the fate of its rows is unknown. */
#define BREAKS_MAX        3

struct sink_socket {
	struct sink sink;
	struct socket_client client;
};

/* Returns true if the receiver is a `sketchtap collect --collectors`. */
static bool is_to_master(const struct sink_socket *socket)
{
	return socket->sink.kind == ROWS_DATAGRAMS && socket->sink.header.len > 0;
}

static int64_t retry_time(void *arg)
{
	const struct sink_socket *socket = arg;
	bool spooled = is_to_master(socket) && socket->sink.spooled != NULL;

	return sink_patience(&socket->sink, spooled ? MASTER_PATIENCE_S : PATIENCE_S);
}

static bool send_header(struct sink_socket *socket)
{
	const struct text *header = &socket->sink.header;
	bool sent = header->len == 0 ||
		    socket_client_send(&socket->client, header->data, header->len) == 0;

	delivery_count(&socket->sink.delivery.bytes, sent ? header->len : 0);
	return sent;
}

/* Returns false if there is no connection in time after the end of the run. */
static bool connect_sink(struct sink_socket *socket)
{
	int64_t since = clock_now(CLOCK_MONOTONIC);
	enum socket_client_state state;

	while ((state = socket_client_look(&socket->client)) != SOCKET_CLIENT_CONNECTED) {
		if (state == SOCKET_CLIENT_RECONNECTED) {
			delivery_count(
				&socket->sink.delivery.reconnects, socket->client.connects > 1);
			if (send_header(socket))
				break;
		}
		sink_say_waits(&socket->sink, socket->client.why);
		switch (sink_pause(&socket->sink, &since, socket->client.why)) {
		case SINK_HURRIES: socket_client_reopen(&socket->client); break;
		case SINK_GAVE_UP: return false;
		case SINK_PAUSED: break;
		}
	}
	return true;
}

/*
 * Datagrams have times of this host. The receiver compares its clock with the first line of each
 * interval, "#now NS": ns since 1970-01-01 UTC when it is sent. With a spool, " spooled" follows.
 */
static int send_clock(struct sink_socket *socket)
{
	char line[48];
	int len =
		snprintf(line, sizeof(line), "#now %lld%s\n", (long long)clock_now(CLOCK_REALTIME),
			socket->sink.spooled != NULL ? " spooled" : "");

	return socket_client_send(&socket->client, line, (size_t)len);
}

/*
 * A master answers each interval with a byte. With a spool, waits until another receiver has the
 * text, because a broken connection loses the data in the send buffer. Returns 0 or an errno.
 */
static int send_text(struct sink_socket *socket)
{
	const struct sink *sink = &socket->sink;
	int error = is_to_master(socket) ? send_clock(socket) : 0;

	if (error == 0)
		error = socket_client_send(&socket->client, sink->text.data, sink->text.len);
	if (error == 0 && is_to_master(socket))
		return socket_client_await(&socket->client);
	return error == 0 && sink->spooled != NULL ? socket_client_drain(&socket->client) : error;
}

/* Sends sink.text, with retries. Returns the counter for the fate of its rows. */
static _Atomic uint64_t *sent_counter(struct sink_socket *socket)
{
	struct sink *sink = &socket->sink;
	struct delivery *delivery = &sink->delivery;
	uint32_t breaks = 0;

	for (uint32_t tries = 0; !sink->left && connect_sink(socket); tries++) {
		int error;

		delivery_count(&delivery->retries, tries > 0);
		error = send_text(socket);
		if (error == 0) {
			socket_client_praise(&socket->client);
			delivery_count(&delivery->bytes, sink->text.len);
			sink_say_takes(sink);
			return is_to_master(socket) ? &sink->fates->acknowledged
						    : &sink->fates->delivered;
		}
		sink_say_waits(sink, socket->client.why);
		breaks += socket->client.sent > 0;
		/*
		 * With a spool, rows are sent until they are delivered. The receiver can recognize
		 * repeated rows by their identity.
		 */
		if (breaks == BREAKS_MAX && sink->spooled == NULL) {
			sink_warn_doubtful(sink,
				"the connection broke several times in the rows of one interval");
			return &sink->fates->unknown;
		}
		if (error == ETIMEDOUT && sink_queue_ending(sink->sink_queue))
			break;
	}
	sink_leave(sink, socket->client.why);
	return breaks > 0 ? &sink->fates->unknown : &sink->fates->failed;
}

static int open_sink(struct sink *sink, bool require, char *why)
{
	struct sink_socket *socket = (struct sink_socket *)sink;

	if (!require || socket_client_reach(&socket->client))
		return 0;
	return sink_absent(why, socket->client.why);
}

static void begin(void *arg)
{
	struct sink_socket *socket = arg;

	socket->client.second = sink_queue_second(socket->sink.sink_queue);
}

static void send_rows(struct sink *sink, uint64_t rows)
{
	delivery_count(sent_counter((struct sink_socket *)sink), rows);
}

static void reopen(void *arg)
{
	struct sink_socket *socket = arg;

	socket_client_reopen(&socket->client);
}

static bool parse(const struct sink_url *url, struct socket_client_address *address, char *why)
{
	return socket_client_parse(url->rest, (enum socket_client_transport)url->scheme->transport,
		NULL, address, why);
}

static bool check(const struct sink_url *url, const struct sink_request *request, char *why)
{
	struct socket_client_address address;

	(void)request;
	return parse(url, &address, why);
}

static struct sink *create(
	const struct sink_url *url, const struct sink_request *request, uint32_t number)
{
	struct sink_socket *socket = calloc(1, sizeof(*socket));
	char why[SINK_ERROR_MAX];

	(void)request;
	(void)number;
	if (socket == NULL)
		return NULL;
	socket->client = (struct socket_client){
		.patience = retry_time,
		.arg = socket,
	};
	parse(url, &socket->client.address, why);
	socket_client_init(&socket->client);
	return &socket->sink;
}

static void free_sink(struct sink *sink)
{
	struct sink_socket *socket = (struct sink_socket *)sink;

	socket_client_free(&socket->client);
	free(socket);
}

static const struct sink_scheme schemes[] = {
	{"tcp://", "tcp://HOST:PORT", .transport = SOCKET_CLIENT_TCP},
	{"unix:", "unix:PATH", .transport = SOCKET_CLIENT_UNIX},
	{0},
};

const struct sink_type sink_type_socket = {
	.schemes = schemes,
	.check = check,
	.create = create,
	.open = open_sink,
	.bring = send_rows,
	.free = free_sink,
	.ops = {.begin = begin, .write = sink_write, .reopen = reopen, .end = reopen},
};
