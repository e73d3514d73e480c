/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Sends rows to a ClickHouse table; the test is the server. Checks what it receives and the
 * delivery counts for any reply.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sender.h"

#define OK      "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
#define ANSWERS 5

/*
 * A server that answers requests one by one, each on its own connection. In between, it answers
 * requests for the columns of the table.
 */
struct server {
	int listener;
	const char *description; /* reply to requests for columns; NULL: none listed */
	_Atomic uint32_t described;
	const char *answers[ANSWERS]; /* NULL: no further request */
	bool breaks[ANSWERS];         /* close the connection after the first bytes of the rows */
	bool early[ANSWERS];          /* reply before the rows are read */
	bool floods;                  /* keep sending after the replies */
	struct text bodies[ANSWERS];
	char requests[ANSWERS][4096]; /* headers of the requests */
	void *(*serve)(void *arg);    /* NULL: serve() */
	pthread_t thread;
};

static size_t length_in(const char *request)
{
	const char *at = strcasestr(request, "\r\nContent-Length: ");

	assert_non_null(at);
	return strtoull(at + 18, NULL, 10);
}

static void take_request(struct server *server, uint32_t turn, int fd)
{
	char *request = server->requests[turn];
	struct text *body = &server->bodies[turn];
	char bytes[65536];
	size_t len = 0, left;

	while (strstr(request, "\r\n\r\n") == NULL) {
		ssize_t n = recv(fd, request + len, 1, 0); /* do not read any row */

		assert_int_equal(n, 1);
		len++;
		assert_true(len < sizeof(server->requests[0]));
	}
	for (left = server->early[turn] ? 0 : length_in(request); left > 0;) {
		ssize_t n = recv(fd, bytes, left < sizeof(bytes) ? left : sizeof(bytes), 0);

		assert_true(n > 0);
		text_add(body, bytes, (size_t)n);
		left -= (size_t)n;
		if (server->breaks[turn])
			return;
	}
}

/* Returns a connection with a POST, or -1 after shutdown of the listener. */
static int accept_rows(struct server *server)
{
	char bytes[4096] = "";
	const char *answer = server->description != NULL ? server->description : OK;

	while (true) {
		int fd = accept(server->listener, NULL, NULL);

		if (fd < 0 || recv(fd, bytes, 4, MSG_PEEK | MSG_WAITALL) < 4 ||
			strncmp(bytes, "GET ", 4) != 0)
			return fd;
		for (size_t len = 0; strstr(bytes, "\r\n\r\n") == NULL; len++)
			assert_int_equal(recv(fd, bytes + len, 1, 0), 1);
		assert_non_null(strstr(bytes,
			"GET /?query=DESCRIBE%20TABLE%20d.flows%20FORMAT%20TabSeparated HTTP"));
		assert_int_equal(length_in(bytes), 0);
		server->described++;
		(void)send(fd, answer, strlen(answer), MSG_NOSIGNAL);
		close(fd);
		memset(bytes, 0, sizeof(bytes));
	}
}

static void *serve(void *arg)
{
	const struct linger abort = {.l_onoff = 1};
	struct server *server = arg;

	for (uint32_t turn = 0; turn < ANSWERS && server->answers[turn] != NULL; turn++) {
		const char *answer = server->answers[turn];
		int fd = accept_rows(server);

		if (fd < 0) /* no such request */
			break;
		take_request(server, turn, fd);
		if (server->breaks[turn])
			setsockopt(fd, SOL_SOCKET, SO_LINGER, &abort, sizeof(abort));
		else
			(void)send(fd, answer, strlen(answer), MSG_NOSIGNAL);
		while (server->floods && send(fd, answer, strlen(answer), MSG_NOSIGNAL) > 0)
			;
		close(fd);
	}
	return NULL;
}

static void start_both(struct server *server, struct sender *sender)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(at);

	server->listener = socket(AF_INET, SOCK_STREAM, 0);
	assert_true(server->listener >= 0);
	assert_int_equal(bind(server->listener, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(server->listener, 5), 0);
	assert_int_equal(getsockname(server->listener, (struct sockaddr *)&at, &len), 0);
	snprintf(sender->url, sizeof(sender->url), "clickhouse://127.0.0.1:%u/d.flows",
		ntohs(at.sin_port));
	assert_int_equal(pthread_create(&server->thread, NULL,
				 server->serve != NULL ? server->serve : serve, server),
		0);
	start(sender);
}

static struct report_delivery stop_both(struct server *server, struct sender *sender)
{
	struct report_delivery delivery;

	sink_queue_settle(sender->sink_queue);
	delivery = stop(sender);
	shutdown(server->listener, SHUT_RDWR);
	pthread_join(server->thread, NULL);
	close(server->listener);
	return delivery;
}

static void assert_rows(const struct server *server, uint32_t turn, uint32_t n)
{
	static const char begin[] = "POST /?query=INSERT%20INTO%20d.flows%20FORMAT%20JSONEachRow&";
	struct text rows = rows_of(&format_json, n, false);

	assert_memory_equal(server->requests[turn], begin, sizeof(begin) - 1);
	assert_int_equal(server->bodies[turn].len, rows.len);
	assert_memory_equal(server->bodies[turn].data, rows.data, rows.len);
	text_free(&rows);
}

static void free_bodies(struct server *server)
{
	for (uint32_t turn = 0; turn < ANSWERS; turn++)
		text_free(&server->bodies[turn]);
}

