/* SPDX-License-Identifier: BSD-3-Clause */
#include "rx/port/promiscuous.h"

#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/socket.h>
#include <unistd.h>

int port_promiscuous_hold(const char *interface)
{
	struct packet_mreq wish = {
		.mr_ifindex = (int)if_nametoindex(interface),
		.mr_type = PACKET_MR_PROMISC,
	};
	int fd =
		socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0); /* protocol 0: receives no packets */

	if (fd >= 0 && setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &wish, sizeof(wish)) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}
