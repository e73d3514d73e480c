/* SPDX-License-Identifier: BSD-3-Clause */
#include "rx/port/interface.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

static struct ifreq request(const char *name)
{
	struct ifreq request = {0};

	strncpy(request.ifr_name, name, sizeof(request.ifr_name) - 1);
	return request;
}

static bool ask_ethtool(int fd, const char *name, void *question)
{
	struct ifreq ifr = request(name);

	ifr.ifr_data = question;
	return ioctl(fd, SIOCETHTOOL, &ifr) == 0;
}

static void read_driver(int fd, const char *name, struct port_interface *interface)
{
	struct ethtool_drvinfo info = {.cmd = ETHTOOL_GDRVINFO};

	if (!ask_ethtool(fd, name, &info))
		return;
	memcpy(interface->driver, info.driver, sizeof(interface->driver) - 1);
	memcpy(interface->bus, info.bus_info, sizeof(interface->bus) - 1);
}

static bool read_merges(int fd, const char *name)
{
	struct ethtool_value gro = {.cmd = ETHTOOL_GGRO}, flags = {.cmd = ETHTOOL_GFLAGS};

	return (ask_ethtool(fd, name, &gro) && gro.data != 0) ||
	       (ask_ethtool(fd, name, &flags) && (flags.data & ETH_FLAG_LRO) != 0);
}

bool port_interface_read(const char *name, struct port_interface *interface)
{
	struct ifreq ifr = request(name);
	bool found;
	int fd;

	*interface = (struct port_interface){0};
	if (name[0] == '\0' || strlen(name) >= IFNAMSIZ)
		return false;
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return false;
	found = ioctl(fd, SIOCGIFMTU, &ifr) == 0;
	if (found) {
		interface->mtu = (uint32_t)ifr.ifr_mtu;
		interface->index = if_nametoindex(name);
		read_driver(fd, name, interface);
		interface->merges = read_merges(fd, name);
		ifr = request(name);
		if (ioctl(fd, SIOCGIFFLAGS, &ifr) != 0)
			ifr.ifr_flags = 0;
		interface->running =
			(ifr.ifr_flags & IFF_UP) != 0 && (ifr.ifr_flags & IFF_RUNNING) != 0;
		interface->promiscuous = (ifr.ifr_flags & IFF_PROMISC) != 0;
	}
	close(fd);
	return found;
}