static void test_urls(void **state)
{
	static const char *const urls[] = {
		"clickhouse://a/t", "ClickHouse://[::1]:1/d_1.T_2", "clickhouses://a:1/t", NULL};
	static const char *const bad[] = {"clickhouse://", "clickhouse://a", "clickhouse://a/",
		"clickhouse:///t", "clickhouse://a:0/t", "clickhouse://a/t/u", "clickhouse://a/t.",
		"clickhouse://a/.t", "clickhouse://a/1", "clickhouse://a/a.b.c",
		"clickhouse://a/t%20", "clickhouse://a/t;x", "clickhouse://u@a/t",
		"clickhouse://u:p@a/t", "clickhouses://a/t?x", "clickhouse://a?b/t",
		"clickhouse://a#/t", NULL};

	(void)state;
	assert_urls(urls, true);
	assert_urls(bad, false);
	assert_json_alone(urls);
}

static void test_written(void **state)
{
	struct server server = {.answers = {OK, OK}};
	struct report_delivery delivery;
	struct sender sender = {0};

	(void)state;
	start_both(&server, &sender);
	push(&sender, 5000);
	push(&sender, 3);
	delivery = stop_both(&server, &sender);
	assert_int_equal(delivery.acknowledged, 5003);
	assert_int_equal(delivery.bytes, server.bodies[0].len + server.bodies[1].len);
	assert_int_equal(delivery.retries, 0);
	assert_int_equal(warnings + notices, 0);
	assert_rows(&server, 0, 5000);
	assert_rows(&server, 1, 3);
	free_bodies(&server);
}

/* Returns the token of a request, which the caller frees. has: the request must have one. */
static char *token_in(const struct server *server, uint32_t turn, bool has)
{
	static const char name[] = "&insert_deduplication_token=";
	const char *at = strstr(server->requests[turn], name);

	assert_int_equal(at != NULL, has);
	return at != NULL ? strndup(at + sizeof(name) - 1, strcspn(at + sizeof(name) - 1, "& "))
			  : NULL;
}

static void assert_tokens(const struct server *server, uint32_t a, uint32_t b, bool same)
{
	char *one = token_in(server, a, true), *other = token_in(server, b, true);

	assert_true(strlen(one) > 16);
	assert_int_equal(strcmp(one, other) == 0, same);
	free(one);
	free(other);
}

/* A retry has the same token; other rows have a different one. */
static void test_tokens(void **state)
{
	struct server server = {
		.answers = {"HTTP/1.1 504 Gateway Timeout\r\nContent-Length: 0\r\n\r\n", OK, OK},
	};
	struct report_delivery delivery;
	struct sender sender = {.second = SHORT_SECOND};

	(void)state;
	start_both(&server, &sender);
	push(&sender, 100);
	push(&sender, 101);
	delivery = stop_both(&server, &sender);
	assert_int_equal(delivery.acknowledged, 201);
	assert_tokens(&server, 0, 1, true);
	assert_tokens(&server, 0, 2, false);
	free_bodies(&server);
}

/*
 * A server that does not support the settings gets the rows without them, and later requests omit
 * them.
 */
static void test_a_server_without_tokens(void **state)
{
	struct server server = {
		.answers = {"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 66\r\n\r\n"
			    "Code: 115, DB::Exception: Unknown setting wait_for_async_insert,.\n",
			"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 71\r\n\r\n"
			"Code: 115, DB::Exception: Unknown setting "
			"insert_deduplication_token,.\n",
			OK, OK},
	};
	struct report_delivery delivery;
	struct sender sender = {0};

	(void)state;
	start_both(&server, &sender);
	push(&sender, 10);
	push(&sender, 20);
	delivery = stop_both(&server, &sender);
	assert_int_equal(delivery.acknowledged, 30);
	assert_int_equal(delivery.retries, 0);
	assert_int_equal(warnings + notices, 0);
	free(token_in(&server, 0, true));
	free(token_in(&server, 1, true));
	token_in(&server, 2, false);
	token_in(&server, 3, false);
	for (uint32_t turn = 0; turn < 4; turn++)
		assert_int_equal(strstr(server.requests[turn], "wait_for_async_insert=1") != NULL,
			turn == 0);
	assert_rows(&server, 2, 10);
	assert_rows(&server, 3, 20);
	free_bodies(&server);
}

/* Rows that cannot be written fail permanently; later rows do not. */
static void test_refused(void **state)
{
	struct server server = {
		.answers = {"HTTP/1.1 404 Not Found\r\nContent-Length: 26\r\n\r\n"
			    "Code: 60, no such table\n\n\n",
			"HTTP/1.1 301 Moved\r\nLocation: http://127.0.0.1:1/\r\n"
			"Content-Length: 0\r\n\r\n",
			OK},
	};
	struct report_delivery delivery;
	struct sender sender = {0};

	(void)state;
	start_both(&server, &sender);
	push(&sender, 10);
	push(&sender, 20);
	push(&sender, 40);
	delivery = stop_both(&server, &sender);
	assert_int_equal(delivery.failed, 30);
	assert_int_equal(delivery.acknowledged, 40);
	assert_int_equal(delivery.retries, 0);
	assert_int_equal(warnings, 1);
	assert_int_equal(notices, 1);
	assert_non_null(strstr(last_notice, ": resumed; 30 rows were lost"));
	free_bodies(&server);
}

