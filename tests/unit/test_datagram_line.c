/* SPDX-License-Identifier: BSD-3-Clause */

/* Lines of --export datagrams, valid and wrong. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/base64.h"
#include "base/random.h"
#include "collect/datagram_line.h"

#define HEADER                                                                                     \
	"epoch,start,end,row,time_ns,socket,dropped,source,source_port,destination,"               \
	"destination_port,payload,last,host,run"
#define TIMES "2026-11-20T13:52:44.000000Z,2026-11-20T13:52:45.000000Z"
#define ROW   "7," TIMES ",3,1795528364500000001,2,0,192.0.2.1,50000,2001:db8::1,2055,AAoB,0,tap,ab12"

static enum datagram_line_kind read_line(
	struct datagram_columns *columns, const char *text, struct datagram_line *line)
{
	static char copy[1024];

	snprintf(copy, sizeof(copy), "%s", text);
	return datagram_line_read(columns, copy, strlen(text), line);
}

static enum datagram_line_kind read_after_header(const char *text, struct datagram_line *line)
{
	struct datagram_columns columns = {0};

	assert_int_equal(read_line(&columns, HEADER, line), DATAGRAM_LINE_HEADER);
	return read_line(&columns, text, line);
}

static void test_values(void **state)
{
	const uint8_t payload[] = {0, 10, 1};
	const uint8_t ipv6[] = {0x20, 1, 0xd, 0xb8, [15] = 1};
	struct datagram_line line;

	(void)state;
	assert_int_equal(read_after_header(ROW, &line), DATAGRAM_LINE_PAYLOAD);
	assert_int_equal(line.epoch, 7);
	assert_int_equal(line.row, 3);
	assert_int_equal(line.end - line.start, 1000000000);
	assert_int_equal(line.time, 1795528364500000001);
	assert_int_equal(line.socket, 2);
	assert_int_equal(line.src_port, 50000);
	assert_int_equal(line.dst_port, 2055);
	assert_memory_equal(line.src.s6_addr + 12, "\xc0\0\2\1", 4);
	assert_memory_equal(&line.dst, ipv6, 16);
	assert_int_equal(line.len, sizeof(payload));
	assert_memory_equal(line.payload, payload, sizeof(payload));
	assert_string_equal(line.host, "tap");
	assert_string_equal(line.run, "ab12");
	assert_false(line.last);
}

static void test_kinds(void **state)
{
	struct datagram_line line;

	(void)state;
	assert_int_equal(read_after_header("7," TIMES ",4,5,2,9,,,,,,0,tap,ab12", &line),
		DATAGRAM_LINE_DROPPED);
	assert_int_equal(line.dropped, 9);
	assert_int_equal(
		read_after_header("7," TIMES ",4,5,0,0,,,,,,1,tap,ab12", &line), DATAGRAM_LINE_END);
	assert_true(line.last);
	assert_int_equal(read_after_header("#now 1795528364500000001", &line), DATAGRAM_LINE_CLOCK);
	assert_int_equal(line.time, 1795528364500000001);
	assert_false(line.spooled);
	assert_int_equal(
		read_after_header("#now 1795528364500000001 spooled", &line), DATAGRAM_LINE_CLOCK);
	assert_int_equal(line.time, 1795528364500000001);
	assert_true(line.spooled);
	/* Control characters of a host would reach the log. */
	assert_int_equal(read_after_header("7," TIMES ",4,5,0,0,,,,,,1,t\033p,ab12", &line),
		DATAGRAM_LINE_END);
	assert_string_equal(line.host, "t?p");
}

static void test_columns_in_any_order(void **state)
{
	struct datagram_columns columns = {0};
	struct datagram_line line;

	(void)state;
	assert_int_equal(read_line(&columns,
				 "epoch,run,host,last,payload,destination_port,destination,new,"
				 "source_port,source,dropped,socket,time_ns,row,end,start",
				 &line),
		DATAGRAM_LINE_HEADER);
	assert_int_equal(read_line(&columns,
				 "7,ab12,tap,0,AAoB,2055,::,whatever,50000,192.0.2.1,0,2,5,3,"
				 "2026-11-20T13:52:45.000000Z,2026-11-20T13:52:44.000000Z",
				 &line),
		DATAGRAM_LINE_PAYLOAD);
	assert_int_equal(line.dst_port, 2055);
}

