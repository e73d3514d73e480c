/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/sinks/socket_client.h"

#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/assertion.h"
#include "base/clock.h"
#include "base/regular_file.h"
#include "base/signals.h"
#include "base/units.h"

#define BACKOFF_MAX_S 30
#define CONNECT_NS    (10 * SECOND_NS)
#define POLL_MS       100
/* ns; longest time without progress while a connection is closed */
#define IDLE_NS       SECOND_NS
#define LEAVING_NS    (5 * SECOND_NS)
#define LOOK_MS       10
#define READS_MAX     64
#define HEADERS_UDP4  28
#define HEADERS_UDP6  48

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

static bool read_path(const char *text, struct socket_client_address *address, char *why)
{
	static const struct sockaddr_un unix_address;
	const size_t max = sizeof(unix_address.sun_path) - 1;

	if (*text == '\0' || strlen(text) > max) {
		snprintf(why, SOCKET_CLIENT_ERROR_MAX,
			"must contain the path of a socket, of 1 to %zu bytes", max);
		return false;
	}
	snprintf(address->host, sizeof(address->host), "%s", text);
	address->port[0] = '\0';
	return true;
}

#define HOST_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_"
static const char host_letters[] = HOST_LETTERS;
/* IPv6 addresses also have these, as in [fe80::1%eth0] */
static const char ipv6_letters[] = HOST_LETTERS "[:%";

bool socket_client_parse(const char *text, enum socket_client_transport transport, const char *port,
	struct socket_client_address *address, char *why)
{
	const char *host = text, *end, *behind;

	address->transport = transport;
	if (transport == SOCKET_CLIENT_UNIX)
		return read_path(text, address, why);
	end = host + strspn(host, *host == '[' ? ipv6_letters : host_letters);
	behind = *host == '[' && *end == ']' ? end + 1 : end;
	host += *text == '[';
	if (end <= host || (size_t)(end - host) >= sizeof(address->host) ||
		(*text == '[') != (*end == ']')) {
		snprintf(why, SOCKET_CLIENT_ERROR_MAX,
			"no host; write HOST:PORT, with brackets around an IPv6 address");
		return false;
	}
	memcpy(address->host, host, (size_t)(end - host));
	address->host[end - host] = '\0';
	snprintf(address->port, sizeof(address->port), "%s", port != NULL ? port : "");
	if ((*behind == '\0' && port != NULL) ||
		(*behind == ':' && read_port(behind + 1, address->port, sizeof(address->port))))
		return true;
	snprintf(why, SOCKET_CLIENT_ERROR_MAX, "must end with a port from 1 to 65535");
	return false;
}

void socket_client_init(struct socket_client *client)
{
	client->fd = -1;
}

static void hang_up(struct socket_client *client)
{
	if (client->fd >= 0)
		close(client->fd);
	client->fd = -1;
	client->fresh = false;
	client->talks = false;
	client->look_up = true;
}

/* Returns the bytes in the send queue, or -1. */
static int queued(int fd)
{
	int bytes;

	return ioctl(fd, SIOCOUTQ, &bytes) == 0 ? bytes : -1;
}

static ssize_t take_noise(struct socket_client *client)
{
	char ignored[4096];
	uint32_t reads = 0;
	ssize_t len;

	do {
		len = recv(client->fd, ignored, sizeof(ignored), MSG_DONTWAIT);
		client->talks |= len > 0;
		client->answers += len > 0;
	} while (++reads < READS_MAX && (len > 0 || (len < 0 && errno == EINTR)));
	return len;
}

/*
 * Shuts down sending, and waits up to `longest` ns until all data is acknowledged.
 *
 * If close(2) finds unread data, or if data arrives later, it resets the connection, and the
 * receiver loses what it has not read yet. Therefore, if a receiver sends data, reads it until the
 * receiver closes the connection.
 */
