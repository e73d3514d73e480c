/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * ring-reader INTERFACE: receives the frames of a kernel interface through a ring of blocks
 * (TPACKET_V3), and reads the IPv4 addresses of each frame. A signal ends it. bench/edge compares
 * its CPU time with that of programs that count flows.
 */

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#define BLOCK_BYTES  (1u << 20)
#define BLOCKS       32u
#define FRAME_BYTES  2048u
#define RETIRE_MS    1  /* the kernel passes on a block with frames after this time */
#define ADDRESSES_AT 26 /* offset of the IPv4 addresses in a frame without a VLAN tag */

static volatile uint64_t sum; /* keeps the compiler from removing the reads */

static void *open_ring(const char *interface, int *fd)
{
	const int version = TPACKET_V3;
	const struct tpacket_req3 request = {
		.tp_block_size = BLOCK_BYTES,
		.tp_block_nr = BLOCKS,
		.tp_frame_size = FRAME_BYTES,
		.tp_frame_nr = BLOCK_BYTES / FRAME_BYTES * BLOCKS,
		.tp_retire_blk_tov = RETIRE_MS,
	};
	const struct sockaddr_ll address = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(ETH_P_ALL),
		.sll_ifindex = (int)if_nametoindex(interface),
	};
	void *ring;

	*fd = socket(AF_PACKET, SOCK_RAW, 0);
	if (*fd < 0 || address.sll_ifindex == 0 ||
		setsockopt(*fd, SOL_PACKET, PACKET_VERSION, &version, sizeof(version)) != 0 ||
		setsockopt(*fd, SOL_PACKET, PACKET_RX_RING, &request, sizeof(request)) != 0)
		return NULL;
	ring = mmap(NULL, (size_t)BLOCK_BYTES * BLOCKS, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
	if (ring == MAP_FAILED ||
		bind(*fd, (const struct sockaddr *)&address, sizeof(address)) != 0)
		return NULL;
	return ring;
}

static void read_block(const struct tpacket_block_desc *block)
{
	const uint8_t *at = (const uint8_t *)block + block->hdr.bh1.offset_to_first_pkt;

	for (uint32_t i = 0; i < block->hdr.bh1.num_pkts; i++) {
		const struct tpacket3_hdr *frame = (const void *)at;
		uint64_t addresses;

		memcpy(&addresses, at + frame->tp_mac + ADDRESSES_AT, sizeof(addresses));
		sum += addresses;
		at += frame->tp_next_offset;
	}
}

int main(int argc, char **argv)
{
	struct pollfd polled = {.events = POLLIN};
	uint8_t *ring;

	if (argc != 2) {
		fputs("usage: ring-reader INTERFACE\n", stderr);
		return 2;
	}
	ring = open_ring(argv[1], &polled.fd);
	if (ring == NULL) {
		perror(argv[1]);
		return 1;
	}
	for (uint32_t b = 0;; b = (b + 1) % BLOCKS) {
		struct tpacket_block_desc *block = (void *)(ring + (size_t)b * BLOCK_BYTES);

		/* Pairs with the kernel's barrier between the frames and the status of the block. */
		while ((__atomic_load_n(&block->hdr.bh1.block_status, __ATOMIC_ACQUIRE) &
			       TP_STATUS_USER) == 0)
			(void)poll(&polled, 1, -1);
		read_block(block);
		/* Pairs with the kernel, which reads the status before it writes to the block. */
		__atomic_store_n(&block->hdr.bh1.block_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
	}
}