/* With a spool, rows wait until the server admits them; invalid rows fail. */
static void test_refused_with_a_spool(void **state)
{
	static const char *const closed[] = {
		"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 403 Forbidden\r\nContent-Length: 16\r\n\r\nCode: 516, who?\n",
		"HTTP/1.1 404 Not Found\r\nContent-Length: 9\r\n\r\nCode: 60\n",
		"HTTP/1.1 500 Error\r\nContent-Length: 10\r\n\r\nCode: 497\n",
		"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 301 Moved\r\nLocation: /\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 400 Bad Request\r\nContent-Length: 18\r\n\r\nThis port is HTTPS",
		"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n",
	};

	(void)state;
	for (size_t c = 0; c < sizeof(closed) / sizeof(closed[0]); c += 2) {
		struct server server = {
			.answers = {closed[c], closed[c + 1], OK,
				"HTTP/1.1 400 Bad Request\r\nContent-Length: 9\r\n\r\n"
				"Code: 27\n"},
		};
		struct sender sender = {.second = SHORT_SECOND, .spools = true};
		struct report_delivery delivery;

		start_both(&server, &sender);
		push(&sender, 100);
		push(&sender, 1);
		wait_for_fates(&sender, 101);
		delivery = stop_both(&server, &sender);
		assert_int_equal(delivery.acknowledged, 100);
		assert_int_equal(delivery.failed, 1);
		assert_int_equal(delivery.retries, 2);
		assert_int_equal(warnings, 2); /* one for waiting rows and one for lost rows */
		assert_int_equal(notices, 1);
		for (uint32_t turn = 0; turn < 3; turn++)
			assert_rows(&server, turn, 100);
		free_bodies(&server);
	}
}

/* A temporary error: the same bytes are sent again. */
static void test_busy(void **state)
{
	struct server server = {
		.answers = {"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 30\r\n\r\n"
			    "Code: 252, too many parts now\n",
			OK},
	};
	struct report_delivery delivery;
	struct sender sender = {.second = SHORT_SECOND};

	(void)state;
	start_both(&server, &sender);
	push(&sender, 100);
	delivery = stop_both(&server, &sender);
	assert_int_equal(delivery.acknowledged, 100);
	assert_int_equal(delivery.retries, 1);
	assert_int_equal(warnings, 1);
	assert_int_equal(notices, 1);
	assert_rows(&server, 0, 100);
	assert_rows(&server, 1, 100);
	free_bodies(&server);
}

/* Temporary errors: rows wait, and the same bytes are sent again. */
static void test_passing_errors(void **state)
{
	static const char *const passing[] = {
		"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 500 Error\r\nContent-Length: 25\r\n\r\nCode: 243, disk is full..",
		"HTTP/1.1 500 Error\r\nContent-Length: 24\r\n\r\nCode: 201, quota is over",
		"HTTP/1.1 500 Error\r\nContent-Length: 25\r\n\r\nCode: 394, was cancelled.",
		"HTTP/1.1 500 Error\r\nContent-Length: 25\r\n\r\nCode: 1001, disk is full.",
		/* A proxy or another server instead of ClickHouse. */
		"HTTP/1.1 200 OK\r\nContent-Length: 25\r\n\r\n<html>Please log in</html>",
	};

	(void)state;
	for (size_t p = 0; p < sizeof(passing) / sizeof(passing[0]); p++) {
		struct server server = {.answers = {passing[p], OK}};
		struct sender sender = {.second = SHORT_SECOND};
		struct report_delivery delivery;

		start_both(&server, &sender);
		push(&sender, 10);
		delivery = stop_both(&server, &sender);
		assert_int_equal(delivery.acknowledged, 10);
		assert_int_equal(delivery.retries, 1);
		assert_rows(&server, 0, 10);
		assert_rows(&server, 1, 10);
		free_bodies(&server);
	}
}

/* Rows are sent again after each of these replies, which are incomplete or report an exception. */
static void test_answers_that_are_none(void **state)
{
	static const char *const none[] = {
		"HTTP/1.1 200 OK\r\nX-ClickHouse-Progress: {\"read_rows\":\"5\"}\r\nX-Click",
		"HTTP/1.1 200 OK\r\nX-ClickHouse-Progress: {\"read_rows\":\"5\"}\r\n",
		"HTTP/1.1 200 OK\r\n",
		"HTTP/1.1 200",
		"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-Trailer: 1\r\n",
		"HTTP/1.1 100 Continue\r\n\r\n",
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nX-A: 1\r\n",
		"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 206 Partial Content\r\nContent-Length: 0\r\n\r\n",
		/* Exceptions after the status was sent. */
		"HTTP/1.1 200 OK\r\nx-clickhouse-exception-code: 241\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 200 OK\r\nX-ClickHouse-Exception: disk\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"
		"X-ClickHouse-Exception-Code: 243\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"
		"X-ClickHouse-Exception: too late\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
		"24\r\nCode: 241. DB::Exception: no memory.\r\n0\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 30\r\n\r\n\r\n__exception__\r\nCode: 1002, o",
	};

	(void)state;
	for (size_t a = 0; a < sizeof(none) / sizeof(none[0]); a++)
		for (uint32_t spools = 0; spools < 2; spools++) {
			struct server server = {.answers = {none[a], OK}};
			struct sender sender = {.second = SHORT_SECOND, .spools = spools};
			struct report_delivery delivery;

			start_both(&server, &sender);
			push(&sender, 10);
			wait_for_fates(&sender, 10);
			delivery = stop_both(&server, &sender);
			if (delivery.acknowledged != 10 || delivery.retries != 1)
				fail_msg("%lu acknowledged after %lu retries: %s",
					delivery.acknowledged, delivery.retries, none[a]);
			assert_rows(&server, 0, 10);
			assert_rows(&server, 1, 10);
			free_bodies(&server);
		}
}

