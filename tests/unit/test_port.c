/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Decisions before and during the set-up of a port, for simulated interfaces and devices: the
 * device of a name, requested RSS and its effect on the result, and frame sizes. The devices report
 * the values of DPDK 22.11 drivers.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/pci_device.h"
#include "rx/port/drivers.h"
#include "rx/port/frames.h"
#include "rx/port/port_name.h"
#include "rx/port/packet_socket.h"
#include "rx/port/rss.h"
#include "rx/packet/rss_hash.h"

static void assert_says(const char *text, const char *part)
{
	if (strstr(text, part) == NULL)
		fail_msg("'%s' does not contain '%s'", text, part);
}

/* --- names --- */

static const struct made_up {
	const char *name;
	struct port_interface interface;
} made_up[] = {
	{"mlx0", {.driver = "mlx5_core", .bus = "0000:3b:00.1", .mtu = 1500}},
	{"mlx1", {.driver = "mlx5_core", .bus = "mlx5_core.sf.4", .mtu = 1500}},
	{"ice0", {.driver = "ice", .bus = "0000:5e:00.0", .mtu = 1500, .merges = true}},
	{"jumbo0", {.driver = "veth", .mtu = 9000}},
	{"lo", {.mtu = 65536}},
	{"net_tap0", {.driver = "tun", .bus = "tap", .mtu = 1500}},
	{"eth0", {.driver = "virtio_net", .bus = "0000:00:03.0", .mtu = 1500}},
	{"wg0", {.driver = "wireguard", .mtu = 1420, .bare = true}},
};

static bool look_up(const char *name, struct port_interface *interface)
{
	*interface = (struct port_interface){0};
	for (size_t i = 0; i < sizeof(made_up) / sizeof(made_up[0]); i++)
		if (strcmp(made_up[i].name, name) == 0) {
			*interface = made_up[i].interface;
			return true;
		}
	return false;
}

