/* SPDX-License-Identifier: BSD-3-Clause */

#define ALLOW_EXPERIMENTAL_API /* events of devices */

/*
 * Configuration of a device between start and end, and the meaning of its counters, with a
 * simulated device that replaces the functions of ethdev.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>
#include <rte_dev.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "base/log.h"
#include "report/ledger/ledger.h"
#include "rx/port/port.h"
#include "rx/port/loss.h"
#include "rx/port/interrupts.h"
#include "rx/port/link_monitor.h"
#include "sketch/measurement.h"
#include "rx/port/clock.h"
#include "rx/port/frames.h"

/* --- device --- */

static struct device {
	uint16_t mtu;
	bool started, closed, link_down, removed, silent;
	uint64_t received, missed, errors, no_mbuf;
	/* Device clock, 8 ns per tick. */
	bool stamps, clock_hidden;
	uint64_t offloads; /* configured offloads */
	uint32_t speed;    /* Mbit/s */
	/* Restrictions on the number of queues. */
	bool paired, power_of_two;
	const char *driver;    /* NULL: unknown driver */
	int promiscuous;       /* result of enabling promiscuous mode */
	uint16_t nb_rx, nb_tx; /* configured queues */
} device;

static int made_up_log;

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
		.driver_name = device.driver != NULL ? device.driver : "made up",
		.min_mtu = 68,
		.max_mtu = 9000,
		.max_rx_pktlen = 9018,
		.max_rx_queues = 64,
		.max_tx_queues = 64,
		.rx_offload_capa = RTE_ETH_RX_OFFLOAD_SCATTER |
				   (device.stamps ? RTE_ETH_RX_OFFLOAD_TIMESTAMP : 0),
		.flow_type_rss_offloads = RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_IPV6,
	};
	return 0;
}

int rte_eth_dev_get_mtu(uint16_t port_id, uint16_t *mtu)
{
	(void)port_id;
	*mtu = device.mtu;
	return 0;
}

/* Like ethdev, which stores the MTU for the driver to set at the start. */
int rte_eth_dev_configure(
	uint16_t port_id, uint16_t nb_rx, uint16_t nb_tx, const struct rte_eth_conf *conf)
{
	(void)port_id;
	if (device.paired && nb_rx != nb_tx) {
		rte_log(RTE_LOG_ERR, (uint32_t)made_up_log,
			"MADE_UP: made_up_configure(): as many of one kind as of the other\n");
		return -EINVAL;
	}
	device.nb_rx = nb_rx;
	device.nb_tx = nb_tx;
	if (device.power_of_two && (nb_rx == 0 || (nb_rx & (nb_rx - 1)) != 0)) {
		rte_log(RTE_LOG_WARNING, (uint32_t)made_up_log, "something else\n");
		rte_log(RTE_LOG_ERR, (uint32_t)made_up_log,
			"MADE_UP: made_up_configure():  %u is not a power of two\n", nb_rx);
		rte_log(RTE_LOG_ERR, (uint32_t)made_up_log, "Port%u dev_configure = -22\n",
			port_id);
		return -EINVAL;
	}
	device.mtu = (uint16_t)conf->rxmode.mtu;
	device.offloads = conf->rxmode.offloads;
	return 0;
}

static int64_t utc_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* Starts in 2001, so that it cannot be taken for UTC. */
static uint64_t ticks_at(int64_t utc)
{
	return (uint64_t)(utc - INT64_C(1000000000000000000)) / 8;
}

int rte_eth_read_clock(uint16_t port_id, uint64_t *ticks)
{
	(void)port_id;
	*ticks = ticks_at(utc_now());
	return device.clock_hidden ? -ENOTSUP : 0;
}

