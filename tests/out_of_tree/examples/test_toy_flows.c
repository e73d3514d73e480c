/* SPDX-License-Identifier: BSD-3-Clause */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "flow_protocols/export.h"

static uint32_t nb_records;

static void take(void *arg, uint32_t n)
{
	const struct flow_record *record = arg;

	assert_int_equal(n, 1);
	assert_int_equal(record->packets, 3);
	assert_int_equal(record->key.v4.src_ip[0], 10);
	nb_records++;
}

static void an_encoded_record_is_decoded(void **state)
{
	static struct flow_record batch[DECODE_BATCH];
	const struct record_handler sink = {.batch = batch, .arg = batch, .records = take};
	const struct export_sender sender = {.protocol = FLOW_PROTOCOL_TOY_FLOWS, .domain = 7};
	const struct export_flow flow = {
		.key = {.v4.src_ip = {10}, .family = KEY_IPV4}, .packets = 3, .bytes = 300};
	struct export_message message;
	struct datagram_header header;

	(void)state;
	export_begin(&message, &sender, true);
	assert_true(export_ops_of(&sender)->flow(&message, &sender, &flow));
	assert_int_equal(export_ops_of(&sender)->end(&message, &sender, SECOND_NS, 5), 1);
	assert_int_equal(
		flow_protocol_read_header(message.bytes, message.len, &header), DECODE_FINE);
	assert_int_equal(header.protocol, FLOW_PROTOCOL_TOY_FLOWS);
	assert_int_equal(header.sequence, 5);
	assert_int_equal(header.domain, 7);
	assert_int_equal(
		flow_protocol_decode(&header, NULL, message.bytes, message.len, &sink).fault,
		DECODE_FINE);
	assert_int_equal(nb_records, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_encoded_record_is_decoded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
