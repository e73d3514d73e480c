/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Packet sockets that receive all frames of an interface through a mapped ring, and share them by a
 * symmetric flow hash. One thread reads a socket, another may count and silence it.
 *
 * A ring has slots of one frame each (TPACKET_V2), or blocks of many frames (TPACKET_V3). The kernel
 * needs less time for blocks, but passes on a block only if it is full or
 * PACKET_SOCKET_BLOCK_MS old.
 */

#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/if_packet.h>

#include "base/units.h"

/* The timer of Linux before 6.18 has ticks of 1 to 10 ms, and needs up to two. */
#define PACKET_SOCKET_BLOCK_MS 1

/* Bytes before the frame in a slot */
#define PACKET_SOCKET_OFFSET  66
/* Bytes for all headers of IPv4, and of IPv6 without extension headers */
#define PACKET_SOCKET_HEADERS 144
#define PACKET_SOCKET_TAG     0x8100
#define PACKET_SOCKET_LINE    64

struct packet_socket {
	int fd;
	uint8_t *ring;
	bool in_blocks;
	uint32_t slots, slot; /* number of slots or blocks, and the bytes of each */
	/* Owned by the reading thread */
	uint32_t next; /* first slot or block that was not begun */
	struct tpacket_block_desc *block;
	const uint8_t *frame; /* next frame in `block` */
	uint32_t left;        /* unread frames in `block` */
	/* Frames, owned by the counting thread. `lost`: the ring was full. */
	alignas(PACKET_SOCKET_LINE) uint64_t received, lost;
};

struct packet_socket_params {
	uint32_t interface;
	bool in_blocks;
	uint32_t slots, slot; /* number of slots, bytes per slot; a ring of blocks has equal size */
	/* Copy only PACKET_SOCKET_HEADERS bytes of IPv4, and of IPv6 without extension headers */
	bool headers_only;
	bool without_outgoing; /* drop frames that this host sends on the interface */
};

struct packet_frame {
	const uint8_t *data;
	uint32_t captured;
	uint32_t length; /* bytes on the wire, without FCS and without the removed tag */
	int64_t time;    /* ns since 1970-01-01 UTC */
	bool tagged;
	uint16_t tag_type, tag_control;
};

/* Returns 0 or an errno. The socket does not receive yet. */
int packet_socket_open(struct packet_socket *socket);

/* The n sockets share all frames. Returns 0, or an errno with the failed call in *what. */
int packet_sockets_start(struct packet_socket *sockets, uint32_t n,
	const struct packet_socket_params *params, const char **what);

void packet_socket_silence(const struct packet_socket *socket);

/* Updates `received` and `lost`. Returns false if the kernel does not report them. */
bool packet_socket_count(struct packet_socket *socket);

/* A pending error of the interface would end every poll() at once. */
void packet_socket_clear_error(int fd);

void packet_socket_close(struct packet_socket *socket);

static inline void *packet_socket_slot(const struct packet_socket *socket, uint32_t number)
{
	return socket->ring + (size_t)number * socket->slot;
}

static inline uint32_t packet_socket_after(const struct packet_socket *socket, uint32_t number)
{
	return number + 1 == socket->slots ? 0 : number + 1;
}