/* A reply may end with the connection, and have any headers. */
static void test_answers_that_are_whole(void **state)
{
	static const char *const whole[] = {
		"HTTP/1.1 200 OK\r\n\r\n",
		"HTTP/1.0 200 OK\r\nServer: x\r\n\r\n",
		"HTTP/1.1 100 Continue\r\n\r\n" OK,
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"
		"X-ClickHouse-Progress: {}\r\nX-ClickHouse-Exception-Tag: abc\r\n\r\n0\r\n\r\n",
		"HTTP/1.1 200 OK\r\nX-ClickHouse-Exception-Code: 0\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 204 No Content\r\n\r\n",
	};

	(void)state;
	for (size_t a = 0; a < sizeof(whole) / sizeof(whole[0]); a++) {
		struct server server = {.answers = {whole[a]}};
		struct sender sender = {.second = SHORT_SECOND};
		struct report_delivery delivery;

		start_both(&server, &sender);
		push(&sender, 10);
		delivery = stop_both(&server, &sender);
		assert_int_equal(delivery.acknowledged, 10);
		assert_int_equal(delivery.retries, 0);
		free_bodies(&server);
	}
}

/* A server that replies before it has all rows has not written them. */
static void test_early_answer(void **state)
{
	struct server server = {.answers = {OK, OK}, .early = {true}};
	struct sender sender = {.second = SHORT_SECOND};
	struct report_delivery delivery;

	(void)state;
	start_both(&server, &sender);
	push(&sender, 50000);
	delivery = stop_both(&server, &sender);
	assert_int_equal(delivery.acknowledged, 50000);
	assert_int_equal(delivery.retries, 1);
	assert_rows(&server, 1, 50000);
	free_bodies(&server);
}

/* --- Single rows that the server refuses */

#define JUDGED_MAX 20000

static const char no_value[] = "HTTP/1.1 400 Bad Request\r\nContent-Length: 41\r\n\r\n"
			       "Code: 27. DB::Exception: no value at row.";
static const char too_large[] = "HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n";

/* A server that refuses requests with a bad row, or with too many rows. */
static struct judge {
	bool bad[JUDGED_MAX];
	uint32_t max;               /* maximum rows per request; 0: no limit */
	uint32_t taken[JUDGED_MAX]; /* how often each row was accepted */
	uint32_t requests;
} judge;

/* Returns the number of a row: its packets minus one. */
static uint32_t row_of(const char *row)
{
	const char *packets = strstr(row, "\"packets\":");

	assert_non_null(packets);
	return (uint32_t)strtoul(packets + 10, NULL, 10) - 1;
}

static const char *judge_rows(struct text *body)
{
	uint32_t rows[JUDGED_MAX], n = 0;
	bool bad = false;

	text_char(body, '\0');
	for (const char *row = body->data; *row != '\0'; row = strchr(row, '\n') + 1) {
		rows[n] = row_of(row);
		bad |= judge.bad[rows[n++]];
	}
	judge.requests++;
	if (judge.max > 0 && n > judge.max)
		return too_large;
	if (bad)
		return no_value;
	for (uint32_t r = 0; r < n; r++)
		judge.taken[rows[r]]++;
	return OK;
}

static void *serve_by_judge(void *arg)
{
	struct server *server = arg;
	int fd;

	while ((fd = accept_rows(server)) >= 0) {
		const char *answer;

		memset(server->requests[0], 0, sizeof(server->requests[0]));
		text_clear(&server->bodies[0]);
		take_request(server, 0, fd);
		answer = judge_rows(&server->bodies[0]);
		(void)send(fd, answer, strlen(answer), MSG_NOSIGNAL);
		close(fd);
	}
	return NULL;
}

/* Each good row is written once, and each bad row fails. */
static struct report_delivery send_judged(uint32_t n, bool spools)
{
	struct server server = {.serve = serve_by_judge};
	struct sender sender = {.second = SHORT_SECOND, .spools = spools};
	struct report_delivery delivery;
	uint32_t bad = 0;

	start_both(&server, &sender);
	push(&sender, n);
	wait_for_fates(&sender, n);
	delivery = stop_both(&server, &sender);
	for (uint32_t row = 0; row < n; row++) {
		assert_int_equal(judge.taken[row], judge.bad[row] ? 0 : 1);
		bad += judge.bad[row];
	}
	assert_int_equal(delivery.failed, bad);
	assert_int_equal(delivery.acknowledged, n - bad);
	assert_int_equal(delivery.retries, judge.requests - 1);
	assert_int_equal(warnings, bad > 0);
	free_bodies(&server);
	return delivery;
}

