/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * A server of a few read-only pages. It has one thread, on the CPUs of the thread that opened it,
 * and what a client can take of it is bounded: a request, whole, has HTTP_REQUEST_MAX bytes and
 * ends, answered or not, after HTTP_PATIENCE_NS; so many connections are open at once, others wait,
 * and meanwhile one that asked nothing yet ends after HTTP_FULL_IDLE_NS, others after HTTP_FULL_NS;
 * and answers that wait to be read take no more than HTTP_ANSWERS_MAX in all.
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
	const char *accept; /* the header */
	const char *after;  /* ?after= */
};

struct http_answer {
	unsigned int status;
	const char *type;   /* type of the content */
	const char *policy; /* what a browser may do with it; NULL: nothing */
	struct text text;
};

struct http_page {
	const char *path; /* NULL after the last page */
	/* On the server's thread. */
	void (*answer)(void *arg, const struct http_request *request, struct http_answer *answer);
};

struct http;

/* NULL where this build has the server, else why not. */
const char *http_missing(void);

/*
 * Binds the address. NULL with a line in error[HTTP_ERROR_MAX] that names it and says what to do.
 * Pages and arg outlive the server.
 */
struct http *http_open(const struct listen_address *address, const struct http_page *pages,
	void *arg, char *error);
/* Its thread serves until http_close(). False with a line in error. */
bool http_start(struct http *http, char *error);
void http_close(struct http *http); /* NULL is allowed */

/* For a test, in place of the thread: takes a connected socket over, and serves what has come. */
bool http_take(struct http *http, int fd);
void http_turn(struct http *http);
