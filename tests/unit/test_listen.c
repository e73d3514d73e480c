/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Sockets on loopback, where a datagram was received or dropped when the sending call returns:
 * received and dropped datagrams add up exactly, without waiting.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <net/if.h>
#include <sys/socket.h>
#include <unistd.h>

#include "collect/listen.h"

#define BURST    1535
#define MEGABYTE (1u << 20)

static struct listen_address parsed(const char *text)
{
	char why[OPTION_WHY_MAX] = "";
	struct listen_address address;

	if (!listen_parse(text, &address, why))
		fail_msg("%s: %s", text, why);
	return address;
}

/* Returns some free port of the address. */
static struct listen_address free_port(const char *text)
{
	struct listen_address address = parsed(text);

	address.address.sin6_port = 0;
	return address;
}

static struct listener *open_listener(
	const struct listen_address *addresses, uint32_t n, uint32_t buffer)
{
	char error[OPTION_WHY_MAX] = "";
	struct listener *listener = listener_open(addresses, n, buffer, error);

	if (listener == NULL)
		fail_msg("%s", error);
	return listener;
}

static void send_to(uint16_t port, bool ipv6, const void *bytes, size_t len)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr_in6 to6 = {.sin6_family = AF_INET6,
		.sin6_port = htons(port),
		.sin6_addr = IN6ADDR_LOOPBACK_INIT};
	static int fds[2] = {-1, -1};

	if (fds[ipv6] < 0)
		fds[ipv6] = socket(ipv6 ? AF_INET6 : AF_INET, SOCK_DGRAM, 0);
	assert_true(fds[ipv6] >= 0);
	assert_int_equal(
		sendto(fds[ipv6], bytes, len, 0,
			ipv6 ? (const struct sockaddr *)&to6 : (const struct sockaddr *)&to,
			ipv6 ? sizeof(to6) : sizeof(to)),
		len);
}

static bool has_ipv6(void)
{
	struct sockaddr_in6 loopback = {
		.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	int fd = socket(AF_INET6, SOCK_DGRAM, 0);
	bool has = fd >= 0 && bind(fd, (const struct sockaddr *)&loopback, sizeof(loopback)) == 0;

	if (fd >= 0)
		close(fd);
	return has;
}

static void addresses(void **state)
{
	static const char *const wrong[] = {"", "2055", "127.0.0.1", "127.0.0.1:", "127.0.0.1:0",
		"127.0.0.1:65536", "127.0.0.1:4294967297", "127.0.0.1:2055x", "localhost:2055",
		"::1:2055", "[::1]", "[::1:2055", "[127.0.0.1]:2055", "127.1:2055", "**:2055",
		"[fe80::1%nosuchinterface]:2055", "[]:2055", "[:2055", "]:2055", "127.0.0.1: 2055",
		"127.0.0.1:-1",
		("[1111:2222:3333:4444:5555:6666:7777:8888:9999:1111:2222:3333:4444:5555:6666:7777:"
		 "8888:9999]:1")};
	char why[OPTION_WHY_MAX];
	struct listen_address address;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		why[0] = '\0';
		if (listen_parse(wrong[i], &address, why))
			fail_msg("%s is accepted", wrong[i]);
		assert_true(strlen(why) > 0);
	}
	address = parsed("192.0.2.1:2055");
	assert_false(address.all);
	assert_memory_equal(
		&address.address.sin6_addr, "\0\0\0\0\0\0\0\0\0\0\xff\xff\xc0\x00\x02\x01", 16);
	assert_int_equal(ntohs(address.address.sin6_port), 2055);
	assert_string_equal(address.text, "192.0.2.1:2055");
	address = parsed("[2001:db8::7]:65535");
	assert_memory_equal(
		&address.address.sin6_addr, "\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x07", 16);
	assert_int_equal(ntohs(address.address.sin6_port), 65535);
	assert_true(parsed(":1").all);
	assert_true(parsed("*:6343").all);
	assert_false(parsed("[::]:6343").all);
	assert_false(parsed("0.0.0.0:6343").all);
	if (if_nametoindex("lo") != 0)
		assert_int_equal(
			parsed("[fe80::1%lo]:1").address.sin6_scope_id, if_nametoindex("lo"));
}

