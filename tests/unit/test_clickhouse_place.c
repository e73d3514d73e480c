/* SPDX-License-Identifier: BSD-3-Clause */

/* Rows to a table of ClickHouse, of a server that the test is: what it is sent, and the account, whatever it answers. */

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

/* What the server does with one request after the other, each on a connection of its own. */
struct server {
	int listener;
	const char *answers[ANSWERS]; /* NULL: there is no further request */
	bool breaks[ANSWERS];         /* the connection, after the first bytes of the rows */
	bool floods;                  /* after its answers, without an end */
	struct text bodies[ANSWERS];
	char requests[ANSWERS][4096]; /* what stood before them */
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
		ssize_t n = recv(fd, request + len, 1, 0); /* no byte of the rows */

		assert_int_equal(n, 1);
		len++;
		assert_true(len < sizeof(server->requests[0]));
	}
	for (left = length_in(request); left > 0;) {
		ssize_t n = recv(fd, bytes, left < sizeof(bytes) ? left : sizeof(bytes), 0);

		assert_true(n > 0);
		text_add(body, bytes, (size_t)n);
		left -= (size_t)n;
		if (server->breaks[turn])
			return;
	}
}

static void *serve(void *arg)
{
	const struct linger abort = {.l_onoff = 1};
	struct server *server = arg;

	for (uint32_t turn = 0; turn < ANSWERS && server->answers[turn] != NULL; turn++) {
		const char *answer = server->answers[turn];
		int fd = accept(server->listener, NULL, NULL);

		assert_true(fd >= 0);
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
	struct report_delivery account;

	outlet_settle(sender->outlet);
	account = stop(sender);
	pthread_join(server->thread, NULL);
	close(server->listener);
	return account;
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
	struct report_delivery account;
	struct sender sender = {0};

	(void)state;
	start_both(&server, &sender);
	push(&sender, 5000);
	push(&sender, 3);
	account = stop_both(&server, &sender);
	assert_int_equal(account.acknowledged, 5003);
	assert_int_equal(account.bytes, server.bodies[0].len + server.bodies[1].len);
	assert_int_equal(account.retries, 0);
	assert_int_equal(warnings + notices, 0);
	assert_rows(&server, 0, 5000);
	assert_rows(&server, 1, 3);
	free_bodies(&server);
}

/* The token of a request, which the caller frees; it has one where `has`. */
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

/* What is sent again has the token that it had, other rows have others. */
static void test_tokens(void **state)
{
	struct server server = {
		.answers = {"HTTP/1.1 504 Gateway Timeout\r\nContent-Length: 0\r\n\r\n", OK, OK},
	};
	struct report_delivery account;
	struct sender sender = {.second = SHORT_SECOND};

	(void)state;
	start_both(&server, &sender);
	push(&sender, 100);
	push(&sender, 101);
	account = stop_both(&server, &sender);
	assert_int_equal(account.acknowledged, 201);
	assert_tokens(&server, 0, 1, true);
	assert_tokens(&server, 0, 2, false);
	free_bodies(&server);
}

/* A server that does not know them gets the rows without, and is not asked again. */
static void test_a_server_without_tokens(void **state)
{
	struct server server = {
		.answers =
			{"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 71\r\n\r\n"
			 "Code: 115, DB::Exception: Unknown setting insert_deduplication_token,.\n",
				OK, OK},
	};
	struct report_delivery account;
	struct sender sender = {0};

	(void)state;
	start_both(&server, &sender);
	push(&sender, 10);
	push(&sender, 20);
	account = stop_both(&server, &sender);
	assert_int_equal(account.acknowledged, 30);
	assert_int_equal(account.retries, 0);
	assert_int_equal(warnings + notices, 0);
	free(token_in(&server, 0, true));
	token_in(&server, 1, false);
	token_in(&server, 2, false);
	assert_rows(&server, 1, 10);
	assert_rows(&server, 2, 20);
	free_bodies(&server);
}

/* What cannot be written has failed, once and for all; what comes then has not. */
static void test_refused(void **state)
{
	struct server server = {
		.answers = {"HTTP/1.1 404 Not Found\r\nContent-Length: 26\r\n\r\n"
			    "Code: 60, no such table\n\n\n",
			"HTTP/1.1 301 Moved\r\nLocation: http://127.0.0.1:1/\r\n"
			"Content-Length: 0\r\n\r\n",
			OK},
	};
	struct report_delivery account;
	struct sender sender = {0};

	(void)state;
	start_both(&server, &sender);
	push(&sender, 10);
	push(&sender, 20);
	push(&sender, 40);
	account = stop_both(&server, &sender);
	assert_int_equal(account.failed, 30);
	assert_int_equal(account.acknowledged, 40);
	assert_int_equal(account.retries, 0);
	assert_int_equal(warnings, 1);
	assert_int_equal(notices, 1);
	assert_non_null(strstr(last_notice, ": takes rows again; 30 were lost"));
	free_bodies(&server);
}

/* With a spool rows wait until somebody lets them in; what cannot be written as it is has failed. */
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
		struct report_delivery account;

		start_both(&server, &sender);
		push(&sender, 100);
		push(&sender, 20);
		wait_for_fates(&sender, 120);
		account = stop_both(&server, &sender);
		assert_int_equal(account.acknowledged, 100);
		assert_int_equal(account.failed, 20);
		assert_int_equal(account.retries, 2);
		assert_int_equal(warnings, 2); /* that rows wait, and that some are lost */
		assert_int_equal(notices, 1);
		for (uint32_t turn = 0; turn < 3; turn++)
			assert_rows(&server, turn, 100);
		free_bodies(&server);
	}
}

