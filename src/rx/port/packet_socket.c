/* SPDX-License-Identifier: BSD-3-Clause */
#include "rx/port/packet_socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define SLOT_BLOCK_BYTES (64u << 10)
/*
 * A block may hold a single frame when its time is over. So many small blocks receive for longer
 * than few large ones while the reader is stopped: 32 MB for 4 s, at no measurable cost.
 */
#define BLOCK_BYTES      (8u << 10)
#define BLOCKS_MIN       2u

/* Offsets in a frame without a VLAN tag */
#define TYPE_AT       12
#define IPV6_PROTO_AT (14 + 6)

#define PROTO_TCP    6
#define PROTO_UDP    17
#define PROTO_ICMPV6 58

static int attach(int fd, struct sock_filter *codes, uint16_t n)
{
	struct sock_fprog program = {.len = n, .filter = codes};

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) == 0 ? 0
											    : errno;
}

static int attach_nothing(int fd)
{
	struct sock_filter codes[] = {BPF_STMT(BPF_RET | BPF_K, 0)};

	return attach(fd, codes, 1);
}

/* PACKET_IGNORE_OUTGOING has no effect in a fan-out group. */
static int attach_filter(int fd, const struct packet_socket_params *params)
{
	enum { LENGTH = 2 }; /* index of the first instruction for all frames */
	enum { ALL = 11, SHORT = 12, NONE = 13 }; /* indices of the last three instructions */
	const uint16_t first = params->without_outgoing ? 0 : LENGTH;
	const uint32_t shortened = params->headers_only ? PACKET_SOCKET_HEADERS : UINT32_MAX;
	struct sock_filter codes[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(SKF_AD_OFF + SKF_AD_PKTTYPE)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PACKET_OUTGOING, NONE - 2, 0),
		BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, shortened, 0, ALL - 4),
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, TYPE_AT),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETH_P_IP, SHORT - 6, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETH_P_IPV6, 0, ALL - 7),
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, IPV6_PROTO_AT),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PROTO_TCP, SHORT - 9, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PROTO_UDP, SHORT - 10, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PROTO_ICMPV6, SHORT - 11, ALL - 11),
		BPF_STMT(BPF_RET | BPF_K, params->slot),
		BPF_STMT(BPF_RET | BPF_K, PACKET_SOCKET_HEADERS),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};

	return attach(fd, codes + first, (uint16_t)(sizeof(codes) / sizeof(codes[0]) - first));
}

int packet_socket_open(struct packet_socket *opened)
{
	*opened = (struct packet_socket){.fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0)};
	return opened->fd >= 0 ? 0 : errno;
}

static struct tpacket_req3 plan_slots(const struct packet_socket_params *params)
{
	const uint32_t page = (uint32_t)sysconf(_SC_PAGESIZE);
	uint32_t slot = params->slot, block = SLOT_BLOCK_BYTES, each;

	if (SLOT_BLOCK_BYTES % slot != 0)
		block = slot = (slot + page - 1) / page * page;
	while (block > page && block / slot > params->slots)
		block /= 2;
	each = block / slot;
	return (struct tpacket_req3){
		.tp_block_size = block,
		.tp_block_nr = (params->slots + each - 1) / each,
		.tp_frame_size = slot,
		.tp_frame_nr = (params->slots + each - 1) / each * each,
	};
}

/* The kernel ignores the frame size, but checks it. */
static struct tpacket_req3 plan_blocks(const struct packet_socket_params *params)
{
	const size_t bytes = (size_t)params->slots * params->slot;
	uint32_t block = BLOCK_BYTES, n;

	while (block < 2 * params->slot)
		block *= 2;
	n = bytes > BLOCKS_MIN * block ? (uint32_t)(bytes / block) : BLOCKS_MIN;
	return (struct tpacket_req3){
		.tp_block_size = block,
		.tp_block_nr = n,
		.tp_frame_size = BLOCK_BYTES,
		.tp_frame_nr = block / BLOCK_BYTES * n,
		.tp_retire_blk_tov = PACKET_SOCKET_BLOCK_MS,
	};
}

