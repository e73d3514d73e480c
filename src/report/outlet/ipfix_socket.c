/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/outlet/ipfix_socket.h"

#include <errno.h>
#include <stdarg.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/units.h"

#define BACKOFF_MIN_NS SECOND_NS
#define BACKOFF_MAX_NS (30 * SECOND_NS)
#define PATIENCE_NS    (10 * SECOND_NS) /* with a receiver who takes nothing, */
#define ENDING_NS      (2 * SECOND_NS)  /* and at the end of the run */
#define POLL_MS        100
#define GAP_MAX_NS     (SECOND_NS / 2000) /* between datagrams: small buffers take as many */
#define EARLY_NS       (SECOND_NS / 5000) /* so much is not worth a sleep */
#define LINE_MAX_BYTES 512
#define HEADERS_UDP4   28
#define HEADERS_UDP6   48

struct ipfix_socket {
	const char *name;
	struct ipfix_url url;
	struct ipfix_socket_options options;
	struct ipfix *ipfix;

	int fd; /* -1: none */
	bool anew;
	bool connected_before;
	struct addrinfo *addresses; /* those of the last look-up that found some */
	uint32_t turn;              /* UDP: whose turn it is of them */
	bool look_up;               /* before the next connection */
	int64_t retry_at, backoff;  /* monotonic */

	bool losing; /* said, and not taken back yet */
	uint64_t lost;
	char why[LINE_MAX_BYTES / 2];

	struct ipfix_account account; /* of the report */
	/* UDP: of the report's datagram that went last. An answer that it was refused comes later. */
	uint32_t last_rows, last_bytes;

	/* Pacing; monotonic. */
	int64_t next_at, gap_per_row;
	uint64_t flow_rows;       /* that came while the epoch was open */
	int64_t flow_gap_per_row; /* as the epoch before had them */
};

/* --- The text */

static const char *scheme_end(const char *text, bool *tcp)
{
	static const char udp[] = "ipfix://", stream[] = "ipfix+tcp://";

	*tcp = strncasecmp(text, stream, sizeof(stream) - 1) == 0;
	if (*tcp)
		return text + sizeof(stream) - 1;
	return strncasecmp(text, udp, sizeof(udp) - 1) == 0 ? text + sizeof(udp) - 1 : NULL;
}

bool ipfix_url_is(const char *text)
{
	bool tcp;

	return scheme_end(text, &tcp) != NULL;
}

static bool read_port(const char *text, char *port, size_t size)
{
	char *end;
	unsigned long number;

	if (*text < '0' || *text > '9' || strlen(text) >= size)
		return false;
	number = strtoul(text, &end, 10);
	snprintf(port, size, "%s", text);
	return *end == '\0' && number >= 1 && number <= UINT16_MAX;
}

bool ipfix_url_parse(const char *text, struct ipfix_url *url, char *why)
{
	const char *host = scheme_end(text, &url->tcp), *end, *port;

	if (host == NULL) {
		snprintf(why, IPFIX_WHY_MAX, "must be ipfix://HOST:PORT or ipfix+tcp://HOST:PORT");
		return false;
	}
	end = host + strcspn(host, *host == '[' ? "]" : ":/");
	port = *host == '[' && *end == ']' ? end + 1 : end;
	host += *host == '[';
	if (end <= host || (size_t)(end - host) >= sizeof(url->host) ||
		(host[-1] == '[') != (*end == ']')) {
		snprintf(why, IPFIX_WHY_MAX,
			"names no host; write ipfix://HOST:PORT, an IPv6 address in brackets");
		return false;
	}
	memcpy(url->host, host, (size_t)(end - host));
	url->host[end - host] = '\0';
	snprintf(url->port, sizeof(url->port), IPFIX_PORT);
	if (*port == '\0' || (*port == ':' && read_port(port + 1, url->port, sizeof(url->port))))
		return true;
	snprintf(why, IPFIX_WHY_MAX, "must end with a port from 1 to 65535, and nothing behind it");
	return false;
}

/* --- Times, and what is said */

static int64_t wall_clock(void *arg)
{
	(void)arg;
	return clock_now(CLOCK_REALTIME);
}

static bool is_ending(const struct ipfix_socket *ipfix)
{
	return ipfix->options.ending != NULL && ipfix->options.ending(ipfix->options.arg);
}

