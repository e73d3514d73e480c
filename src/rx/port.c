/* SPDX-License-Identifier: BSD-3-Clause */
#include "rx/port.h"

#include <stdio.h>
#include <string.h>

#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_ether.h>

#include "rx/rss_hash.h"

/* DOMAIN:BUS:DEVICE.FUNCTION or BUS:DEVICE.FUNCTION. */
bool port_is_pci(const char *spec)
{
	unsigned int domain, bus, device, function;
	int length = 0;

	if (sscanf(spec, "%4x:%2x:%2x.%1x%n", &domain, &bus, &device, &function, &length) != 4 &&
		sscanf(spec, "%2x:%2x.%1x%n", &bus, &device, &function, &length) != 3)
		return false;
	return length > 0 && (spec[length] == '\0' || spec[length] == ',');
}

int port_node(const char *spec)
{
	size_t length = strcspn(spec, ",");
	bool short_form = strchr(spec, ':') == strrchr(spec, ':'); /* without its domain */
	char path[128];
	FILE *file;
	int node = -1;

	if (!port_is_pci(spec))
		return -1;
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s%.*s/numa_node",
		short_form ? "0000:" : "", (int)length, spec);
	file = fopen(path, "re");
	if (file == NULL)
		return -1;
	if (fscanf(file, "%d", &node) != 1)
		node = -1;
	fclose(file);
	return node;
}

static void describe(struct port *port, const struct rte_eth_dev_info *info)
{
	port->node = rte_eth_dev_socket_id(port->id);
	port->driver = port_driver_find(info->driver_name);
}

/* By the name given, or by a PCI address with its domain in front. */
static bool find_device(struct port *port)
{
	char full[sizeof(port->name) + 8];

	if (rte_eth_dev_get_port_by_name(port->name, &port->id) == 0)
		return true;
	snprintf(full, sizeof(full), "0000:%s", port->name);
	return rte_eth_dev_get_port_by_name(full, &port->id) == 0;
}

bool port_probe(struct port *port, const char *spec, char *error)
{
	struct rte_eth_dev_info info;
	size_t length = strcspn(spec, ",");
	int result;

	memset(port, 0, sizeof(*port));
	if (length == 0 || length >= sizeof(port->name)) {
		snprintf(error, PORT_ERROR_MAX, "--port %s: no device has such a name", spec);
		return false;
	}
	memcpy(port->name, spec, length);
	if (!port_is_pci(spec)) {
		result = rte_dev_probe(spec);
		if (result < 0) {
			snprintf(error, PORT_ERROR_MAX,
				"--port %s: no such device, or its driver refuses it (%s); give a "
				"PCI "
				"address such as 0000:3b:00.0, or a virtual device such as "
				"net_af_packet0,iface=eth0",
				spec, rte_strerror(-result));
			return false;
		}
	}
	if (!find_device(port)) {
		snprintf(error, PORT_ERROR_MAX,
			"--port %s: there is no such port; bind the card to vfio-pci "
			"(dpdk-devbind.py --status shows it), or name another",
			spec);
		return false;
	}
	result = rte_eth_dev_info_get(port->id, &info);
	if (result != 0) {
		snprintf(error, PORT_ERROR_MAX, "--port %s: the device does not answer: %s", spec,
			rte_strerror(-result));
		return false;
	}
	describe(port, &info);
	return true;
}

#define RSS_WANTED (RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP | RTE_ETH_RSS_SCTP)

static void choose_rss(struct rte_eth_conf *conf, const struct rte_eth_dev_info *info,
	uint16_t nb_rx, char *warning)
{
	uint64_t fields = info->flow_type_rss_offloads & RSS_WANTED;
	uint8_t key_len = info->hash_key_size > 0 ? info->hash_key_size : 40;

	if (nb_rx < 2)
		return;
	if (fields == 0) {
		snprintf(warning, PORT_ERROR_MAX,
			"%s offers no RSS: how its packets reach %u queues is up to the device",
			info->driver_name, nb_rx);
		return;
	}
	if (fields != RSS_WANTED)
		snprintf(warning, PORT_ERROR_MAX,
			"%s hashes fewer fields than asked (0x%llx of 0x%llx): some flows share "
			"queues",
			info->driver_name, (unsigned long long)fields,
			(unsigned long long)RSS_WANTED);
	conf->rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
	conf->rx_adv_conf.rss_conf.rss_hf = fields;
	if (key_len <= RSS_KEY_LEN_MAX) {
		static uint8_t key[RSS_KEY_LEN_MAX]; /* the API takes a pointer to non-const */

		memcpy(key, rss_symmetric_key, sizeof(key));
		conf->rx_adv_conf.rss_conf.rss_key = key;
		conf->rx_adv_conf.rss_conf.rss_key_len = key_len;
	}
}

