/* SPDX-License-Identifier: BSD-3-Clause */
#include "rx/port/kernel_interface.h"

#include <dirent.h>
#include <errno.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <linux/if_link.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <linux/if_xdp.h>
#include <linux/rtnetlink.h>
#include <net/if.h>

#ifndef AF_XDP
#define AF_XDP 44
#endif
#ifndef SOL_XDP
#define SOL_XDP 283
#endif

#define ANSWER_US  100000
/* larger than any answer for one link without virtual functions */
#define ANSWER_MAX 32768

struct request {
	struct nlmsghdr header;
	struct ifinfomsg body;
};

static bool read_interface(int fd, uint32_t index)
{
	const struct request request = {
		.header =
			{
				.nlmsg_len = sizeof(request),
				.nlmsg_type = RTM_GETLINK,
				.nlmsg_flags = NLM_F_REQUEST,
			},
		.body = {.ifi_family = AF_UNSPEC, .ifi_index = (int)index},
	};

	return send(fd, &request, sizeof(request), 0) == (ssize_t)sizeof(request);
}

static void take_link(struct nlmsghdr *header, struct kernel_interface *interface)
{
	struct ifinfomsg *body = NLMSG_DATA(header);
	struct rtattr *attribute = IFLA_RTA(body);
	int length = (int)IFLA_PAYLOAD(header);

	interface->up = (body->ifi_flags & IFF_UP) && (body->ifi_flags & IFF_RUNNING);
	for (; RTA_OK(attribute, length); attribute = RTA_NEXT(attribute, length)) {
		struct rtnl_link_stats64 stats = {0};
		size_t told = RTA_PAYLOAD(attribute);

		if (attribute->rta_type != IFLA_STATS64)
			continue;
		memcpy(&stats, RTA_DATA(attribute), told < sizeof(stats) ? told : sizeof(stats));
		interface->rx_errors = stats.rx_errors;
		interface->rx_dropped = stats.rx_dropped;
		interface->rx_missed_errors = stats.rx_missed_errors;
		interface->tx_dropped = stats.tx_dropped;
		interface->tx_packets = stats.tx_packets;
		interface->tx_bytes = stats.tx_bytes;
	}
}

static enum kernel_presence wait_for_interface(int fd, struct kernel_interface *interface)
{
	static alignas(
		struct nlmsghdr) char answer[ANSWER_MAX]; /* used only by the reporter thread */
	struct nlmsghdr *header = (struct nlmsghdr *)answer;
	ssize_t length = recv(fd, answer, sizeof(answer), 0);

	if (length <= 0 || !NLMSG_OK(header, (size_t)length))
		return KERNEL_UNSAID;
	if (header->nlmsg_type == NLMSG_ERROR) {
		const struct nlmsgerr *error = NLMSG_DATA(header);

		return error->error == -ENODEV ? KERNEL_GONE : KERNEL_UNSAID;
	}
	if (header->nlmsg_type != RTM_NEWLINK)
		return KERNEL_UNSAID;
	take_link(header, interface);
	return KERNEL_THERE;
}

enum kernel_presence kernel_interface_read(uint32_t index, struct kernel_interface *interface)
{
	const struct timeval patience = {.tv_usec = ANSWER_US};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	enum kernel_presence presence = KERNEL_UNSAID;

	*interface = (struct kernel_interface){0};
	if (fd < 0)
		return presence;
	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) == 0 &&
		read_interface(fd, index))
		presence = wait_for_interface(fd, interface);
	close(fd);
	return presence;
}

static int socket_family(int fd)
{
	int family;
	socklen_t length = sizeof(family);

	return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &length) == 0 ? family : -1;
}

static bool is_bound_to(int fd, uint32_t index)
{
	struct sockaddr_ll address;
	socklen_t length = sizeof(address);

	return getsockname(fd, (struct sockaddr *)&address, &length) == 0 &&
	       address.sll_ifindex == (int)index && address.sll_protocol != 0;
}

static bool has(const struct kernel_sockets *sockets, int fd)
{
	for (uint32_t s = 0; s < sockets->nb; s++)
		if (sockets->fds[s] == fd)
			return true;
	return false;
}

bool kernel_sockets_find(struct kernel_sockets *sockets, int family, uint32_t index,
	uint32_t wanted, const struct kernel_sockets *const *others, size_t nb_others)
{
	DIR *directory = opendir("/proc/self/fd");
	const struct dirent *entry;

	*sockets = (struct kernel_sockets){.family = family};
	if (directory == NULL)
		return false;
	while (sockets->nb < wanted && sockets->nb < KERNEL_SOCKETS_MAX &&
		(entry = readdir(directory)) != NULL) {
		int fd = atoi(entry->d_name);
		bool taken = false;

		if (entry->d_name[0] == '.' || socket_family(fd) != family ||
			(family == AF_PACKET && !is_bound_to(fd, index)))
			continue;
		for (size_t o = 0; o < nb_others; o++)
			taken |= has(others[o], fd);
		if (!taken)
			sockets->fds[sockets->nb++] = fd;
	}
	closedir(directory);
	return sockets->nb == wanted;
}

/* Packets without a buffer (rx_fill_ring_empty_descs) are already in rx_dropped. */
static bool xdp_socket_lost(int fd, uint64_t *lost)
{
	struct xdp_statistics stats = {0};
	socklen_t length = sizeof(stats);

	if (getsockopt(fd, SOL_XDP, XDP_STATISTICS, &stats, &length) != 0)
		return false;
	*lost = stats.rx_dropped + stats.rx_ring_full;
	return true;
}

bool kernel_sockets_lost(const struct kernel_sockets *sockets, uint64_t *lost)
{
	uint64_t sum = 0;

	for (uint32_t s = 0; s < sockets->nb; s++) {
		uint64_t one = 0;

		if (!xdp_socket_lost(sockets->fds[s], &one))
			return false;
		sum += one;
	}
	*lost = sum;
	return true;
}

void kernel_sockets_receive_nothing(const struct kernel_sockets *sockets)
{
	static struct sock_filter codes[] = {BPF_STMT(BPF_RET | BPF_K, 0)};
	const struct sock_fprog program = {sizeof(codes) / sizeof(codes[0]), codes};

	for (uint32_t s = 0; s < sockets->nb; s++)
		(void)setsockopt(
			sockets->fds[s], SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program));
}

bool kernel_sockets_flush(const struct kernel_sockets *sockets)
{
	bool empty = true;

	for (uint32_t s = 0; s < sockets->nb; s++)
		empty &= sendto(sockets->fds[s], NULL, 0, MSG_DONTWAIT, NULL, 0) == 0;
	return empty;
}
