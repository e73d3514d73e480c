/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Client connection to a receiver of rows, with name lookup, timeouts, and retries after 1 s, 2 s
 * and so on up to 30 s. Used by one thread. Calls may block.
 */

#include <netdb.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SOCKET_CLIENT_ERROR_MAX 160

enum socket_client_transport {
	SOCKET_CLIENT_UDP,
	SOCKET_CLIENT_TCP,
	SOCKET_CLIENT_UNIX,
};

struct socket_client_address {
	enum socket_client_transport transport;
	char host[256]; /* host name or address; Unix: path of the socket */
	char port[6];
};

/*
 * Parses HOST:PORT, with an IPv6 address in brackets; HOST if `port` is not NULL, with that port;
 * or the path of a Unix socket. Returns false with a phrase in why[SOCKET_CLIENT_ERROR_MAX] if the
 * text is not an address.
 */
bool socket_client_parse(const char *text, enum socket_client_transport transport, const char *port,
	struct socket_client_address *address, char *why);

/*
 * Returns the wait before the next try in ns, after a wait of `before` ns (0: first try). second:
 * length of a second, ns.
 */
int64_t socket_client_backoff(int64_t before, int64_t second);

struct socket_client {
	/* Set before the first use. */
	struct socket_client_address address;
	/* returns ns without progress until a timeout; 0: stop now */
	int64_t (*patience)(void *arg);
	void *arg;
	int64_t second; /* length of a second in retries, ns; tests use less; 0: a second */

	/* Written by this module only. */
	int fd;                /* -1: not connected */
	uint32_t connects;     /* number of connections so far */
	size_t sent;           /* bytes of the last socket_client_send() that the kernel accepted */
	char why[256];         /* reason of the last failure */
	struct look_up *names; /* running lookup; NULL: none */
	struct addrinfo *addresses; /* addresses of the last successful lookup */
	uint32_t turn;              /* UDP: index of the next address, modulo their number */
	bool look_up;               /* look up the name before the next connection */
	bool talks;                 /* the receiver has sent data */
	/* socket_client_reach() connected, socket_client_look() did not report it yet */
	bool fresh;
	int64_t retry_at, backoff; /* monotonic ns of the next try; last wait in ns */
};

/* The fields that the caller does not set must be 0. */
void socket_client_init(struct socket_client *client);
void socket_client_free(struct socket_client *client);

enum socket_client_state {
	SOCKET_CLIENT_GONE,        /* not connected, see `why`; retried at retry_at */
	SOCKET_CLIENT_CONNECTED,   /* still connected */
	SOCKET_CLIENT_RECONNECTED, /* connected just now */
};

/* Checks the connection, and connects if it is closed and a try is due. */
enum socket_client_state socket_client_look(struct socket_client *client);

/*
 * Connects now. The next socket_client_look() returns SOCKET_CLIENT_RECONNECTED. Returns false if
 * that fails, with the reason in `why`.
 */
bool socket_client_reach(struct socket_client *client);

/* Reads and drops received data and errors. Returns false if the connection is closed. */
bool socket_client_heed(struct socket_client *client);

/*
 * Returns 0 if the kernel accepted all bytes, else an errno. After an error the connection is
 * closed, except after EMSGSIZE: the datagram exceeds the path MTU.
 */
int socket_client_send(struct socket_client *client, const void *bytes, size_t len);

/*
 * Waits until the receiver's host has acknowledged all sent data (TCP), or the receiver has read it
 * (Unix). Returns 0, or an errno: the connection is closed, and the receiver may have less.
 */
int socket_client_drain(struct socket_client *client);

/* Called after a success: resets the retry delay. */
void socket_client_praise(struct socket_client *client);

/* Returns the largest UDP payload for the path MTU, in bytes; 0: unknown. */
uint32_t socket_client_datagram_max(const struct socket_client *client);

/*
 * Closes the connection, after waiting a limited time until a receiver that sends data has read
 * everything. The next socket_client_look() looks up the name and connects at once.
 */
void socket_client_reopen(struct socket_client *client);
