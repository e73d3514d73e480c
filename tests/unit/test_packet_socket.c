/* SPDX-License-Identifier: BSD-3-Clause */

/* Frames of a packet socket, read from rings that this test fills like the kernel. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "parallel/wakeup.h"
#include "parallel/workers/poll.h"
#include "rx/packet/captured.h"
#include "rx/port/packet_socket.h"

#define SLOTS 4
#define SLOT  2048

struct made {
	struct packet_socket socket;
	_Alignas(64) uint8_t ring[SLOTS * SLOT];
};

static int make_ring(void **state)
{
	struct made *made = aligned_alloc(64, sizeof(*made));

	assert_non_null(made);
	memset(made, 0, sizeof(*made));
	made->socket =
		(struct packet_socket){.fd = -1, .ring = made->ring, .slots = SLOTS, .slot = SLOT};
	*state = made;
	return 0;
}

static int free_ring(void **state)
{
	free(*state);
	return 0;
}

/* Fills a slot like the kernel: `captured` of `length` bytes, each `filled`. */
static struct tpacket2_hdr *put(
	struct made *made, uint32_t slot, uint32_t captured, uint32_t length, uint8_t filled)
{
	struct tpacket2_hdr *header = packet_socket_slot(&made->socket, slot);

	*header = (struct tpacket2_hdr){
		.tp_len = length,
		.tp_snaplen = captured,
		.tp_mac = PACKET_SOCKET_OFFSET,
		.tp_sec = 1700000000 + slot,
		.tp_nsec = 5,
	};
	memset((uint8_t *)header + PACKET_SOCKET_OFFSET, filled, captured);
	header->tp_status = TP_STATUS_USER;
	return header;
}

static void an_empty_ring(void **state)
{
	struct made *made = *state;

	assert_int_equal(packet_socket_ready(&made->socket, 64), 0);
}

/* In ring order, with wrap-around; a slot that was read belongs to the kernel again. */
static void frames_in_their_order(void **state)
{
	struct made *made = *state;
	uint32_t put_in = 0, read = 0;

	for (int round = 0; round < 5; round++) {
		for (uint32_t i = 0; i < 3; i++, put_in++)
			put(made, put_in % SLOTS, 60, 60, (uint8_t)put_in);
		assert_int_equal(packet_socket_ready(&made->socket, 2), 2);
		assert_int_equal(packet_socket_ready(&made->socket, 64), 3);
		for (; read < put_in; read++) {
			struct packet_frame frame = packet_socket_read(&made->socket);

			assert_int_equal(frame.data[59], (uint8_t)read);
			assert_int_equal(
				frame.time, (INT64_C(1700000000) + read % SLOTS) * 1000000000 + 5);
			packet_socket_release(&made->socket);
			assert_int_equal(packet_socket_slot(&made->socket, read % SLOTS)->tp_status,
				TP_STATUS_KERNEL);
		}
		assert_int_equal(packet_socket_ready(&made->socket, 64), 0);
	}
}

static void a_full_ring_ends(void **state)
{
	struct made *made = *state;

	for (uint32_t slot = 0; slot < SLOTS; slot++)
		put(made, slot, 60, 60, 0);
	assert_int_equal(packet_socket_ready(&made->socket, SLOTS), SLOTS);
}

/* A frame after one that the kernel still writes is not available yet. */
static void a_frame_that_is_being_written(void **state)
{
	struct made *made = *state;

	put(made, 0, 60, 60, 0);
	put(made, 1, 60, 60, 0)->tp_status = TP_STATUS_KERNEL;
	put(made, 2, 60, 60, 0);
	assert_int_equal(packet_socket_ready(&made->socket, 64), 1);
}

/* Other status bits do not indicate a frame. */
static void a_ring_that_loses(void **state)
{
	struct made *made = *state;

	put(made, 0, 60, 60, 0)->tp_status = TP_STATUS_USER | TP_STATUS_LOSING | TP_STATUS_COPY;
	assert_int_equal(packet_socket_ready(&made->socket, 64), 1);
	assert_false(packet_socket_read(&made->socket).tagged);
}

static void a_frame_that_was_cut(void **state)
{
	struct made *made = *state;
	struct packet_frame frame;

	put(made, 0, PACKET_SOCKET_HEADERS, 185014, 7);
	frame = packet_socket_read(&made->socket);
	assert_int_equal(frame.captured, PACKET_SOCKET_HEADERS);
	assert_int_equal(frame.length, 185014);
}