int rte_eth_dev_set_mtu(uint16_t port_id, uint16_t mtu)
{
	(void)port_id;
	if (device.started)
		return -EBUSY; /* like net_i40e */
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

int rte_eth_tx_queue_setup(uint16_t port_id, uint16_t queue, uint16_t descriptors,
	unsigned int node, const struct rte_eth_txconf *conf)
{
	(void)port_id;
	(void)queue;
	(void)descriptors;
	(void)node;
	(void)conf;
	return 0;
}

int rte_eth_dev_rss_hash_conf_get(uint16_t port_id, struct rte_eth_rss_conf *conf)
{
	(void)port_id;
	(void)conf;
	return -ENOTSUP;
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
	return device.promiscuous;
}

int rte_eth_allmulticast_enable(uint16_t port_id)
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

int rte_eth_link_get_nowait(uint16_t port_id, struct rte_eth_link *link)
{
	(void)port_id;
	*link = (struct rte_eth_link){
		.link_status = device.link_down ? RTE_ETH_LINK_DOWN : RTE_ETH_LINK_UP,
		.link_speed = device.speed,
	};
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
	*stats = (struct rte_eth_stats){
		.ipackets = device.received,
		.imissed = device.missed,
		.ierrors = device.errors,
		.rx_nombuf = device.no_mbuf,
	};
	return 0;
}

/* --- life cycle --- */

static struct port make_port(const char *driver, const struct config *config)
{
	return (struct port){
		.name = "made0",
		.device = "made0",
		.config = config,
		.driver = port_driver_find(driver),
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
	static const uint32_t wanted[] = {0, 1400, 9000, PORT_MTU_MAX};

	(void)state;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		struct config config = {0};
		struct port port = make_port("net_i40e", &config);
		char error[PORT_ERROR_MAX];

		edit_frames_options(&config)->mtu = wanted[i];
		make_device(NULL);
		assert_true(port_start(&port, 1, 1024, make_pool(), error));
		assert_int_equal(device.mtu, wanted[i] == 0              ? 1500
					     : wanted[i] == PORT_MTU_MAX ? 9000
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

/* Maximum size of a lost packet. */
static void the_longest_frame_is_known_before_it_comes(void **state)
{
	static const struct {
		const char *driver;
		uint32_t bytes;
	} rows[] = {
		{"net_i40e", 1522},
		{"net_memif", 65557},
		{"net_vhost", 65557},
		{"net_pcap", 262144},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct config config = {0};
		struct port port = make_port(rows[i].driver, &config);
		char error[PORT_ERROR_MAX];

		assert_true(port_start(&port, 1, 1024, make_pool(), error));
		assert_int_equal(port.largest_frame, rows[i].bytes);
		hot_unplug_forget(port.device, &port.leaving); /* closing net_memif needs EAL */
	}
}

static void queues_that_a_driver_cannot_count_are_refused(void **state)
{
	struct config config = {0};
	struct port port = make_port("net_af_xdp", &config);
	char error[PORT_ERROR_MAX];

	(void)state;
	assert_false(port_start(&port, 49, 1024, make_pool(), error));
	assert_non_null(strstr(error, "more than 48 receive queues"));
	assert_true(port_start(&port, 48, 1024, make_pool(), error));
	ports_close(&port, 1);
	port = make_port("net_i40e", &config);
	assert_true(port_start(&port, 49, 1024, make_pool(), error));
	ports_close(&port, 1);
}

/* --- clock --- */

static struct config flow_records(enum timestamps timestamps)
{
	struct config config = {.nb_measurements = 1};

	edit_clock_options(&config)->timestamps = timestamps;
	edit_measurement_options(&config.measurements[0])->sketch =
		sketch_index(sketch_find("flow-table"));
	return config;
}

/* Starts the port and returns the clock line that workers use. */
static struct clock_line line_of(struct port *port)
{
	struct clock_line line = {0};
	uint32_t seen = 0;
	char error[PORT_ERROR_MAX];

	assert_true(port_start(port, 1, 1024, make_pool(), error));
	clock_board_read(&port->clock.board, &seen, &line);
	ports_close(port, 1);
	return line;
}

static bool says(const struct port *port, const char *part)
{
	for (uint32_t i = 0; i < port->messages.n; i++)
		if (strstr(port->messages.messages[i].text, part) != NULL)
			return true;
	return false;
}

/* A sender needs no receive queue, but some drivers require one. */
static void a_sender_where_no_queue_is_none_that_it_takes(void **state)
{
	static const struct {
		const char *driver;
		bool power_of_two;
		uint16_t nb_rx;
	} rows[] = {
		{"net_vmxnet3", true, 1},
		{"net_ixgbe_vf", true, 1},
		{"net_mana", true, 1},
		{"net_i40e", false, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct config config = {0};
		struct port port = make_port(rows[i].driver, &config);
		char error[PORT_ERROR_MAX];

		device.power_of_two = rows[i].power_of_two;
		assert_true(port_start(&port, 0, 1024, make_pool(), error));
		assert_int_equal(device.nb_rx, rows[i].nb_rx);
		assert_int_equal(device.nb_tx, 1);
		ports_close(&port, 1);
	}
}

/* A forwarding port has as many send queues as requested. */
static void a_port_that_packets_leave_by(void **state)
{
	struct config config = {0};
	char error[PORT_ERROR_MAX];

	(void)state;
	for (uint16_t queues = 1; queues <= 4; queues += 3) {
		struct port port = make_port("net_i40e", &config);

		port.send_queues = queues;
		assert_true(port_start(&port, 2, 1024, make_pool(), error));
		assert_int_equal(device.nb_rx, 2);
		assert_int_equal(device.nb_tx, queues);
		ports_close(&port, 1);
	}
}

static void more_send_queues_than_there_are(void **state)
{
	struct config config = {0};
	struct port port = make_port("net_i40e", &config);
	char error[PORT_ERROR_MAX];

	(void)state;
	port.send_queues = 65;
	assert_false(port_start(&port, 2, 1024, make_pool(), error));
	assert_non_null(strstr(error, "has 64 send queues"));
	ports_close(&port, 1);
}

/* The last of two attempts counts; only errors give a reason. */
static void a_driver_says_why_it_refuses(void **state)
{
	struct config config = {0};
	struct port port = make_port("made up", &config);
	char error[PORT_ERROR_MAX];

	(void)state;
	device.paired = device.power_of_two = true;
	assert_false(port_start(&port, 3, 1024, make_pool(), error));
	assert_string_equal(error, "--port made0: cannot start it with 3 receive queues: Invalid "
				   "argument; its driver reports: 3 is not a power of two");
	assert_int_equal(rte_log_get_level((uint32_t)made_up_log), RTE_LOG_CRIT);
	assert_true(port_start(&port, 2, 1024, make_pool(), error));
	ports_close(&port, 1);
	assert_int_equal(rte_log_get_level((uint32_t)made_up_log), RTE_LOG_CRIT);
}

static void stamps_are_told(void **state)
{
	struct config config = flow_records(TIMESTAMPS_AUTO);
	struct port port = make_port("mlx5_pci", &config);
	struct clock_line line;
	int64_t before;

	(void)state;
	device.stamps = true;
	before = utc_now();
	line = line_of(&port);
	assert_true((device.offloads & RTE_ETH_RX_OFFLOAD_TIMESTAMP) != 0);
	assert_true(says(&port, "--timestamps poll"));
	assert_in_range(line.utc, before, utc_now());
	assert_in_range(clock_line_ns(&line, ticks_at(line.utc)) + 1e6, 0, 2e6);
	assert_in_range(clock_line_ns(&line, ticks_at(line.utc - 1000000)) + 2e6, 0, 2e6);
}

static void stamps_by_a_clock_that_is_hidden(void **state)
{
	struct config config = flow_records(TIMESTAMPS_AUTO);
	struct port port = make_port("net_ice", &config);

	(void)state;
	device.stamps = device.clock_hidden = true;
	assert_true(line_of(&port).ns_of_tick == 0);
	assert_true((device.offloads & RTE_ETH_RX_OFFLOAD_TIMESTAMP) == 0);
	assert_true(says(&port, "time of their poll"));
}

static void stamps_that_nobody_asks_for(void **state)
{
	struct config none = {.nb_measurements = 1}; /* uses count-min */
	struct config poll = flow_records(TIMESTAMPS_POLL);
	const struct config *configs[] = {&none, &poll};

	(void)state;
	device.stamps = true;
	for (size_t i = 0; i < 2; i++) {
		struct port port = make_port("mlx5_pci", configs[i]);

		assert_true(line_of(&port).ns_of_tick == 0);
		assert_true((device.offloads & RTE_ETH_RX_OFFLOAD_TIMESTAMP) == 0);
	}
}

/* libpcap always sets timestamps, in us of UTC. */
static void stamps_that_are_utc(void **state)
{
	struct config config = flow_records(TIMESTAMPS_AUTO);
	struct port port = make_port("net_pcap", &config);
	struct clock_line line = line_of(&port);

	(void)state;
	assert_true(line.utc == (int64_t)line.ticks * 1000);
	assert_true(line.ns_of_tick == 1000);
	assert_true((device.offloads & RTE_ETH_RX_OFFLOAD_TIMESTAMP) == 0);
}

/* --- promiscuous mode --- */

static void a_function_that_may_not_see_everything(void **state)
{
	static const struct {
		const char *driver;
		int answer;
		const char *says, *not ;
	} rows[] = {
		{"net_i40e", 0, NULL, "virtual function"},
		{"net_i40e", -ENOTSUP, "cannot be promiscuous", "trust on"},
		/* Reports success for any result of the host. */
		{"net_e1000_igb_vf", 0, "is a virtual function", "cannot"},
		{"net_iavf", 0, "is a virtual function", "cannot"},
		{"net_ixgbe_vf", -EAGAIN, "cannot be promiscuous", "drivers do not tell"},
		{"net_ixgbe_vf", -EAGAIN, "trust on", NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct config config = {0};
		struct port port = make_port(rows[i].driver, &config);
		char error[PORT_ERROR_MAX];

		device.driver = rows[i].driver;
		device.promiscuous = rows[i].answer;
		assert_true(port_start(&port, 1, 1024, make_pool(), error));
		assert_true(rows[i].says == NULL || says(&port, rows[i].says));
		assert_true(rows[i].not == NULL || !says(&port, rows[i].not ));
		ports_close(&port, 1);
	}
}

/* --- link --- */

static void changes_of_a_link(void **state)
{
	struct port port = make_port("mlx5_pci", &(struct config){0});
	struct link_monitor monitor;

	(void)state;
	device.speed = 100000;
	link_monitor_start(&monitor, &port);
	assert_int_equal(link_monitor_look(&monitor), PORT_SAME);
	device.speed = 25000;
	assert_int_equal(link_monitor_look(&monitor), PORT_SPEED);
	assert_int_equal(monitor.speed, 25000);
	assert_int_equal(link_monitor_look(&monitor), PORT_SAME);
	/* The speed of a link that is down, or reported as unknown, is ignored. */
	device.link_down = true;
	device.speed = 0;
	assert_int_equal(link_monitor_look(&monitor), PORT_DOWN);
	assert_int_equal(link_monitor_look(&monitor), PORT_SAME);
	device.link_down = false;
	device.speed = RTE_ETH_SPEED_NUM_UNKNOWN;
	assert_int_equal(link_monitor_look(&monitor), PORT_UP);
	assert_int_equal(monitor.speed, 25000);
	device.removed = true;
	assert_int_equal(link_monitor_look(&monitor), PORT_GONE);
	assert_int_equal(link_monitor_look(&monitor), PORT_SAME);
}

/*
 * EAL's PCI bus raises this event when vfio requests the card back: the card still exists, and its
 * link is up.
 */
static void a_card_that_is_asked_back_is_gone(void **state)
{
	struct config config = {0};
	struct port port = make_port("net_i40e", &config);
	struct link_monitor monitor;
	struct port_meter meter;
	char error[PORT_ERROR_MAX];

	(void)state;
	assert_true(port_start(&port, 1, 1024, make_pool(), error));
	link_monitor_start(&monitor, &port);
	port_meter_start(&meter, &port, NULL, 0);
	device.missed = 3;
	port_meter_read(&meter);
	rte_dev_event_callback_process("another", RTE_DEV_EVENT_REMOVE);
	rte_dev_event_callback_process("made0", RTE_DEV_EVENT_ADD);
	assert_int_equal(link_monitor_look(&monitor), PORT_SAME);
	rte_dev_event_callback_process("made0", RTE_DEV_EVENT_REMOVE);
	device.missed = UINT32_MAX;
	port_meter_read(&meter);
	assert_int_equal(port_meter_count(&meter, PORT_MISSED), 3);
	assert_int_equal(link_monitor_look(&monitor), PORT_GONE);
	assert_int_equal(link_monitor_look(&monitor), PORT_SAME);
	ports_close(&port, 1);
	assert_true(device.closed);
	/* The callback is not registered any more. */
	atomic_store(&port.leaving, false);
	rte_dev_event_callback_process("made0", RTE_DEV_EVENT_REMOVE);
	assert_false(atomic_load(&port.leaving));
}

/* --- counters --- */

static void lost_packets_count_from_the_first_reading(void **state)
{
	struct port port = make_port("net_vmxnet3", &(struct config){0});
	struct port_meter meter;

	(void)state;
	device.silent = true;
	device.missed = 5000000;
	port_meter_start(&meter, &port, NULL, 0);
	assert_true(meter.lost_gap);
	meter.lost_gap = false;
	device.silent = false;
	port_meter_read(&meter);
	assert_int_equal(port_meter_count(&meter, PORT_MISSED), 0);
	assert_true(meter.lost_gap);
	meter.lost_gap = false;
	device.missed += 7;
	port_meter_read(&meter);
	assert_int_equal(port_meter_count(&meter, PORT_MISSED), 7);
	assert_false(meter.lost_gap);
}

/* Registers read as all ones, and the driver has not noticed. */
static void a_card_that_is_gone_is_not_read(void **state)
{
	struct port port = make_port("net_vmxnet3", &(struct config){0});
	struct port_meter meter;

	(void)state;
	port_meter_start(&meter, &port, NULL, 0);
	device.received = 100;
	device.missed = 3;
	port_meter_read(&meter);
	assert_int_equal(port_meter_count(&meter, PORT_RECEIVED), 100);
	port_meter_gone(&meter);
	device.received = device.missed = UINT32_MAX;
	port_meter_read(&meter);
	assert_int_equal(port_meter_count(&meter, PORT_MISSED), 3);
	assert_int_equal(port_meter_count(&meter, PORT_RECEIVED), UINT64_MAX);
	assert_true(meter.lost_gap);
}

/* The kernel has removed it, but the link was not checked yet. */
static void a_card_that_went_just_now_is_not_read(void **state)
{
	struct port port = make_port("net_vmxnet3", &(struct config){0});
	struct port_meter meter;

	(void)state;
	port_meter_start(&meter, &port, NULL, 0);
	strcpy(port.device, "ffff:ff:1f.7");
	device.missed = UINT32_MAX;
	port_meter_read(&meter);
	assert_int_equal(port_meter_count(&meter, PORT_MISSED), 0);
	assert_true(meter.lost_gap);
}

/* Counts packets that the device received but that were not polled. */
static uint64_t unaccounted_of(const char *driver, bool silenced)
{
	static struct ledger_state ledger_state;
	struct port port = make_port(driver, &(struct config){0});
	const struct epoch_info info = {0};
	struct run run = {
		.config = port.config, .ops = &source_no_ops, .ports = &port, .nb_ports = 1};

	make_device(NULL);
	port.silenced = silenced;
	ledger_start(&ledger_state, &run);
	device.received = 5;
	return ledger_epoch(&ledger_state, 0, &info, true).unaccounted;
}

static void a_count_that_goes_on_is_not_compared(void **state)
{
	(void)state;
	assert_int_equal(unaccounted_of("net_i40e", true), 5);
	assert_int_equal(unaccounted_of("net_i40e", false), 0);
	assert_int_equal(unaccounted_of("net_null", false), 5);
}

/* Each epoch's ledger has the losses since the previous one, plus the feeder's drops. */
static void losses_of_devices_are_in_the_ledger(void **state)
{
	static struct ledger_state ledger_state;
	struct port port = make_port("net_pcap", &(struct config){0});
	const struct epoch_info info = {.dropped = 2};
	struct run run = {
		.config = port.config, .ops = &source_no_ops, .ports = &port, .nb_ports = 1};

	(void)state;
	device.missed = 1000;
	ledger_start(&ledger_state, &run);
	for (uint64_t epoch = 0; epoch < 3; epoch++) {
		struct ledger ledger;

		device.missed += 7 + epoch;
		device.errors += 5 * epoch;
		device.no_mbuf += 3;
		ledger = ledger_epoch(&ledger_state, epoch, &info, false);
		assert_int_equal(ledger.nic_missed, 9 + epoch);
		assert_int_equal(ledger.nic_errors, 5 * epoch);
		assert_int_equal(ledger.no_mbuf, 3);
		assert_int_equal(ledger.offered, 12 + 6 * epoch);
		assert_false(ledger.losses_unknown);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(an_mtu_is_put_back, make_device),
		cmocka_unit_test_setup(a_link_is_taken_down_where_it_is_of_use, make_device),
		cmocka_unit_test_setup(the_longest_frame_is_known_before_it_comes, make_device),
		cmocka_unit_test_setup(queues_that_a_driver_cannot_count_are_refused, make_device),
		cmocka_unit_test_setup(a_port_that_packets_leave_by, make_device),
		cmocka_unit_test_setup(more_send_queues_than_there_are, make_device),
		cmocka_unit_test_setup(a_driver_says_why_it_refuses, make_device),
		cmocka_unit_test_setup(a_sender_where_no_queue_is_none_that_it_takes, make_device),
		cmocka_unit_test_setup(stamps_are_told, make_device),
		cmocka_unit_test_setup(stamps_by_a_clock_that_is_hidden, make_device),
		cmocka_unit_test_setup(stamps_that_nobody_asks_for, make_device),
		cmocka_unit_test_setup(stamps_that_are_utc, make_device),
		cmocka_unit_test_setup(a_function_that_may_not_see_everything, make_device),
		cmocka_unit_test_setup(changes_of_a_link, make_device),
		cmocka_unit_test_setup(a_card_that_is_asked_back_is_gone, make_device),
		cmocka_unit_test_setup(lost_packets_count_from_the_first_reading, make_device),
		cmocka_unit_test_setup(a_card_that_is_gone_is_not_read, make_device),
		cmocka_unit_test_setup(a_card_that_went_just_now_is_not_read, make_device),
		cmocka_unit_test_setup(a_count_that_goes_on_is_not_compared, make_device),
		cmocka_unit_test_setup(losses_of_devices_are_in_the_ledger, make_device),
	};

	made_up_log = rte_log_register("pmd.net.made_up");
	log_init(LOG_LEVEL_NOTICE, false);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
