/* SPDX-License-Identifier: BSD-3-Clause */

/* Sinks named by URLs: their texts, and rows as text to sockets of this test. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "report/sinks/socket_client.h"
#include "sender.h"

/* --- URLs */

static void test_urls(void **state)
{
	static const char *const urls[] = {"tcp://a:1", "TCP://[::1]:65535",
		"tcp://[fe80::1%eth0]:1", "unix:/run/vector.sock", "unix:rows", NULL};
	static const char *const bad[] = {"tcp://", "tcp://:1", "tcp://a", "tcp://a:", "tcp://a:0",
		"tcp://a:65536", "tcp://a:12x", "tcp://a/b", "tcp://a:1/b", "tcp://[::1",
		"tcp://[]:1", "tcp://[::1]1", "tcp://a:-1", "tcp://u@a:1", "tcp://a b:1",
		"tcp://a?b:1", "tcp://[a]b]:1", "tcp://a:000004739", "unix:", "http://a:1",
		"tpc://a:1", NULL};
	char why[SINK_ERROR_MAX], path[200] = "unix:";

	(void)state;
	assert_urls(urls, true);
	assert_urls(bad, false);
	memset(path + 5, 'p', 108);
	assert_false(sink_check(&(struct sink_request){.url = path}, why));
	assert_false(sink_is_url("flows.csv"));
	assert_false(sink_is_url("./tcp://a:1"));
	assert_false(sink_is_url("a/b://c"));
}

static void test_secrets(void **state)
{
	static const char *const urls[][2] = {
		{"clickhouse://u:p@h/t", "clickhouse://***@h/t"},
		{"tcp://u:p@x@h:1", "tcp://***@h:1"},
		{"clickhouse://h/t?password=p", "clickhouse://h/t?***"},
		{"clickhouse://u:p/p@h/t", "clickhouse://***@h/t"},
		{"clickhouse://u:p?p@h/t", "clickhouse://***"},
		{"http://://u:p@h/t", "http://***@h/t"},
		{"json:https://h/a/b", "json:https://h/a/b"},
		{"unix:/run/@a", "unix:/run/@a"},
		{"tcp://h:0", "tcp://h:0"},
	};
	char shown[SINK_SHOWN_MAX];

	(void)state;
	for (uint32_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
		sink_hide(urls[i][0], shown);
		assert_string_equal(shown, urls[i][1]);
	}
}

static void test_hosts(void **state)
{
	static const struct {
		const char *text, *host, *port;
	} good[] = {
		{"collector:4740", "collector", "4740"},
		{"collector", "collector", "4739"},
		{"10.0.0.1:1", "10.0.0.1", "1"},
		{"[2001:db8::1]:65535", "2001:db8::1", "65535"},
		{"[::1]", "::1", "4739"},
	};
	struct socket_client_address address;
	char why[SOCKET_CLIENT_ERROR_MAX];

	(void)state;
	for (uint32_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_true(socket_client_parse(
			good[i].text, SOCKET_CLIENT_UDP, "4739", &address, why));
		assert_string_equal(address.host, good[i].host);
		assert_string_equal(address.port, good[i].port);
	}
}

static struct text csv_rows(uint32_t n, bool header)
{
	return rows_of(&format_csv, n, header);
}

/* --- Receivers */

static int listen_tcp(struct sender *sender, int buffer)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_true(fd >= 0);
	if (buffer > 0)
		assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof(buffer)), 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(fd, 5), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	snprintf(sender->url, sizeof(sender->url), "tcp://127.0.0.1:%u", ntohs(at.sin_port));
	return fd;
}

static void take(int fd, const struct text *wanted)
{
	char bytes[65536];
	size_t at = 0;

	while (at < wanted->len) {
		size_t left = wanted->len - at;
		ssize_t n = recv(fd, bytes, left < sizeof(bytes) ? left : sizeof(bytes), 0);

		assert_true(n > 0);
		assert_memory_equal(bytes, wanted->data + at, n);
		at += (size_t)n;
	}
}

static void assert_nothing_more(int fd)
{
	char byte;

	assert_int_equal(recv(fd, &byte, 1, 0), 0);
}

/*
 * The receiver closes the connection between epochs: nothing is lost, and each connection begins
 * with a header.
 */
