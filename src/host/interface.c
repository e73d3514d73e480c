/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/interface.h"

#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/ethtool.h>
#include <linux/sockios.h>

#define FEATURES_MAX 1024 /* the kernel has some 60 */

static bool ask(int fd, const char *name, void *question)
{
	struct ifreq request = {0};

	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
	request.ifr_data = question;
	return ioctl(fd, SIOCETHTOOL, &request) == 0;
}

/* How many features the kernel knows; 0 where it does not say. */
static uint32_t count_features(int fd, const char *name)
{
	struct ethtool_sset_info *info = calloc(1, sizeof(*info) + sizeof(info->data[0]));
	uint32_t count = 0;

	if (info == NULL)
		return 0;
	info->cmd = ETHTOOL_GSSET_INFO;
	info->sset_mask = 1ULL << ETH_SS_FEATURES;
	if (ask(fd, name, info) && info->sset_mask != 0)
		count = info->data[0];
	free(info);
	return count <= FEATURES_MAX ? count : FEATURES_MAX;
}

static void note_feature(struct interface_settings *settings, const char *name, bool active)
{
	const struct {
		const char *name;
		bool *field;
	} wanted[] = {
		{"rx-gro", &settings->gro},
		{"rx-lro", &settings->lro},
		{"rx-gro-hw", &settings->gro_hw},
		{"rx-gro-list", &settings->gro_list},
		{"rx-vlan-hw-parse", &settings->vlan_strip},
	};

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		if (strncmp(name, wanted[i].name, ETH_GSTRING_LEN) == 0)
			*wanted[i].field = active;
}

static void read_features(int fd, const char *name, struct interface_settings *settings)
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
		settings->features_known =
			ask(fd, name, names) && names->len <= count && ask(fd, name, features);
		for (uint32_t i = 0; settings->features_known && i < names->len; i++)
			note_feature(settings, (const char *)names->data + i * ETH_GSTRING_LEN,
				(features->features[i / 32].active >> i % 32 & 1) != 0);
	}
	free(names);
	free(features);
}

static void read_ring(int fd, const char *name, struct interface_settings *settings)
{
	struct ethtool_ringparam ring = {.cmd = ETHTOOL_GRINGPARAM};

	settings->ring_known = ask(fd, name, &ring) && ring.rx_max_pending > 0;
	settings->ring = ring.rx_pending;
	settings->ring_max = ring.rx_max_pending;
}

void interface_read(const char *name, struct interface_settings *settings)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	*settings = (struct interface_settings){0};
	if (fd < 0)
		return;
	settings->index = if_nametoindex(name);
	read_features(fd, name, settings);
	read_ring(fd, name, settings);
	close(fd);
}

bool interface_name_valid(const char *name)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789._:@+-";
	size_t length = strlen(name);

	return length > 0 && length < INTERFACE_NAME_MAX && strspn(name, allowed) == length &&
	       name[0] != '-' && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}