static void what_is_sent_comes(void **state)
{
	struct listen_address address = free_port("127.0.0.1:1");
	struct listener *listener = open_listener(&address, 1, MEGABYTE);
	static uint8_t bytes[65507];
	struct datagram datagrams[LISTEN_BATCH];
	uint16_t port = listener_port(listener, 0);
	static const uint32_t lens[] = {0, 1, 1464, 9000, 65507};

	(void)state;
	assert_int_equal(listener_receive(listener, datagrams, LISTEN_BATCH), 0);
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 7 + i / 256);
	for (uint32_t i = 0; i < 5; i++)
		send_to(port, false, bytes + i, lens[i] - (i == 4 ? 4 : 0));
	assert_int_equal(listener_receive(listener, datagrams, 2), 2);
	assert_int_equal(datagrams[1].len, 1);
	assert_int_equal(listener_receive(listener, datagrams, LISTEN_BATCH), 3);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(datagrams[i].len, lens[i + 2] - (i == 2 ? 4 : 0));
		assert_memory_equal(datagrams[i].data, bytes + i + 2, datagrams[i].len);
		assert_memory_equal(
			&datagrams[i].src, "\0\0\0\0\0\0\0\0\0\0\xff\xff\x7f\x00\x00\x01", 16);
		assert_int_equal(datagrams[i].dst_port, port);
		assert_true(datagrams[i].src_port != 0);
		assert_int_equal(datagrams[i].socket, 0);
		assert_true(datagrams[i].time > 1500000000000000000);
	}
	assert_int_equal(listener_dropped(listener, 0), 0);
	listener_close(listener);
}

static uint32_t receive_all(struct listener *listener, uint32_t *next)
{
	struct datagram datagrams[LISTEN_BATCH];
	uint32_t n, sum = 0;

	while ((n = listener_receive(listener, datagrams, LISTEN_BATCH)) > 0) {
		for (uint32_t i = 0; i < n; i++) {
			uint32_t number;

			memcpy(&number, datagrams[i].data, sizeof(number));
			assert_true(number >= *next);
			*next = number + 1;
		}
		sum += n;
	}
	return sum;
}

static void send_burst(uint16_t port)
{
	static uint8_t bytes[1464];

	for (uint32_t i = 0; i < BURST; i++) {
		memcpy(bytes, &i, sizeof(i));
		send_to(port, false, bytes, sizeof(bytes));
	}
}

/* Drops of a burst are known, although no later datagram reports them. */
static void every_datagram_is_accounted_for(void **state)
{
	struct listen_address address = free_port("127.0.0.1:1");
	struct listener *listener = open_listener(&address, 1, 65536);
	uint32_t next = 0, received = 0;

	(void)state;
	assert_in_range(listener_buffer(listener, 0), 1, 65536);
	for (uint32_t burst = 1; burst <= 3; burst++) {
		send_burst(listener_port(listener, 0));
		next = 0;
		received += receive_all(listener, &next);
		assert_true(received < burst * BURST);
		assert_int_equal(received + listener_dropped(listener, 0), burst * BURST);
	}
	assert_true(received > 0);
	listener_close(listener);
}

static void a_large_buffer_loses_none(void **state)
{
	struct listen_address address = free_port("127.0.0.1:1");
	struct listener *listener = open_listener(&address, 1, 32 * MEGABYTE);
	uint32_t next = 0;

	(void)state;
	if (listener_buffer(listener, 0) < 32 * MEGABYTE) {
		listener_close(listener);
		skip();
	}
	send_burst(listener_port(listener, 0));
	assert_int_equal(receive_all(listener, &next), BURST);
	assert_int_equal(next, BURST);
	assert_int_equal(listener_dropped(listener, 0), 0);
	listener_close(listener);
}

/* A socket with constant traffic does not block the others. */
static void sockets_take_turns(void **state)
{
	struct listen_address two[2] = {free_port("127.0.0.1:1"), free_port("127.0.0.1:2")};
	struct listener *listener = open_listener(two, 2, 4 * MEGABYTE);
	struct datagram datagrams[LISTEN_BATCH];
	uint32_t of[2] = {0};

	(void)state;
	for (uint32_t i = 0; i < 2 * LISTEN_BATCH; i++)
		send_to(listener_port(listener, 0), false, &i, sizeof(i));
	send_to(listener_port(listener, 1), false, &of, sizeof(of));
	for (uint32_t i = 0; i < 2; i++) {
		uint32_t n = listener_receive(listener, datagrams, LISTEN_BATCH);

		for (uint32_t d = 0; d < n; d++)
			of[datagrams[d].socket]++;
	}
	assert_int_equal(of[1], 1);
	assert_true(of[0] >= LISTEN_BATCH - 1);
	listener_close(listener);
}