static void test_rows(void **state)
{
	struct sender sender = {0};
	int listener = listen_tcp(&sender, 0), fd;
	struct text first = csv_rows(2000, true), second = csv_rows(30, false),
		    third = csv_rows(500, true);
	struct report_delivery delivery;

	(void)state;
	start(&sender);
	push(&sender, 2000);
	push(&sender, 30);
	fd = accept(listener, NULL, NULL);
	take(fd, &first);
	take(fd, &second);
	sink_queue_settle(sender.sink_queue);
	close(fd);
	push(&sender, 500);
	fd = accept(listener, NULL, NULL);
	take(fd, &third);
	delivery = stop(&sender);
	assert_nothing_more(fd);
	assert_int_equal(delivery.rows, 2530);
	assert_int_equal(delivery.delivered, 2530);
	assert_int_equal(delivery.reconnects, 1);
	assert_int_equal(delivery.retries, 0);
	assert_int_equal(delivery.bytes, first.len + second.len + third.len);
	close(fd);
	close(listener);
	text_free(&first);
	text_free(&second);
	text_free(&third);
}

/* Aborts a connection after more than the header, like a receiver that crashed. */
static void break_off(int listener)
{
	const struct linger abort = {.l_onoff = 1};
	int fd = accept(listener, NULL, NULL);
	char bytes[1000];

	assert_int_equal(recv(fd, bytes, sizeof(bytes), MSG_WAITALL), sizeof(bytes));
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &abort, sizeof(abort)), 0);
	close(fd);
}

/* A receiver that aborts again and again is logged once. */
static void test_flapping(void **state)
{
	struct sender sender = {.second = SHORT_SECOND};
	int listener = listen_tcp(&sender, 4096), fd = -1;
	struct text rows = csv_rows(MANY_MAX, true);
	struct report_delivery delivery;

	(void)state;
	start(&sender);
	for (uint32_t i = 0; i < 3; i++) {
		if (fd >= 0)
			close(fd);
		push(&sender, MANY_MAX);
		break_off(listener);
		fd = accept(listener, NULL, NULL);
		take(fd, &rows);
		sink_queue_settle(sender.sink_queue);
	}
	delivery = stop(&sender);
	assert_int_equal(delivery.delivered, 3 * MANY_MAX);
	assert_true(delivery.retries >= 3);
	assert_int_equal(warnings, 1);
	assert_int_equal(notices, 1);
	assert_non_null(strstr(last_notice, ": resumed"));
	assert_null(strstr(last_notice, "lost"));
	close(fd);
	close(listener);
	text_free(&rows);
}

/* Not logged again within a minute, unless it continues; then with the number of times. */
static void test_trouble(void **state)
{
	struct log_ratelimit_state ratelimit = {0};
	char often[LOG_RATELIMIT_OFTEN_MAX];
	const int64_t later = LOG_RATELIMIT_QUIET_NS;

	(void)state;
	assert_false(log_ratelimit_ends(&ratelimit, 0));
	assert_true(log_ratelimit_begins(&ratelimit, 1, often));
	assert_string_equal(often, "");
	assert_false(log_ratelimit_begins(&ratelimit, 2 * later, often));
	assert_true(log_ratelimit_ends(&ratelimit, 2 * later));
	for (int64_t i = 1; i <= 3; i++) {
		assert_false(log_ratelimit_begins(&ratelimit, 2 * later + i, often));
		assert_true(log_ratelimit_goes_on(&ratelimit));
		assert_false(log_ratelimit_ends(&ratelimit, 2 * later + i));
	}
	assert_false(log_ratelimit_begins(&ratelimit, 3 * later - 1, often));
	assert_true(log_ratelimit_begins(&ratelimit, 3 * later, often));
	assert_string_equal(often, " (3 more times since the last warning)");
	assert_true(log_ratelimit_ends(&ratelimit, 3 * later));
	assert_true(log_ratelimit_begins(&ratelimit, 4 * later, often));
	assert_string_equal(often, "");
}

/* An interrupted epoch is sent again completely. After three times its fate is unknown. */
static void test_breaks(void **state)
{
	struct sender sender = {.second = SHORT_SECOND};
	int listener = listen_tcp(&sender, 4096), fd;
	struct text rows = csv_rows(MANY_MAX, true);
	struct report_delivery delivery;

	(void)state;
	start(&sender);
	push(&sender, MANY_MAX);
	break_off(listener);
	fd = accept(listener, NULL, NULL);
	take(fd, &rows);
	sink_queue_settle(sender.sink_queue);
	assert_int_equal(warnings, 1);
	assert_int_equal(notices, 1);
	close(fd);
	push(&sender, MANY_MAX);
	for (uint32_t i = 0; i < 3; i++)
		break_off(listener);
	delivery = stop(&sender);
	assert_int_equal(delivery.delivered, MANY_MAX);
	assert_int_equal(delivery.unknown, MANY_MAX);
	assert_int_equal(delivery.retries, 3);
	close(listener);
	text_free(&rows);
}

