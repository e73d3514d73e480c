/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * HTTP server for a few read-only pages. It has one thread, which runs on the CPUs of the thread
 * that opened the server. Each connection serves one request.
 *
 * Limits on clients: A request has at most HTTP_REQUEST_MAX bytes. A connection is closed after
 * HTTP_PATIENCE_NS, even if the reply is incomplete. Up to HTTP_CONNECTIONS are open; more clients
 * wait. While all are open, a connection is closed after HTTP_FULL_NS, or after HTTP_FULL_IDLE_NS
 * if its request is incomplete. Replies that clients have not read take at most HTTP_ANSWERS_MAX
 * bytes in total.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "collect/listen.h"

#define HTTP_CONNECTIONS  64
#define HTTP_PATIENCE_NS  INT64_C(5000000000)
#define HTTP_FULL_NS      INT64_C(1000000000)
#define HTTP_FULL_IDLE_NS INT64_C(100000000)
#define HTTP_REQUEST_MAX  16384
/* bytes; a reply that is longer is sent if it is the only one */
#define HTTP_ANSWERS_MAX  (32 << 20)
#define HTTP_ERROR_MAX    300

/* Parts of a request. NULL: the request does not have it. */
struct http_request {
	const char *accept; /* value of the Accept header */
	const char *after;  /* value of ?after= */
};

struct http_answer {
	unsigned int status;
	const char *type;   /* Content-Type */
	const char *policy; /* Content-Security-Policy; NULL: one that forbids everything */
	struct text text;
};

struct http_page {
	const char *path; /* NULL after the last page */
	/* Fills in the reply. Called by the thread of the server. */
	void (*answer)(void *arg, const struct http_request *request, struct http_answer *answer);
};

struct http;

/*
 * Returns NULL if sketchtap was built with the server. Otherwise returns the reason why it was not.
 */
const char *http_missing(void);

/*
 * Creates a server and binds its address. address NULL: no socket, for tests. `pages` and `arg`
 * must outlive the server. On failure, returns NULL and stores a message in error[HTTP_ERROR_MAX].
 */
struct http *http_open(const struct listen_address *address, const struct http_page *pages,
	void *arg, char *error);
/*
 * Starts the thread, which serves until http_close(). On failure, returns false and stores a
 * message in `error`.
 */
bool http_start(struct http *http, char *error);
void http_close(struct http *http); /* NULL is allowed */

/*
 * For tests, without the thread: http_take() adds a connected socket, http_turn() serves pending
 * requests.
 */
bool http_take(struct http *http, int fd);
void http_turn(struct http *http);