static void leave(struct socket_client *client, int64_t longest)
{
	int64_t start = clock_now(CLOCK_MONOTONIC), now = start, moved = start;
	struct pollfd polled = {.fd = client->fd, .events = POLLIN};
	int before, left;
	ssize_t len;

	if (client->fd < 0 || client->address.transport == SOCKET_CLIENT_UDP ||
		shutdown(client->fd, SHUT_WR) < 0)
		return;
	before = queued(client->fd);
	while (now - moved < IDLE_NS && now - start < longest) {
		len = take_noise(client);
		left = queued(client->fd);
		if (len == 0 || (len < 0 && errno != EAGAIN && errno != EINTR) ||
			(left <= 0 && !client->talks))
			break;
		(void)poll(&polled, 1, LOOK_MS);
		now = clock_now(CLOCK_MONOTONIC);
		if (len > 0 || left != before)
			moved = now;
		before = left;
	}
}

void socket_client_reopen(struct socket_client *client)
{
	int64_t patience = client->fd >= 0 ? client->patience(client->arg) : 0;

	leave(client, patience < LEAVING_NS ? patience : LEAVING_NS);
	hang_up(client);
	client->retry_at = 0;
	client->backoff = 0;
}

void socket_client_praise(struct socket_client *client)
{
	if (client->fd >= 0)
		client->backoff = 0;
}

int64_t socket_client_backoff(int64_t before, int64_t second)
{
	const int64_t max = BACKOFF_MAX_S * second;

	if (before == 0)
		return second;
	return before < max / 2 ? 2 * before : max;
}

static void close_socket(struct socket_client *client, const char *why)
{
	hang_up(client);
	client->turn++;
	client->backoff = socket_client_backoff(
		client->backoff, client->second > 0 ? client->second : SECOND_NS);
	client->retry_at = clock_now(CLOCK_MONOTONIC) + client->backoff;
	snprintf(client->why, sizeof(client->why), "%s", why);
}

/*
 * Name lookup. It has its own thread, because getaddrinfo() blocks for long if the name server does
 * not answer.
 */

struct look_up {
	struct socket_client_address address;
	struct addrinfo *found;
	int error;  /* result of getaddrinfo() */
	int number; /* errno after getaddrinfo() */
	sem_t done;
	/* set by the first of the two threads that is done; the other one frees the lookup */
	atomic_bool alone;
};

static void free_look_up(struct look_up *look_up)
{
	sem_destroy(&look_up->done);
	free(look_up);
}

static void *look_up_main(void *arg)
{
	struct look_up *look_up = arg;
	const struct addrinfo hints = {
		.ai_family = AF_UNSPEC,
		.ai_socktype =
			look_up->address.transport == SOCKET_CLIENT_UDP ? SOCK_DGRAM : SOCK_STREAM,
	};

	look_up->error =
		getaddrinfo(look_up->address.host, look_up->address.port, &hints, &look_up->found);
	look_up->number = errno;
	if (!atomic_exchange(&look_up->alone, true)) {
		sem_post(&look_up->done);
		return NULL;
	}
	if (look_up->error == 0)
		freeaddrinfo(look_up->found);
	free_look_up(look_up);
	return NULL;
}

static struct look_up *begin_look_up(const struct socket_client *client)
{
	struct look_up *look_up = calloc(1, sizeof(*look_up));
	pthread_t thread;

	if (look_up == NULL)
		return NULL;
	look_up->address = client->address;
	sem_init(&look_up->done, 0, 0);
	if (signals_start_thread(&thread, look_up_main, look_up) != 0) {
		free_look_up(look_up);
		return NULL;
	}
	pthread_detach(thread);
	return look_up;
}

static bool wait_for_names(const struct socket_client *client)
{
	int64_t start = clock_now(CLOCK_MONOTONIC), now = start;

	do {
		int64_t until = now + POLL_MS * (SECOND_NS / 1000);
		const struct timespec time = {until / SECOND_NS, until % SECOND_NS};

		/*
		 * Pairs with the exchange in look_up_main(). Needed only for ThreadSanitizer, which
		 * does not intercept sem_clockwait().
		 */
		if (sem_clockwait(&client->names->done, CLOCK_MONOTONIC, &time) == 0)
			return atomic_load(&client->names->alone);
		now = clock_now(CLOCK_MONOTONIC);
	} while (now - start < client->patience(client->arg));
	return false;
}