/* What passes: the same bytes again. */
static void test_busy(void **state)
{
	struct server server = {
		.answers = {"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 30\r\n\r\n"
			    "Code: 252, too many parts now\n",
			OK},
	};
	struct report_delivery account;
	struct sender sender = {.second = SHORT_SECOND};

	(void)state;
	start_both(&server, &sender);
	push(&sender, 100);
	account = stop_both(&server, &sender);
	assert_int_equal(account.acknowledged, 100);
	assert_int_equal(account.retries, 1);
	assert_int_equal(warnings, 1);
	assert_int_equal(notices, 1);
	assert_rows(&server, 0, 100);
	assert_rows(&server, 1, 100);
	free_bodies(&server);
}

/* Errors that pass: rows wait, and come again with the same bytes. */
static void test_passing_errors(void **state)
{
	static const char *const passing[] = {
		"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 500 Error\r\nContent-Length: 25\r\n\r\nCode: 243, disk is full..",
		"HTTP/1.1 500 Error\r\nContent-Length: 24\r\n\r\nCode: 201, quota is over",
		"HTTP/1.1 500 Error\r\nContent-Length: 25\r\n\r\nCode: 394, was cancelled.",
		"HTTP/1.1 500 Error\r\nContent-Length: 25\r\n\r\nCode: 1001, disk is full.",
		/* Somebody else, before ClickHouse or in its place. */
		"HTTP/1.1 200 OK\r\nContent-Length: 25\r\n\r\n<html>Please log in</html>",
	};

	(void)state;
	for (size_t p = 0; p < sizeof(passing) / sizeof(passing[0]); p++) {
		struct server server = {.answers = {passing[p], OK}};
		struct sender sender = {.second = SHORT_SECOND};
		struct report_delivery account;

		start_both(&server, &sender);
		push(&sender, 10);
		account = stop_both(&server, &sender);
		assert_int_equal(account.acknowledged, 10);
		assert_int_equal(account.retries, 1);
		assert_rows(&server, 0, 10);
		assert_rows(&server, 1, 10);
		free_bodies(&server);
	}
}

/* A proxy that gave up, and then nobody: it may have been written. */
static void test_doubt(void **state)
{
	struct server server = {
		.answers = {"HTTP/1.1 504 Gateway Timeout\r\nContent-Length: 0\r\n\r\n"},
	};
	struct report_delivery account;
	struct sender sender = {.second = SHORT_SECOND};

	(void)state;
	start_both(&server, &sender);
	push(&sender, 9);
	pthread_join(server.thread, NULL);
	close(server.listener);
	account = stop(&sender);
	assert_int_equal(account.unknown, 9);
	free_bodies(&server);
}

/* It breaks off, answers what is no HTTP, or does not end: then nobody knows. */
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
	struct report_delivery account;
	struct sender sender = {.second = SHORT_SECOND};

	(void)state;
	start_both(&server, &sender);
	push(&sender, 20000);
	push(&sender, 1);
	account = stop_both(&server, &sender);
	assert_int_equal(account.unknown, 20000);
	assert_int_equal(account.acknowledged, 1);
	assert_int_equal(account.retries, 2);
	free_bodies(&server);
	start_both(&flood, &sender);
	push(&sender, 7);
	pthread_join(flood.thread, NULL);
	close(flood.listener);
	account = stop(&sender);
	assert_int_equal(account.unknown, 7);
	free_bodies(&flood);
}