static void names_become_devices(void **state)
{
	static const struct {
		const char *spec, *device, *interface;
		bool pci;
		bool kernel; /* the kernel passes the packets */
	} rows[] = {
		{"0000:3b:00.0", "0000:3b:00.0", "", true, false},
		{"3b:00.0", "0000:3b:00.0", "", true, false},
		{"3B:00.1,mprq_en=1", "0000:3b:00.1,mprq_en=1", "", true, false},
		{"pci:0000:3b:00.0", "0000:3b:00.0", "", true, false},
		{"10000:e1:00.0", "10000:e1:00.0", "", true, false},
		{"net_null0", "net_null0", "", false, false},
		{"net_ring0,nodeaction=a:0:CREATE", "net_ring0,nodeaction=a:0:CREATE", "", false,
			false},
		{"net_tap1,iface=probe0", "net_tap1,iface=probe0", "", false, true},
		{"vdev:net_tap0", "net_tap0", "", false, true},
		{"net_af_xdp0,iface=ice0", "net_af_xdp0,iface=ice0", "ice0", false, true},
		{"mlx0", "0000:3b:00.1", "mlx0", true, false},
		{"mlx0,mprq_en=1", "0000:3b:00.1,mprq_en=1", "mlx0", true, false},
		/* A function of the card without its own PCI address. */
		{"mlx1", "net_af_packet_mlx1,iface=mlx1,framecnt=16384", "mlx1", false, true},
		{"eth0", "net_af_packet_eth0,iface=eth0,framecnt=16384", "eth0", false, true},
		{"eth0,qpairs=2", "net_af_packet_eth0,iface=eth0,qpairs=2,framecnt=16384", "eth0",
			false, true},
		{"eth0,framecnt=64", "net_af_packet_eth0,iface=eth0,framecnt=64", "eth0", false,
			true},
		{"net_af_packet0,iface=eth0", "net_af_packet0,iface=eth0", "eth0", false, true},
		{"jumbo0",
			"net_af_packet_jumbo0,iface=jumbo0,framesz=12288,blocksz=12288,framecnt=2048",
			"jumbo0", false, true},
		{"net_af_packet0,iface=jumbo0",
			"net_af_packet0,iface=jumbo0,framesz=12288,blocksz=12288", "jumbo0", false,
			true},
		{"net_af_packet0,iface=jumbo0,framesz=16384,blocksz=65536",
			"net_af_packet0,iface=jumbo0,framesz=16384,blocksz=65536", "jumbo0", false,
			true},
		/* Unknown names: a device made by --eal, or one of another bus. */
		{"my_device", "my_device", "", false, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct port_name name;
		char error[PORT_DEVICE_MAX];

		assert_true(port_name_resolve(&name, rows[i].spec, 0, look_up, error));
		assert_string_equal(name.device, rows[i].device);
		assert_string_equal(name.interface, rows[i].interface);
		assert_int_equal(name.pci, rows[i].pci);
		assert_int_equal(port_through_kernel(&name), rows[i].kernel);
		assert_int_equal(name.pci, port_is_pci(name.device));
	}
}

static void names_that_mean_nothing_or_two_things(void **state)
{
	static const struct {
		const char *spec, *says[3];
	} rows[] = {
		{"net_tap0", {"net_af_packet0,iface=net_tap0", "vdev:net_tap0", "interface"}},
		{"net_tap0,mac=fixed", {"vdev:net_tap0,mac=fixed"}},
		{"pci:eth0", {"pci:eth0", "0000:3b:00.0"}},
		{"net_af_packet0,iface=eth7", {"eth7", "ip link"}},
		{"net_af_xdp0,iface=interface_of_too_many_letters", {"no interface"}},
		{"net_af_packet0,iface=eth0,framesz=3000", {"blocksz 4096", "framesz 3000"}},
		{"eth0,framesz=9088,blocksz=12288", {"multiple"}},
		{"eth0,framesz=131072,blocksz=131072", {"67 to 65439"}},
		{"wg0", {"wg0", "Ethernet", "tcpdump -Ui wg0 -w -"}},
		{"net_af_packet0,iface=wg0", {"Ethernet", "tcpdump -Ui wg0 -w -"}},
		{"net_af_xdp0,iface=wg0", {"Ethernet"}},
		{"", {"not a device name"}},
		{"net_name_that_goes_on_and_on_and_on_and_on_and_on_and_on_and_on_and_on",
			{"not a device name"}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct port_name name;
		char error[PORT_DEVICE_MAX];

		assert_false(port_name_resolve(&name, rows[i].spec, 0, look_up, error));
		for (size_t s = 0; s < 3 && rows[i].says[s] != NULL; s++)
			assert_says(error, rows[i].says[s]);
		assert_null(strchr(error, '\n'));
	}
}

/*
 * Slots of a socket hold the largest frame of the interface or --mtu, as far as an mbuf has room.
 */
static void packet_sockets_hold_whole_frames(void **state)
{
	static const struct {
		const char *spec;
		uint32_t mtu, holds;
		const char *warns;
	} rows[] = {
		{"eth0", 0, 1522, ""},
		{"eth0", 9000, 9022, ""},
		{"jumbo0", 0, 9022, ""},
		{"lo", 0, 61374, ""},
		{"net_af_packet0,iface=jumbo0,framesz=2048", 0, 1982, ""},
		{"ice0", 0, 1522, "gro off"},
		{"eth0", 65535, 61374, ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct port_name name;
		char error[PORT_DEVICE_MAX];

		assert_true(port_name_resolve(&name, rows[i].spec, rows[i].mtu, look_up, error));
		assert_true(name.slot - PACKET_SOCKET_OFFSET >= rows[i].holds);
		assert_true(name.slots >= 512);
		/* A frame with the tag that the kernel removed fits in one mbuf. */
		assert_true(name.mbuf_room >=
			    name.slot - PACKET_SOCKET_OFFSET + 4 + RTE_PKTMBUF_HEADROOM);
		assert_true(name.mbuf_room <= UINT16_MAX);
		if (rows[i].warns[0] == '\0')
			assert_string_equal(name.warning, "");
		else
			assert_says(name.warning, rows[i].warns);
	}
}

static void pci_addresses(void **state)
{
	static const char *const wrong[] = {"", "3b:00", "3b:00.", "3b:00.8", "3b:20.0", "eth0",
		"0000:3b:00.0x", "0000:3b:00.0.0", ":3b:00.0", "1:2:3:4.5", "net_tap0"};
	struct pci_address address;

	(void)state;
	assert_true(pci_address_parse("0000:3b:1f.7,x", 12, &address));
	assert_int_equal(address.bus, 0x3b);
	assert_int_equal(address.device, 0x1f);
	assert_int_equal(address.function, 7);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_false(pci_address_parse(wrong[i], strlen(wrong[i]), &address));
}

static void devargs(void **state)
{
	int length;
	const char *value;

	(void)state;
	value = port_devarg("net_x0,a=1,iface=eth0,b=2", "iface", &length);
	assert_non_null(value);
	assert_int_equal(length, 4);
	assert_memory_equal(value, "eth0", 4);
	assert_null(port_devarg("net_x0,xiface=eth0", "iface", &length));
	assert_null(port_devarg("iface=eth0", "iface", &length));
	assert_null(port_devarg("net_x0,iface", "iface", &length));
}

/* --- RSS --- */

#define I40E                                                                                       \
	(RTE_ETH_RSS_FRAG_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_TCP | RTE_ETH_RSS_NONFRAG_IPV4_UDP |     \
		RTE_ETH_RSS_NONFRAG_IPV4_SCTP | RTE_ETH_RSS_NONFRAG_IPV4_OTHER |                   \
		RTE_ETH_RSS_FRAG_IPV6 | RTE_ETH_RSS_NONFRAG_IPV6_TCP |                             \
		RTE_ETH_RSS_NONFRAG_IPV6_UDP | RTE_ETH_RSS_NONFRAG_IPV6_SCTP |                     \
		RTE_ETH_RSS_NONFRAG_IPV6_OTHER | RTE_ETH_RSS_L2_PAYLOAD)
#define ICE (I40E | RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_IPV6)
#define IXGBE                                                                                      \
	(RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_TCP | RTE_ETH_RSS_NONFRAG_IPV4_UDP |          \
		RTE_ETH_RSS_IPV6 | RTE_ETH_RSS_NONFRAG_IPV6_TCP | RTE_ETH_RSS_NONFRAG_IPV6_UDP |   \
		RTE_ETH_RSS_IPV6_EX | RTE_ETH_RSS_IPV6_TCP_EX | RTE_ETH_RSS_IPV6_UDP_EX)
#define MLX5                                                                                       \
	(RTE_ETH_RSS_IP | RTE_ETH_RSS_UDP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_L3_SRC_ONLY |            \
		RTE_ETH_RSS_L3_DST_ONLY)
#define ENA                                                                                        \
	(RTE_ETH_RSS_NONFRAG_IPV4_TCP | RTE_ETH_RSS_NONFRAG_IPV4_UDP |                             \
		RTE_ETH_RSS_NONFRAG_IPV6_TCP | RTE_ETH_RSS_NONFRAG_IPV6_UDP)

static struct rte_eth_dev_info device(const char *driver, uint64_t offered, uint8_t key_len)
{
	return (struct rte_eth_dev_info){
		.driver_name = driver,
		.flow_type_rss_offloads = offered,
		.hash_key_size = key_len,
		.reta_size = 128,
	};
}

static struct port_rss wish(const char *driver, enum port_hash_use use)
{
	return (struct port_rss){
		.port = "port",
		.driver = port_driver_find(driver),
		.use = use,
		.nb_queues = 4,
	};
}

/* Requests only what the device offers, and reports the consequences. */
static void fields_are_those_offered(void **state)
{
	static const struct {
		const char *driver;
		uint64_t offered;
		enum rss_fields wanted;
		uint64_t with, without;
		const char *warns[2];
	} rows[] = {
		{"net_ice", ICE, RSS_FIELDS_5TUPLE, ICE & ~RTE_ETH_RSS_L2_PAYLOAD,
			RTE_ETH_RSS_L2_PAYLOAD, {NULL}},
		{"net_i40e", I40E, RSS_FIELDS_5TUPLE, RTE_ETH_RSS_FRAG_IPV4, RTE_ETH_RSS_IPV4,
			{NULL}},
		{"net_ixgbe", IXGBE, RSS_FIELDS_5TUPLE, IXGBE, 0,
			{"SCTP and SCTP over IPv6 are spread only by addresses"}},
		{"mlx5_pci", MLX5, RSS_FIELDS_5TUPLE, RTE_ETH_RSS_NONFRAG_IPV4_TCP,
			RTE_ETH_RSS_L3_SRC_ONLY,
			{"SCTP and SCTP over IPv6 are spread only by addresses"}},
		{"net_ena", ENA, RSS_FIELDS_5TUPLE, ENA, RTE_ETH_RSS_IPV4,
			{"SCTP, other IPv4, IPv4 fragments, SCTP over IPv6, other IPv6 and IPv6 "
			 "fragments are not spread: one worker gets all of them"}},
		{"net_ixgbe", IXGBE, RSS_FIELDS_ADDRESSES, RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_IPV6,
			RTE_ETH_RSS_NONFRAG_IPV4_TCP | RTE_ETH_RSS_NONFRAG_IPV6_UDP, {NULL}},
		{"net_i40e", I40E, RSS_FIELDS_ADDRESSES, RTE_ETH_RSS_NONFRAG_IPV4_TCP, 0,
			{"are also spread by ports: several workers count a pair of hosts"}},
		{"mlx5_pci", MLX5, RSS_FIELDS_SRC,
			RTE_ETH_RSS_L3_SRC_ONLY | RTE_ETH_RSS_NONFRAG_IPV4_TCP,
			RTE_ETH_RSS_L3_DST_ONLY, {NULL}},
		{"mlx5_pci", MLX5, RSS_FIELDS_DST, RTE_ETH_RSS_L3_DST_ONLY, RTE_ETH_RSS_L3_SRC_ONLY,
			{NULL}},
		{"net_ixgbe", IXGBE, RSS_FIELDS_SRC, RTE_ETH_RSS_IPV4, RTE_ETH_RSS_NONFRAG_IPV4_TCP,
			{"all packets are spread by both addresses: several workers count a host"}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct config config = {0};
		struct rte_eth_dev_info info = device(rows[i].driver, rows[i].offered, 40);
		struct port_rss rss = wish(rows[i].driver, PORT_HASH_QUEUES);
		struct port_messages messages = {0};
		char error[PORT_MESSAGE_MAX];

		edit_rss_options(&config)->fields = rows[i].wanted;
		assert_true(port_rss_choose(&rss, &config, &info, &messages, error));
		assert_true(rss.on);
		assert_true((rss.fields & ~rows[i].offered) == 0);
		assert_true((rss.fields & rows[i].with) == rows[i].with);
		assert_true((rss.fields & rows[i].without) == 0);
		port_rss_explain(&rss, rss.fields, &messages);
		assert_int_equal(messages.n, rows[i].warns[0] != NULL);
		if (messages.n > 0) {
			assert_says(messages.messages[0].text, rows[i].warns[0]);
			assert_true(messages.messages[0].warning);
		}
	}
}

static void keys_have_the_devices_length(void **state)
{
	static const uint8_t lengths[] = {40, 52, 10, 64};

	(void)state;
	for (size_t i = 0; i < sizeof(lengths); i++) {
		struct rte_eth_dev_info info = device("net_ice", ICE, lengths[i]);
		struct config config = {0}; /* RSS_KEY_SYMMETRIC */
		struct port_rss rss = wish("net_ice", PORT_HASH_QUEUES);
		struct port_messages messages = {0};
		struct rte_eth_conf conf = {0};
		char error[PORT_MESSAGE_MAX];

		assert_true(port_rss_choose(&rss, &config, &info, &messages, error));
		port_rss_put(&rss, &conf);
		assert_int_equal(conf.rxmode.mq_mode, RTE_ETH_MQ_RX_RSS);
		assert_int_equal(conf.rx_adv_conf.rss_conf.rss_key_len, lengths[i]);
		for (uint8_t b = 0; b < lengths[i]; b++)
			assert_int_equal(conf.rx_adv_conf.rss_conf.rss_key[b], b % 2 ? 0x5a : 0x6d);

		edit_rss_options(&config)->key = RSS_KEY_DEFAULT;
		assert_true(port_rss_choose(&rss, &config, &info, &messages, error));
		port_rss_put(&rss, &conf);
		assert_null(conf.rx_adv_conf.rss_conf.rss_key);

		edit_rss_options(&config)->key = RSS_KEY_GIVEN;
		edit_rss_options(&config)->key_len = lengths[i];
		memset(edit_rss_options(&config)->key_bytes, 0xa5, lengths[i]);
		assert_true(port_rss_choose(&rss, &config, &info, &messages, error));
		assert_int_equal(rss.key[0], 0xa5);
		edit_rss_options(&config)->key_len = (uint8_t)(lengths[i] - 1);
		assert_false(port_rss_choose(&rss, &config, &info, &messages, error));
		snprintf(error + 300, 50, "%u bytes", lengths[i]);
		assert_says(error, error + 300);
	}
}

static void ports_without_rss(void **state)
{
	struct config config = {0};
	struct port_messages messages = {0};
	char error[PORT_MESSAGE_MAX];
	struct rte_eth_dev_info info = device("net_nothing", 0, 0);
	struct port_rss rss = wish("net_nothing", PORT_HASH_QUEUES);

	(void)state;
	assert_false(port_rss_choose(&rss, &config, &info, &messages, error));
	assert_says(error, "--design async");
	assert_says(error, "--workers 1");
	rss.use = PORT_HASH_UNUSED;
	assert_true(port_rss_choose(&rss, &config, &info, &messages, error));
	assert_int_equal(messages.n, 0);

	/* Packets are spread by the kernel: the run works and reports it. */
	rss = wish("net_af_packet", PORT_HASH_QUEUES);
	assert_true(port_rss_choose(&rss, &config, &info, &messages, error));
	assert_false(rss.on);
	assert_int_equal(messages.n, 1);
	assert_says(messages.messages[0].text, "the kernel spreads packets");

	/* Capabilities for flow rules only are not requested. */
	info = device("net_tap", IXGBE, 40);
	rss = wish("net_tap", PORT_HASH_QUEUES);
	assert_true(port_rss_choose(&rss, &config, &info, &messages, error));
	assert_false(rss.on);
	/* A virtio device uses RSS if its host supports it. */
	info = device("net_virtio", IXGBE, 40);
	rss = wish("net_virtio", PORT_HASH_QUEUES);
	assert_true(port_rss_choose(&rss, &config, &info, &messages, error));
	assert_true(rss.on);
}

/* Queues beyond the first are useless if nothing fills them. */
static void queues_that_somebody_fills(void **state)
{
	static const struct {
		const char *driver;
		uint64_t offered;
		uint16_t has, queues;
	} rows[] = {
		{"net_ice", ICE, 64, 64},
		{"net_nothing", 0, 8, 1},
		{"net_e1000_em", 0, 2, 1},
		{"net_af_packet", 0, 4, 4},
		{"net_tap", IXGBE, 16, 16},
		{"net_af_xdp", 0, 64, 48},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct config config = {0};
		struct rte_eth_dev_info info = device(rows[i].driver, rows[i].offered, 40);

		info.max_rx_queues = rows[i].has;
		assert_int_equal(port_rss_queues(port_driver_find(rows[i].driver), &config, &info),
			rows[i].queues);
	}
}

/* DPDK is not initialized when the plan is made: the kernel driver identifies the card. */
static void cards_are_known_by_the_kernels_driver(void **state)
{
	(void)state;
	assert_ptr_equal(port_driver_of_card("vmxnet3"), port_driver_find("net_vmxnet3"));
	assert_true(port_driver_of_card("vmxnet3")->queues_power_of_two);
	assert_ptr_equal(port_driver_of_card("e1000"), port_driver_find("net_e1000_em"));
	assert_ptr_equal(port_driver_of_card("e1000e"), port_driver_find("net_e1000_em"));
	assert_int_equal(port_driver_of_card("e1000e")->queues_max, 1);
	assert_ptr_equal(port_driver_of_card("ice"), port_driver_find("net_ice"));
	assert_int_equal(port_driver_of_card("ice")->queues_max, 0);
}

/* With one queue the hash is for the receiver, if the device provides it. */
static void hashes_for_dispatch(void **state)
{
	struct config config = {0};
	struct port_messages messages = {0};
	char error[PORT_MESSAGE_MAX];
	struct rte_eth_dev_info info = device("net_ena", ENA, 40);
	struct port_rss rss = wish("net_ena", PORT_HASH_DISPATCH);
	struct rte_eth_conf conf = {0};

	(void)state;
	assert_true(port_rss_choose(&rss, &config, &info, &messages, error));
	assert_false(rss.on);
	edit_rss_options(&config)->key = RSS_KEY_GIVEN;
	assert_true(port_rss_choose(&rss, &config, &info, &messages, error));
	assert_int_equal(messages.n, 1);
	assert_says(messages.messages[0].text, "the given key has no effect");
	edit_rss_options(&config)->key = RSS_KEY_SYMMETRIC;
	messages.n = 0;
	info.rx_offload_capa = RTE_ETH_RX_OFFLOAD_RSS_HASH;
	assert_true(port_rss_choose(&rss, &config, &info, &messages, error));
	assert_true(rss.on);
	port_rss_put(&rss, &conf);
	assert_true(conf.rxmode.offloads == RTE_ETH_RX_OFFLOAD_RSS_HASH);
	/* ethdev refuses the offload without this mode. */
	assert_int_equal(conf.rxmode.mq_mode, RTE_ETH_MQ_RX_RSS);
	/* The receiver hashes what the device does not: no message. */
	port_rss_explain(&rss, rss.fields, &messages);
	assert_int_equal(messages.n, 0);
}

static void tables_are_even(void **state)
{
	static const uint32_t sizes[] = {64, 100, 128, 512, 2048, PORT_RSS_RETA_MAX};
	static struct rte_eth_rss_reta_entry64 reta[PORT_RSS_RETA_MAX / RTE_ETH_RETA_GROUP_SIZE];

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		for (uint16_t queues = 1; queues <= 120; queues++) {
			port_rss_fill_reta(reta, sizes[i], queues);
			assert_true(port_rss_is_even(reta, sizes[i], queues));
			assert_true(reta[(sizes[i] - 1) / 64].mask == UINT64_MAX);
			/* One more entry for queue 0 is too many; so is a missing queue. */
			reta[(sizes[i] - 1) / 64].reta[(sizes[i] - 1) % 64] = queues;
			assert_false(port_rss_is_even(reta, sizes[i], queues));
		}
	port_rss_fill_reta(reta, 128, 4);
	reta[1].reta[3] = 0;
	assert_false(port_rss_is_even(reta, 128, 4));
}

/*
 * The device and the receiver's own hash group packets alike: fragments by addresses, both
 * directions together with the symmetric key, and never by a field that a fragment lacks.
 */
static void software_hashes_as_devices_do(void **state)
{
	static const uint8_t ipv4[] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45, 0, 0, 40, 0,
		0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0x30, 0x39, 0, 53, 0, 8, 0, 0};
	uint8_t whole[sizeof(ipv4)], first[sizeof(ipv4)], later[sizeof(ipv4)], back[sizeof(ipv4)];
	struct parsed parsed;
	uint32_t hash;

	(void)state;
	memcpy(whole, ipv4, sizeof(ipv4));
	memcpy(first, ipv4, sizeof(ipv4));
	memcpy(later, ipv4, sizeof(ipv4));
	first[20] = 0x20; /* more fragments */
	later[21] = 3;
	memcpy(back, first, sizeof(ipv4));
	memcpy(back + 26, first + 30, 4);
	memcpy(back + 30, first + 26, 4);
	hash = rss_hash(parse_packet(first, sizeof(ipv4), LINK_ETHERNET, &parsed), &parsed);
	assert_int_equal(
		hash, rss_hash(parse_packet(later, sizeof(ipv4), LINK_ETHERNET, &parsed), &parsed));
	assert_int_equal(
		hash, rss_hash(parse_packet(back, sizeof(ipv4), LINK_ETHERNET, &parsed), &parsed));
	assert_int_not_equal(
		hash, rss_hash(parse_packet(whole, sizeof(ipv4), LINK_ETHERNET, &parsed), &parsed));
}

/* --- frames --- */

static void frames_fit_or_are_said(void **state)
{
	static const struct {
		const char *driver;
		uint32_t max_pktlen;
		uint16_t max_mtu;
		bool scatters;
		uint32_t wanted;
		/* expected */
		uint16_t mtu;
		bool scatter;
		uint32_t mbuf_room; /* minimum; 0: any */
		const char *error;
	} rows[] = {
		{"net_ice", 9728, 9702, true, 0, 1500, false, 0, NULL},
		{"net_ice", 9728, 9702, true, 9000, 9000, true, 0, NULL},
		{"net_ice", 9728, 9702, true, PORT_MTU_MAX, 9702, true, 0, NULL},
		{"net_ice", 9728, 9702, true, 9703, 0, false, 0,
			"--mtu 9703: port supports 46 to 9702"},
		{"net_ixgbe", 15872, 15846, false, 9000, 9000, false, 9000 + 22 + 128, NULL},
		{"net_ixgbe", 15872, 15846, true, 2000, 2000, false, 0, NULL},
		{"net_ixgbe", 15872, 15846, true, PORT_MTU_MAX, 15846, true, 0, NULL},
		/* In one mbuf, with the reserved room. */
		{"net_ixgbe", 15872, 15846, false, PORT_MTU_MAX, 9978, false, 9978 + 22 + 128,
			NULL},
		/* No reported limit: jumbo frames. */
		{"mlx5_pci", 65536, UINT16_MAX, true, PORT_MTU_MAX, 9000, true, 0, NULL},
		{"net_null", UINT32_MAX, UINT16_MAX, false, 0, 1500, false, 0, NULL},
		{"net_small", 1000, UINT16_MAX, false, 0, 982, false, 0, NULL},
		/* The kernel determines the frames. */
		{"net_tap", 1522, UINT16_MAX, true, 0, 1500, true, 0, NULL},
		{"net_tap", 1522, UINT16_MAX, true, 9000, 1500, true, 0, NULL},
		{"net_af_packet", 1518, UINT16_MAX, false, 9000, 1500, false, 0, NULL},
		{"net_memif", 1518, UINT16_MAX, false, 0, 1500, false, 0, NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rte_eth_dev_info info = {
			.max_rx_pktlen = rows[i].max_pktlen,
			.max_mtu = rows[i].max_mtu,
			.min_mtu = 46,
			.rx_offload_capa = rows[i].scatters ? RTE_ETH_RX_OFFLOAD_SCATTER : 0,
		};
		struct port_messages messages = {0};
		struct port_frame_plan plan;
		char error[PORT_MESSAGE_MAX];
		bool fine = port_frames_plan(&plan, "port", port_driver_find(rows[i].driver), &info,
			1500, rows[i].wanted, 2048 + 128, &messages, error);

		assert_int_equal(fine, rows[i].error == NULL);
		if (!fine) {
			assert_says(error, rows[i].error);
			continue;
		}
		assert_int_equal(plan.mtu, rows[i].mtu);
		assert_int_equal(plan.offloads != 0, rows[i].scatter);
		assert_true(plan.mbuf_room >= rows[i].mbuf_room);
		assert_int_equal(plan.mbuf_room == 0, rows[i].mbuf_room == 0);
	}
}

/* A row is found only by its own names, and all its capabilities have names. */
static void driver_rows_are_whole(void **state)
{
	(void)state;
	for (size_t d = 0; d < port_drivers_nb; d++) {
		const struct port_driver *driver = &port_drivers[d];

		assert_ptr_equal(port_driver_find(driver->name), driver);
		assert_non_null(driver->feeds);
		assert_true(driver->complete == (driver->unsaid == NULL));
		assert_true((driver->spreader == NULL) == (driver->spreads == NULL));
		assert_true(driver->beside_kernel || driver->verbs == NULL);
		assert_true(driver->on_interface || !driver->makes_interface);
		for (const char *const *device = driver->devices; *device != NULL; device++)
			assert_ptr_equal(port_driver_of_device(*device), driver);
		for (const char *const *kernel = driver->kernel; *kernel != NULL; kernel++)
			assert_ptr_equal(
				port_driver_of_card(*kernel)->kernel[0], driver->kernel[0]);
		for (uint32_t i = 0; i < 64; i++)
			if ((driver->needs >> i & 1) != 0)
				assert_non_null(port_capability_name(i));
	}
	assert_ptr_equal(port_driver_of_device("0000:3b:00.0"), &port_drivers[0]);
	assert_ptr_equal(port_driver_of_device("eth0"), &port_drivers[0]);
	assert_ptr_equal(port_driver_of_card("igb_uio"), &port_drivers[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_become_devices),
		cmocka_unit_test(names_that_mean_nothing_or_two_things),
		cmocka_unit_test(packet_sockets_hold_whole_frames),
		cmocka_unit_test(pci_addresses),
		cmocka_unit_test(devargs),
		cmocka_unit_test(fields_are_those_offered),
		cmocka_unit_test(keys_have_the_devices_length),
		cmocka_unit_test(ports_without_rss),
		cmocka_unit_test(queues_that_somebody_fills),
		cmocka_unit_test(cards_are_known_by_the_kernels_driver),
		cmocka_unit_test(driver_rows_are_whole),
		cmocka_unit_test(hashes_for_dispatch),
		cmocka_unit_test(tables_are_even),
		cmocka_unit_test(software_hashes_as_devices_do),
		cmocka_unit_test(frames_fit_or_are_said),
	};

	return cmocka_run_group_tests_name("port", tests, NULL, NULL);
}