static void test_rows_refused_among_others(void **state)
{
	static const uint32_t bad[][4] = {
		{0, 0, 0, 0}, {999, 999, 999, 999}, {0, 499, 500, 999}, {7, 8, 9, 10}};

	(void)state;
	for (size_t b = 0; b < sizeof(bad) / sizeof(bad[0]); b++)
		for (uint32_t spools = 0; spools < 2; spools++) {
			judge = (struct judge){0};
			for (uint32_t i = 0; i < 4; i++)
				judge.bad[bad[b][i]] = true;
			send_judged(1000, spools);
			assert_true(judge.requests <= 1 + 4 * 2 * 10);
		}
}

static void test_all_rows_refused(void **state)
{
	(void)state;
	for (uint32_t n = 1; n < 40; n += 6) {
		judge = (struct judge){0};
		memset(judge.bad, true, sizeof(judge.bad));
		send_judged(n, n % 4 == 1);
		assert_int_equal(judge.requests, 2 * n - 1);
	}
}

/* A request that is too long for the server or a proxy. */
static void test_too_many_rows(void **state)
{
	(void)state;
	judge = (struct judge){.max = 100};
	send_judged(1000, false);
	assert_int_equal(judge.requests, 15 + 16);
	judge = (struct judge){.max = 1};
	send_judged(99, true);
}

/* With too many refusals, the remaining parts fail as a whole; with a spool they wait. */
static void test_too_many_refusals(void **state)
{
	struct server server = {.serve = serve_by_judge};
	struct sender sender = {.second = SHORT_SECOND, .spools = true};

	(void)state;
	judge = (struct judge){0};
	memset(judge.bad, true, sizeof(judge.bad));
	send_judged(2 * SINK_REFUSALS_MAX, false);
	assert_true(judge.requests < 3 * SINK_REFUSALS_MAX);

	judge.requests = 0;
	start_both(&server, &sender);
	push(&sender, 2 * SINK_REFUSALS_MAX);
	while (judge.requests < SINK_REFUSALS_MAX || warnings < 2)
		usleep(1000);
	assert_true(sender.delivery->failed == 0);
	memset(judge.bad, false, sizeof(judge.bad)); /* the table was repaired */
	wait_for_fates(&sender, 2 * SINK_REFUSALS_MAX);
	assert_true(sender.delivery->failed <= SINK_REFUSALS_MAX);
	stop_both(&server, &sender);
	free_bodies(&server);
}

/* --- Columns */

#define LISTED                                                                                     \
	"HTTP/1.1 200 OK\r\n\r\n" /* the column list follows, up to the end of the connection */

/* Returns the columns that a run with many_flows() sends, except one, as the server lists them. */
static char *list_without(const char *without)
{
	const struct sink_request request = request_of("");
	struct column_choice choice = request.choice;
	struct text list = {0};
	struct columns *columns;

	choice.sink = choice.named = true;
	columns = columns_of(&output_flows, &choice);
	assert_non_null(columns);
	text_str(&list, LISTED "more\tString\t\t\t\n");
	for (uint32_t c = 0; c < columns->n; c++)
		if (without == NULL || strcmp(columns->list[c].name, without) != 0)
			text_printf(&list, "%s\tAny\t\t\t\n", columns->list[c].name);
	text_char(&list, '\0');
	free(columns);
	return list.data;
}

/* Opens a sink whose server lists these columns. */
static int open_listed(const char *description, char *why)
{
	struct server server = {.description = description};
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(at);
	struct sink_request request;
	struct sink *sink;
	char url[64];
	int status;

	server.answers[0] = OK; /* makes it wait for a request with rows */
	server.listener = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(bind(server.listener, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(server.listener, 5), 0);
	assert_int_equal(getsockname(server.listener, (struct sockaddr *)&at, &len), 0);
	snprintf(url, sizeof(url), "clickhouse://127.0.0.1:%u/d.flows", ntohs(at.sin_port));
	server.serve = serve_by_judge;
	assert_int_equal(pthread_create(&server.thread, NULL, server.serve, &server), 0);
	request = request_of(url);
	sink = sink_create(&request, 0, &sink_log);
	assert_non_null(sink);
	status = sink_open(sink, false, why);
	sink_free(sink);
	shutdown(server.listener, SHUT_RDWR);
	pthread_join(server.thread, NULL);
	close(server.listener);
	assert_int_equal(server.described, 1);
	return status;
}

/* Before a run sends rows: the table has all columns, or the statement that adds them is shown. */
static void test_columns_before_rows(void **state)
{
	static const struct {
		const char *without, *adds;
	} cases[] = {
		{NULL, NULL},
		{"ingress", "ADD COLUMN ingress String"},
		{"host", "ADD COLUMN host String"},
		{"packets", "ADD COLUMN packets Nullable(UInt64)"},
		{"last", "ADD COLUMN last Nullable(DateTime)"},
		{"epoch", "ADD COLUMN epoch Nullable(UInt64)"},
	};
	char why[SINK_ERROR_MAX], expected[256];

	(void)state;
	for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		char *list = list_without(cases[c].without);

		assert_int_equal(open_listed(list, why), cases[c].without != NULL);
		free(list);
		if (cases[c].without == NULL)
			continue;
		snprintf(expected, sizeof(expected),
			"the table lacks columns of these rows; run ALTER TABLE d.flows %s",
			cases[c].adds);
		assert_string_equal(why, expected);
	}
	/* More than fits in a line. */
	assert_int_equal(open_listed(LISTED "other\tString\t\t\t\n", why), 1);
	assert_non_null(strstr(why, "ADD COLUMN epoch Nullable(UInt64), ADD COLUMN measurement "
				    "String, ADD COLUMN start Nullable(DateTime)"));
	assert_non_null(strstr(why, " more"));
}

