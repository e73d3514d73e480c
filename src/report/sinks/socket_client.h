/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Who takes reports on a socket: looked up by name, connected to, left where it takes nothing, and
 * tried again after a second, then two, up to 30. One thread has it, and may wait in each call.
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
	char host[256]; /* of a Unix socket its path */
	char port[6];
};

/*
 * HOST:PORT, an IPv6 address in brackets; without a port `port` is meant, if that is not NULL. Of a
 * Unix socket its path. False, with a phrase in why[SOCKET_CLIENT_ERROR_MAX], where it is none.
 */
bool socket_client_parse(const char *text, enum socket_client_transport transport, const char *port,
	struct socket_client_address *address, char *why);

/* How many ns to wait before another try, after one that was waited for so many (0: the first), where
 * a second lasts so many. */
int64_t socket_client_backoff(int64_t before, int64_t second);

struct socket_client {
	/* Set before the first use. */
	struct socket_client_address address;
	int64_t (*patience)(void *arg); /* ns that it may take nothing; 0: it is to be left now */
	void *arg;
	int64_t second; /* ns that one lasts between tries: less in tests; 0: a second */

	/* Of this module alone, but for reading. */
	int fd;                /* -1: not connected */
	uint32_t connects;     /* that succeeded */
	size_t sent;           /* bytes of the last socket_client_send() that the kernel took */
	char why[256];         /* why it is not there, or did not take the last */
	struct look_up *names; /* that goes on; NULL: none does */
	struct addrinfo *addresses; /* those of the last look-up that found some */
	uint32_t turn;              /* UDP: whose turn it is of them */
	bool look_up;               /* before the next connection */
	bool talks;                 /* it has sent something, which nobody asked for */
	bool fresh; /* socket_client_reach() connected, and nobody has looked since */
	int64_t retry_at, backoff; /* monotonic */
};

/* All else is 0. */
void socket_client_init(struct socket_client *client);
void socket_client_free(struct socket_client *client);

enum socket_client_state {
	SOCKET_CLIENT_GONE,        /* `why` says why; tried again when its time has come */
	SOCKET_CLIENT_CONNECTED,   /* as before */
	SOCKET_CLIENT_RECONNECTED, /* connected just now */
};

/* Looks whether it is still there, and connects where it is not and may be tried. */
enum socket_client_state socket_client_look(struct socket_client *client);

/* Connects now, for who looks next: that finds it connected anew. False: `why` says why not. */
bool socket_client_reach(struct socket_client *client);

/* Takes what came back: that nobody is there, or that the connection ended. False: it is gone. */
bool socket_client_heed(struct socket_client *client);

/*
 * Returns 0 when the kernel took all of it, else an errno: it is gone, but after EMSGSIZE, which
 * means that the way takes no datagram of that size.
 */
int socket_client_send(struct socket_client *client, const void *bytes, size_t len);

/* Waits until its host has acknowledged all that was sent (TCP), or it has read that (Unix). Returns 0,
 * else an errno: it is gone, and may have read less. */
int socket_client_drain(struct socket_client *client);

/* It took what there was: if it goes away, it is tried again soon. */
void socket_client_praise(struct socket_client *client);

/* The bytes that a datagram may have on the way; 0: not known. */
uint32_t socket_client_datagram_max(const struct socket_client *client);

/* Leaves it, where it talks not before it has read what it was sent, if that does not take long. The
 * name is looked up again, and it is connected to at once when it is looked for, and soon again. */
void socket_client_reopen(struct socket_client *client);