__attribute__((format(printf, 3, 4))) static void say(
	const struct ipfix_socket *ipfix, bool warning, const char *format, ...)
{
	char line[LINE_MAX_BYTES];
	va_list args;
	int len;

	if (ipfix->options.say == NULL)
		return;
	len = snprintf(line, sizeof(line), "%.200s: ", ipfix->name);
	va_start(args, format);
	vsnprintf(line + len, sizeof(line) - (size_t)len, format, args);
	va_end(args);
	ipfix->options.say(warning, line, ipfix->options.arg);
}

/* --- Connections */

/* Rows of the datagram before are lost, too, where it was that which was refused. */
static void disconnect(struct ipfix_socket *ipfix, const char *why)
{
	if (ipfix->fd >= 0)
		close(ipfix->fd);
	ipfix->fd = -1;
	ipfix->turn++;
	ipfix->look_up = true;
	ipfix->account.delivered -= ipfix->last_rows;
	ipfix->account.bytes -= ipfix->last_bytes;
	ipfix->last_rows = 0;
	ipfix->last_bytes = 0;
	ipfix->backoff = ipfix->backoff == 0 ? BACKOFF_MIN_NS : 2 * ipfix->backoff;
	if (ipfix->backoff > BACKOFF_MAX_NS)
		ipfix->backoff = BACKOFF_MAX_NS;
	ipfix->retry_at = clock_now(CLOCK_MONOTONIC) + ipfix->backoff;
	snprintf(ipfix->why, sizeof(ipfix->why), "%s", why);
}

/* Keeps what it has where a name cannot be looked up now. */
static bool look_up(struct ipfix_socket *ipfix)
{
	const struct addrinfo hints = {
		.ai_family = AF_UNSPEC, .ai_socktype = ipfix->url.tcp ? SOCK_STREAM : SOCK_DGRAM};
	struct addrinfo *found = NULL;
	int error;

	if (!ipfix->look_up && ipfix->addresses != NULL)
		return true;
	error = getaddrinfo(ipfix->url.host, ipfix->url.port, &hints, &found);
	if (error == 0) {
		if (ipfix->addresses != NULL)
			freeaddrinfo(ipfix->addresses);
		ipfix->addresses = found;
		ipfix->look_up = false;
	} else if (ipfix->addresses == NULL) {
		disconnect(ipfix, error == EAI_SYSTEM ? strerror(errno) : gai_strerror(error));
	}
	return ipfix->addresses != NULL;
}

/* How long it may take nothing. */
static int64_t patience_ns(const struct ipfix_socket *ipfix)
{
	return is_ending(ipfix) ? ENDING_NS : PATIENCE_NS;
}

/* Waits until something can be sent. */
static bool wait_to_send(struct ipfix_socket *ipfix, int fd)
{
	int64_t start = clock_now(CLOCK_MONOTONIC);
	struct pollfd polled = {.fd = fd, .events = POLLOUT};

	do {
		int ready = poll(&polled, 1, POLL_MS);

		if (ready > 0)
			return true;
		if (ready < 0 && errno != EINTR)
			return false;
	} while (clock_now(CLOCK_MONOTONIC) - start < patience_ns(ipfix));
	errno = ETIMEDOUT;
	return false;
}

static bool finish_connecting(struct ipfix_socket *ipfix, int fd)
{
	socklen_t len = sizeof(errno);
	int error = 0;

	if (errno != EINPROGRESS || !wait_to_send(ipfix, fd) ||
		getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
		return false;
	errno = error;
	return error == 0;
}

/* Routers cut no datagram of ours in pieces, and what the way takes is known where we are told. */
static void never_fragment(int fd, int family)
{
	static const int ipv4 = IP_PMTUDISC_DO, ipv6 = IPV6_PMTUDISC_DO;

	if (family == AF_INET6)
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, &ipv6, sizeof(ipv6));
	else
		(void)setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &ipv4, sizeof(ipv4));
}

static void heed_mtu(struct ipfix_socket *ipfix, int fd, int family)
{
	uint32_t headers = family == AF_INET6 ? HEADERS_UDP6 : HEADERS_UDP4;
	socklen_t len = sizeof(int);
	int mtu = 0;

	if (getsockopt(fd, family == AF_INET6 ? IPPROTO_IPV6 : IPPROTO_IP,
		    family == AF_INET6 ? IPV6_MTU : IP_MTU, &mtu, &len) == 0 &&
		mtu > (int)headers)
		ipfix_limit(ipfix->ipfix, (uint32_t)mtu - headers);
}

