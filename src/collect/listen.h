/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * UDP sockets of --listen: receives datagrams in batches and counts those dropped by the kernel.
 * Single-threaded.
 */

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "collect/datagram.h"
#include "config/option.h"

#define LISTEN_BATCH    64 /* most datagrams per call */
#define LISTEN_TEXT_MAX 96

/* One --listen. */
struct listen_address {
	char text[LISTEN_TEXT_MAX];  /* text of the option */
	struct sockaddr_in6 address; /* IPv4 as ::ffff:a.b.c.d; port 0: any free port */
	bool all;                    /* all addresses of IPv4 and IPv6 */
};

/*
 * Parses ADDRESS:PORT, [ADDRESS]:PORT for IPv6, and *:PORT or :PORT for all addresses. Returns
 * false, with a reason in why[OPTION_WHY_MAX], if malformed.
 */
bool listen_parse(const char *text, struct listen_address *address, char *why);

/*
 * Returns true if hosts of other networks may reach the address: it is neither loopback, link-local
 * nor private (RFC 1918, 4193, 6598). For a socket of all addresses, returns true if the host has
 * such an address now.
 */
bool listen_is_public(const struct listen_address *address);

/*
 * listen_socket() opens a UDP (SOCK_DGRAM) or TCP (SOCK_STREAM) socket for an address.
 * listen_bind() then binds it. They return -1 or false on failure, with errno; listen_advice()
 * explains it. Sockets for all addresses accept IPv6 and IPv4, or only IPv4 on hosts without IPv6.
 */
int listen_socket(const struct listen_address *address, int type, bool *ipv4);
bool listen_bind(int fd, const struct listen_address *address, bool ipv4);
const char *listen_advice(const struct listen_address *address, int type, int error);

/*
 * Opens the sockets. buffer: receive buffer of each socket in bytes; 0: system default. Returns
 * NULL, with the address and advice in error[OPTION_WHY_MAX], if that fails.
 */
struct listener *listener_open(
	const struct listen_address *addresses, uint32_t n, uint32_t buffer, char *error);
void listener_close(struct listener *listener);

/*
 * Returns up to `max` datagrams (at most LISTEN_BATCH), from the sockets in turn. Does not block.
 * Data is valid until the next call; `time` is the time of the call.
 */
uint32_t listener_receive(struct listener *listener, struct datagram *datagrams, uint32_t max);

/*
 * Sleeps after a call that returned n datagrams, fewer than possible. With n = 0, it sleeps until a
 * datagram or signal arrives, for at most LISTEN_REST_MS. With n > 0, it always sleeps up to
 * LISTEN_REST_MS, so that datagrams accumulate. Waking up for each datagram, with cold caches,
 * costs more than reading it.
 */
#define LISTEN_REST_MS 20
void listener_rest(struct listener *listener, uint32_t n);

/* Returns the number of datagrams that the kernel has dropped since the socket was opened. */
uint64_t listener_dropped(struct listener *listener, uint32_t socket);

/*
 * Returns the receive buffer of a socket in bytes. For users other than root, sysctl
 * net.core.rmem_max limits it.
 */
uint32_t listener_buffer(const struct listener *listener, uint32_t socket);

uint16_t listener_port(const struct listener *listener, uint32_t socket);