static void a_tag_that_was_taken_out(void **state)
{
	struct made *made = *state;
	struct tpacket2_hdr *header;
	struct packet_frame frame;

	header = put(made, 0, 60, 60, 0);
	header->tp_status |= TP_STATUS_VLAN_VALID | TP_STATUS_VLAN_TPID_VALID;
	header->tp_vlan_tci = 0; /* VLAN 0, priority 0 */
	header->tp_vlan_tpid = 0x88a8;
	frame = packet_socket_read(&made->socket);
	assert_true(frame.tagged);
	assert_int_equal(frame.tag_type, 0x88a8);
	assert_int_equal(frame.tag_control, 0);

	/* A kernel that does not report the EtherType of the tag. */
	header->tp_status = TP_STATUS_USER;
	header->tp_vlan_tci = 0x2005;
	header->tp_vlan_tpid = 0;
	frame = packet_socket_read(&made->socket);
	assert_true(frame.tagged);
	assert_int_equal(frame.tag_type, 0x8100);
	assert_int_equal(frame.tag_control, 0x2005);
}

/* --- bytes of an mbuf --- */

static void bytes_that_are_not_there(void **state)
{
	uint8_t bytes[128], copy[128];
	struct rte_mbuf mbuf = {.buf_addr = bytes, .nb_segs = 1, .data_len = 100, .pkt_len = 65549};

	(void)state;
	assert_int_equal(mbuf_captured(&mbuf), 100);
	assert_ptr_equal(mbuf_read(&mbuf, 60, 40, copy), bytes + 60);
	assert_null(mbuf_read(&mbuf, 60, 41, copy));
	assert_null(mbuf_read(&mbuf, 101, 0, copy));
	assert_null(mbuf_read(&mbuf, UINT32_MAX, UINT32_MAX, copy));
}

/* --- waiting --- */

/* A nap is at most the time in which a ring fills; a wait is at most a tenth of an interval. */
static void times_to_wait(void **state)
{
	(void)state;
	assert_int_equal(poll_nap_ns(16384), 1000000);
	assert_in_range(poll_nap_ns(1024), 1024 * 50, 1024 * 67);
	assert_int_equal(poll_nap_ns(UINT32_MAX), 1000000);
	assert_int_equal(poll_wait_ms(0), 25);
	assert_int_equal(poll_wait_ms(1000000000), 25);
	assert_int_equal(poll_wait_ms(20000000), 2);
	assert_int_equal(poll_wait_ms(1000), 1);
}

/* A signal between announcement and sleep keeps the consumer awake. */
static void a_wakeup_before_the_sleep(void **state)
{
	struct wakeup wakeup = {0};

	(void)state;
	wakeup_look(&wakeup);        /* no sleeping consumer */
	wakeup_wait(&wakeup, 60000); /* announces */
	assert_int_equal(atomic_load(&wakeup.asleep), 1);
	wakeup_look(&wakeup);
	assert_int_equal(atomic_load(&wakeup.asleep), 0);
	wakeup_wait(&wakeup, 60000); /* announces again, and does not sleep */
	assert_int_equal(atomic_load(&wakeup.asleep), 1);
	wakeup_wait(&wakeup, 1); /* sleeps until the timeout */
	assert_int_equal(atomic_load(&wakeup.asleep), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(an_empty_ring, make_ring, free_ring),
		cmocka_unit_test_setup_teardown(frames_in_their_order, make_ring, free_ring),
		cmocka_unit_test_setup_teardown(a_full_ring_ends, make_ring, free_ring),
		cmocka_unit_test_setup_teardown(
			a_frame_that_is_being_written, make_ring, free_ring),
		cmocka_unit_test_setup_teardown(a_ring_that_loses, make_ring, free_ring),
		cmocka_unit_test_setup_teardown(a_frame_that_was_cut, make_ring, free_ring),
		cmocka_unit_test_setup_teardown(a_tag_that_was_taken_out, make_ring, free_ring),
		cmocka_unit_test(bytes_that_are_not_there),
		cmocka_unit_test(times_to_wait),
		cmocka_unit_test(a_wakeup_before_the_sleep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