static void all_addresses(void **state)
{
	struct listen_address address = free_port("*:1");
	struct listener *listener = open_listener(&address, 1, MEGABYTE);
	struct datagram datagrams[LISTEN_BATCH];
	uint32_t n = 1;

	(void)state;
	send_to(listener_port(listener, 0), false, "four", 4);
	if (has_ipv6()) {
		send_to(listener_port(listener, 0), true, "six", 3);
		n++;
	}
	listener_rest(listener, 0);
	assert_int_equal(listener_receive(listener, datagrams, LISTEN_BATCH), n);
	assert_memory_equal(&datagrams[0].src, "\0\0\0\0\0\0\0\0\0\0\xff\xff\x7f\x00\x00\x01", 16);
	if (n == 2)
		assert_memory_equal(&datagrams[1].src, &in6addr_loopback, 16);
	listener_close(listener);
}

static void addresses_that_cannot_be_had(void **state)
{
	struct listen_address address = free_port("127.0.0.1:1"), other;
	struct listener *listener = open_listener(&address, 1, 0);
	char error[OPTION_WHY_MAX] = "", text[LISTEN_TEXT_MAX];
	struct listen_address twice[2];

	(void)state;
	snprintf(text, sizeof(text), "127.0.0.1:%u", listener_port(listener, 0));
	other = parsed(text);
	assert_null(listener_open(&other, 1, 0, error));
	assert_non_null(strstr(error, text));
	assert_non_null(strstr(error, "another program"));
	listener_close(listener);
	/* TEST-NET-1 */
	other = parsed("192.0.2.77:2055");
	assert_null(listener_open(&other, 1, 0, error));
	assert_non_null(strstr(error, "192.0.2.77:2055"));
	assert_non_null(strstr(error, "no interface"));
	twice[0] = twice[1] = parsed(text);
	assert_null(listener_open(twice, 2, 0, error));
	assert_non_null(strstr(error, "twice"));
	/* All addresses, and one of them. */
	snprintf(text, sizeof(text), ":%u", ntohs(twice[0].address.sin6_port));
	twice[1] = parsed(text);
	assert_null(listener_open(twice, 2, 0, error));
	assert_non_null(strstr(error, "in common"));
	snprintf(text, sizeof(text), "0.0.0.0:%u", ntohs(twice[0].address.sin6_port));
	twice[1] = parsed(text);
	assert_null(listener_open(twice, 2, 0, error));
	assert_non_null(strstr(error, text));
	assert_non_null(strstr(error, "in common"));
	/* The first of two was closed again. */
	listener = listener_open(twice, 1, 0, error);
	assert_non_null(listener);
	listener_close(listener);
}

static void check_public(const char *const *texts, size_t n, bool is_public)
{
	for (size_t i = 0; i < n; i++) {
		struct listen_address address = parsed(texts[i]);

		if (listen_is_public(&address) != is_public)
			fail_msg("%s is %s", texts[i], is_public ? "not public" : "public");
	}
}

static void public_addresses(void **state)
{
	static const char *const inside[] = {"10.0.0.1:1", "10.255.255.255:1", "172.16.0.1:1",
		"172.31.255.255:1", "192.168.3.4:1", "100.64.0.1:1", "100.127.255.255:1",
		"127.0.0.1:1", "127.9.9.9:1", "169.254.1.1:1", "[::1]:1", "[fe80::1]:1",
		"[fd00::1]:1", "[fc00::1]:1", "[fec0::1]:1", "[::ffff:10.1.2.3]:1"};
	static const char *const outside[] = {"9.255.255.255:1", "11.0.0.0:1", "172.15.255.255:1",
		"172.32.0.0:1", "192.167.255.255:1", "192.169.0.0:1", "100.63.255.255:1",
		"100.128.0.0:1", "126.255.255.255:1", "128.0.0.0:1", "169.253.255.255:1",
		"203.0.113.7:1", "[2001:db8::1]:1", "[2a00::1]:1", "[fe00::1]:1",
		"[::ffff:203.0.113.7]:1"};

	(void)state;
	check_public(inside, sizeof(inside) / sizeof(inside[0]), false);
	check_public(outside, sizeof(outside) / sizeof(outside[0]), true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses),
		cmocka_unit_test(public_addresses),
		cmocka_unit_test(what_is_sent_comes),
		cmocka_unit_test(every_datagram_is_accounted_for),
		cmocka_unit_test(a_large_buffer_loses_none),
		cmocka_unit_test(sockets_take_turns),
		cmocka_unit_test(all_addresses),
		cmocka_unit_test(addresses_that_cannot_be_had),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
