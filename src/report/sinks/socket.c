/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Rows as text to a socket as a place of reports: tcp://, unix:. An epoch waits until it was taken
 * whole; where the connection breaks meanwhile it is sent again, as a whole, over the next one.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/units.h"
#include "report/sinks/sink.h"
#include "report/sinks/socket_client.h"

#define PATIENCE_S 60 /* with a receiver who takes nothing */
#define BREAKS_MAX 3  /* in an epoch: then nobody can say what of it arrived */
#define PAUSE_NS   (SECOND_NS / 10)

struct sink_socket {
	struct sink remote;
	struct socket_client receiver;
};

static int64_t retry_time(void *arg)
{
	const struct sink_socket *place = arg;

	return sink_patience(&place->remote, PATIENCE_S);
}

static bool send_header(struct sink_socket *place)
{
	const struct text *header = &place->remote.header;
	bool sent = header->len == 0 ||
		    socket_client_send(&place->receiver, header->data, header->len) == 0;

	delivery_count(&place->remote.delivery.bytes, sent ? header->len : 0);
	return sent;
}

/* Waits for it as long as the run goes on, and then not for long. False: the rest is lost. */
static bool connect_sink(struct sink_socket *place)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};
	int64_t since = clock_now(CLOCK_MONOTONIC);
	enum socket_client_state state;

	while ((state = socket_client_look(&place->receiver)) != SOCKET_CLIENT_CONNECTED) {
		if (state == SOCKET_CLIENT_RECONNECTED) {
			delivery_count(
				&place->remote.delivery.reconnects, place->receiver.connects > 1);
			if (send_header(place))
				break;
		}
		sink_say_waits(&place->remote, place->receiver.why);
		if (sink_hurries(&place->remote))
			socket_client_reopen(&place->receiver);
		else if (sink_queue_gives_up(place->remote.outlet, &since))
			return false;
		else
			nanosleep(&pause, NULL);
	}
	return true;
}

/* Sends the text. With a spool it waits until the other end has it: what only the kernel here has is lost
 * with the connection. */
static int send_text(struct sink_socket *place)
{
	const struct sink *remote = &place->remote;
	int error = socket_client_send(&place->receiver, remote->text.data, remote->text.len);

	return error == 0 && remote->spooled != NULL ? socket_client_drain(&place->receiver)
						     : error;
}

/* Sends remote.text until it was taken as a whole. Returns what became of its rows. */
static _Atomic uint64_t *fate_of(struct sink_socket *place)
{
	struct sink *remote = &place->remote;
	struct delivery *delivery = &remote->delivery;
	uint32_t breaks = 0;

	for (uint32_t tries = 0; !remote->left && connect_sink(place); tries++) {
		int error;

		delivery_count(&delivery->retries, tries > 0);
		error = send_text(place);
		if (error == 0) {
			socket_client_praise(&place->receiver);
			delivery_count(&delivery->bytes, remote->text.len);
			sink_say_takes(remote);
			return &remote->fates->delivered;
		}
		sink_say_waits(remote, place->receiver.why);
		breaks += place->receiver.sent > 0;
		/* With a spool they wait, and what comes twice is known by its identity. */
		if (breaks == BREAKS_MAX && remote->spooled == NULL) {
			sink_warn_doubtful(remote,
				"the connection broke again and again in one interval's rows");
			return &remote->fates->unknown;
		}
		if (error == ETIMEDOUT && sink_queue_ending(remote->outlet))
			break;
	}
	sink_leave(remote, place->receiver.why);
	return breaks > 0 ? &remote->fates->unknown : &remote->fates->failed;
}

static int open_sink(struct sink *remote, bool require, char *why)
{
	struct sink_socket *place = (struct sink_socket *)remote;

	if (!require || socket_client_reach(&place->receiver))
		return 0;
	return sink_absent(why, place->receiver.why);
}

static void begin(void *arg)
{
	struct sink_socket *place = arg;

	place->receiver.second = sink_queue_second(place->remote.outlet);
}

static void send_rows(struct sink *remote, uint64_t rows)
{
	delivery_count(fate_of((struct sink_socket *)remote), rows);
}

static void reopen(void *arg)
{
	struct sink_socket *place = arg;

	socket_client_reopen(&place->receiver);
}

static bool parse(const struct sink_type *scheme, const char *url,
	struct socket_client_address *address, char *why)
{
	return socket_client_parse(url + strlen(scheme->prefix),
		scheme == &sink_type_unix ? SOCKET_CLIENT_UNIX : SOCKET_CLIENT_TCP, NULL, address, why);
}

static bool check(const struct sink_type *scheme, const struct sink_request *request, char *why)
{
	struct socket_client_address address;

	return parse(scheme, request->url, &address, why);
}

static struct sink *create(
	const struct sink_type *scheme, const struct sink_request *request, uint32_t number)
{
	struct sink_socket *place = calloc(1, sizeof(*place));
	char why[SINK_ERROR_MAX];

	(void)number;
	if (place == NULL)
		return NULL;
	place->receiver = (struct socket_client){
		.patience = retry_time,
		.arg = place,
	};
	parse(scheme, request->url, &place->receiver.address, why);
	socket_client_init(&place->receiver);
	return &place->remote;
}

static void free_sink(struct sink *remote)
{
	struct sink_socket *place = (struct sink_socket *)remote;

	socket_client_free(&place->receiver);
	free(place);
}

#define OPS                                                                                        \
	{                                                                                          \
		.begin = begin, .write = sink_write, .reopen = reopen, .end = reopen               \
	}

const struct sink_type sink_type_tcp = {
	.prefix = "tcp://",
	.form = "tcp://HOST:PORT",
	.check = check,
	.create = create,
	.open = open_sink,
	.bring = send_rows,
	.free = free_sink,
	.ops = OPS,
};

const struct sink_type sink_type_unix = {
	.prefix = "unix:",
	.form = "unix:PATH",
	.check = check,
	.create = create,
	.open = open_sink,
	.bring = send_rows,
	.free = free_sink,
	.ops = OPS,
};
