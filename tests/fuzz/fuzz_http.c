/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Any bytes as a request to --metrics, and the text as its Accept header: each request gets a page
 * or an error, the connection ends, and nothing of it remains.
 */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "report/metrics/http.h"
#include "report/metrics/metrics.h"
#include "report/metrics/metrics_text.h"
#include "report/rows/report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TURNS    8
#define SENT_MAX 65536 /* capacity of the socket in bytes */

static struct http *http;
static struct metrics *metrics;
static struct recent *recent;

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void end(void)
{
	http_close(http);
	metrics_destroy(metrics);
	recent_destroy(recent);
}

static void begin(void)
{
	struct report_epoch *epoch = report_epoch_alloc(1, 1);
	char error[HTTP_ERROR_MAX];

	require(epoch != NULL);
	recent = recent_create();
	require(recent != NULL);
	metrics = metrics_create(10, "none", recent);
	epoch->design = epoch->sharing = "";
	epoch->measurements[0].name = "main";
	epoch->measurements[0].key_rule = &key_rules[0];
	epoch->measurements[0].sketch = "count-min";
	epoch->measurements[0].rows = calloc(1, sizeof(struct report_row));
	epoch->measurements[0].nb_rows = 1;
	require(metrics != NULL && epoch->measurements[0].rows != NULL);
	recent_take(recent, epoch);
	metrics_take(metrics, epoch, NULL);
	report_epoch_free(epoch);
	http = http_open(NULL, metrics_pages, metrics, error);
	require(http != NULL);
	atexit(end);
}

static void wants(const uint8_t *data, size_t size)
{
	char *accept = malloc(size + 1);

	require(accept != NULL);
	memcpy(accept, data, size);
	accept[size] = '\0';
	metrics_wants_openmetrics(accept);
	free(accept);
}

/* Each reply has a status that the server uses and the headers that all replies have. */
static void check_answer(int client)
{
	static char answer[SENT_MAX + 1];
	ssize_t len = recv(client, answer, SENT_MAX, MSG_DONTWAIT);

	if (len <= 0)
		return;
	answer[len] = '\0';
	require(strncmp(answer, "HTTP/1.", 7) == 0);
	if (strncmp(answer + 8, " 200 ", 5) == 0)
		require(strstr(answer, "Content-Security-Policy: default-src 'none'") != NULL &&
			strstr(answer, "Connection: close") != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int ends[2];

	if (http == NULL)
		begin();
	wants(data, size);
	require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
	if (send(ends[0], data, size, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		size = 0;
	require(http_take(http, ends[1]));
	for (uint32_t t = 0; t < TURNS; t++)
		http_turn(http);
	check_answer(ends[0]);
	close(ends[0]);
	for (uint32_t t = 0; t < TURNS; t++)
		http_turn(http);
	return 0;
}