static int listen_at(const struct sockaddr_un *at)
{
	int listener = socket(AF_UNIX, SOCK_STREAM, 0);

	assert_int_equal(bind(listener, (const struct sockaddr *)at, sizeof(*at)), 0);
	assert_int_equal(listen(listener, 5), 0);
	return listener;
}

/* The receiver comes late: waiting rows arrive in order. */
static void test_waiting(void **state)
{
	struct sender sender = {.url = "unix:test_remote.sock", .second = SHORT_SECOND};
	struct sockaddr_un at = {.sun_family = AF_UNIX, .sun_path = "test_remote.sock"};
	struct text first = csv_rows(100, true), second = csv_rows(200, false);
	struct report_delivery delivery;
	int listener, fd;

	(void)state;
	unlink(at.sun_path);
	start(&sender);
	push(&sender, 100);
	push(&sender, 200);
	while (warnings == 0)
		usleep(1000);
	listener = listen_at(&at);
	fd = accept(listener, NULL, NULL);
	take(fd, &first);
	take(fd, &second);
	delivery = stop(&sender);
	assert_nothing_more(fd);
	assert_int_equal(delivery.delivered, 300);
	assert_int_equal(delivery.reconnects, 0);
	assert_int_equal(warnings, 1);
	assert_int_equal(notices, 1);
	close(fd);
	close(listener);
	unlink(at.sun_path);
	text_free(&first);
	text_free(&second);
}

/* A reload retries at once, however late the next try would be; no row is sent twice. */
static void test_roused(void **state)
{
	struct sender sender = {
		.url = "unix:test_remote.sock", .second = 3600 * INT64_C(1000000000)};
	struct sockaddr_un at = {.sun_family = AF_UNIX, .sun_path = "test_remote.sock"};
	struct text first = csv_rows(100, true), second = csv_rows(200, false);
	struct report_delivery delivery;
	int listener, fd;

	(void)state;
	unlink(at.sun_path);
	start(&sender);
	push(&sender, 100);
	push(&sender, 200);
	while (warnings == 0)
		usleep(1000);
	listener = listen_at(&at);
	sink_queue_reopen(sender.sink_queue);
	fd = accept(listener, NULL, NULL);
	take(fd, &first);
	take(fd, &second);
	sink_queue_settle(sender.sink_queue);
	delivery = stop(&sender);
	assert_nothing_more(fd);
	assert_int_equal(delivery.delivered, 300);
	assert_int_equal(delivery.reconnects + delivery.retries, 0);
	close(fd);
	close(listener);
	unlink(at.sun_path);
	text_free(&first);
	text_free(&second);
}

/* The end of a run also retries at once: a receiver that is back gets the waiting rows. */
static void test_back_at_the_end(void **state)
{
	struct sender sender = {.url = "unix:test_remote.sock", .second = SHORT_SECOND};
	struct sockaddr_un at = {.sun_family = AF_UNIX, .sun_path = "test_remote.sock"};
	struct text first = csv_rows(100, true), second = csv_rows(200, false);
	struct report_delivery delivery;
	int listener, fd;

	(void)state;
	unlink(at.sun_path);
	start(&sender);
	push(&sender, 100);
	push(&sender, 200);
	usleep(20 * SHORT_SECOND / 1000); /* until the next try would be after the end */
	listener = listen_at(&at);
	delivery = stop(&sender);
	assert_int_equal(delivery.delivered, 300);
	fd = accept(listener, NULL, NULL);
	take(fd, &first);
	take(fd, &second);
	assert_nothing_more(fd);
	close(fd);
	close(listener);
	unlink(at.sun_path);
	text_free(&first);
	text_free(&second);
}

/*
 * A receiver that never reads is dropped at the end of the run, like the waiting rows; the epoch
 * that it may have in part is unknown.
 */
static void test_frozen(void **state)
{
	struct sender sender = {.second = SHORT_SECOND};
	int listener = listen_tcp(&sender, 4096);
	struct report_delivery delivery;

	(void)state;
	start(&sender);
	push(&sender, MANY_MAX);
	push(&sender, 7);
	delivery = stop(&sender);
	assert_int_equal(delivery.unknown, MANY_MAX);
	assert_int_equal(delivery.failed, 7);
	close(listener);
}

/* A receiver that reads slowly, replies to each piece, and gives up if the sender has closed. */
struct talker {
	int listener;
	uint32_t connections;
	uint32_t pause_us; /* 0: a millisecond */
	uint64_t bytes;
};

