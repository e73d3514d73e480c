/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Stamps of generated frames: they are read as written, checksums stay valid, and changes are
 * detected.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "rx/generate/synthetic.h"
#include "rx/source.h"
#include "tester/stamp.h"

#define FRAME_MAX 2048
#define TIME_MAX  ((UINT64_C(1) << STAMP_TIME_BITS) - 1)

static struct stamp_secrets secrets;
static struct random random_bits;

static int set_up(void **state)
{
	(void)state;
	stamp_secrets_init(&secrets, 1);
	random_init(&random_bits, 2);
	return 0;
}

static struct source *open_spec(const char *text)
{
	struct synthetic_spec spec;
	char error[SOURCE_ERROR_MAX];
	struct source *source;

	assert_true(synthetic_parse(text, &spec, error));
	source = generate_open(&spec, error);
	assert_non_null(source);
	source->restart(source, STAMP_BYTES);
	return source;
}

struct frame {
	uint32_t length;
	struct stamp stamp;
	uint8_t bytes[FRAME_MAX];
};

/* Returns the next frame with a stamp. */
static bool next_frame(struct source *source, struct frame *frame)
{
	struct source_packet packet;

	if (source->next(source, &packet) <= 0)
		return false;
	frame->length = packet.captured;
	memcpy(frame->bytes, packet.data, packet.captured);
	frame->stamp = (struct stamp){.number = (uint32_t)random_next(&random_bits),
		.time = random_next(&random_bits) & TIME_MAX};
	stamp_write(&secrets, &frame->stamp, frame->bytes, frame->length);
	return true;
}

static enum stamp_content content_of(const struct frame *frame)
{
	struct stamp stamp;

	assert_true(stamp_read(&secrets, &stamp, frame->bytes, frame->length));
	assert_int_equal(stamp.number, frame->stamp.number);
	assert_true(stamp.time == frame->stamp.time);
	return stamp_compare(&secrets, &stamp, frame->bytes, frame->length);
}

/* RFC 1071, byte by byte. */
static uint32_t sum_of(const uint8_t *bytes, uint32_t len, uint32_t sum)
{
	for (uint32_t i = 0; i < len; i++)
		sum += i % 2 == 0 ? (uint32_t)bytes[i] << 8 : bytes[i];
	while (sum >> 16)
		sum = (sum >> 16) + (sum & 0xffff);
	return sum;
}

/* Checks the checksum of everything after the IP header, with the pseudo header if there is one. */
static void check_checksum(const struct frame *frame)
{
	const uint8_t *bytes = frame->bytes;
	uint32_t l3 = bytes[12] == 0x81 ? 18 : 14, l4, sum = 0;
	bool ipv6 = bytes[l3] >> 4 == 6;
	uint8_t proto = ipv6 ? bytes[l3 + 6] : bytes[l3 + 9];

	l4 = l3 + (ipv6 ? 40 : 20);
	if (proto != 1)
		sum = sum_of(
			bytes + l3 + (ipv6 ? 8 : 12), ipv6 ? 32 : 8, proto + frame->length - l4);
	assert_int_equal(sum_of(bytes + l4, frame->length - l4, sum), 0xffff);
}

#define MIXED "packets=3000,flows=500,ipv6=0.4,vlan=0.3,size=60-1514,seed=5"

static void test_written_is_read(void **state)
{
	struct source *source = open_spec(MIXED);
	struct frame frame;

	(void)state;
	while (next_frame(source, &frame)) {
		assert_int_equal(content_of(&frame), STAMP_SAME);
		check_checksum(&frame);
	}
	source->close(source);
}

/* Any change of any byte before the stamp. */
static void test_every_change_is_seen(void **state)
{
	struct source *source = open_spec("packets=60,flows=60,ipv6=0.4,vlan=0.3,size=60-300");
	struct frame frame;

	(void)state;
	while (next_frame(source, &frame)) {
		for (uint32_t i = 0; i < frame.length - STAMP_BYTES; i++) {
			uint8_t before = frame.bytes[i];
			enum stamp_content content;

			frame.bytes[i] ^= (uint8_t)(1 + random_below(&random_bits, 255));
			content = content_of(&frame);
			/* Ethernet addresses and the IPv6 hop limit have no checksum. */
			if (i >= FRAME_ADDRESSES_LEN && i != 21 && i != 25)
				assert_int_equal(content, STAMP_CHANGED);
			else
				assert_int_not_equal(content, STAMP_SAME);
			frame.bytes[i] = before;
		}
		assert_int_equal(content_of(&frame), STAMP_SAME);
	}
	source->close(source);
}

