/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * HTTP server for a few read-only pages. It has one thread, on the CPUs of the thread that opened
 * it. Limits on clients: a request has at most HTTP_REQUEST_MAX bytes, and ends, answered or not,
 * after HTTP_PATIENCE_NS. HTTP_CONNECTIONS are open at once; others wait. While all are open, a
 * connection ends after HTTP_FULL_NS, or HTTP_FULL_IDLE_NS without a request. Unread replies have
 * at most HTTP_ANSWERS_MAX bytes in total.
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
#define HTTP_ANSWERS_MAX  (32 << 20) /* bytes; a single reply may be longer */
#define HTTP_ERROR_MAX    300

/* Request headers. NULL: absent. */
struct http_request {
	const char *accept; /* value of the Accept header */
	const char *after;  /* value of ?after= */
};

struct http_answer {
	unsigned int status;
	const char *type;   /* Content-Type */
	const char *policy; /* Content-Security-Policy; NULL: forbids everything */
	struct text text;
};

struct http_page {
	const char *path; /* NULL after the last page */
	/* Called on the server's thread. */
	void (*answer)(void *arg, const struct http_request *request, struct http_answer *answer);
};

struct http;

/* Returns NULL if this build has the server, or the reason why not. */
const char *http_missing(void);

/*
 * Binds the address. address NULL: no socket, for tests. Returns NULL with a line in
 * error[HTTP_ERROR_MAX]. pages and arg must outlive the server.
 */
struct http *http_open(const struct listen_address *address, const struct http_page *pages,
	void *arg, char *error);
/* Starts the thread, which serves until http_close(). Returns false with a line in error. */
bool http_start(struct http *http, char *error);
void http_close(struct http *http); /* NULL is allowed */

/* For tests, instead of the thread: accepts a connected socket, and serves pending input. */
bool http_take(struct http *http, int fd);
void http_turn(struct http *http);
