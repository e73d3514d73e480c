/* SPDX-License-Identifier: BSD-3-Clause */

/* Sink: an IPFIX collector (ipfix://, ipfix+tcp://). */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/signals.h"
#include "base/units.h"
#include "report/sinks/ipfix_socket.h"
#include "report/sinks/sink.h"
#include "sketch/measurement.h"

#define PORT       "4739"
#define PATIENCE_S 10              /* limit of waiting for a receiver that accepts nothing */
#define ENDING_NS  (2 * SECOND_NS) /* the same at the end of the run */
#define DOMAINS    100             /* observation domains per sink */
_Static_assert(CONFIG_MEASUREMENTS_MAX < DOMAINS, "one of them is of totals");

struct sink_ipfix {
	struct sink sink;
	struct ipfix_socket *socket;
	bool end_bounded; /* the source does not wait for outputs; used by the sink's thread */
};

static int64_t retry_time(void *arg)
{
	const struct sink_ipfix *ipfix_sink = arg;
	struct sink_queue *queue = ipfix_sink->sink.sink_queue;
	int64_t left = sink_patience(&ipfix_sink->sink, PATIENCE_S);
	bool ending = queue != NULL && sink_queue_ending(queue);

	return ending && left > ENDING_NS ? ENDING_NS : left;
}

/*
 * Returns the time for the rest of the report, in ns. INT64_MAX: no limit, since the run goes on,
 * or its source waits for outputs and was not stopped.
 */
static int64_t left(void *arg)
{
	const struct sink_ipfix *ipfix_sink = arg;
	struct sink_queue *queue = ipfix_sink->sink.sink_queue;
	bool over =
		signals_stop_requested() || (ipfix_sink->end_bounded && sink_queue_ending(queue));

	return over ? sink_queue_share(queue) : INT64_MAX;
}

static void log_text(bool warning, const char *line, void *arg)
{
	const struct sink_ipfix *ipfix_sink = arg;

	sink_say(&ipfix_sink->sink, warning, "%s", line);
}

static int open_place(struct sink *sink, bool require, char *why)
{
	struct sink_ipfix *ipfix_sink = (struct sink_ipfix *)sink;
	const char *cannot = require ? ipfix_socket_open(ipfix_sink->socket) : NULL;

	return cannot == NULL ? 0 : sink_absent(why, cannot);
}

static void write_report(void *arg, const struct report_epoch *epoch)
{
	struct sink_ipfix *ipfix_sink = arg;
	struct ipfix_counts counts;

	ipfix_sink->end_bounded |= epoch->arrival_ns > 0;
	counts = ipfix_socket_write(ipfix_sink->socket, epoch);

	delivery_count(&ipfix_sink->sink.delivery.delivered, counts.delivered);
	delivery_count(&ipfix_sink->sink.delivery.failed, counts.failed);
	delivery_count(&ipfix_sink->sink.delivery.bytes, counts.bytes);
	delivery_count(&ipfix_sink->sink.delivery.reconnects, counts.reconnects);
}

static void miss(void *arg, const struct report_epoch *epoch)
{
	struct sink_ipfix *ipfix_sink = arg;

	ipfix_socket_miss(ipfix_sink->socket, epoch);
}

static void reopen(void *arg)
{
	struct sink_ipfix *ipfix_sink = arg;

	ipfix_socket_reopen(ipfix_sink->socket);
}

static bool parse(const struct sink_type *scheme, const char *url,
	struct socket_client_address *address, char *why)
{
	return socket_client_parse(url + strlen(scheme->prefix),
		scheme == &sink_type_ipfix_tcp ? SOCKET_CLIENT_TCP : SOCKET_CLIENT_UDP, PORT,
		address, why);
}

static bool check(const struct sink_type *scheme, const struct sink_request *request, char *why)
{
	const struct config *config = request->config;
	struct socket_client_address address;
	char field[IPFIX_WHY_MAX];

	if (request->kind != ROWS_HEAVY_HITTERS && request->kind != ROWS_FLOWS) {
		snprintf(why, SINK_ERROR_MAX,
			"accepts heavy hitters (--output) and records (--flows) only; give a file");
		return false;
	}
	if (request->format != FORMAT_AUTO) {
		snprintf(why, SINK_ERROR_MAX, "IPFIX is a format; omit the other one");
		return false;
	}
	for (uint32_t m = 0; m < config->nb_measurements; m++)
		if (!ipfix_carries(&measurement_options(&config->measurements[m])->key, field)) {
			snprintf(why, SINK_ERROR_MAX,
				"cannot encode the keys of measurement %.64s: %s",
				config->measurements[m].name, field);
			return false;
		}
	return parse(scheme, request->url, &address, why);
}

static struct sink *create(
	const struct sink_type *scheme, const struct sink_request *request, uint32_t number)
{
	struct sink_ipfix *ipfix_sink = calloc(1, sizeof(*ipfix_sink));
	uint32_t first = request->options->interface_index;
	const struct ipfix_socket_options options = {
		.records = {.flows = request->kind == ROWS_FLOWS,
			.domain = number * DOMAINS,
			.ingress = first > 0 ? first : 1,
			.egress = 0},
		.rate = request->options->rate,
		.patience = retry_time,
		.left = left,
		.log = log_text,
		.arg = ipfix_sink,
	};
	struct socket_client_address address;
	char why[SINK_ERROR_MAX];

	if (ipfix_sink != NULL && parse(scheme, request->url, &address, why))
		ipfix_sink->socket = ipfix_socket_create(&address, &options);
	if (ipfix_sink != NULL && ipfix_sink->socket != NULL)
		return &ipfix_sink->sink;
	free(ipfix_sink);
	return NULL;
}

static void free_place(struct sink *sink)
{
	struct sink_ipfix *ipfix_sink = (struct sink_ipfix *)sink;

	ipfix_socket_free(ipfix_sink->socket);
	free(ipfix_sink);
}

static const char *const udp_keys[] = {"rate", "interface-index", NULL};
static const char *const tcp_keys[] = {"interface-index", NULL};

#define OPS                                                                                        \
	{                                                                                          \
		.write = write_report, .miss = miss, .reopen = reopen, .end = reopen               \
	}

const struct sink_type sink_type_ipfix = {
	.prefix = "ipfix://",
	.rows = SINK_ENCODING_ENCODED,
	.keys = udp_keys,
	.needs = OPTION_NEED_IP_BYTES,
	.form = "ipfix://HOST[:PORT]",
	.check = check,
	.create = create,
	.free = free_place,
	.ops = OPS,
};

const struct sink_type sink_type_ipfix_tcp = {
	.prefix = "ipfix+tcp://",
	.rows = SINK_ENCODING_ENCODED,
	.keys = tcp_keys,
	.needs = OPTION_NEED_IP_BYTES,
	.form = "ipfix+tcp://HOST[:PORT]",
	.check = check,
	.create = create,
	.open = open_place,
	.free = free_place,
	.ops = OPS,
};
