/* SPDX-License-Identifier: BSD-3-Clause */

/* Frames of a packet socket, read from rings that this test fills like the kernel. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

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
			const struct tpacket2_hdr *header =
				packet_socket_slot(&made->socket, read % SLOTS);
			struct packet_frame frame = packet_socket_read(&made->socket);

			assert_int_equal(frame.data[59], (uint8_t)read);
			assert_int_equal(
				frame.time, (INT64_C(1700000000) + read % SLOTS) * 1000000000 + 5);
			packet_socket_release(&made->socket);
			assert_int_equal(header->tp_status, TP_STATUS_KERNEL);
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

/* --- blocks of frames --- */

#define FRAME_AT 48 /* offset of the first frame in a block */
#define FRAME    144
#define HEADER   82 /* bytes before those of the interface */

static int make_blocks(void **state)
{
	struct made *made;

	make_ring(state);
	made = *state;
	made->socket.in_blocks = true;
	return 0;
}

/* Fills a block like the kernel with n frames of 60 bytes, which are `filled`, `filled` + 1, ... */
static struct tpacket_block_desc *put_block(
	struct made *made, uint32_t number, uint32_t n, uint8_t filled)
{
	struct tpacket_block_desc *block = packet_socket_slot(&made->socket, number);

	assert_true(FRAME_AT + n * FRAME <= SLOT);
	block->hdr.bh1.num_pkts = n;
	block->hdr.bh1.offset_to_first_pkt = FRAME_AT;
	for (uint32_t i = 0; i < n; i++) {
		uint8_t *at = (uint8_t *)block + FRAME_AT + (size_t)i * FRAME;

		*(struct tpacket3_hdr *)(void *)at = (struct tpacket3_hdr){
			.tp_next_offset = i + 1 < n ? FRAME : 0,
			.tp_sec = 1700000000u + filled + i,
			.tp_nsec = 5,
			.tp_snaplen = 60,
			.tp_len = 60,
			.tp_mac = HEADER,
		};
		memset(at + HEADER, (uint8_t)(filled + i), 60);
	}
	block->hdr.bh1.block_status = TP_STATUS_USER;
	return block;
}

static struct tpacket3_hdr *first_of(struct tpacket_block_desc *block)
{
	return (struct tpacket3_hdr *)(void *)((uint8_t *)block + FRAME_AT);
}

static void expect_frames(struct made *made, uint32_t n, uint8_t filled)
{
	for (uint32_t i = 0; i < n; i++) {
		struct packet_frame frame = packet_socket_read(&made->socket);

		assert_int_equal(frame.captured, 60);
		assert_int_equal(frame.length, 60);
		assert_int_equal(frame.data[0], (uint8_t)(filled + i));
		assert_int_equal(frame.data[59], (uint8_t)(filled + i));
		assert_int_equal(frame.time, (INT64_C(1700000000) + filled + i) * 1000000000 + 5);
		assert_false(frame.tagged);
		packet_socket_release(&made->socket);
	}
}

static uint32_t status_of(const struct made *made, uint32_t number)
{
	const struct tpacket_block_desc *block = packet_socket_slot(&made->socket, number);

	return block->hdr.bh1.block_status;
}

/* Bursts continue in the next block; a block belongs to the kernel again after its last frame. */
static void frames_of_many_blocks(void **state)
{
	struct made *made = *state;

	for (uint32_t round = 0; round < 5; round++) {
		uint32_t first = 3 * round % SLOTS, second = (first + 1) % SLOTS,
			 third = (first + 2) % SLOTS;

		put_block(made, first, 3, 10);
		put_block(made, second, 1, 13);
		put_block(made, third, 9, 14);
		assert_int_equal(packet_socket_ready(&made->socket, 2), 2);
		assert_int_equal(packet_socket_ready(&made->socket, 64), 13);
		expect_frames(made, 2, 10);
		assert_int_equal(status_of(made, first), TP_STATUS_USER);
		assert_int_equal(packet_socket_ready(&made->socket, 64), 11);
		expect_frames(made, 3, 12);
		assert_int_equal(status_of(made, first), TP_STATUS_KERNEL);
		assert_int_equal(status_of(made, second), TP_STATUS_KERNEL);
		assert_int_equal(status_of(made, third), TP_STATUS_USER);
		expect_frames(made, 8, 15);
		assert_int_equal(status_of(made, third), TP_STATUS_KERNEL);
		assert_int_equal(packet_socket_ready(&made->socket, 64), 0);
	}
}

/* A block that was begun is not counted twice. */
static void all_blocks_are_full(void **state)
{
	struct made *made = *state;

	for (uint32_t block = 0; block < SLOTS; block++)
		put_block(made, block, 4, (uint8_t)(4 * block));
	assert_int_equal(packet_socket_ready(&made->socket, 64), 4 * SLOTS);
	expect_frames(made, 1, 0);
	assert_int_equal(packet_socket_ready(&made->socket, 64), 4 * SLOTS - 1);
	expect_frames(made, 4 * SLOTS - 1, 1);
	assert_int_equal(packet_socket_ready(&made->socket, 64), 0);
}

