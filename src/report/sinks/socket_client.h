/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Connection of a client to a receiver of rows, with name lookup, timeouts and retries. Used by one
 * thread. Calls may block.
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
 * TCP and UDP: HOST:PORT, or HOST if a default `port` is given; IPv6 addresses in brackets. Unix: a
 * path. Returns false with the reason in why[SOCKET_CLIENT_ERROR_MAX].
 */
bool socket_client_parse(const char *text, enum socket_client_transport transport, const char *port,
	struct socket_client_address *address, char *why);

/*
 * Returns the ns to wait before the next try. before: ns waited before the previous try, or 0.
 * second: length of a second in ns.
 */
int64_t socket_client_backoff(int64_t before, int64_t second);

struct socket_client {
	/* Set before the first use. */
	struct socket_client_address address;
	/* ns that may pass without progress; 0: give up now */
	int64_t (*patience)(void *arg);
	void *arg;
	/* length of a second in retries, in ns; shorter in tests; 0: a real second */
	int64_t second;

	/* Written only by this module. */
	int fd;                /* -1: not connected */
	uint32_t connects;     /* connections since the start */
	size_t sent;           /* bytes that the kernel accepted in the last socket_client_send() */
	char why[256];         /* reason for the last failure */
	struct look_up *names; /* running lookup, or NULL */
	struct addrinfo *addresses; /* found by the last successful lookup */
	uint32_t turn;              /* UDP: index of the next address to try, modulo their number */
	bool look_up;               /* look up the name before the next connection */
	bool talks;                 /* the receiver has sent data on this connection */
	uint64_t answers;           /* reads that found data */
	/* connected by socket_client_reach(), and not yet reported by socket_client_look() */
	bool fresh;
	int64_t retry_at, backoff; /* monotonic ns of the next try; ns waited before it */
};

/* All fields that the caller does not set must be 0. */
void socket_client_init(struct socket_client *client);
void socket_client_free(struct socket_client *client);

enum socket_client_state {
	/* not connected; `why` is the reason; next try at retry_at */
	SOCKET_CLIENT_GONE,
	SOCKET_CLIENT_CONNECTED,
	SOCKET_CLIENT_RECONNECTED, /* connected just now */
};

/* If the connection is closed and a try is due, connects again. */
enum socket_client_state socket_client_look(struct socket_client *client);

/*
 * Connects now. Returns false with the reason in `why`. After success the next socket_client_look()
 * returns SOCKET_CLIENT_RECONNECTED.
 */
bool socket_client_reach(struct socket_client *client);

/* Reads and ignores received data. Returns false if the connection is closed. */
bool socket_client_heed(struct socket_client *client);

/*
 * Returns 0 if the kernel accepted all bytes, else an errno. An error closes the connection, except
 * EMSGSIZE: the datagram is larger than the path MTU.
 */
int socket_client_send(struct socket_client *client, const void *bytes, size_t len);

/*
 * Waits until the receiver has all data. TCP: its host has acknowledged it; Unix: the receiver has
 * read it. Returns 0 or an errno. An error closes the connection, and the receiver may have a part
 * of the data.
 */
int socket_client_drain(struct socket_client *client);

/* Like socket_client_drain(), but waits until the receiver has sent at least one byte. */
int socket_client_await(struct socket_client *client);

/* Resets the retry delay. Call it after rows were delivered. */
void socket_client_praise(struct socket_client *client);

/* Returns the largest UDP payload that fits the path MTU, in bytes, or 0 if unknown. */
uint32_t socket_client_datagram_max(const struct socket_client *client);

/*
 * Closes the connection. If the receiver has sent data, first waits a limited time until it has
 * read everything. The next socket_client_look() looks up the name and connects at once.
 */
void socket_client_reopen(struct socket_client *client);