/* A server that lists no columns refuses rows with missing columns when they arrive. */
static void test_columns_not_listed(void **state)
{
	static const char *const answers[] = {
		OK,
		"HTTP/1.1 404 Not Found\r\n\r\nCode: 60. DB::Exception: no\ttable\n",
		"HTTP/1.1 500 Error\r\n\r\nCode: 497. DB::Exception: not allowed\n",
		"HTTP/1.1 501 Not Implemented\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 200 OK\r\n\r\n<html>Please\tlog in</html",
		"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nepoch\tUInt64\t\t\n",
		"HTTP/1.1 200 OK\r\n\r\nepoch\tUInt64\t\t\t\nCode: 241. DB::Exception: no\n",
		"HTTP/1.1 200",
	};
	char why[SINK_ERROR_MAX];

	(void)state;
	for (size_t a = 0; a < sizeof(answers) / sizeof(answers[0]); a++)
		assert_int_equal(open_listed(answers[a], why), 0);
}

/* A server that refuses rows because of a column: they wait with a spool and fail without. */
static void test_columns_with_rows(void **state)
{
	static const char lacks[] =
		"HTTP/1.1 400 Bad Request\r\n\r\nCode: 117. DB::Exception: Unknown field found "
		"while parsing JSONEachRow format: ended: (at row 1)\n";
	char *list = list_without("ended");

	(void)state;
	for (uint32_t spools = 0; spools < 2; spools++) {
		struct server server = {.answers = {lacks, OK, OK}};
		struct sender sender = {.second = SHORT_SECOND, .spools = spools};
		struct report_delivery delivery;

		start_both(&server, &sender);
		server.description = list;
		push(&sender, 10);
		push(&sender, 20);
		wait_for_fates(&sender, 30);
		delivery = stop_both(&server, &sender);
		assert_int_equal(delivery.acknowledged, spools ? 30 : 20);
		assert_int_equal(delivery.failed, spools ? 0 : 10);
		assert_int_equal(server.described, 2);
		assert_int_equal(warnings, 1);
		assert_non_null(
			strstr(last_warning, "run ALTER TABLE d.flows ADD COLUMN ended String; "));
		assert_null(strstr(server.requests[0], "skip_unknown_fields=1"));
		free_bodies(&server);
	}
	free(list);
}

/* --- Tables shipped with the program */

/* Returns the columns of CREATE TABLE, in memory of malloc(). */
static char *definition_of(const char *file, const char *table)
{
	char path[512], head[128], *text = calloc(1, 1 << 20), *at, *end;
	FILE *stream;

	snprintf(path, sizeof(path), CONFIG_EXAMPLES "/clickhouse/%s", file);
	stream = fopen(path, "r");
	assert_non_null(stream);
	assert_true(fread(text, 1, (1 << 20) - 1, stream) > 0);
	fclose(stream);
	snprintf(head, sizeof(head), "CREATE TABLE IF NOT EXISTS %s\n(\n", table);
	at = strstr(text, head);
	assert_non_null(at);
	at += strlen(head) - 1; /* each column starts a line */
	end = strstr(at, "\n)\n");
	assert_non_null(end);
	memmove(text, at, (size_t)(end - at) + 1);
	text[end - at + 1] = '\0';
	return text;
}

/* Returns the type of a column. Fails if it is missing. */
static const char *find_type(
	const char *definition, const char *table, const char *name, char *type)
{
	char begin[64];
	const char *at;

	snprintf(begin, sizeof(begin), "\n    %s ", name);
	at = strstr(definition, begin);
	if (at == NULL)
		fail_msg("%s lacks %s", table, name);
	snprintf(type, 64, "%.*s", (int)strcspn(at + strlen(begin), ",\n"), at + strlen(begin));
	return type;
}

static bool has_name(const struct columns *columns, const char *name)
{
	for (uint32_t c = 0; c < columns->n; c++)
		if (strcmp(columns->list[c].name, name) == 0)
			return true;
	return false;
}

/* Returns true if the ledger of a capture that lost lengths has no such figure. */
static bool may_be_unknown(const char *name)
{
	const struct ledger ledger = {.missing_bytes = 1};

	for (uint32_t c = 0; c < LEDGER_COLUMNS; c++)
		if (strcmp(ledger_columns[c].name, name) == 0)
			return !ledger_column_known(&ledger, c);
	return false;
}

/*
 * The table has each possible column of these rows, with a type that fits its values, also NULL if
 * the value can be unknown or depends on the measurement. always: columns that all rows have.
 */