static void blocks_without_frames(void **state)
{
	struct made *made = *state;

	for (uint32_t block = 0; block < SLOTS; block++)
		put_block(made, block, 0, 0);
	assert_int_equal(packet_socket_ready(&made->socket, 64), 0);
	for (uint32_t block = 0; block < SLOTS; block++)
		assert_int_equal(status_of(made, block), TP_STATUS_KERNEL);
	put_block(made, 0, 0, 0);
	put_block(made, 1, 2, 7);
	put_block(made, 2, 0, 0);
	put_block(made, 3, 1, 9);
	assert_int_equal(packet_socket_ready(&made->socket, 64), 3);
	expect_frames(made, 3, 7);
	for (uint32_t block = 0; block < SLOTS; block++)
		assert_int_equal(status_of(made, block), TP_STATUS_KERNEL);
}

static void a_block_that_is_being_written(void **state)
{
	struct made *made = *state;

	put_block(made, 0, 2, 1)->hdr.bh1.block_status = TP_STATUS_KERNEL;
	assert_int_equal(packet_socket_ready(&made->socket, 64), 0);
	put_block(made, 0, 3, 1)->hdr.bh1.block_status = TP_STATUS_USER | TP_STATUS_BLK_TMO;
	put_block(made, 1, 2, 4)->hdr.bh1.block_status = TP_STATUS_KERNEL;
	put_block(made, 2, 2, 6);
	assert_int_equal(packet_socket_ready(&made->socket, 64), 3);
}

static void cut_and_tagged_frames_of_a_block(void **state)
{
	struct made *made = *state;
	struct tpacket3_hdr *header = first_of(put_block(made, 0, 1, 7));
	struct packet_frame frame;

	header->tp_len = 185014;
	header->tp_status = TP_STATUS_VLAN_VALID | TP_STATUS_VLAN_TPID_VALID;
	header->hv1.tp_vlan_tci = 0;
	header->hv1.tp_vlan_tpid = 0x88a8;
	assert_int_equal(packet_socket_ready(&made->socket, 64), 1);
	frame = packet_socket_read(&made->socket);
	assert_int_equal(frame.captured, 60);
	assert_int_equal(frame.length, 185014);
	assert_true(frame.tagged);
	assert_int_equal(frame.tag_type, 0x88a8);
	assert_int_equal(frame.tag_control, 0);
	packet_socket_release(&made->socket);

	header = first_of(put_block(made, 1, 1, 7));
	header->tp_status = TP_STATUS_USER;
	header->hv1.tp_vlan_tci = 0x2005;
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

/* A call before the sleep ends it, and only once. */
static void a_poller_that_is_woken(void **state)
{
	struct poller poller = {.nb_fds = 1, .nap_ns = 1, .bell = eventfd(0, EFD_NONBLOCK)};
	int ends[2];
	eventfd_t rings;

	(void)state;
	assert_true(poller.bell >= 0);
	assert_int_equal(pipe(ends), 0);
	poller.fds[0] = ends[0];
	poll_wait(&poller, 60000); /* the first one is short */
	poll_wake(&poller);
	poll_wake(&poller);
	poll_wait(&poller, 60000);
	assert_int_equal(eventfd_read(poller.bell, &rings), -1);
	poll_wait(&poller, 1); /* sleeps until the timeout */
	assert_int_equal(write(ends[1], "", 1), 1);
	poll_wait(&poller, 60000);
	close(ends[0]);
	close(ends[1]);
	close(poller.bell);
}

static void nothing(void *arg, uint32_t q)
{
	(void)arg;
	(void)q;
}

/* After the stop, and while frames wait to be sent, a wait is short. */
static void a_poller_with_other_work(void **state)
{
	struct poller poller = {.nb_fds = 1, .nap_ns = 1, .bell = eventfd(0, EFD_NONBLOCK)};
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	poller.fds[0] = ends[0];
	poll_wait(&poller, 600000); /* the first one is short */
	poller.empty = nothing;
	poll_wait(&poller, 600000);
	poller.empty = NULL;
	poller.ended = true;
	poller.quiet_ms = 1;
	poll_wait(&poller, 600000);
	close(ends[0]);
	close(ends[1]);
	close(poller.bell);
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
		cmocka_unit_test_setup_teardown(an_empty_ring, make_blocks, free_ring),
		cmocka_unit_test_setup_teardown(frames_of_many_blocks, make_blocks, free_ring),
		cmocka_unit_test_setup_teardown(all_blocks_are_full, make_blocks, free_ring),
		cmocka_unit_test_setup_teardown(blocks_without_frames, make_blocks, free_ring),
		cmocka_unit_test_setup_teardown(
			a_block_that_is_being_written, make_blocks, free_ring),
		cmocka_unit_test_setup_teardown(
			cut_and_tagged_frames_of_a_block, make_blocks, free_ring),
		cmocka_unit_test(bytes_that_are_not_there),
		cmocka_unit_test(times_to_wait),
		cmocka_unit_test(a_poller_that_is_woken),
		cmocka_unit_test(a_poller_with_other_work),
		cmocka_unit_test(a_wakeup_before_the_sleep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