static void leave_look_up(struct socket_client *client)
{
	struct look_up *look_up = client->names;

	client->names = NULL;
	if (look_up == NULL || !atomic_exchange(&look_up->alone, true))
		return;
	while (sem_wait(&look_up->done) != 0) /* look_up_main() will post it at once */
		;
	if (look_up->error == 0)
		freeaddrinfo(look_up->found);
	free_look_up(look_up);
}

static void take_names(struct socket_client *client, char *why, size_t size)
{
	struct look_up *look_up = client->names;

	client->names = NULL;
	if (look_up->error == 0) {
		if (client->addresses != NULL)
			freeaddrinfo(client->addresses);
		client->addresses = look_up->found;
		client->look_up = false;
	}
	snprintf(why, size, "%s",
		look_up->error == EAI_SYSTEM ? strerror(look_up->number)
					     : gai_strerror(look_up->error));
	free_look_up(look_up);
}

/*
 * If the lookup fails, keeps the previous addresses. A slow lookup goes on until the next try.
 * Returns false if there are no addresses.
 */
static bool look_up(struct socket_client *client)
{
	char why[128] = "the name server does not answer";

	if (!client->look_up && client->addresses != NULL)
		return true;
	if (client->names == NULL)
		client->names = begin_look_up(client);
	if (client->names == NULL)
		snprintf(why, sizeof(why), "%s", strerror(ENOMEM));
	else if (wait_for_names(client))
		take_names(client, why, sizeof(why));
	if (client->addresses == NULL)
		close_socket(client, why);
	return client->addresses != NULL;
}

void socket_client_free(struct socket_client *client)
{
	leave(client, IDLE_NS);
	hang_up(client);
	leave_look_up(client);
	if (client->addresses != NULL)
		freeaddrinfo(client->addresses);
	client->addresses = NULL;
}

/*
 * Fails with ETIMEDOUT after `longest` ns or patience() without progress. A shorter send queue is
 * progress, because a slow receiver makes room in steps.
 */
static bool wait_to_send(const struct socket_client *client, int fd, int64_t longest)
{
	int64_t start = clock_now(CLOCK_MONOTONIC), waited, patience;
	struct pollfd polled = {.fd = fd, .events = POLLOUT};
	int before = queued(fd), now;

	do {
		int ready = poll(&polled, 1, POLL_MS);

		if (ready > 0)
			return true;
		if (ready < 0 && errno != EINTR)
			return false;
		now = queued(fd);
		if (now != before)
			start = clock_now(CLOCK_MONOTONIC);
		before = now;
		waited = clock_now(CLOCK_MONOTONIC) - start;
		patience = client->patience(client->arg);
	} while (waited < (longest < patience ? longest : patience));
	errno = ETIMEDOUT;
	return false;
}

static bool finish_connecting(const struct socket_client *client, int fd)
{
	socklen_t len = sizeof(errno);
	int error = 0;

	if (errno != EINPROGRESS || !wait_to_send(client, fd, CONNECT_NS) ||
		getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
		return false;
	errno = error;
	return error == 0;
}

/* Without fragmentation, the kernel determines the path MTU. */
static void never_fragment(int fd, int family)
{
	static const int ipv4 = IP_PMTUDISC_DO, ipv6 = IPV6_PMTUDISC_DO;

	if (family == AF_INET6)
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, &ipv6, sizeof(ipv6));
	else
		(void)setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &ipv4, sizeof(ipv4));
}

/*
 * If no socket listens on a local port, the kernel may choose the same port as the source port. The
 * socket is then connected to itself.
 */
