/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * UDP sockets of --listen: datagrams in batches, and to the datagram what the kernel dropped. One
 * thread's.
 */

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "collect/datagram.h"
#include "config/option.h"

#define LISTEN_BATCH    64 /* datagrams that one call gives */
#define LISTEN_TEXT_MAX 96

/* One --listen. */
struct listen_address {
	char text[LISTEN_TEXT_MAX];  /* as it was given */
	struct sockaddr_in6 address; /* IPv4 is mapped; its port 0: any that is free */
	bool all;                    /* addresses, of IPv4 and IPv6 */
};

/*
 * Reads ADDRESS:PORT, [ADDRESS]:PORT of IPv6, and *:PORT or :PORT for all addresses. False with a
 * phrase in why[OPTION_WHY_MAX].
 */
bool listen_parse(const char *text, struct listen_address *address, char *why);

/*
 * Returns true if hosts of other networks may reach the address: it is neither loopback, link-local
 * nor private (RFC 1918, 4193, 6598). For all addresses: if the host has such an address now.
 */
bool listen_is_public(const struct listen_address *address);

/*
 * A socket for such an address, of UDP (SOCK_DGRAM) or TCP (SOCK_STREAM), then bound; -1, or false,
 * with errno, and what to do about it. It is of both protocols where it is for all addresses; a host
 * without IPv6 has those of IPv4.
 */
int listen_socket(const struct listen_address *address, int type, bool *ipv4);
bool listen_bind(int fd, const struct listen_address *address, bool ipv4);
const char *listen_advice(const struct listen_address *address, int type, int error);

/*
 * buffer: bytes of the kernel's, for each socket; 0: as the system has it. NULL with a line in
 * error[OPTION_WHY_MAX] that names the address and what to do.
 */
struct listener *listener_open(
	const struct listen_address *addresses, uint32_t n, uint32_t buffer, char *error);
void listener_close(struct listener *listener);

/*
 * Gives up to max <= LISTEN_BATCH datagrams, without waiting, of the sockets in turn. Their data
 * stays until the next call; their time is when the call found them.
 */
uint32_t listener_receive(struct listener *listener, struct datagram *datagrams, uint32_t max);

/*
 * Sleeps behind a call that gave n datagrams, fewer than it could. Where some came others gather
 * meanwhile, which do not end the sleep: to wake for each, with caches that are cold, would cost more
 * than to read it. Where none came a datagram or a signal ends it. At most LISTEN_REST_MS.
 */
#define LISTEN_REST_MS 20
void listener_rest(struct listener *listener, uint32_t n);

/* Datagrams of a socket that the kernel dropped since it was opened, to this moment. */
uint64_t listener_dropped(struct listener *listener, uint32_t socket);

/*
 * The bytes of buffer that the kernel gave to a socket. Where it is less than was asked for,
 * sysctl net.core.rmem_max is the limit of those who are not root.
 */
uint32_t listener_buffer(const struct listener *listener, uint32_t socket);

/* The port that a socket has. */
uint16_t listener_port(const struct listener *listener, uint32_t socket);