/* Answers, hears what else comes on the connection, and is gone. */
static void *serve_once(void *arg)
{
	struct server *server = arg;
	int fd = accept(server->listener, NULL, NULL);
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

/* What it has may not be told to have failed. */
static void test_gone(void **state)
{
	struct server server = {.serve = serve_once};
	struct sender sender = {.second = SHORT_SECOND};
	struct report_delivery account;

	(void)state;
	start_both(&server, &sender);
	push(&sender, 5);
	outlet_settle(sender.outlet);
	push(&sender, 7);
	account = stop(&sender);
	pthread_join(server.thread, NULL);
	assert_int_equal(account.acknowledged, 5);
	assert_int_equal(account.unknown, server.bodies[1].len > 0 ? 7 : 0);
	assert_int_equal(account.failed, server.bodies[1].len > 0 ? 0 : 7);
	free_bodies(&server);
}

/* Too busy for so long that the next try is further away than the end has time, and not any more. */
static void test_back_at_the_end(void **state)
{
	static const char busy[] = "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n";
	struct server server = {.answers = {busy, busy, busy, busy, OK}};
	struct report_delivery account;
	struct sender sender = {.second = 4 * SHORT_SECOND};

	(void)state;
	start_both(&server, &sender);
	push(&sender, 5);
	while (sender.delivery->retries < 3)
		usleep(1000);
	usleep(100000);
	account = stop(&sender);
	pthread_join(server.thread, NULL);
	close(server.listener);
	assert_int_equal(account.acknowledged, 5);
	assert_int_equal(account.retries, 4);
	free_bodies(&server);
}

/* One that takes nothing, at the end of the run: bounded, and what it may have is unknown. */
static void test_frozen(void **state)
{
	struct sender sender = {.second = SHORT_SECOND};
	struct server server = {0}; /* it never accepts */
	struct report_delivery account;

	(void)state;
	start_both(&server, &sender);
	push(&sender, 500);
	push(&sender, 2);
	account = stop(&sender);
	pthread_join(server.thread, NULL);
	close(server.listener);
	assert_int_equal(account.unknown, 500);
	assert_int_equal(account.failed, 2);
}

/* Somebody who lets us in is there before anything is sent. */
static void test_required(void **state)
{
	static const char refusal[] = "HTTP/1.1 403 Forbidden\r\nContent-Length: 16\r\n\r\n"
				      "Code: 516, who?\n";
	static const char query[] = "SELECT 1 FORMAT Null";
	struct server server = {.answers = {OK, OK}}, other = {.answers = {OK, refusal}};
	struct sender sender = {.require = true};
	struct report_delivery account;
	char why[REMOTE_WHY_MAX] = "";
	struct remote_request request;
	struct remote *remote;

	(void)state;
	start_both(&server, &sender);
	push(&sender, 5);
	account = stop_both(&server, &sender);
	assert_int_equal(account.acknowledged, 5);
	assert_memory_equal(server.requests[0], "POST / HTTP", 11);
	assert_int_equal(server.bodies[0].len, strlen(query));
	assert_memory_equal(server.bodies[0].data, query, strlen(query));
	assert_rows(&server, 1, 5);
	free_bodies(&server);

	start_both(&other, &sender);
	request = request_of(sender.url);
	remote = remote_create(&request, 0, &voice);
	assert_non_null(remote);
	assert_int_equal(remote_open(remote, true, why), 1);
	assert_string_equal(why, "HTTP 403: Code: 516, who?");
	remote_free(remote);
	stop_both(&other, &sender);
	free_bodies(&other);
	remote = remote_create(&request, 0, &voice);
	assert_int_equal(remote_open(remote, true, why), 1);
	assert_non_null(strstr(why, "onnect"));
	remote_free(remote);
}

static void test_nobody(void **state)
{
	struct sender sender = {.second = SHORT_SECOND};
	struct server server = {0};
	struct report_delivery account;

	(void)state;
	start_both(&server, &sender);
	pthread_join(server.thread, NULL);
	close(server.listener);
	push(&sender, 500);
	push(&sender, 2);
	account = stop(&sender);
	assert_int_equal(account.failed, 502);
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