static bool is_itself(int fd)
{
	struct sockaddr_storage near = {0}, far = {0};
	socklen_t near_len = sizeof(near), far_len = sizeof(far);

	return getsockname(fd, (struct sockaddr *)&near, &near_len) == 0 &&
	       getpeername(fd, (struct sockaddr *)&far, &far_len) == 0 && near_len == far_len &&
	       memcmp(&near, &far, near_len) == 0;
}

static int connect_to(const struct socket_client *client, const struct addrinfo *address)
{
	static const int one = 1;
	int fd = socket(address->ai_family, address->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK,
		address->ai_protocol);
	int error = 0;

	if (fd < 0)
		return -1;
	if (client->address.transport == SOCKET_CLIENT_TCP) {
		(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
	} else if (client->address.transport == SOCKET_CLIENT_UDP) {
		never_fragment(fd, address->ai_family);
	}
	if (connect(fd, address->ai_addr, address->ai_addrlen) < 0 &&
		!finish_connecting(client, fd))
		error = errno;
	else if (is_itself(fd))
		error = ECONNREFUSED;
	if (error == 0)
		return fd;
	close(fd);
	errno = error;
	return -1;
}

/*
 * TCP: the first address that accepts. UDP: a different first address at each try, because a UDP
 * connection does not show whether a receiver exists.
 */
static int connect_any(const struct socket_client *client)
{
	const struct addrinfo *address = client->addresses;
	uint32_t n = 0;
	int fd = -1;

	for (; address != NULL; address = address->ai_next)
		n++;
	VERIFY(n, >, 0U);
	address = client->addresses;
	if (client->address.transport == SOCKET_CLIENT_UDP)
		for (uint32_t skip = client->turn % n; skip > 0; skip--)
			address = address->ai_next;
	for (; n > 0 && fd < 0; n--) {
		fd = connect_to(client, address);
		address = address->ai_next != NULL ? address->ai_next : client->addresses;
	}
	return fd;
}

static int connect_unix(const struct socket_client *client)
{
	struct sockaddr_un path = {.sun_family = AF_UNIX};
	struct file_entry entry;
	const struct addrinfo address = {
		.ai_family = AF_UNIX,
		.ai_socktype = SOCK_STREAM,
		.ai_addr = (struct sockaddr *)&path,
		.ai_addrlen = sizeof(path),
	};
	int fd = -1, error, len;

	error = file_entry_find(&entry, client->address.host);
	if (error == 0) {
		error = entry.exists ? file_entry_check(&entry) : ENOENT;
		len = snprintf(path.sun_path, sizeof(path.sun_path), "/proc/self/fd/%d/%s",
			entry.folder, entry.name);
		/*
		 * If the path through the folder's descriptor is too long, uses the given path,
		 * whose length socket_client_parse() checked.
		 */
		if ((size_t)len >= sizeof(path.sun_path))
			memcpy(path.sun_path, client->address.host, sizeof(path.sun_path) - 1);
		if (error == 0 && (fd = connect_to(client, &address)) < 0)
			error = errno;
		file_entry_close(&entry);
	}
	errno = error;
	return fd;
}

bool socket_client_heed(struct socket_client *client)
{
	ssize_t len;

	if (client->fd < 0)
		return false;
	len = take_noise(client);
	if (len == 0 && client->address.transport != SOCKET_CLIENT_UDP)
		close_socket(client, "the receiver closed the connection");
	else if (len < 0 && errno != EAGAIN)
		close_socket(client, strerror(errno));
	return client->fd >= 0;
}

enum socket_client_state socket_client_look(struct socket_client *client)
{
	if (socket_client_heed(client)) {
		bool fresh = client->fresh;

		client->fresh = false;
		return fresh ? SOCKET_CLIENT_RECONNECTED : SOCKET_CLIENT_CONNECTED;
	}
	if (clock_now(CLOCK_MONOTONIC) < client->retry_at)
		return SOCKET_CLIENT_GONE;
	if (client->address.transport == SOCKET_CLIENT_UNIX) {
		client->fd = connect_unix(client);
	} else {
		if (!look_up(client))
			return SOCKET_CLIENT_GONE;
		client->fd = connect_any(client);
	}
	if (client->fd < 0) {
		close_socket(client, file_error(errno));
		return SOCKET_CLIENT_GONE;
	}
	client->connects++;
	return SOCKET_CLIENT_RECONNECTED;
}

bool socket_client_reach(struct socket_client *client)
{
	client->fresh = socket_client_look(client) != SOCKET_CLIENT_GONE;
	return client->fresh;
}

int socket_client_send(struct socket_client *client, const void *bytes, size_t len)
{
	const char *late = "the receiver accepts no data";
	int error = 0;

	VERIFY(client->fd, >=, 0);
	client->sent = 0;
	while (client->sent < len && error == 0) {
		ssize_t n;

		if (client->patience(client->arg) == 0) {
			error = ETIMEDOUT;
			if (client->sent == 0)
				late = "no time left to send";
			break;
		}
		n = send(client->fd, (const char *)bytes + client->sent, len - client->sent,
			MSG_NOSIGNAL);

		if (n >= 0)
			client->sent += (size_t)n;
		else if (errno == EAGAIN || errno == ENOBUFS)
			error = wait_to_send(client, client->fd, INT64_MAX) ? 0 : errno;
		else if (errno != EINTR)
			error = errno;
	}
	if (error == EMSGSIZE)
		snprintf(client->why, sizeof(client->why), "%s", strerror(error));
	else if (error != 0)
		close_socket(client, error == ETIMEDOUT ? late : strerror(error));
	return error;
}

/* answer: waits for data from the receiver, else until it has all data. */
static int wait_for_receiver(struct socket_client *client, bool answer)
{
	int64_t start = clock_now(CLOCK_MONOTONIC);
	struct pollfd polled = {.fd = client->fd, .events = POLLIN};
	uint64_t answers = client->answers;
	int before = INT_MAX;

	while (true) {
		ssize_t len = take_noise(client);
		int error = len < 0 && errno != EAGAIN && errno != EINTR ? errno : 0;
		int left = queued(client->fd);

		if (answer && client->answers > answers)
			return 0;
		/* The receiver closed the connection and will acknowledge nothing more. */
		if (error == 0 && len == 0 && (left > 0 || answer))
			error = EPIPE;
		if (error == 0 && !answer && left <= 0)
			return 0;
		if (left != before)
			start = clock_now(CLOCK_MONOTONIC);
		before = left;
		if (error == 0 &&
			clock_now(CLOCK_MONOTONIC) - start >= client->patience(client->arg))
			error = ETIMEDOUT;
		if (error != 0) {
			close_socket(client, error == ETIMEDOUT ? "the receiver accepts no data"
								: strerror(error));
			return error;
		}
		(void)poll(&polled, 1, LOOK_MS);
	}
}

int socket_client_drain(struct socket_client *client)
{
	return wait_for_receiver(client, false);
}

int socket_client_await(struct socket_client *client)
{
	return wait_for_receiver(client, true);
}

uint32_t socket_client_datagram_max(const struct socket_client *client)
{
	struct sockaddr_storage to;
	socklen_t len = sizeof(int), size = sizeof(to);
	int mtu = 0, headers;
	bool ipv6;

	if (client->fd < 0 || getpeername(client->fd, (struct sockaddr *)&to, &size) < 0)
		return 0;
	ipv6 = to.ss_family == AF_INET6;
	headers = ipv6 ? HEADERS_UDP6 : HEADERS_UDP4;
	if (getsockopt(client->fd, ipv6 ? IPPROTO_IPV6 : IPPROTO_IP, ipv6 ? IPV6_MTU : IP_MTU, &mtu,
		    &len) < 0 ||
		mtu <= headers)
		return 0;
	return (uint32_t)(mtu - headers);
}