static int setup_queues(
	struct port *port, uint16_t nb_rx, struct rte_mempool *pool, uint16_t nb_tx_descriptors)
{
	for (uint16_t q = 0; q < nb_rx; q++) {
		int result = rte_eth_rx_queue_setup(
			port->id, q, port->descriptors, SOCKET_ID_ANY, NULL, pool);

		if (result < 0)
			return result;
	}
	if (nb_rx == 0)
		return rte_eth_tx_queue_setup(port->id, 0, nb_tx_descriptors, SOCKET_ID_ANY, NULL);
	return 0;
}

bool port_start(struct port *port, uint16_t nb_rx, uint32_t descriptors, struct rte_mempool *pool,
	char *warning, char *error)
{
	struct rte_eth_conf conf = {0};
	struct rte_eth_dev_info info;
	uint16_t mtu = RTE_ETHER_MTU, nb_tx_descriptors;
	int result = rte_eth_dev_info_get(port->id, &info);

	warning[0] = '\0';
	if (result == 0 && nb_rx > info.max_rx_queues) {
		snprintf(error, PORT_ERROR_MAX,
			"--port %s has %u receive queues, one for each worker: lower --workers "
			"from %u",
			port->name, info.max_rx_queues, nb_rx);
		return false;
	}
	if (result == 0) {
		choose_rss(&conf, &info, nb_rx, warning);
		result = rte_eth_dev_configure(port->id, nb_rx, nb_rx == 0 ? 1 : 0, &conf);
		/* Some drivers want as many send queues as receive queues, or at least one. */
		if (result < 0 && nb_rx > 0)
			result = rte_eth_dev_configure(port->id, nb_rx, nb_rx, &conf);
	}
	if (result == 0) {
		port->descriptors = (uint16_t)descriptors;
		nb_tx_descriptors = 1024;
		result = rte_eth_dev_adjust_nb_rx_tx_desc(
			port->id, &port->descriptors, &nb_tx_descriptors);
		/* A driver without limits to adjust to takes the numbers as they are. */
		if (result == -ENOTSUP)
			result = 0;
	}
	if (result == 0)
		result = setup_queues(port, nb_rx, pool, nb_tx_descriptors);
	if (result == 0) {
		/* A driver that wanted send queues wants them set up. */
		struct rte_eth_dev_info now;

		if (nb_rx > 0 && rte_eth_dev_info_get(port->id, &now) == 0)
			for (uint16_t q = 0; result == 0 && q < now.nb_tx_queues; q++)
				result = rte_eth_tx_queue_setup(
					port->id, q, nb_tx_descriptors, SOCKET_ID_ANY, NULL);
	}
	if (result == 0)
		result = rte_eth_dev_start(port->id);
	if (result != 0) {
		snprintf(error, PORT_ERROR_MAX, "--port %s: cannot start it with %u queues: %s",
			port->name, nb_rx, rte_strerror(-result));
		return false;
	}
	port->started = true;
	port->nb_queues = nb_rx;
	if (rte_eth_dev_get_mtu(port->id, &mtu) != 0)
		mtu = RTE_ETHER_MTU;
	port->largest_frame = mtu + RTE_ETHER_HDR_LEN + 2 * RTE_VLAN_HLEN;
	if (nb_rx > 0 && rte_eth_promiscuous_enable(port->id) != 0 && warning[0] == '\0')
		snprintf(warning, PORT_ERROR_MAX,
			"%s cannot be promiscuous: only packets sent to its own address are seen",
			port->name);
	return true;
}

void port_silence(struct port *port)
{
	rte_eth_promiscuous_disable(port->id);
	port->silenced = rte_eth_dev_set_link_down(port->id) == 0;
}

void port_stop(struct port *port)
{
	if (port->silenced)
		rte_eth_dev_set_link_up(port->id);
	if (port->started)
		rte_eth_dev_stop(port->id);
	port->started = false;
	rte_eth_dev_close(port->id);
}