/* A damaged stamp is not recognized. */
static void test_damaged_stamps(void **state)
{
	struct source *source = open_spec("packets=200,flows=60,size=60-300");
	struct frame frame;
	struct stamp stamp;

	(void)state;
	while (next_frame(source, &frame)) {
		for (uint32_t i = frame.length - STAMP_BYTES; i < frame.length; i++) {
			uint8_t before = frame.bytes[i];

			frame.bytes[i] ^= (uint8_t)(1 + random_below(&random_bits, 255));
			assert_false(stamp_read(&secrets, &stamp, frame.bytes, frame.length));
			frame.bytes[i] = before;
		}
		/* In a truncated frame, another stamp may match by chance. */
		if (stamp_read(&secrets, &stamp, frame.bytes, frame.length - 1))
			assert_true(stamp.time != frame.stamp.time);
		assert_false(stamp_read(&secrets, &stamp, frame.bytes, STAMP_BYTES));
	}
	source->close(source);
}

static void test_zeros_are_no_stamp(void **state)
{
	static const uint8_t zeros[FRAME_MAX];
	struct stamp stamp;

	(void)state;
	for (uint32_t length = 0; length < FRAME_MAX; length++)
		assert_false(stamp_read(&secrets, &stamp, zeros, length));
}

static void put_checksum(uint8_t *ip)
{
	uint32_t sum;

	ip[10] = ip[11] = 0;
	sum = ~sum_of(ip, 20, 0);
	ip[10] = (uint8_t)(sum >> 8);
	ip[11] = (uint8_t)sum;
}

/* Changes by a router are not errors, unless they are incomplete or wrong. */
static void test_routed(void **state)
{
	struct source *source = open_spec(MIXED);
	struct frame frame;

	(void)state;
	while (next_frame(source, &frame)) {
		uint32_t l3 = frame.bytes[12] == 0x81 ? 18 : 14;
		uint8_t *ip = frame.bytes + l3;
		bool ipv6 = ip[0] >> 4 == 6;

		for (uint32_t i = 0; i < FRAME_ADDRESSES_LEN; i++)
			frame.bytes[i] = (uint8_t)random_next(&random_bits);
		ip[ipv6 ? 7 : 8]--;
		if (!ipv6) {
			assert_int_equal(content_of(&frame), STAMP_CHANGED);
			put_checksum(ip);
		}
		assert_int_equal(content_of(&frame), STAMP_ROUTED);
		frame.bytes[l3 + 20] ^= 1;
		assert_int_equal(content_of(&frame), STAMP_CHANGED);
	}
	source->close(source);
}

/* Another run reads a different number and time, and thus a packet that it did not send. */
static void test_secrets_differ(void **state)
{
	struct source *source = open_spec("packets=1000,flows=60");
	struct stamp_secrets others;
	uint32_t alike = 0;
	struct frame frame;
	struct stamp stamp;

	(void)state;
	stamp_secrets_init(&others, 2);
	while (next_frame(source, &frame)) {
		assert_true(stamp_read(&others, &stamp, frame.bytes, frame.length));
		alike += stamp.number == frame.stamp.number || stamp.time == frame.stamp.time;
		assert_int_equal(
			stamp_compare(&others, &stamp, frame.bytes, frame.length), STAMP_CHANGED);
	}
	assert_int_equal(alike, 0);
	source->close(source);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_written_is_read, set_up),
		cmocka_unit_test_setup(test_every_change_is_seen, set_up),
		cmocka_unit_test_setup(test_damaged_stamps, set_up),
		cmocka_unit_test_setup(test_zeros_are_no_stamp, set_up),
		cmocka_unit_test_setup(test_routed, set_up),
		cmocka_unit_test_setup(test_secrets_differ, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
