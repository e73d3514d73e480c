/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What is done to a device between its start and its end, and what its counters are taken for: on a
 * made-up device, which stands here in the place of ethdev's functions.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "rx/port.h"
#include "rx/port_loss.h"

/* --- the device --- */

static struct device {
	uint16_t mtu;
	bool started, closed, link_down, removed, silent;
	uint64_t received, missed;
} device;

static int make_device(void **state)
{
	(void)state;
	device = (struct device){.mtu = 1500};
	return 0;
}

int rte_eth_dev_info_get(uint16_t port_id, struct rte_eth_dev_info *info)
{
	(void)port_id;
	*info = (struct rte_eth_dev_info){
		.driver_name = "made up",
		.min_mtu = 68,
		.max_mtu = 9000,
		.max_rx_pktlen = 9018,
		.max_rx_queues = 64,
		.max_tx_queues = 64,
		.rx_offload_capa = RTE_ETH_RX_OFFLOAD_SCATTER,
	};
	return 0;
}

int rte_eth_dev_get_mtu(uint16_t port_id, uint16_t *mtu)
{
	(void)port_id;
	*mtu = device.mtu;
	return 0;
}

/* As ethdev does, which stores it for the driver to set at the start. */
int rte_eth_dev_configure(
	uint16_t port_id, uint16_t nb_rx, uint16_t nb_tx, const struct rte_eth_conf *conf)
{
	(void)port_id;
	(void)nb_rx;
	(void)nb_tx;
	device.mtu = (uint16_t)conf->rxmode.mtu;
	return 0;
}

int rte_eth_dev_set_mtu(uint16_t port_id, uint16_t mtu)
{
	(void)port_id;
	if (device.started)
		return -EBUSY; /* as net_i40e */
	device.mtu = mtu;
	return 0;
}

int rte_eth_dev_adjust_nb_rx_tx_desc(uint16_t port_id, uint16_t *nb_rx, uint16_t *nb_tx)
{
	(void)port_id;
	(void)nb_rx;
	(void)nb_tx;
	return 0;
}

int rte_eth_rx_queue_setup(uint16_t port_id, uint16_t queue, uint16_t descriptors,
	unsigned int node, const struct rte_eth_rxconf *conf, struct rte_mempool *pool)
{
	(void)port_id;
	(void)queue;
	(void)descriptors;
	(void)node;
	(void)conf;
	(void)pool;
	return 0;
}

int rte_eth_dev_start(uint16_t port_id)
{
	(void)port_id;
	device.started = true;
	return 0;
}

int rte_eth_dev_stop(uint16_t port_id)
{
	(void)port_id;
	device.started = false;
	return 0;
}

int rte_eth_dev_close(uint16_t port_id)
{
	(void)port_id;
	device.closed = true;
	return 0;
}

int rte_eth_promiscuous_enable(uint16_t port_id)
{
	(void)port_id;
	return 0;
}

int rte_eth_promiscuous_disable(uint16_t port_id)
{
	(void)port_id;
	return 0;
}

int rte_eth_dev_set_link_down(uint16_t port_id)
{
	(void)port_id;
	device.link_down = true;
	return 0;
}

int rte_eth_dev_set_link_up(uint16_t port_id)
{
	(void)port_id;
	device.link_down = false;
	return 0;
}

int rte_eth_dev_is_removed(uint16_t port_id)
{
	(void)port_id;
	return device.removed;
}

int rte_eth_stats_get(uint16_t port_id, struct rte_eth_stats *stats)
{
	(void)port_id;
	if (device.silent)
		return -EIO;
	*stats = (struct rte_eth_stats){.ipackets = device.received, .imissed = device.missed};
	return 0;
}

/* --- its life --- */

static struct port make_port(const char *driver, const struct config *config)
{
	return (struct port){
		.name = "made0",
		.device = "made0",
		.config = config,
		.driver = port_driver_find(driver),
		.traits = port_traits_find(driver),
		.promiscuous = -1,
	};
}

static struct rte_mempool *make_pool(void)
{
	static _Alignas(RTE_CACHE_LINE_SIZE) uint8_t
		memory[sizeof(struct rte_mempool) + sizeof(struct rte_pktmbuf_pool_private)];
	struct rte_mempool *pool = (struct rte_mempool *)memory;
	struct rte_pktmbuf_pool_private *private = rte_mempool_get_priv(pool);

	private->mbuf_data_room_size = RTE_MBUF_DEFAULT_BUF_SIZE;
	return pool;
}

static void an_mtu_is_put_back(void **state)
{
	static const uint32_t wanted[] = {0, 1400, 9000, CONFIG_MTU_MAX};

	(void)state;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		struct config config = {.mtu = wanted[i]};
		struct port port = make_port("net_i40e", &config);
		char error[PORT_ERROR_MAX];

		make_device(NULL);
		assert_true(port_start(&port, 1, 1024, make_pool(), error));
		assert_int_equal(device.mtu, wanted[i] == 0                ? 1500
					     : wanted[i] == CONFIG_MTU_MAX ? 9000
									   : wanted[i]);
		ports_close(&port, 1);
		assert_true(device.closed);
		assert_int_equal(device.mtu, 1500);
	}
}

static void a_link_is_taken_down_where_it_is_of_use(void **state)
{
	static const struct {
		const char *driver;
		bool down;
	} rows[] = {
		{"net_i40e", true},
		{"net_ixgbe", true},
		{"mlx5_pci", false},
		{"net_tap", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct config config = {0};
		struct port port = make_port(rows[i].driver, &config);

		make_device(NULL);
		port.started = true;
		port_silence(&port);
		assert_int_equal(device.link_down, rows[i].down);
		assert_int_equal(port.silenced, rows[i].down);
		ports_close(&port, 1);
		assert_false(device.link_down);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(an_mtu_is_put_back, make_device),
		cmocka_unit_test_setup(a_link_is_taken_down_where_it_is_of_use, make_device),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
