/* SPDX-License-Identifier: BSD-3-Clause */

/* Used in place of http.c if sketchtap is built without libmicrohttpd. */

#include <stddef.h>
#include <stdio.h>

#include "report/metrics/http.h"

const char *http_missing(void)
{
	return METRICS_MISSING;
}

struct http *http_open(
	const struct listen_address *address, const struct http_page *pages, void *arg, char *error)
{
	(void)address;
	(void)pages;
	(void)arg;
	snprintf(error, HTTP_ERROR_MAX,
		"--metrics: sketchtap was built without it, because " METRICS_MISSING
		"; change that and build again, or omit --metrics");
	return NULL;
}

bool http_start(struct http *http, char *error)
{
	(void)http;
	(void)error;
	return false;
}

void http_close(struct http *http)
{
	(void)http;
}

bool http_take(struct http *http, int fd)
{
	(void)http;
	(void)fd;
	return false;
}

void http_turn(struct http *http)
{
	(void)http;
}