static int connect_to(struct ipfix_socket *ipfix, const struct addrinfo *address)
{
	static const int one = 1;
	int fd = socket(address->ai_family, address->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK,
		address->ai_protocol);

	if (fd < 0)
		return -1;
	if (ipfix->url.tcp)
		(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	else
		never_fragment(fd, address->ai_family);
	if (connect(fd, address->ai_addr, address->ai_addrlen) < 0 &&
		!finish_connecting(ipfix, fd)) {
		int error = errno;

		close(fd);
		errno = error;
		return -1;
	}
	if (!ipfix->url.tcp)
		heed_mtu(ipfix, fd, address->ai_family);
	return fd;
}

/* Of several addresses the first that takes the connection; with UDP, where none is known to
 * answer, each has its turn. */
static bool connect_any(struct ipfix_socket *ipfix)
{
	const struct addrinfo *address = ipfix->addresses;
	uint32_t n = 0;

	for (; address != NULL; address = address->ai_next)
		n++;
	address = ipfix->addresses;
	for (uint32_t skip = ipfix->url.tcp ? 0 : ipfix->turn % n; skip > 0; skip--)
		address = address->ai_next;
	for (; n > 0 && ipfix->fd < 0; n--) {
		ipfix->fd = connect_to(ipfix, address);
		address = address->ai_next != NULL ? address->ai_next : ipfix->addresses;
	}
	if (ipfix->fd < 0)
		disconnect(ipfix, strerror(errno));
	return ipfix->fd >= 0;
}

/* What came back: that nobody is there, or the end of the connection. */
static void look_at_answers(struct ipfix_socket *ipfix)
{
	char ignored[256];
	ssize_t len;

	if (ipfix->fd < 0)
		return;
	do {
		len = recv(ipfix->fd, ignored, sizeof(ignored), MSG_DONTWAIT);
	} while (len > 0 || (len < 0 && errno == EINTR));
	if (len == 0 && ipfix->url.tcp)
		disconnect(ipfix, "the receiver closed the connection");
	else if (len < 0 && errno != EAGAIN)
		disconnect(ipfix, strerror(errno));
}

static enum ipfix_peer peer(void *arg)
{
	struct ipfix_socket *ipfix = arg;

	look_at_answers(ipfix);
	if (ipfix->fd >= 0)
		return IPFIX_THERE;
	if (clock_now(CLOCK_MONOTONIC) < ipfix->retry_at || !look_up(ipfix) || !connect_any(ipfix))
		return IPFIX_GONE;
	ipfix->account.reconnects += ipfix->connected_before;
	ipfix->connected_before = true;
	return IPFIX_ANEW;
}

/* --- Sending */

static void sleep_until(int64_t time)
{
	const struct timespec until = {time / SECOND_NS, time % SECOND_NS};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
		;
}

/* A datagram may be late by a sleep and then followed at once, but not by many. */
static void pace(struct ipfix_socket *ipfix, uint32_t rows)
{
	int64_t now = clock_now(CLOCK_MONOTONIC), gap = ipfix->gap_per_row * rows;

	if (ipfix->options.rate > 0)
		gap = (int64_t)((double)SECOND_NS / ipfix->options.rate);
	else if (gap > GAP_MAX_NS)
		gap = GAP_MAX_NS;
	if (ipfix->next_at < now - EARLY_NS)
		ipfix->next_at = now - EARLY_NS;
	if (ipfix->next_at > now + EARLY_NS)
		sleep_until(ipfix->next_at);
	ipfix->next_at += gap;
}

/* Returns 0 or an errno. */
static int send_whole(struct ipfix_socket *ipfix, const uint8_t *message, uint32_t len)
{
	uint32_t sent = 0;

	while (sent < len) {
		ssize_t n = send(ipfix->fd, message + sent, len - sent, MSG_NOSIGNAL);

		if (n >= 0)
			sent += (uint32_t)n;
		else if (errno == EAGAIN || errno == ENOBUFS) {
			if (!wait_to_send(ipfix, ipfix->fd))
				return errno;
		} else if (errno != EINTR) {
			return errno;
		}
	}
	return 0;
}

static bool send_message(void *arg, const uint8_t *message, uint32_t len, uint32_t rows)
{
	struct ipfix_socket *ipfix = arg;
	int error;

	if (ipfix->fd < 0)
		return false;
	if (!ipfix->url.tcp)
		pace(ipfix, rows);
	error = send_whole(ipfix, message, len);
	if (error == EMSGSIZE) {
		struct sockaddr_storage to;
		socklen_t size = sizeof(to);

		snprintf(ipfix->why, sizeof(ipfix->why), "%s", strerror(error));
		if (getpeername(ipfix->fd, (struct sockaddr *)&to, &size) == 0)
			heed_mtu(ipfix, ipfix->fd, to.ss_family);
		return false;
	}
	if (error != 0) {
		disconnect(
			ipfix, error == ETIMEDOUT ? "the receiver takes nothing" : strerror(error));
		return false;
	}
	ipfix->account.delivered += rows;
	ipfix->account.bytes += len;
	if (!ipfix->url.tcp) {
		ipfix->last_rows = rows;
		ipfix->last_bytes = len;
	}
	return true;
}

/* --- Reports */

/*
 * Live, an epoch's rows are spread over the next one, records that come while it is open as those of
 * the epoch before needed; but no slower than small buffers take them. A replay waits.
 */
static void choose_pace(struct ipfix_socket *ipfix, const struct report_epoch *epoch, uint64_t rows)
{
	int64_t duration = (int64_t)report_duration(epoch);

	ipfix->gap_per_row = GAP_MAX_NS;
	if (epoch->flows_only) {
		ipfix->flow_rows += rows;
		if (ipfix->flow_gap_per_row > 0)
			ipfix->gap_per_row = ipfix->flow_gap_per_row;
		return;
	}
	ipfix->flow_gap_per_row = 0;
	if (epoch->live && duration > 0 && rows > 0)
		ipfix->gap_per_row = duration * 9 / 10 / (int64_t)rows;
	if (epoch->live && duration > 0 && ipfix->flow_rows > 0)
		ipfix->flow_gap_per_row = duration * 8 / 10 / (int64_t)ipfix->flow_rows;
	ipfix->flow_rows = 0;
}

/* Once when rows begin to be lost, and once when they arrive again. */
static void tell_losses(struct ipfix_socket *ipfix)
{
	bool lost = ipfix->account.failed > 0;

	ipfix->lost += ipfix->account.failed;
	if (lost && !ipfix->losing) {
		say(ipfix, true, "%s; rows are lost until it takes them", ipfix->why);
		ipfix->losing = true;
	} else if (!lost && ipfix->losing && ipfix->account.delivered > 0) {
		say(ipfix, false, "takes rows again; %llu were lost",
			(unsigned long long)ipfix->lost);
		ipfix->losing = false;
		ipfix->lost = 0;
	}
}

struct ipfix_account ipfix_socket_write(
	struct ipfix_socket *ipfix, const struct report_epoch *epoch)
{
	const struct ipfix_sink sink = {ipfix, wall_clock, peer, send_message};
	uint64_t rows = ipfix_rows(ipfix->ipfix, epoch);

	ipfix->account = (struct ipfix_account){0};
	ipfix->last_rows = 0;
	ipfix->last_bytes = 0;
	choose_pace(ipfix, epoch, rows);
	ipfix_epoch(ipfix->ipfix, epoch, &sink);
	look_at_answers(ipfix);
	ipfix->account.failed = rows - ipfix->account.delivered;
	if (ipfix->fd >= 0)
		ipfix->backoff = 0;
	tell_losses(ipfix);
	return ipfix->account;
}

void ipfix_socket_reopen(struct ipfix_socket *ipfix)
{
	ipfix->look_up = true;
	ipfix->retry_at = 0;
	if (ipfix->fd >= 0)
		close(ipfix->fd);
	ipfix->fd = -1;
}

struct ipfix_socket *ipfix_socket_create(
	const char *name, const struct ipfix_url *url, const struct ipfix_socket_options *options)
{
	struct ipfix_socket *ipfix = calloc(1, sizeof(*ipfix));
	struct ipfix_options records = options->records;

	if (ipfix == NULL)
		return NULL;
	records.reliable = url->tcp;
	ipfix->name = name;
	ipfix->url = *url;
	ipfix->options = *options;
	ipfix->fd = -1;
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
	if (ipfix->fd >= 0)
		close(ipfix->fd);
	if (ipfix->addresses != NULL)
		freeaddrinfo(ipfix->addresses);
	ipfix_free(ipfix->ipfix);
	free(ipfix);
}