static void check_table(const struct output *output, const char *file, const char *table,
	bool topic, const struct columns *always)
{
	const struct column_choice every = column_choice_every(COLUMN_NAMES_OURS);
	struct columns *columns = columns_of(output, &every);
	char *definition = definition_of(file, table), type[64], bare[64];
	uint32_t n = 0;

	assert_non_null(columns);
	for (uint32_t c = 0; c < columns->n; c++) {
		const struct column *column = &columns->list[c];
		bool time = column->type == COLUMN_TIME, number = column_is_number(column);
		bool real = column->type == COLUMN_RATIO || column->type == COLUMN_EXACT ||
			    column->type == COLUMN_FRACTION;
		bool nullable;

		find_type(definition, table, column->name, type);
		nullable = strncmp(type, "Nullable(", 9) == 0;
		snprintf(bare, sizeof(bare), "%s", nullable ? type + 9 : type);
		bare[strcspn(bare, ")")] = '\0';
		if (real         ? strcmp(bare, "Float64") != 0
			: number ? strncmp(bare, "UInt", 4) != 0
				 : strcmp(bare, time && !topic ? "DateTime" : "String") != 0)
			fail_msg("%s: %s is %s", table, column->name, type);
		if (!nullable && (number || time) &&
			(column->known != 0 || !has_name(always, column->name) ||
				(output == &output_stats && may_be_unknown(column->name))))
			fail_msg("%s: %s can have no value and is %s", table, column->name, type);
	}
	for (const char *at = strchr(definition, '\n'); at != NULL; at = strchr(at + 1, '\n'))
		n += at[1] == ' ';
	assert_int_equal(n, columns->n);
	free(definition);
	free(columns);
}

/* The view from a topic into its table has all columns. */
static void check_view(const struct output *output, const char *view)
{
	const struct column_choice every = column_choice_every(COLUMN_NAMES_OURS);
	struct columns *columns = columns_of(output, &every);
	char *text = calloc(1, 1 << 20), *at;
	FILE *stream = fopen(CONFIG_EXAMPLES "/clickhouse/kafka.sql", "r");

	assert_non_null(stream);
	assert_true(fread(text, 1, (1 << 20) - 1, stream) > 0);
	fclose(stream);
	at = strstr(text, view);
	assert_non_null(at);
	*strchr(at, ';') = '\0';
	for (uint32_t c = 0; c < columns->n; c++) {
		const char *name = columns->list[c].name, *found = at;
		size_t len = strlen(name);
		bool there = false;

		while (!there && (found = strstr(found, name)) != NULL) {
			there = strchr(" \n", found[-1]) != NULL &&
				strchr(",\n", found[len]) != NULL;
			found++;
		}
		if (!there)
			fail_msg("%s lacks %s", view, name);
	}
	free(text);
	free(columns);
}

static void test_tables(void **state)
{
	static const struct {
		const struct output *output;
		const char *table;
	} tables[] = {
		{&output_heavy_hitters, "heavy_hitters"},
		{&output_flows, "flows"},
		{&output_stats, "ledger"},
	};

	(void)state;
	for (size_t t = 0; t < sizeof(tables) / sizeof(tables[0]); t++) {
		/* Without --overload and exporters, no packet is skipped or counted twice. */
		const struct column_choice least = {
			.sink = true,
			.named = true,
			.kept_up = tables[t].output == &output_stats,
			.collected = tables[t].output == &output_stats,
		};
		struct columns *always = columns_of(tables[t].output, &least);
		char name[64];

		assert_non_null(always);
		check_table(tables[t].output, "tables.sql", tables[t].table, false, always);
		snprintf(name, sizeof(name), "%s_topic", tables[t].table);
		check_table(tables[t].output, "kafka.sql", name, true, always);
		snprintf(name, sizeof(name), "%s_from_topic", tables[t].table);
		check_view(tables[t].output, name);
		free(always);
	}
}

/* A proxy that timed out, and then no server: the rows may have been written. */
static void test_doubt(void **state)
{
	struct server server = {
		.answers = {"HTTP/1.1 504 Gateway Timeout\r\nContent-Length: 0\r\n\r\n"},
	};
	struct report_delivery delivery;
	struct sender sender = {.second = SHORT_SECOND};

	(void)state;
	start_both(&server, &sender);
	push(&sender, 9);
	pthread_join(server.thread, NULL);
	close(server.listener);
	delivery = stop(&sender);
	assert_int_equal(delivery.unknown, 9);
	free_bodies(&server);
}

/*
 * The server closes the connection, answers something other than HTTP, or never ends its reply: the
 * result is unknown.
 */
static void test_broken(void **state)
{
	struct server server = {
		.answers = {OK, "\x01\x02 noise\r\n", "", OK},
		.breaks = {true},
	};
	struct server flood = {
		.answers = {"HTTP/1.1 200 OK\r\n\r\nmore and more and more and more\n"},
		.floods = true,
	};
	struct report_delivery delivery;
	struct sender sender = {.second = SHORT_SECOND};

	(void)state;
	start_both(&server, &sender);
	push(&sender, 20000);
	push(&sender, 1);
	delivery = stop_both(&server, &sender);
	assert_int_equal(delivery.unknown, 20000);
	assert_int_equal(delivery.acknowledged, 1);
	assert_int_equal(delivery.retries, 2);
	free_bodies(&server);
	start_both(&flood, &sender);
	push(&sender, 7);
	pthread_join(flood.thread, NULL);
	close(flood.listener);
	delivery = stop(&sender);
	assert_int_equal(delivery.unknown, 7);
	free_bodies(&flood);
}

/* Answers one request, reads another if there is one, and closes. */
static void *serve_once(void *arg)
{
	struct server *server = arg;
	int fd = accept_rows(server);
	char byte;

	assert_true(fd >= 0);
	close(server->listener);
	take_request(server, 0, fd);
	(void)send(fd, OK, strlen(OK), MSG_NOSIGNAL);
	if (recv(fd, &byte, 1, MSG_PEEK) == 1)
		take_request(server, 1, fd);
	close(fd);
	return NULL;
}

