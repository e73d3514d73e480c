/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/sinks/ipfix_socket.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/assertion.h"
#include "base/clock.h"
#include "base/units.h"
#include "report/sinks/sink_log.h"

/* ns between datagrams; small receive buffers keep up with this rate */
#define GAP_MAX_NS     (SECOND_NS / 2000)
#define EARLY_NS       (SECOND_NS / 5000) /* ns; shorter waits are skipped */
#define LINE_MAX_BYTES 512

struct ipfix_socket {
	struct ipfix_socket_options options;
	struct ipfix *ipfix;
	struct socket_client client;

	struct log_ratelimit_state loses; /* warnings about lost rows */
	uint64_t lost;                    /* lost rows since the last message with their number */

	struct ipfix_counts counts; /* counts of the current report */
	/* UDP: rows and bytes of the last datagram of the report, which may still be refused. */
	uint32_t last_rows, last_bytes;

	/* Pacing, in monotonic ns. */
	int64_t next_at, gap_per_row; /* planned time of the next datagram; time per row */
	int64_t least_at;             /* earliest time of the next datagram */
	uint64_t rows_left;           /* rows of the report not sent yet */
	/* the rest was spread over the time left at the end of the run */
	bool hurried;
	uint64_t flow_rows; /* rows of flow records in the current epoch so far */
	/* time per row that the previous epoch's records needed; 0: not known */
	int64_t flow_gap_per_row;
};

static int64_t wall_clock(void *arg)
{
	(void)arg;
	return clock_now(CLOCK_REALTIME);
}

__attribute__((format(printf, 3, 4))) static void log_socket(
	const struct ipfix_socket *ipfix, bool warning, const char *format, ...)
{
	char line[LINE_MAX_BYTES];
	va_list args;

	if (ipfix->options.log == NULL)
		return;
	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	ipfix->options.log(warning, line, ipfix->options.arg);
}

static bool is_udp(const struct ipfix_socket *ipfix)
{
	return ipfix->client.address.transport == SOCKET_CLIENT_UDP;
}

static void heed_mtu(struct ipfix_socket *ipfix)
{
	uint32_t max = is_udp(ipfix) ? socket_client_datagram_max(&ipfix->client) : 0;

	if (max > 0)
		ipfix_limit(ipfix->ipfix, max);
}

/* Takes back the last datagram: the error may be the answer to it. */
static void take_back_last(struct ipfix_socket *ipfix)
{
	VERIFY(ipfix->counts.delivered, >=, ipfix->last_rows);
	VERIFY(ipfix->counts.bytes, >=, ipfix->last_bytes);
	ipfix->counts.delivered -= ipfix->last_rows;
	ipfix->counts.bytes -= ipfix->last_bytes;
	ipfix->last_rows = 0;
	ipfix->last_bytes = 0;
}

static enum ipfix_peer peer(void *arg)
{
	struct ipfix_socket *ipfix = arg;

	if (socket_client_heed(&ipfix->client) && !ipfix->client.fresh)
		return IPFIX_THERE;
	take_back_last(ipfix);
	if (socket_client_look(&ipfix->client) != SOCKET_CLIENT_RECONNECTED)
		return IPFIX_GONE;
	ipfix->counts.reconnects += ipfix->client.connects > 1;
	heed_mtu(ipfix);
	return IPFIX_ANEW;
}

/* Connects first, since the path MTU limits the messages. */
static void meet(struct ipfix_socket *ipfix)
{
	if (is_udp(ipfix) && ipfix->client.fd < 0 && socket_client_reach(&ipfix->client))
		heed_mtu(ipfix);
}

/* --- Sending */

static void sleep_until(int64_t time)
{
	const struct timespec until = {time / SECOND_NS, time % SECOND_NS};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
		;
}

/*
 * At the end of the run spreads the rest of the report over the time that is left, if that is
 * shorter than planned.
 */
static void hurry(struct ipfix_socket *ipfix, int64_t now)
{
	int64_t left = ipfix->options.left != NULL && !ipfix->hurried
			       ? ipfix->options.left(ipfix->options.arg)
			       : INT64_MAX;

	if (left == INT64_MAX || ipfix->rows_left == 0)
		return;
	ipfix->hurried = true;
	if (ipfix->gap_per_row <= left / (int64_t)ipfix->rows_left)
		return;
	ipfix->gap_per_row = left / (int64_t)ipfix->rows_left;
	ipfix->next_at = now;
}

/*
 * Waits until the next datagram may be sent. A late thread sends up to twice as fast until it has
 * caught up, so that the report ends in time. A configured rate is never exceeded.
 */
