/* SPDX-License-Identifier: BSD-3-Clause */
#include "rx/port/interface.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if_arp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define FEATURES_MAX 1024

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

static uint32_t count_features(int fd, const char *name)
{
	struct ethtool_sset_info *info = calloc(1, sizeof(*info) + sizeof(info->data[0]));
	uint32_t count = 0;

	if (info == NULL)
		return 0;
	info->cmd = ETHTOOL_GSSET_INFO;
	info->sset_mask = 1ULL << ETH_SS_FEATURES;
	if (ask_ethtool(fd, name, info) && info->sset_mask != 0)
		count = info->data[0];
	free(info);
	return count <= FEATURES_MAX ? count : FEATURES_MAX;
}

static void note_feature(struct port_interface *interface, const char *name, bool active)
{
	const struct {
		const char *name;
		bool *field;
	} wanted[] = {
		{"rx-gro", &interface->gro},
		{"rx-lro", &interface->lro},
		{"rx-gro-hw", &interface->gro_hw},
		{"rx-gro-list", &interface->gro_list},
		{"rx-vlan-hw-parse", &interface->vlan_strip},
	};

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		if (strncmp(name, wanted[i].name, ETH_GSTRING_LEN) == 0)
			*wanted[i].field = active;
}

static void read_features(int fd, const char *name, struct port_interface *interface)
{
	uint32_t count = count_features(fd, name), blocks = (count + 31) / 32;
	struct ethtool_gstrings *names =
		calloc(1, sizeof(*names) + (size_t)count * ETH_GSTRING_LEN);
	struct ethtool_gfeatures *features =
		calloc(1, sizeof(*features) + blocks * sizeof(features->features[0]));

	if (count > 0 && names != NULL && features != NULL) {
		*names = (struct ethtool_gstrings){
			.cmd = ETHTOOL_GSTRINGS, .string_set = ETH_SS_FEATURES, .len = count};
		*features = (struct ethtool_gfeatures){.cmd = ETHTOOL_GFEATURES, .size = blocks};
		interface->features_known = ask_ethtool(fd, name, names) && names->len <= count &&
					    ask_ethtool(fd, name, features);
		for (uint32_t i = 0; interface->features_known && i < names->len; i++)
			note_feature(interface, (const char *)names->data + i * ETH_GSTRING_LEN,
				(features->features[i / 32].active >> i % 32 & 1) != 0);
	}
	free(names);
	free(features);
}

static void read_ring(int fd, const char *name, struct port_interface *interface)
{
	struct ethtool_ringparam ring = {.cmd = ETHTOOL_GRINGPARAM};

	interface->ring_known = ask_ethtool(fd, name, &ring) && ring.rx_max_pending > 0;
	interface->ring = ring.rx_pending;
	interface->ring_max = ring.rx_max_pending;
}

static void read_queues(int fd, const char *name, struct port_interface *interface)
{
	struct ethtool_channels channels = {.cmd = ETHTOOL_GCHANNELS};

	if (!ask_ethtool(fd, name, &channels))
		return;
	interface->queues = channels.rx_count + channels.combined_count;
	interface->paired = channels.combined_count > 0;
}

static void read_kind(int fd, const char *name, struct port_interface *interface)
{
	struct ifreq ifr = request(name);

	interface->bare = ioctl(fd, SIOCGIFHWADDR, &ifr) == 0 &&
			  ifr.ifr_hwaddr.sa_family != ARPHRD_ETHER &&
			  ifr.ifr_hwaddr.sa_family != ARPHRD_LOOPBACK;
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
		read_kind(fd, name, interface);
		read_driver(fd, name, interface);
		read_features(fd, name, interface);
		interface->merges = interface->gro || interface->lro;
		read_ring(fd, name, interface);
		read_queues(fd, name, interface);
		ifr = request(name);
		if (ioctl(fd, SIOCGIFFLAGS, &ifr) != 0)
			ifr.ifr_flags = 0;
		interface->running =
			(ifr.ifr_flags & IFF_UP) != 0 && (ifr.ifr_flags & IFF_RUNNING) != 0;
		interface->promiscuous = (ifr.ifr_flags & IFF_PROMISC) != 0;
		interface->loops = (ifr.ifr_flags & IFF_LOOPBACK) != 0;
	}
	close(fd);
	return found;
}

void port_interface_joining(const struct port_interface *interface, char options[PORT_JOINING_MAX])
{
	options[0] = '\0';
	if (interface->gro)
		strcat(options, " gro off");
	if (interface->lro)
		strcat(options, " lro off");
	if (interface->gro_hw)
		strcat(options, " rx-gro-hw off");
	if (interface->gro_list)
		strcat(options, " rx-gro-list off");
}

bool port_interface_name_valid(const char *name)
{
	static const char allowed[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:@+-";
	size_t length = strlen(name);

	return length > 0 && length < IFNAMSIZ && strspn(name, allowed) == length &&
	       name[0] != '-' && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}
