/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Packet sockets that receive all frames of an interface through a mapped ring (TPACKET_V2), and
 * share them by a symmetric flow hash. One thread reads a socket, another may count and silence it.
 */

#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/if_packet.h>

#include "base/units.h"

/* Bytes before the frame in a slot */
#define PACKET_SOCKET_OFFSET  66
/* Bytes for all headers of IPv4, and of IPv6 without extension headers */
#define PACKET_SOCKET_HEADERS 144
#define PACKET_SOCKET_TAG     0x8100
#define PACKET_SOCKET_LINE    64

struct packet_socket {
	int fd;
	uint8_t *ring;
	uint32_t slots, slot; /* number of slots, bytes per slot */
	/* Owned by the reading thread */
	uint32_t next;
	/* Frames, owned by the counting thread. `lost`: the ring was full. */
	alignas(PACKET_SOCKET_LINE) uint64_t received, lost;
};

struct packet_socket_params {
	uint32_t interface;
	uint32_t slots, slot; /* number of slots, bytes per slot */
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

static inline struct tpacket2_hdr *packet_socket_slot(
	const struct packet_socket *socket, uint32_t number)
{
	return (struct tpacket2_hdr *)(void *)(socket->ring + (size_t)number * socket->slot);
}

static inline uint32_t packet_socket_after(const struct packet_socket *socket, uint32_t number)
{
	return number + 1 == socket->slots ? 0 : number + 1;
}

static inline uint32_t packet_socket_ready(const struct packet_socket *socket, uint32_t most)
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

/* The frame must be ready. It is valid until packet_socket_release(). */
static inline struct packet_frame packet_socket_read(const struct packet_socket *socket)
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

static inline void packet_socket_release(struct packet_socket *socket)
{
	struct tpacket2_hdr *header = packet_socket_slot(socket, socket->next);

	socket->next = packet_socket_after(socket, socket->next);
	/* Pairs with the kernel, which reads the status before it writes to the slot. */
	__atomic_store_n(&header->tp_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
}