static inline uint32_t packet_socket_slots_ready(const struct packet_socket *socket, uint32_t most)
{
	uint32_t number = socket->next, n = 0;

	while (n < most) {
		const struct tpacket2_hdr *header = packet_socket_slot(socket, number);

		/* Pairs with the kernel's barrier between the frame and its status. */
		if ((__atomic_load_n(&header->tp_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER) == 0)
			break;
		__builtin_prefetch((const uint8_t *)header + PACKET_SOCKET_LINE);
		number = packet_socket_after(socket, number);
		n++;
	}
	return n;
}

static inline void packet_socket_give_back(struct tpacket_block_desc *block)
{
	/* Pairs with the kernel, which reads the status before it writes to the block. */
	__atomic_store_n(&block->hdr.bh1.block_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
}

/* The next block must be ready. */
static inline void packet_socket_begin_block(struct packet_socket *socket)
{
	struct tpacket_block_desc *block = packet_socket_slot(socket, socket->next);

	socket->next = packet_socket_after(socket, socket->next);
	socket->block = block;
	socket->frame = (const uint8_t *)block + block->hdr.bh1.offset_to_first_pkt;
	socket->left = block->hdr.bh1.num_pkts;
	if (socket->left == 0)
		packet_socket_give_back(block);
}

static inline uint32_t packet_socket_blocks_ready(struct packet_socket *socket, uint32_t most)
{
	uint32_t n = socket->left, number = socket->next;
	uint32_t others = socket->slots - (n > 0); /* blocks that were not begun */

	for (; n < most && others > 0; others--) {
		const struct tpacket_block_desc *block = packet_socket_slot(socket, number);

		/* Pairs with the kernel's barrier between the frames and the status of a block. */
		if ((__atomic_load_n(&block->hdr.bh1.block_status, __ATOMIC_ACQUIRE) &
			    TP_STATUS_USER) == 0)
			break;
		number = packet_socket_after(socket, number);
		if (n == 0) {
			packet_socket_begin_block(socket);
			n = socket->left;
		} else {
			n += block->hdr.bh1.num_pkts;
		}
	}
	return n < most ? n : most;
}

/* Returns the number of frames that can be read, at most `most`. */
static inline uint32_t packet_socket_ready(struct packet_socket *socket, uint32_t most)
{
	return socket->in_blocks ? packet_socket_blocks_ready(socket, most)
				 : packet_socket_slots_ready(socket, most);
}

static inline struct packet_frame packet_socket_read_slot(const struct packet_socket *socket)
{
	const struct tpacket2_hdr *header = packet_socket_slot(socket, socket->next);

	return (struct packet_frame){
		.data = (const uint8_t *)header + header->tp_mac,
		.captured = header->tp_snaplen,
		.length = header->tp_len,
		.time = (int64_t)header->tp_sec * SECOND_NS + header->tp_nsec,
		.tagged =
			header->tp_vlan_tci != 0 || (header->tp_status & TP_STATUS_VLAN_VALID) != 0,
		.tag_type = (header->tp_status & TP_STATUS_VLAN_TPID_VALID) != 0
				    ? header->tp_vlan_tpid
				    : PACKET_SOCKET_TAG,
		.tag_control = header->tp_vlan_tci,
	};
}

static inline struct packet_frame packet_socket_read_block(struct packet_socket *socket)
{
	const struct tpacket3_hdr *header;

	while (socket->left == 0)
		packet_socket_begin_block(socket);
	header = (const void *)socket->frame;
	return (struct packet_frame){
		.data = socket->frame + header->tp_mac,
		.captured = header->tp_snaplen,
		.length = header->tp_len,
		.time = (int64_t)header->tp_sec * SECOND_NS + header->tp_nsec,
		.tagged = header->hv1.tp_vlan_tci != 0 ||
			  (header->tp_status & TP_STATUS_VLAN_VALID) != 0,
		.tag_type = (header->tp_status & TP_STATUS_VLAN_TPID_VALID) != 0
				    ? header->hv1.tp_vlan_tpid
				    : PACKET_SOCKET_TAG,
		.tag_control = (uint16_t)header->hv1.tp_vlan_tci,
	};
}

/* A frame must be ready. It is valid until packet_socket_release(). */
static inline struct packet_frame packet_socket_read(struct packet_socket *socket)
{
	return socket->in_blocks ? packet_socket_read_block(socket)
				 : packet_socket_read_slot(socket);
}

static inline void packet_socket_release(struct packet_socket *socket)
{
	if (socket->in_blocks) {
		socket->frame +=
			((const struct tpacket3_hdr *)(const void *)socket->frame)->tp_next_offset;
		if (--socket->left == 0)
			packet_socket_give_back(socket->block);
	} else {
		struct tpacket2_hdr *header = packet_socket_slot(socket, socket->next);

		socket->next = packet_socket_after(socket, socket->next);
		/* Pairs with the kernel, which reads the status before it writes to the slot. */
		__atomic_store_n(&header->tp_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
	}
}
