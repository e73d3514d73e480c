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

/* Keys of a section; zeros: unset. */
struct sink_ipfix_keys {
	uint32_t rate;            /* datagrams per second; 0: default */
	uint32_t interface_index; /* index of the first interface; 0: 1 */
};

static const struct option_row ipfix_key_rows[] = {
	{
		.name = "rate",
		.placeholder = "N",
		.type = OPTION_COUNT,
		.min = 1,
		.max = UINT32_MAX,
		OPTION_FIELD(sink_ipfix_keys, rate),
		.default_note = "spread over the next interval, 2000 or more",
		.help = "Send N datagrams per second. For ipfix:// only.",
	},
	{
		.name = "interface-index",
		.placeholder = "N",
		.type = OPTION_COUNT,
		.min = 1,
		.max = UINT32_MAX - UINT16_MAX,
		OPTION_FIELD(sink_ipfix_keys, interface_index),
		.default_note = "1",
		.help = "Set the ingress interface of records. For ipfix:// only. With in_port in "
			"the key: that of the first port.",
	},
	{0},
};

static const struct option_owner ipfix_owner = {
	.rows = ipfix_key_rows,
	.size = sizeof(struct sink_ipfix_keys),
};

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

static bool parse(const struct sink_url *url, struct socket_client_address *address, char *why)
{
	return socket_client_parse(url->rest, (enum socket_client_transport)url->scheme->transport,
		PORT, address, why);
}

static bool check(const struct sink_url *url, const struct sink_request *request, char *why)
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
	return parse(url, &address, why);
}

static struct sink *create(
	const struct sink_url *url, const struct sink_request *request, uint32_t number)
{
	static const struct sink_ipfix_keys no_keys;
	struct sink_ipfix *ipfix_sink = calloc(1, sizeof(*ipfix_sink));
	const struct sink_ipfix_keys *keys = request->own != NULL ? request->own : &no_keys;
	uint32_t first = keys->interface_index;
	const struct ipfix_socket_options options = {
		.records = {.flows = request->kind == ROWS_FLOWS,
			.domain = number * DOMAINS,
			.ingress = first > 0 ? first : 1,
			.egress = 0},
		.rate = keys->rate,
		.patience = retry_time,
		.left = left,
		.log = log_text,
		.arg = ipfix_sink,
	};
	struct socket_client_address address;
	char why[SINK_ERROR_MAX];

	if (ipfix_sink != NULL && parse(url, &address, why))
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

static const struct sink_scheme schemes[] = {
	{"ipfix://", "ipfix://HOST[:PORT]", .note = "UDP", .lacks = "require",
		.transport = SOCKET_CLIENT_UDP},
	{"ipfix+tcp://", "ipfix+tcp://HOST[:PORT]", .lacks = "rate",
		.transport = SOCKET_CLIENT_TCP},
	{0},
};

const struct sink_type sink_type_ipfix = {
	.schemes = schemes,
	.rows = SINK_ENCODING_ENCODED,
	.keys = &ipfix_owner,
	.needs = OPTION_NEED_IP_BYTES,
	.check = check,
	.create = create,
	.open = open_place,
	.free = free_place,
	.ops = {.write = write_report, .miss = miss, .reopen = reopen, .end = reopen},
};
