/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * HTTP server for a few read-only pages. Its one thread runs on the CPUs of the thread that opened
 * the server.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "collect/listen.h"

#define HTTP_CONNECTIONS  64
/* A connection is closed after this time, even if the reply is incomplete. */
#define HTTP_PATIENCE_NS  INT64_C(5000000000)
/* The same limits while all connections are open: in general, and for an incomplete request. */
#define HTTP_FULL_NS      INT64_C(1000000000)
#define HTTP_FULL_IDLE_NS INT64_C(100000000)
#define HTTP_REQUEST_MAX  16384
/* bytes of all unread replies; a longer reply is sent if it is the only one */
#define HTTP_ANSWERS_MAX  (32 << 20)
#define HTTP_ERROR_MAX    300

/* NULL: the request does not have it. */
struct http_request {
	const char *accept;
	const char *after; /* value of ?after= */
};

struct http_answer {
	unsigned int status;
	const char *type;   /* Content-Type */
	const char *policy; /* Content-Security-Policy; NULL: one that forbids everything */
	struct text text;
};

struct http_page {
	const char *path; /* NULL after the last page */
	/* fills in the reply; called by the thread of the server */
	void (*answer)(void *arg, const struct http_request *request, struct http_answer *answer);
};

struct http;

/* Returns the reason why sketchtap was built without the server. NULL: it was built with it. */
const char *http_missing(void);

/*
 * Binds the address. address NULL: no socket, for tests. `pages` and `arg` must outlive the server.
 * On failure, returns NULL with a message in error[HTTP_ERROR_MAX].
 */
struct http *http_open(const struct listen_address *address, const struct http_page *pages,
	void *arg, char *error);
/* On failure, returns false with a message in `error`. */
bool http_start(struct http *http, char *error);
void http_close(struct http *http);

/*
 * For tests, without the thread: http_take() adds a connected socket, http_turn() serves pending
 * requests.
 */
bool http_take(struct http *http, int fd);
void http_turn(struct http *http);
