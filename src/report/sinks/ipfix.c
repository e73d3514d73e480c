/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Sink: an IPFIX collector over UDP (ipfix://) or TCP (ipfix+tcp://), RFC 7011. UDP datagrams are
 * paced and never fragmented; rows that cannot be sent in time are lost.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/assertion.h"
#include "base/clock.h"
#include "base/signals.h"
#include "base/units.h"
#include "report/formats/ipfix.h"
#include "report/sinks/sink.h"
#include "report/sinks/socket_client.h"
#include "sketch/measurement.h"

#define PORT       "4739"
#define PATIENCE_S 10
#define ENDING_NS  (2 * SECOND_NS) /* limit of PATIENCE_S at the end of the run */
#define DOMAINS    100
/* maximum ns between two datagrams; small receive buffers do not overflow at this rate */
#define GAP_MAX_NS (SECOND_NS / 2000)
#define EARLY_NS   (SECOND_NS / 5000) /* ns; shorter waits are skipped */
_Static_assert(CONFIG_MEASUREMENTS_MAX < DOMAINS, "the domain of totals needs one of them");

struct sink_ipfix_keys {
	uint32_t rate;            /* datagrams per second; 0: default */
	uint32_t interface_index; /* index of the first interface; 0: index 1 */
};

static const struct option_row ipfix_key_rows[] = {
	{
		.name = "rate",
		.placeholder = "N",
		.type = OPTION_COUNT,
		.min = 1,
		.max = UINT32_MAX,
		OPTION_FIELD(sink_ipfix_keys, rate),
		.default_note = "spread over the next interval, at least 2000",
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
		.help = "Set the index of the ingress interface in records. For ipfix:// only. If "
			"the key has in_port: the index of the first port.",
	},
	{0},
};

static const struct option_owner ipfix_owner = {
	.rows = ipfix_key_rows,
	.size = sizeof(struct sink_ipfix_keys),
};

/* Used only by the sink's thread. */
struct sink_ipfix {
	struct sink sink;
	struct socket_client client;
	struct ipfix *ipfix;
	/* datagrams per second; 0: rows of an epoch are spread over the next one */
	double rate;
	/* the source does not wait for outputs, so that the end of the run is limited in time */
	bool end_bounded;

	struct log_ratelimit_state loses;
	/* rows lost since the number of lost rows was last logged */
	uint64_t lost;

	/*
	 * Rows and bytes of the current report that the kernel accepted, without datagrams that the
	 * receiver refused afterwards.
	 */
	uint64_t delivered, bytes;
	/* UDP: rows and bytes of the last datagram, which the receiver may still refuse */
	uint32_t last_rows, last_bytes;

	/* Pacing, in monotonic ns. */
	int64_t next_at, gap_per_row; /* planned time of the next datagram; planned time per row */
	int64_t least_at;             /* earliest permitted time of the next datagram */
	uint64_t rows_left;           /* rows of the report that were not sent yet */
	/* the run has ended, and the rest of the report is spread over the remaining time */
	bool hurried;
	uint64_t flow_rows; /* flow records so far in the current epoch */
	/* planned ns per flow record, from the number in the previous epoch; 0: not known */
	int64_t flow_gap_per_row;
};

static int64_t retry_time(void *arg)
{
	const struct sink_ipfix *ipfix = arg;
	const struct sink *sink = &ipfix->sink;
	int64_t left = sink_patience(sink, PATIENCE_S);
	bool ending = sink->sink_queue != NULL && sink_queue_ending(sink->sink_queue);

	return ending && left > ENDING_NS ? ENDING_NS : left;
}

/* Returns the ns left for the rest of the report. INT64_MAX: no limit. */
static int64_t time_left(const struct sink_ipfix *ipfix)
{
	struct sink_queue *queue = ipfix->sink.sink_queue;

	if (queue != NULL &&
		(signals_stop_requested() || (ipfix->end_bounded && sink_queue_ending(queue))))
		return sink_queue_share(queue);
	return INT64_MAX;
}

static int64_t wall_clock(void *arg)
{
	(void)arg;
	return clock_now(CLOCK_REALTIME);
}

static bool is_udp(const struct sink_ipfix *ipfix)
{
	return ipfix->client.address.transport == SOCKET_CLIENT_UDP;
}

static void heed_mtu(struct sink_ipfix *ipfix)
{
	uint32_t max = is_udp(ipfix) ? socket_client_datagram_max(&ipfix->client) : 0;

	if (max > 0)
		ipfix_limit(ipfix->ipfix, max);
}

/* The error that was received may refer to the last datagram. */
static void take_back_last(struct sink_ipfix *ipfix)
{
	VERIFY(ipfix->delivered, >=, ipfix->last_rows);
	VERIFY(ipfix->bytes, >=, ipfix->last_bytes);
	ipfix->delivered -= ipfix->last_rows;
	ipfix->bytes -= ipfix->last_bytes;
	ipfix->last_rows = 0;
	ipfix->last_bytes = 0;
}

static enum ipfix_peer peer(void *arg)
{
	struct sink_ipfix *ipfix = arg;

	if (socket_client_heed(&ipfix->client) && !ipfix->client.fresh)
		return IPFIX_THERE;
	take_back_last(ipfix);
	if (socket_client_look(&ipfix->client) != SOCKET_CLIENT_RECONNECTED)
		return IPFIX_GONE;
	delivery_count(&ipfix->sink.delivery.reconnects, ipfix->client.connects > 1);
	heed_mtu(ipfix);
	return IPFIX_ANEW;
}

/* Connects before messages are built, because the path MTU limits their size. */
static void meet(struct sink_ipfix *ipfix)
{
	if (is_udp(ipfix) && ipfix->client.fd < 0 && socket_client_reach(&ipfix->client))
		heed_mtu(ipfix);
}

static void sleep_until(int64_t time)
{
	const struct timespec until = {time / SECOND_NS, time % SECOND_NS};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
		;
}

/* After the end of the run, spreads the rest of the report over the remaining time. */
static void hurry(struct sink_ipfix *ipfix, int64_t now)
{
	int64_t left = ipfix->hurried ? INT64_MAX : time_left(ipfix);

	if (left == INT64_MAX || ipfix->rows_left == 0)
		return;
	ipfix->hurried = true;
	if (ipfix->gap_per_row <= left / (int64_t)ipfix->rows_left)
		return;
	ipfix->gap_per_row = left / (int64_t)ipfix->rows_left;
	ipfix->next_at = now;
}

/*
 * A late thread sends up to twice as fast until it has caught up, so that the report ends in time,
 * but never exceeds a rate set by the user.
 */
static void pace(struct sink_ipfix *ipfix, uint32_t rows)
{
	int64_t now = clock_now(CLOCK_MONOTONIC), gap, least, at;

	hurry(ipfix, now);
	ipfix->rows_left -= rows < ipfix->rows_left ? rows : ipfix->rows_left;
	gap = ipfix->gap_per_row * rows;
	if (gap > GAP_MAX_NS)
		gap = GAP_MAX_NS;
	least = gap / 2;
	if (ipfix->rate > 0)
		gap = least = (int64_t)((double)SECOND_NS / ipfix->rate);
	if (ipfix->least_at < now - EARLY_NS)
		ipfix->least_at = now - EARLY_NS;
	at = ipfix->next_at > ipfix->least_at ? ipfix->next_at : ipfix->least_at;
	if (at > now + EARLY_NS)
		sleep_until(at);
	ipfix->next_at += gap;
	ipfix->least_at += least;
}

static bool send_message(void *arg, const uint8_t *message, uint32_t len, uint32_t rows)
{
	struct sink_ipfix *ipfix = arg;
	int error;

	if (ipfix->client.fd < 0)
		return false;
	if (is_udp(ipfix))
		pace(ipfix, rows);
	error = socket_client_send(&ipfix->client, message, len);
	if (error == EMSGSIZE)
		heed_mtu(ipfix);
	else if (error != 0)
		take_back_last(ipfix);
	if (error != 0)
		return false;
	ipfix->delivered += rows;
	ipfix->bytes += len;
	if (is_udp(ipfix) && rows > 0) {
		ipfix->last_rows = rows;
		ipfix->last_bytes = len;
	}
	return true;
}

/*
 * The rows of an epoch are spread over the duration of the next one. Flow records are sent while
 * their epoch is open, as if it had as many as the previous epoch. If the source waits for outputs,
 * epochs have no duration, and GAP_MAX_NS applies.
 */
static void choose_pace(struct sink_ipfix *ipfix, const struct report_epoch *epoch, uint64_t rows)
{
	int64_t duration = (int64_t)epoch->arrival_ns, now = clock_now(CLOCK_MONOTONIC);

	if (ipfix->next_at < now)
		ipfix->next_at = now;
	ipfix->gap_per_row = GAP_MAX_NS;
	ipfix->rows_left = rows;
	ipfix->hurried = false;
	if (epoch->flows_only) {
		ipfix->flow_rows += rows;
		if (ipfix->flow_gap_per_row > 0)
			ipfix->gap_per_row = ipfix->flow_gap_per_row;
		return;
	}
	ipfix->flow_gap_per_row = 0;
	if (duration > 0 && rows > 0)
		ipfix->gap_per_row = duration * 9 / 10 / (int64_t)rows;
	if (duration > 0 && ipfix->flow_rows > 0)
		ipfix->flow_gap_per_row = duration * 8 / 10 / (int64_t)ipfix->flow_rows;
	ipfix->flow_rows = 0;
}

static void log_losses(struct sink_ipfix *ipfix, uint64_t failed)
{
	ipfix->lost += failed;
	if (failed > 0)
		sink_warn(&ipfix->sink, &ipfix->loses, ipfix->client.why,
			"rows are lost until the receiver accepts them");
	if (failed > 0 || ipfix->delivered == 0 ||
		!log_ratelimit_ends(&ipfix->loses, clock_now(CLOCK_MONOTONIC)))
		return;
	sink_say(&ipfix->sink, false, "resumed; %llu rows were lost",
		(unsigned long long)ipfix->lost);
	ipfix->lost = 0;
}

static void write_report(void *arg, const struct report_epoch *epoch)
{
	struct sink_ipfix *ipfix = arg;
	struct delivery *delivery = &ipfix->sink.delivery;
	const struct ipfix_sink sink = {ipfix, wall_clock, peer, send_message};
	uint64_t rows = ipfix_rows(ipfix->ipfix, epoch);

	ipfix->end_bounded |= epoch->arrival_ns > 0;
	ipfix->delivered = ipfix->bytes = 0;
	ipfix->last_rows = ipfix->last_bytes = 0;
	choose_pace(ipfix, epoch, rows);
	meet(ipfix);
	ipfix_epoch(ipfix->ipfix, epoch, &sink);
	if (!socket_client_heed(&ipfix->client))
		take_back_last(ipfix);
	VERIFY(ipfix->delivered, <=, rows);
	delivery_count(&delivery->delivered, ipfix->delivered);
	delivery_count(&delivery->failed, rows - ipfix->delivered);
	delivery_count(&delivery->bytes, ipfix->bytes);
	socket_client_praise(&ipfix->client);
	log_losses(ipfix, rows - ipfix->delivered);
}

/* Called by the thread that calls writer_push(). */
static void miss(void *arg, const struct report_epoch *epoch)
{
	struct sink_ipfix *ipfix = arg;

	ipfix_miss(ipfix->ipfix, epoch);
}

static void reopen(void *arg)
{
	struct sink_ipfix *ipfix = arg;

	socket_client_reopen(&ipfix->client);
}

static int open_sink(struct sink *sink, bool require, char *why)
{
	struct sink_ipfix *ipfix = (struct sink_ipfix *)sink;

	if (!require || socket_client_reach(&ipfix->client))
		return 0;
	return sink_absent(why, ipfix->client.why);
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

static void free_sink(struct sink *sink)
{
	struct sink_ipfix *ipfix = (struct sink_ipfix *)sink;

	socket_client_free(&ipfix->client);
	ipfix_free(ipfix->ipfix);
	free(ipfix);
}

static struct sink *create(
	const struct sink_url *url, const struct sink_request *request, uint32_t number)
{
	static const struct sink_ipfix_keys no_keys;
	const struct sink_ipfix_keys *keys = request->own != NULL ? request->own : &no_keys;
	struct sink_ipfix *ipfix = calloc(1, sizeof(*ipfix));
	const struct ipfix_options records = {
		.flows = request->kind == ROWS_FLOWS,
		.reliable = url->scheme->transport != SOCKET_CLIENT_UDP,
		.domain = number * DOMAINS,
		.ingress = keys->interface_index > 0 ? keys->interface_index : 1,
	};
	char why[SINK_ERROR_MAX];

	if (ipfix == NULL)
		return NULL;
	ipfix->rate = keys->rate;
	ipfix->client = (struct socket_client){.patience = retry_time, .arg = ipfix};
	parse(url, &ipfix->client.address, why);
	socket_client_init(&ipfix->client);
	ipfix->ipfix = ipfix_create(&records);
	if (ipfix->ipfix != NULL)
		return &ipfix->sink;
	free(ipfix);
	return NULL;
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
	.open = open_sink,
	.free = free_sink,
	.ops = {.write = write_report, .miss = miss, .reopen = reopen, .end = reopen},
};
