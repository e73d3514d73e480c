/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* UDP sockets of --listen. Single-threaded. */

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "collect/datagram.h"
#include "config/option.h"

#define LISTEN_BATCH    64
#define LISTEN_TEXT_MAX 96

struct listen_address {
	char text[LISTEN_TEXT_MAX];
	struct sockaddr_in6 address; /* IPv4 as ::ffff:a.b.c.d; port 0: any free port */
	bool all;
};

/*
 * Accepts ADDRESS:PORT, [ADDRESS]:PORT, *:PORT and :PORT. Returns false with a reason in
 * why[OPTION_WHY_MAX].
 */
bool listen_parse(const char *text, struct listen_address *address, char *why);

/*
 * Returns true unless the address is loopback, link-local or private (RFC 1918, 4193, 6598). If it
 * is all addresses, those of the host decide.
 */
bool listen_is_public(const struct listen_address *address);

/*
 * Opens and binds a TCP socket, which does not listen yet. One for all addresses accepts IPv6 and
 * IPv4, or only IPv4 on hosts without IPv6. Returns -1 with errno on failure.
 */
int listen_stream(const struct listen_address *address);

/* Explains the errno of a UDP (SOCK_DGRAM) or TCP (SOCK_STREAM) socket. */
const char *listen_advice(const struct listen_address *address, int type, int error);

/* buffer: bytes; 0: system default. Returns NULL with a reason in error[OPTION_WHY_MAX]. */
struct listener *listener_open(
	const struct listen_address *addresses, uint32_t n, uint32_t buffer, char *error);
void listener_close(struct listener *listener);

/* Does not block. Data is valid until the next call; `time` is the time of this call. */
uint32_t listener_receive(struct listener *listener, struct datagram *datagrams, uint32_t max);

/*
 * Sleeps after a call that returned n datagrams: with n = 0 until a datagram or signal arrives, for
 * at most LISTEN_REST_MS; with n > 0 always, because waking up for each datagram costs more than
 * reading it.
 */
#define LISTEN_REST_MS 20
void listener_rest(struct listener *listener, uint32_t n);

/* Returns the datagrams that the kernel has dropped since the socket was opened. */
uint64_t listener_dropped(struct listener *listener, uint32_t socket);

/* Bytes of the datagrams that wait in the socket, and of all that fit. */
struct listener_fill {
	uint32_t used, room;
};
struct listener_fill listener_fill(const struct listener *listener, uint32_t socket);

/* Returns bytes. For users other than root, sysctl net.core.rmem_max limits the buffer. */
uint32_t listener_buffer(const struct listener *listener, uint32_t socket);

uint16_t listener_port(const struct listener *listener, uint32_t socket);
