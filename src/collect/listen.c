/* SPDX-License-Identifier: BSD-3-Clause */
#include "collect/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <linux/sock_diag.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/address.h"
#include "base/clock.h"
#include "base/decimal.h"

/* Buffers are more than 64 KB apart, so that they use different cache sets. */
#define BUFFER_BYTES 65536u
#define BUFFER_STEP  (BUFFER_BYTES + 25 * 64u)
#define POOL_BYTES   ((size_t)LISTEN_BATCH * BUFFER_STEP)

/* address, '%', interface */
#define ADDRESS_TEXT_MAX (INET6_ADDRSTRLEN + IF_NAMESIZE + 1)

struct open_socket {
	int fd;
	uint16_t port;
	uint32_t buffer;
	uint32_t drops_seen; /* last value of the kernel's counter, which wraps around */
	uint64_t dropped;
};

struct listener {
	uint32_t n;
	uint32_t next;
	int64_t gather_ns;
	struct open_socket *sockets; /* [n] */
	struct pollfd *polled;       /* [n] */
	uint8_t *pool;               /* one buffer per datagram of a batch */
	struct mmsghdr messages[LISTEN_BATCH];
	struct iovec vectors[LISTEN_BATCH];
	struct sockaddr_in6 senders[LISTEN_BATCH];
};

static bool parse_port(const char *text, in_port_t *port)
{
	uint32_t number;

	if (!decimal_read_u32(text, UINT16_MAX, &number))
		return false;
	*port = htons((uint16_t)number);
	return number != 0;
}

/* An optional "%NAME" selects an interface. */
static bool parse_ipv6(char *text, struct sockaddr_in6 *address)
{
	char *scope = strchr(text, '%');

	if (scope != NULL) {
		*scope++ = '\0';
		address->sin6_scope_id = if_nametoindex(scope);
		if (address->sin6_scope_id == 0)
			return false;
	}
	return inet_pton(AF_INET6, text, &address->sin6_addr) == 1;
}

static bool parse_address(const char *text, size_t len, struct listen_address *address)
{
	char copy[ADDRESS_TEXT_MAX];
	struct in_addr ipv4;

	address->all = len == 0 || (len == 1 && text[0] == '*');
	if (address->all)
		return true;
	if (len >= sizeof(copy))
		return false;
	memcpy(copy, text, len);
	copy[len] = '\0';
	if (copy[0] == '[' && copy[len - 1] == ']') {
		copy[len - 1] = '\0';
		return parse_ipv6(copy + 1, &address->address);
	}
	if (inet_pton(AF_INET, copy, &ipv4) != 1)
		return false;
	address_map_ipv4(&address->address.sin6_addr, &ipv4);
	return true;
}

bool listen_parse(const char *text, struct listen_address *address, char *why)
{
	const char *colon = strrchr(text, ':');

	*address = (struct listen_address){.address.sin6_family = AF_INET6};
	if (colon == NULL || strlen(text) >= sizeof(address->text) ||
		!parse_port(colon + 1, &address->address.sin6_port)) {
		snprintf(why, OPTION_WHY_MAX,
			"must be ADDRESS:PORT or :PORT, with a port from 1 to 65535");
		return false;
	}
	memcpy(address->text, text, strlen(text) + 1);
	if (!parse_address(text, (size_t)(colon - text), address)) {
		snprintf(why, OPTION_WHY_MAX,
			"must begin with an IPv4 address, an IPv6 address in brackets, or * for "
			"all; names are not resolved");
		return false;
	}
	return true;
}

static bool is_ipv4(const struct listen_address *address)
{
	return !address->all && IN6_IS_ADDR_V4MAPPED(&address->address.sin6_addr);
}

const char *listen_advice(const struct listen_address *address, int type, int error)
{
	in_port_t port = address->address.sin6_port;

	switch (error) {
	case EADDRINUSE:
		return type == SOCK_DGRAM ? "in use by another program; find it with ss -lunp"
					  : "in use by another program; find it with ss -ltnp";
	case EADDRNOTAVAIL: return "no interface of this host has this address";
	case EACCES:
	case EPERM:
		return ntohs(port) < 1024 ? "ports below 1024 need root or CAP_NET_BIND_SERVICE"
					  : strerror(error);
	case EAFNOSUPPORT: return "protocol not supported by this host";
	default: return strerror(error);
	}
}