static void pace(struct ipfix_socket *ipfix, uint32_t rows)
{
	int64_t now = clock_now(CLOCK_MONOTONIC), gap, least, at;

	hurry(ipfix, now);
	ipfix->rows_left -= rows < ipfix->rows_left ? rows : ipfix->rows_left;
	gap = ipfix->gap_per_row * rows;
	if (gap > GAP_MAX_NS)
		gap = GAP_MAX_NS;
	least = gap / 2;
	if (ipfix->options.rate > 0)
		gap = least = (int64_t)((double)SECOND_NS / ipfix->options.rate);
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
	struct ipfix_socket *ipfix = arg;
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
	ipfix->counts.delivered += rows;
	ipfix->counts.bytes += len;
	if (is_udp(ipfix) && rows > 0) {
		ipfix->last_rows = rows;
		ipfix->last_bytes = len;
	}
	return true;
}

/* --- Reports */

/*
 * Spreads the rows of an epoch over the next one, and its flow records, which are reported while it
 * is open, at the rate of the previous epoch; but not slower than one datagram per GAP_MAX_NS.
 * Sources that wait for outputs have no duration.
 */
static void choose_pace(struct ipfix_socket *ipfix, const struct report_epoch *epoch, uint64_t rows)
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

/* Logs once when rows begin to be lost, and once when they are accepted again. */
static void log_losses(struct ipfix_socket *ipfix)
{
	bool lost = ipfix->counts.failed > 0;
	int64_t now = clock_now(CLOCK_MONOTONIC);
	char often[LOG_RATELIMIT_OFTEN_MAX];

	ipfix->lost += ipfix->counts.failed;
	if (lost && log_ratelimit_begins(&ipfix->loses, now, often))
		log_socket(ipfix, true, "%s; rows are lost until the receiver accepts them%s",
			ipfix->client.why, often);
	if (lost || ipfix->counts.delivered == 0 || !log_ratelimit_ends(&ipfix->loses, now))
		return;
	log_socket(ipfix, false, "resumed; %llu rows were lost", (unsigned long long)ipfix->lost);
	ipfix->lost = 0;
}

struct ipfix_counts ipfix_socket_write(struct ipfix_socket *ipfix, const struct report_epoch *epoch)
{
	const struct ipfix_sink sink = {ipfix, wall_clock, peer, send_message};
	uint64_t rows = ipfix_rows(ipfix->ipfix, epoch);

	ipfix->counts = (struct ipfix_counts){0};
	ipfix->last_rows = 0;
	ipfix->last_bytes = 0;
	choose_pace(ipfix, epoch, rows);
	meet(ipfix);
	ipfix_epoch(ipfix->ipfix, epoch, &sink);
	if (!socket_client_heed(&ipfix->client))
		take_back_last(ipfix);
	VERIFY(ipfix->counts.delivered, <=, rows);
	ipfix->counts.failed = rows - ipfix->counts.delivered;
	socket_client_praise(&ipfix->client);
	log_losses(ipfix);
	return ipfix->counts;
}

const char *ipfix_socket_open(struct ipfix_socket *ipfix)
{
	return socket_client_reach(&ipfix->client) ? NULL : ipfix->client.why;
}

void ipfix_socket_miss(struct ipfix_socket *ipfix, const struct report_epoch *epoch)
{
	ipfix_miss(ipfix->ipfix, epoch);
}

void ipfix_socket_reopen(struct ipfix_socket *ipfix)
{
	socket_client_reopen(&ipfix->client);
}

struct ipfix_socket *ipfix_socket_create(
	const struct socket_client_address *address, const struct ipfix_socket_options *options)
{
	struct ipfix_socket *ipfix = calloc(1, sizeof(*ipfix));
	struct ipfix_options records = options->records;

	if (ipfix == NULL)
		return NULL;
	records.reliable = address->transport != SOCKET_CLIENT_UDP;
	ipfix->options = *options;
	ipfix->client = (struct socket_client){
		.address = *address,
		.patience = options->patience,
		.arg = options->arg,
	};
	socket_client_init(&ipfix->client);
	ipfix->ipfix = ipfix_create(&records);
	if (ipfix->ipfix != NULL)
		return ipfix;
	free(ipfix);
	return NULL;
}

void ipfix_socket_free(struct ipfix_socket *ipfix)
{
	if (ipfix == NULL)
		return;
	socket_client_free(&ipfix->client);
	ipfix_free(ipfix->ipfix);
	free(ipfix);
}