static void *talk(void *arg)
{
	struct talker *talker = arg;
	char bytes[4096];
	ssize_t n;

	for (uint32_t c = 0; c < talker->connections; c++) {
		int fd = accept(talker->listener, NULL, NULL);

		while ((n = recv(fd, bytes, sizeof(bytes), 0)) > 0) {
			talker->bytes += (uint64_t)n;
			if (send(fd, bytes, 100, MSG_NOSIGNAL) < 0)
				break;
			usleep(talker->pause_us > 0 ? talker->pause_us : 1000);
		}
		close(fd);
	}
	return NULL;
}

/* All delivered rows arrive, after any number of reconnections, and at the end. */
static void test_talker(void **state)
{
	struct sender sender = {0};
	struct talker talker = {.connections = 4};
	struct report_delivery delivery;
	pthread_t thread;

	(void)state;
	talker.listener = listen_tcp(&sender, 4096);
	assert_int_equal(pthread_create(&thread, NULL, talk, &talker), 0);
	start(&sender);
	for (uint32_t c = 0; c < talker.connections; c++) {
		if (c > 0)
			sink_queue_reopen(sender.sink_queue);
		push(&sender, 5000);
		sink_queue_settle(sender.sink_queue);
	}
	delivery = stop(&sender);
	pthread_join(thread, NULL);
	assert_int_equal(delivery.delivered, talker.connections * 5000);
	assert_int_equal(delivery.reconnects, talker.connections - 1);
	assert_int_equal(delivery.bytes, talker.bytes);
	close(talker.listener);
}

/*
 * The same with a spool, whose rows are no longer on disk: at the end the receiver reads for more
 * than a second.
 */
static void test_talker_behind_a_spool(void **state)
{
	struct sender sender = {.spools = true};
	struct talker talker = {.connections = 1, .pause_us = 12000};
	struct report_delivery delivery;
	pthread_t thread;

	(void)state;
	talker.listener = listen_tcp(&sender, 4096);
	assert_int_equal(pthread_create(&thread, NULL, talk, &talker), 0);
	start(&sender);
	push(&sender, 3000);
	while (sender.delivery->delivered < 3000)
		usleep(1000);
	delivery = stop(&sender);
	pthread_join(thread, NULL);
	assert_int_equal(delivery.bytes, talker.bytes);
	close(talker.listener);
}

static void wait_for_delivery(const struct sender *sender, uint64_t rows)
{
	while (sender->delivery->delivered < rows)
		usleep(1000);
}

/*
 * A receiver that reads none of the rows in the kernel's buffer and closes. With a spool, rows are
 * delivered once they were read (Unix) or acknowledged by the other end (TCP): they are sent again.
 */
static void lose_connection(struct sender *sender, int listener)
{
	const struct linger abort = {.l_onoff = 1};
	struct text rows = csv_rows(100, true);
	struct report_delivery delivery;
	int fd;

	start(sender);
	push(sender, 100);
	fd = accept(listener, NULL, NULL);
	usleep(300000); /* time for the kernel to fill its buffers */
	assert_int_equal(sender->delivery->delivered, 0);
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &abort, sizeof(abort));
	close(fd);
	fd = accept(listener, NULL, NULL);
	take(fd, &rows);
	wait_for_delivery(sender, 100);
	delivery = stop(sender);
	assert_int_equal(delivery.delivered, 100);
	assert_int_equal(delivery.retries, 1);
	close(fd);
	close(listener);
	text_free(&rows);
}

static void test_lost_in_the_kernel(void **state)
{
	struct sender tcp = {.second = 10 * SHORT_SECOND, .spools = true};
	struct sender local = {
		.url = "unix:test_remote.sock", .second = 10 * SHORT_SECOND, .spools = true};
	struct sockaddr_un at = {.sun_family = AF_UNIX, .sun_path = "test_remote.sock"};

	(void)state;
	lose_connection(&tcp, listen_tcp(&tcp, 4096));
	unlink(at.sun_path);
	lose_connection(&local, listen_at(&at));
	unlink(at.sun_path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_urls),
		cmocka_unit_test(test_secrets),
		cmocka_unit_test(test_hosts),
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_breaks),
		cmocka_unit_test(test_flapping),
		cmocka_unit_test(test_trouble),
		cmocka_unit_test(test_waiting),
		cmocka_unit_test(test_roused),
		cmocka_unit_test(test_back_at_the_end),
		cmocka_unit_test(test_frozen),
		cmocka_unit_test(test_talker),
		cmocka_unit_test(test_talker_behind_a_spool),
		cmocka_unit_test(test_lost_in_the_kernel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