static bool bind_socket(int fd, const struct listen_address *address, bool ipv4)
{
	struct sockaddr_in narrow = {.sin_family = AF_INET, .sin_port = address->address.sin6_port};

	if (!ipv4)
		return bind(fd, (const struct sockaddr *)&address->address,
			       sizeof(address->address)) == 0;
	if (!address->all)
		memcpy(&narrow.sin_addr, address->address.sin6_addr.s6_addr + 12, 4);
	return bind(fd, (const struct sockaddr *)&narrow, sizeof(narrow)) == 0;
}

/*
 * Sockets for all addresses accept IPv6 and IPv4, or only IPv4 on hosts without IPv6. Returns -1
 * with errno on failure.
 */
static int create_socket(const struct listen_address *address, int type, bool *ipv4)
{
	int only = !address->all, fd;

	type |= SOCK_NONBLOCK | SOCK_CLOEXEC;
	*ipv4 = is_ipv4(address);
	if (!*ipv4) {
		fd = socket(AF_INET6, type, 0);
		if (fd >= 0)
			setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof(only));
		if (fd >= 0 || !address->all)
			return fd;
		*ipv4 = true;
	}
	return socket(AF_INET, type, 0);
}

int listen_stream(const struct listen_address *address)
{
	int reuse = 1, fd, error;
	bool ipv4;

	fd = create_socket(address, SOCK_STREAM, &ipv4);
	if (fd < 0)
		return -1;
	/* Connections of an earlier run may still be in state TIME_WAIT. */
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof(reuse));
	if (bind_socket(fd, address, ipv4))
		return fd;
	error = errno;
	close(fd);
	errno = error;
	return -1;
}

/* The kernel allocates and reports twice the requested size; half is overhead. */
static void set_buffer(struct open_socket *socket, uint32_t bytes)
{
	int wanted = bytes > INT32_MAX / 2 ? INT32_MAX / 2 : (int)bytes, got = 0;
	socklen_t len = sizeof(got);

	if (bytes != 0 &&
		setsockopt(socket->fd, SOL_SOCKET, SO_RCVBUFFORCE, &wanted, sizeof(wanted)) != 0)
		setsockopt(socket->fd, SOL_SOCKET, SO_RCVBUF, &wanted, sizeof(wanted));
	getsockopt(socket->fd, SOL_SOCKET, SO_RCVBUF, &got, &len);
	socket->buffer = (uint32_t)got / 2;
}

static uint16_t port_of(int fd)
{
	/* The port has the same offset in both address families. */
	struct sockaddr_in6 name = {0};
	socklen_t len = sizeof(name);

	_Static_assert(
		offsetof(struct sockaddr_in6, sin6_port) == offsetof(struct sockaddr_in, sin_port),
		"port_of() reads both address families");
	getsockname(fd, (struct sockaddr *)&name, &len);
	return ntohs(name.sin6_port);
}

/* Returns false with errno. */
static bool open_one(
	struct open_socket *socket, const struct listen_address *address, uint32_t buffer)
{
	bool ipv4;

	socket->fd = create_socket(address, SOCK_DGRAM, &ipv4);
	if (socket->fd < 0)
		return false;
	/* No datagram may arrive while the buffer is small. */
	set_buffer(socket, buffer);
	if (!bind_socket(socket->fd, address, ipv4))
		return false;
	socket->port = port_of(socket->fd);
	return true;
}

static bool given_twice(const struct listen_address *addresses, uint32_t at)
{
	for (uint32_t i = 0; i < at; i++)
		if (addresses[at].address.sin6_port != 0 && addresses[i].all == addresses[at].all &&
			memcmp(&addresses[i].address, &addresses[at].address,
				sizeof(addresses[i].address)) == 0)
			return true;
	return false;
}

static bool is_every(const struct listen_address *address)
{
	const struct in6_addr *ip = &address->address.sin6_addr;

	return IN6_IS_ADDR_UNSPECIFIED(ip) ||
	       (IN6_IS_ADDR_V4MAPPED(ip) && memcmp(ip->s6_addr + 12, "\0\0\0", 4) == 0);
}