static void test_wrong_lines(void **state)
{
	static const char *const lines[] = {"", "7", "{\"epoch\":7}", "#now", "#now x", "#now -1",
		ROW ",1", "7," TIMES ",3,5,2,0,192.0.2.1,50000,::,2055,AAoB,0,tap",
		"7," TIMES ",0,5,2,0,192.0.2.1,50000,::,2055,AAoB,0,tap,ab12",
		"7," TIMES ",3,-5,2,0,192.0.2.1,50000,::,2055,AAoB,0,tap,ab12",
		"7," TIMES ",3,99999999999999999999,2,0,192.0.2.1,1,::,2055,AAoB,0,tap,ab12",
		"7," TIMES ",3,5,70000,0,192.0.2.1,50000,::,2055,AAoB,0,tap,ab12",
		"7," TIMES ",3,5,2,0,192.0.2.1,70000,::,2055,AAoB,0,tap,ab12",
		"7," TIMES ",3,5,2,0,192.0.2,50000,::,2055,AAoB,0,tap,ab12",
		"7," TIMES ",3,5,2,0,192.0.2.1,50000,::,2055,AAo,0,tap,ab12",
		"7," TIMES ",3,5,2,0,192.0.2.1,50000,::,2055,A=oB,0,tap,ab12",
		"7," TIMES ",3,5,2,0,192.0.2.1,50000,::,2055,AAoB,2,tap,ab12",
		"7," TIMES ",3,5,2,0,192.0.2.1,50000,::,2055,AAoB,0,,ab12",
		"7," TIMES ",3,5,2,0,192.0.2.1,50000,::,2055,AAoB,0,tap,0123456789abcdef0",
		"7,yesterday,2026-11-20T13:52:45.000000Z,3,5,2,0,192.0.2.1,1,::,2,AAoB,0,tap,ab",
		("7,2026-11-20T13:52:46.000000Z,2026-11-20T13:52:45.000000Z,3,5,2,0,::,1,::,2,AAoB,"
		 "0,tap,ab")};
	struct datagram_columns columns = {0};
	struct datagram_line line;

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		if (read_after_header(lines[i], &line) != DATAGRAM_LINE_BAD)
			fail_msg("accepted: %s", lines[i]);
		assert_non_null(line.why);
	}
	assert_int_equal(read_line(&columns, ROW, &line), DATAGRAM_LINE_BAD);
	assert_int_equal(read_line(&columns, "epoch,start,end", &line), DATAGRAM_LINE_BAD);
	assert_int_equal(read_line(&columns, ROW, &line), DATAGRAM_LINE_BAD);
}

static void test_base64(void **state)
{
	/* RFC 4648, section 10: the texts of the first 0 to 6 bytes of "foobar" */
	static const char *const texts[] = {
		"", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"};
	static const uint8_t foobar[] = {'f', 'o', 'o', 'b', 'a', 'r'};
	static const char *const wrong[] = {
		"Z", "Zg=", "Zg===", "Zh==", "Zm9=", "=m9v", "Zm9v=g==", "Zm9 ", "Zm-v", "===="};
	struct random random;
	size_t len;

	(void)state;
	random_init(&random, 1);
	for (size_t n = 0; n <= sizeof(foobar); n++) {
		char text[16];
		uint8_t bytes[16];

		base64_encode(foobar, n, text);
		assert_int_equal(base64_len(n), strlen(texts[n]));
		assert_memory_equal(text, texts[n], base64_len(n));
		assert_true(base64_decode(texts[n], strlen(texts[n]), bytes, &len));
		assert_int_equal(len, n);
		assert_memory_equal(bytes, foobar, n);
	}
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		uint8_t bytes[16];

		assert_false(base64_decode(wrong[i], strlen(wrong[i]), bytes, &len));
	}
	for (size_t n = 0; n < 300; n++) {
		uint8_t bytes[300], back[400];
		char text[400];

		for (size_t i = 0; i < n; i++)
			bytes[i] = (uint8_t)random_next(&random);
		base64_encode(bytes, n, text);
		assert_true(base64_decode(text, base64_len(n), back, &len));
		assert_int_equal(len, n);
		assert_memory_equal(back, bytes, n);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_columns_in_any_order),
		cmocka_unit_test(test_wrong_lines),
		cmocka_unit_test(test_base64),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