/* Rows that the server received must not count as failed. */
static void test_gone(void **state)
{
	struct server server = {.serve = serve_once};
	struct sender sender = {.second = SHORT_SECOND};
	struct report_delivery delivery;

	(void)state;
	start_both(&server, &sender);
	push(&sender, 5);
	sink_queue_settle(sender.sink_queue);
	push(&sender, 7);
	delivery = stop(&sender);
	pthread_join(server.thread, NULL);
	assert_int_equal(delivery.acknowledged, 5);
	assert_int_equal(delivery.unknown, server.bodies[1].len > 0 ? 7 : 0);
	assert_int_equal(delivery.failed, server.bodies[1].len > 0 ? 0 : 7);
	free_bodies(&server);
}

/* The server is busy until the next retry would be after the end of the run, and then available. */
static void test_back_at_the_end(void **state)
{
	static const char busy[] = "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n";
	struct server server = {.answers = {busy, busy, busy, busy, OK}};
	struct report_delivery delivery;
	struct sender sender = {.second = 4 * SHORT_SECOND};

	(void)state;
	start_both(&server, &sender);
	push(&sender, 5);
	while (sender.delivery->retries < 3)
		usleep(1000);
	usleep(100000);
	delivery = stop(&sender);
	pthread_join(server.thread, NULL);
	close(server.listener);
	assert_int_equal(delivery.acknowledged, 5);
	assert_int_equal(delivery.retries, 4);
	free_bodies(&server);
}

/*
 * A server that never reads, at the end of the run: the wait is bounded, and rows that it may have
 * are unknown.
 */
static void test_frozen(void **state)
{
	struct sender sender = {.second = SHORT_SECOND};
	struct server server = {0}; /* never accepts a connection */
	struct report_delivery delivery;

	(void)state;
	start_both(&server, &sender);
	push(&sender, 500);
	push(&sender, 2);
	delivery = stop(&sender);
	pthread_join(server.thread, NULL);
	close(server.listener);
	assert_int_equal(delivery.unknown, 500);
	assert_int_equal(delivery.failed, 2);
}

/* The server must accept the user before any rows are sent. */
static void test_required(void **state)
{
	static const char refusal[] = "HTTP/1.1 403 Forbidden\r\nContent-Length: 16\r\n\r\n"
				      "Code: 516, who?\n";
	static const char query[] = "SELECT 1 FORMAT Null";
	struct server server = {.answers = {OK, OK}}, other = {.answers = {OK, refusal}};
	struct sender sender = {.require = true};
	struct report_delivery delivery;
	char why[SINK_ERROR_MAX] = "";
	struct sink_request request;
	struct sink *sink;

	(void)state;
	start_both(&server, &sender);
	push(&sender, 5);
	delivery = stop_both(&server, &sender);
	assert_int_equal(delivery.acknowledged, 5);
	assert_memory_equal(server.requests[0], "POST / HTTP", 11);
	assert_int_equal(server.bodies[0].len, strlen(query));
	assert_memory_equal(server.bodies[0].data, query, strlen(query));
	assert_rows(&server, 1, 5);
	free_bodies(&server);

	start_both(&other, &sender);
	request = request_of(sender.url);
	sink = sink_create(&request, 0, &sink_log);
	assert_non_null(sink);
	assert_int_equal(sink_open(sink, true, why), 1);
	assert_string_equal(why, "HTTP 403: Code: 516, who?; start it, or omit require");
	sink_free(sink);
	stop_both(&other, &sender);
	free_bodies(&other);
	sink = sink_create(&request, 0, &sink_log);
	assert_int_equal(sink_open(sink, true, why), 1);
	assert_non_null(strstr(why, "onnect"));
	sink_free(sink);
}

static void test_nobody(void **state)
{
	struct sender sender = {.second = SHORT_SECOND};
	struct server server = {0};
	struct report_delivery delivery;

	(void)state;
	start_both(&server, &sender);
	pthread_join(server.thread, NULL);
	close(server.listener);
	push(&sender, 500);
	push(&sender, 2);
	delivery = stop(&sender);
	assert_int_equal(delivery.failed, 502);
	assert_int_equal(warnings, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_urls),
		cmocka_unit_test(test_written),
		cmocka_unit_test(test_tokens),
		cmocka_unit_test(test_a_server_without_tokens),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_refused_with_a_spool),
		cmocka_unit_test(test_busy),
		cmocka_unit_test(test_passing_errors),
		cmocka_unit_test(test_answers_that_are_none),
		cmocka_unit_test(test_answers_that_are_whole),
		cmocka_unit_test(test_early_answer),
		cmocka_unit_test(test_rows_refused_among_others),
		cmocka_unit_test(test_all_rows_refused),
		cmocka_unit_test(test_too_many_rows),
		cmocka_unit_test(test_too_many_refusals),
		cmocka_unit_test(test_columns_before_rows),
		cmocka_unit_test(test_columns_not_listed),
		cmocka_unit_test(test_columns_with_rows),
		cmocka_unit_test(test_tables),
		cmocka_unit_test(test_doubt),
		cmocka_unit_test(test_broken),
		cmocka_unit_test(test_gone),
		cmocka_unit_test(test_back_at_the_end),
		cmocka_unit_test(test_frozen),
		cmocka_unit_test(test_required),
		cmocka_unit_test(test_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