static bool is_public_ipv4(const uint8_t *bytes)
{
	static const struct {
		uint32_t prefix, mask;
	} others[] = {
		{0x0a000000, 0xff000000}, /* RFC 1918 */
		{0xac100000, 0xfff00000},
		{0xc0a80000, 0xffff0000},
		{0x64400000, 0xffc00000}, /* RFC 6598 */
		{0x7f000000, 0xff000000},
		{0xa9fe0000, 0xffff0000},
	};
	uint32_t address;

	memcpy(&address, bytes, sizeof(address));
	for (uint32_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if ((ntohl(address) & others[i].mask) == others[i].prefix)
			return false;
	return true;
}

static bool is_public(const struct in6_addr *address)
{
	if (IN6_IS_ADDR_V4MAPPED(address))
		return is_public_ipv4(address->s6_addr + 12);
	return !IN6_IS_ADDR_LOOPBACK(address) && !IN6_IS_ADDR_LINKLOCAL(address) &&
	       !IN6_IS_ADDR_SITELOCAL(address) && (address->s6_addr[0] & 0xfe) != 0xfc;
}

/* ipv4, ipv6: address families to check */
static bool host_is_public(bool ipv4, bool ipv6)
{
	struct ifaddrs *all;
	bool found = false;

	if (getifaddrs(&all) != 0)
		return true;
	for (const struct ifaddrs *one = all; one != NULL; one = one->ifa_next) {
		struct in6_addr address;

		if (address_of_socket(&address, one->ifa_addr))
			found |= (IN6_IS_ADDR_V4MAPPED(&address) ? ipv4 : ipv6) &&
				 is_public(&address);
	}
	freeifaddrs(all);
	return found;
}

bool listen_is_public(const struct listen_address *address)
{
	if (address->all || is_every(address))
		return host_is_public(
			address->all || is_ipv4(address), address->all || !is_ipv4(address));
	return is_public(&address->address.sin6_addr);
}

/* Returns true if a socket for `one` also receives the datagrams for `other`. */
static bool covers_address(const struct listen_address *one, const struct listen_address *other)
{
	return one->address.sin6_port == other->address.sin6_port &&
	       (one->all || (is_every(one) && is_ipv4(one) == is_ipv4(other)));
}

static void explain(const struct listen_address *addresses, uint32_t at, char *error)
{
	const struct listen_address *address = &addresses[at];
	int reason = errno;

	for (uint32_t i = 0; i < at && reason == EADDRINUSE; i++)
		if (covers_address(&addresses[i], address) ||
			covers_address(address, &addresses[i])) {
			snprintf(error, OPTION_WHY_MAX,
				"--listen %s and --listen %s have addresses in common; omit one",
				addresses[i].text, address->text);
			return;
		}
	snprintf(error, OPTION_WHY_MAX, "cannot listen on %s: %s", address->text,
		listen_advice(address, SOCK_DGRAM, reason));
}

static bool open_all(struct listener *listener, const struct listen_address *addresses, uint32_t n,
	uint32_t buffer, char *error)
{
	for (; listener->n < n; listener->n++) {
		uint32_t i = listener->n;

		if (given_twice(addresses, i)) {
			snprintf(error, OPTION_WHY_MAX, "--listen %s is given twice",
				addresses[i].text);
			return false;
		}
		if (!open_one(&listener->sockets[i], &addresses[i], buffer)) {
			explain(addresses, i, error);
			if (listener->sockets[i].fd >= 0)
				close(listener->sockets[i].fd);
			return false;
		}
		listener->polled[i] =
			(struct pollfd){.fd = listener->sockets[i].fd, .events = POLLIN};
	}
	return true;
}

static struct listener *make_listener(uint32_t n)
{
	struct listener *listener = calloc(1, sizeof(*listener));

	if (listener == NULL)
		return NULL;
	listener->sockets = calloc(n, sizeof(*listener->sockets));
	listener->polled = calloc(n, sizeof(*listener->polled));
	listener->pool = mmap(NULL, POOL_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (listener->pool == MAP_FAILED)
		listener->pool = NULL;
	if (listener->sockets == NULL || listener->polled == NULL || listener->pool == NULL) {
		listener_close(listener);
		return NULL;
	}
	for (uint32_t i = 0; i < LISTEN_BATCH; i++) {
		listener->vectors[i] =
			(struct iovec){listener->pool + (size_t)i * BUFFER_STEP, BUFFER_BYTES};
		listener->messages[i].msg_hdr = (struct msghdr){
			.msg_name = &listener->senders[i],
			.msg_iov = &listener->vectors[i],
			.msg_iovlen = 1,
		};
	}
	return listener;
}

/* Returns the time in which datagrams of 100 MB/s fill half of the smallest buffer. */
static int64_t gather_ns(const struct listener *listener)
{
	int64_t ns = LISTEN_REST_MS * INT64_C(1000000);

	for (uint32_t i = 0; i < listener->n; i++)
		if (listener->sockets[i].buffer * INT64_C(5) < ns)
			ns = listener->sockets[i].buffer * INT64_C(5);
	return ns;
}

struct listener *listener_open(
	const struct listen_address *addresses, uint32_t n, uint32_t buffer, char *error)
{
	struct listener *listener = make_listener(n);

	if (listener == NULL) {
		snprintf(error, OPTION_WHY_MAX, "out of memory for the sockets of --listen");
		return NULL;
	}
	if (!open_all(listener, addresses, n, buffer, error)) {
		listener_close(listener);
		return NULL;
	}
	listener->gather_ns = gather_ns(listener);
	return listener;
}

void listener_close(struct listener *listener)
{
	if (listener == NULL)
		return;
	for (uint32_t i = 0; i < listener->n; i++)
		close(listener->sockets[i].fd);
	if (listener->pool != NULL)
		munmap(listener->pool, POOL_BYTES);
	free(listener->sockets);
	free(listener->polled);
	free(listener);
}

static void fill(struct datagram *datagram, const struct listener *listener, uint32_t message,
	uint32_t socket, int64_t time)
{
	const struct sockaddr_in6 *sender = &listener->senders[message];

	if (sender->sin6_family == AF_INET) {
		struct sockaddr_in narrow;

		memcpy(&narrow, sender, sizeof(narrow));
		address_map_ipv4(&datagram->src, &narrow.sin_addr);
	} else {
		datagram->src = sender->sin6_addr;
	}
	datagram->dst = in6addr_any;
	datagram->src_port = ntohs(sender->sin6_port);
	datagram->dst_port = listener->sockets[socket].port;
	datagram->data = listener->vectors[message].iov_base;
	datagram->len = listener->messages[message].msg_len;
	datagram->time = time;
	datagram->socket = socket;
}

/* `first`: index of the first buffer to use */
static uint32_t receive_from(struct listener *listener, uint32_t socket, struct datagram *datagrams,
	uint32_t first, uint32_t max)
{
	struct mmsghdr *messages = listener->messages + first;
	int64_t time;
	int n;

	for (uint32_t i = 0; i < max; i++)
		messages[i].msg_hdr.msg_namelen = sizeof(listener->senders[i]);
	n = recvmmsg(listener->sockets[socket].fd, messages, max, MSG_DONTWAIT, NULL);
	if (n < 0)
		return 0;
	time = clock_now(CLOCK_REALTIME);
	for (uint32_t i = 0; i < (uint32_t)n; i++)
		fill(&datagrams[i], listener, first + i, socket, time);
	return (uint32_t)n;
}

uint32_t listener_receive(struct listener *listener, struct datagram *datagrams, uint32_t max)
{
	uint32_t n = 0;

	if (max > LISTEN_BATCH)
		max = LISTEN_BATCH;
	for (uint32_t tried = 0; tried < listener->n && n < max; tried++) {
		uint32_t socket = listener->next;

		listener->next = socket + 1 == listener->n ? 0 : socket + 1;
		n += receive_from(listener, socket, datagrams + n, n, max - n);
	}
	return n;
}

void listener_rest(struct listener *listener, uint32_t n)
{
	const struct timespec gather = {.tv_nsec = listener->gather_ns};

	if (n > 0)
		nanosleep(&gather, NULL);
	else
		poll(listener->polled, listener->n, LISTEN_REST_MS);
}

uint64_t listener_dropped(struct listener *listener, uint32_t socket)
{
	struct open_socket *open = &listener->sockets[socket];
	uint32_t memory[SK_MEMINFO_VARS] = {0};
	socklen_t len = sizeof(memory);

	if (getsockopt(open->fd, SOL_SOCKET, SO_MEMINFO, memory, &len) != 0 ||
		len <= SK_MEMINFO_DROPS * sizeof(memory[0]))
		return open->dropped;
	open->dropped += (uint32_t)(memory[SK_MEMINFO_DROPS] - open->drops_seen);
	open->drops_seen = memory[SK_MEMINFO_DROPS];
	return open->dropped;
}

struct listener_fill listener_fill(const struct listener *listener, uint32_t socket)
{
	uint32_t memory[SK_MEMINFO_VARS] = {0};
	socklen_t len = sizeof(memory);

	if (getsockopt(listener->sockets[socket].fd, SOL_SOCKET, SO_MEMINFO, memory, &len) != 0 ||
		memory[SK_MEMINFO_RCVBUF] == 0)
		return (struct listener_fill){.room = 1};
	return (struct listener_fill){memory[SK_MEMINFO_RMEM_ALLOC], memory[SK_MEMINFO_RCVBUF]};
}

uint32_t listener_buffer(const struct listener *listener, uint32_t socket)
{
	return listener->sockets[socket].buffer;
}

uint16_t listener_port(const struct listener *listener, uint32_t socket)
{
	return listener->sockets[socket].port;
}