static int map_ring(struct packet_socket *socket, const struct packet_socket_params *params)
{
	const int version = params->in_blocks ? TPACKET_V3 : TPACKET_V2;
	const struct tpacket_req3 request =
		params->in_blocks ? plan_blocks(params) : plan_slots(params);
	const size_t bytes = (size_t)request.tp_block_size * request.tp_block_nr;
	void *ring;

	if (setsockopt(socket->fd, SOL_PACKET, PACKET_VERSION, &version, sizeof(version)) != 0 ||
		setsockopt(socket->fd, SOL_PACKET, PACKET_RX_RING, &request,
			params->in_blocks ? sizeof(request) : sizeof(struct tpacket_req)) != 0)
		return errno;
	ring = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, socket->fd, 0);
	if (ring == MAP_FAILED)
		return errno;
	socket->ring = ring;
	socket->in_blocks = params->in_blocks;
	socket->slots = params->in_blocks ? request.tp_block_nr : request.tp_frame_nr;
	socket->slot = params->in_blocks ? request.tp_block_size : request.tp_frame_size;
	return 0;
}

static int bind_to(const struct packet_socket *socket, uint32_t interface)
{
	const struct sockaddr_ll address = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(ETH_P_ALL),
		.sll_ifindex = (int)interface,
	};

	return bind(socket->fd, (const struct sockaddr *)&address, sizeof(address)) == 0 ? 0
											 : errno;
}

/* The kernel chooses a group number that is unique in the network namespace. */
static int share_frames(const struct packet_socket *sockets, uint32_t n)
{
	uint32_t group = (PACKET_FANOUT_HASH | PACKET_FANOUT_FLAG_UNIQUEID) << 16;
	socklen_t length = sizeof(group);

	for (uint32_t s = 0; s < n; s++) {
		if (setsockopt(sockets[s].fd, SOL_PACKET, PACKET_FANOUT, &group, sizeof(group)) !=
			0)
			return errno;
		if (s == 0 &&
			getsockopt(sockets[0].fd, SOL_PACKET, PACKET_FANOUT, &group, &length) != 0)
			return errno;
		group = (group & UINT16_MAX) | PACKET_FANOUT_HASH << 16;
	}
	return 0;
}

/* A socket receives every frame until it joins its fan-out group. So it drops all frames first. */
int packet_sockets_start(struct packet_socket *sockets, uint32_t n,
	const struct packet_socket_params *params, const char **what)
{
	int error = 0;

	for (uint32_t s = 0; s < n && error == 0; s++) {
		*what = "PACKET_RX_RING";
		error = map_ring(&sockets[s], params);
		if (error == 0) {
			*what = "SO_ATTACH_FILTER";
			error = attach_nothing(sockets[s].fd);
		}
		if (error == 0) {
			*what = "bind";
			error = bind_to(&sockets[s], params->interface);
		}
	}
	if (error == 0 && n > 1) {
		*what = "PACKET_FANOUT";
		error = share_frames(sockets, n);
	}
	for (uint32_t s = 0; s < n && error == 0; s++) {
		*what = "SO_ATTACH_FILTER";
		error = attach_filter(sockets[s].fd, params);
	}
	return error;
}

void packet_socket_silence(const struct packet_socket *socket)
{
	attach_nothing(socket->fd);
}

/* The kernel clears counters that are read. tp_packets includes tp_drops. */
bool packet_socket_count(struct packet_socket *socket)
{
	struct tpacket_stats stats;
	socklen_t length = sizeof(stats);

	if (getsockopt(socket->fd, SOL_PACKET, PACKET_STATISTICS, &stats, &length) != 0)
		return false;
	socket->received += stats.tp_packets - stats.tp_drops;
	socket->lost += stats.tp_drops;
	return true;
}

void packet_socket_clear_error(int fd)
{
	int error;
	socklen_t length = sizeof(error);

	(void)getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length);
}

void packet_socket_close(struct packet_socket *socket)
{
	if (socket->ring != NULL)
		munmap(socket->ring, (size_t)socket->slots * socket->slot);
	if (socket->fd >= 0)
		close(socket->fd);
	*socket = (struct packet_socket){.fd = -1};
}
