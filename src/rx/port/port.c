/* SPDX-License-Identifier: BSD-3-Clause */
#include "rx/port/port.h"

#include <dlfcn.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_bus_vdev.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_ether.h>

#include "base/log.h"
#include "base/pci_device.h"
#include "base/sys_file.h"
#include "base/text.h"
#include "rx/port/device_lock.h"
#include "rx/port/driver_loader.h"
#include "rx/port/forwarding.h"
#include "rx/port/frames.h"
#include "rx/port/interrupts.h"
#include "rx/port/kernel_interface.h"
#include "rx/port/privileges.h"
#include "rx/port/rss.h"

/* Bytes of the longest joined packet: GSO_MAX_SIZE of the kernel and an Ethernet header */
#define LARGEST_JOINED (8 * UINT16_MAX + PORT_FRAME_OVERHEAD)

/* Slot bytes if only headers are needed */
#define HEADERS_SLOT 2048

_Static_assert(PORT_ERROR_MAX >= PORT_MESSAGE_MAX, "error holds any message");

#define set_error(error, ...) text_error(error, PORT_ERROR_MAX, __VA_ARGS__)

static void device_text(
	char text[PORT_DEVICE_MAX + 32], const struct port_name *name, uint16_t nb_rx)
{
	const struct port_driver *driver = port_driver_of_device(name->device);
	int length;

	snprintf(text, PORT_DEVICE_MAX + 32, "%s", name->device);
	if (nb_rx > 1 && nb_rx <= driver->queues_arg_each &&
		port_devarg(name->device, driver->queues_arg, &length) == NULL)
		snprintf(text + strlen(text), 32, ",%s=%u", driver->queues_arg, nb_rx);
}

static bool is_privilege_missing(
	const struct port *port, const struct port_driver *driver, const char *device, char *why)
{
	return port->has_sender ? port_lacks_to_send(driver, why)
				: port_lacks_privilege(driver, device, why);
}

/* libbpf and libxdp, which net_af_xdp loads, print to standard error. */
static void silence_libraries(bool verbose)
{
	static const struct {
		const char *library, *setter;
	} printers[] = {
		{"libbpf.so.1", "libbpf_set_print"},
		{"libbpf.so.0", "libbpf_set_print"},
		{"libxdp.so.1", "libxdp_set_print"},
	};

	for (size_t i = 0; !verbose && i < sizeof(printers) / sizeof(printers[0]); i++) {
		/*
		 * The library is found only if a driver has loaded it. Its symbols are not global.
		 */
		void *library = dlopen(printers[i].library, RTLD_LAZY | RTLD_NOLOAD);
		void *(*set_print)(void *print) = NULL;
		void *symbol;

		if (library == NULL)
			continue;
		symbol = dlsym(library, printers[i].setter);
		memcpy(&set_print, &symbol, sizeof(set_print));
		if (set_print != NULL)
			set_print(NULL);
		dlclose(library);
	}
}

static bool make_virtual(
	const struct port *port, const struct port_name *name, const char *text, char *error)
{
	char why[PORT_PRIVILEGE_MAX], reason[PORT_MESSAGE_MAX / 2];
	const char *arguments = strchr(text, ',');
	bool explained;
	int result;

	log_catch_begin();
	driver_loader_device(text);
	silence_libraries(log_is_verbose());
	/* rte_dev_probe() is limited to 127 bytes in 24.11. */
	result = rte_vdev_init(port->device, arguments != NULL ? arguments + 1 : "");
	log_catch_end(reason, sizeof(reason));
	if (result == 0)
		return true;
	if (!name->known)
		return set_error(error,
			"--port %s: not a kernel interface (see ip link), PCI address "
			"(0000:3b:00.0) or virtual device (net_tap0,iface=probe0)",
			port->name);
	if (is_privilege_missing(port, port_driver_of_device(text), text, why))
		return set_error(error, "--port %s: %s", port->name, why);
	/* The driver computes 16 bits from process ID and interface, so they may not be unique. */
	if (strstr(reason, "PACKET_FANOUT") != NULL)
		return set_error(error,
			"--port %s: another program uses the packet fan-out group of this process "
			"ID: start sketchtap again",
			port->name);
	/* Drivers return -1 for any error. Messages of EAL have no details. */
	explained = reason[0] != '\0' && strncmp(reason, "EAL: ", 5) != 0;
	return set_error(error,
		"--port %s: no driver can create this device with these DEVARGS%s%s%s%s; "
		"--log-level debug shows its messages",
		port->name, result == -1 ? "" : ": ", result == -1 ? "" : rte_strerror(-result),
		explained ? ": " : "", explained ? reason : "");
}

/* EAL does not find cards that the process may not open. */
static bool set_absent_error(const struct port *port, const struct port_name *name, char *error)
{
	char file[PCI_FILE_MAX];

	if (name->pci && pci_device_file("", port->device, file) &&
		!sys_allows("", R_OK | W_OK, "%s", file))
		return set_error(error,
			"--port %s: this user may not use %s; a udev rule can allow it: "
			"SUBSYSTEM==\"vfio\", OWNER=\"sketchtap\"",
			port->name, file);
	return set_error(error,
		"--port %s: no such port; bind the card to vfio-pci "
		"(dpdk-devbind.py --status shows it), or name another",
		port->name);
}

static void warn_kernel_queues(struct port *port, const struct port_name *name, uint16_t nb_rx)
{
	if (name->facts.queues > nb_rx)
		port_warn(&port->messages,
			"%s: %s spreads packets over %u queues, of which %u %s measured: the "
			"kernel receives the rest, uncounted; ethtool -L %s %s %u",
			port->name, name->interface, name->facts.queues, nb_rx,
			nb_rx == 1 ? "is" : "are", name->interface,
			name->facts.paired ? "combined" : "rx", nb_rx);
	/* Only cards remove tags; virtual interfaces restore them for the socket. */
	if (name->facts.vlan_strip && name->facts.bus[0] != '\0')
		port_warn(&port->messages,
			"%s: %s removes VLAN tags, whose four bytes are not counted: ethtool -K %s "
			"rxvlan off",
			port->name, name->interface, name->interface);
}

static bool make_sockets(struct port *port, uint16_t nb_rx, char *error)
{
	char why[PORT_PRIVILEGE_MAX];
	int reason;

	if (nb_rx > SOCKET_QUEUES_MAX)
		return set_error(error,
			"--port %s has %u receive queues, and %u workers need one each: lower "
			"--workers, or use --design async",
			port->name, SOCKET_QUEUES_MAX, nb_rx);
	port->sockets = socket_queues_create(nb_rx, &port->id, &reason);
	if (port->sockets != NULL)
		return true;
	if (port_lacks_privilege(port->driver, port->device, why))
		return set_error(error, "--port %s: %s", port->name, why);
	return set_error(
		error, "--port %s: cannot open a packet socket: %s", port->name, strerror(reason));
}

/* The sockets of DPDK's driver must not receive: they join fragments and truncate frames. */
static bool make_sender(
	struct port *port, const struct port_name *name, uint16_t nb_rx, char *error)
{
	char text[PORT_DEVICE_MAX + 32];
	struct kernel_sockets sockets;

	device_text(text, name, nb_rx);
	port->has_sender = true;
	if (!make_virtual(port, name, text, error)) {
		port->has_sender = false;
		return false;
	}
	port->has_sender = rte_eth_dev_get_port_by_name(port->device, &port->sender) == 0;
	if (!port->has_sender)
		return set_error(error, "--port %s: no device %s", port->name, port->device);
	kernel_sockets_find(
		&sockets, AF_PACKET, port->interface_index, KERNEL_SOCKETS_MAX, NULL, 0);
	kernel_sockets_receive_nothing(&sockets);
	return true;
}

/* Packet sockets receive frames, and DPDK's driver sends frames. */
static bool probe_interface(
	struct port *port, const struct port_name *name, uint16_t nb_rx, char *error)
{
	port->driver = port_driver_of_device(name->device);
	port->sends = true;
	port->slot = name->slot;
	port->slots = name->slots;
	if ((nb_rx == 0 || forward_asked(port->config)) && !make_sender(port, name, nb_rx, error))
		return false;
	port->id = port->sender;
	if (nb_rx > 0 && !make_sockets(port, nb_rx, error))
		return false;
	if (nb_rx > 0 && strcmp(port->name, port->interface) != 0)
		log_info("%s is received like --port %s, by packet sockets: its driver would join "
			 "fragments and truncate frames",
			port->name, port->interface);
	port->node = rte_eth_dev_socket_id(port->id);
	return true;
}

bool port_probe(struct port *port, const struct port_name *name, const struct config *config,
	uint16_t nb_rx, char *error)
{
	char text[PORT_DEVICE_MAX + 32];
	struct rte_eth_dev_info info;
	int result;

	*port = (struct port){
		.config = config,
		.node = -1,
		.interface_mtu = name->facts.mtu,
		.promiscuous = -1,
		.was_promiscuous = !name->pci && name->facts.promiscuous,
		.loops = name->facts.loops,
	};
	snprintf(port->device, sizeof(port->device), "%.*s", (int)strcspn(name->device, ","),
		name->device);
	snprintf(port->interface, sizeof(port->interface), "%s", name->interface);
	snprintf(port->name, sizeof(port->name), "%s",
		name->called[0] != '\0' ? name->called : port->device);
	port->mbuf_room = name->mbuf_room;
	port->interface_index = name->facts.index;
	if (name->notice[0] != '\0')
		port_notice(&port->messages, "%s", name->notice);
	if (name->warning[0] != '\0')
		port_warn(&port->messages, "%s", name->warning);
	if (port_is_locked(name, &port->messages, error))
		return false;
	if (port_driver_of_device(name->device)->sockets == AF_PACKET)
		return probe_interface(port, name, nb_rx, error);
	device_text(text, name, nb_rx);
	if (name->pci)
		silence_libraries(log_is_verbose());
	else if (!make_virtual(port, name, text, error))
		return false;
	if (rte_eth_dev_get_port_by_name(port->device, &port->id) != 0)
		return set_absent_error(port, name, error);
	result = rte_eth_dev_info_get(port->id, &info);
	if (result != 0)
		return set_error(error, "--port %s: the device does not answer: %s", port->name,
			rte_strerror(-result));
	port->node = rte_eth_dev_socket_id(port->id);
	port->driver = port_driver_find(info.driver_name);
	port->sends = port_can_send(port->driver, name->device);
	if (port->driver->counts_otherwise != NULL)
		port_warn(&port->messages, "%s: %s", port->name, port->driver->counts_otherwise);
	if (port->driver->sockets == AF_XDP && nb_rx > 0)
		warn_kernel_queues(port, name, nb_rx);
	return true;
}

struct start {
	struct port *port;
	uint16_t nb_rx, nb_tx, tx_descriptors;
	struct rte_eth_dev_info info;
	struct rte_eth_dev_info sender;
	struct rte_eth_conf conf;
	struct port_rss rss;
	struct port_frame_plan frames;
	bool apart;
	const char *call;    /* last system call of the packet sockets; NULL: none */
	uint16_t mtu_before; /* original MTU; 0: unknown */
};

static enum port_hash_use hash_use(const struct port *port, uint16_t nb_rx)
{
	if (nb_rx > 1)
		return PORT_HASH_QUEUES;
	return nb_rx == 1 && port->dealt ? PORT_HASH_DISPATCH : PORT_HASH_UNUSED;
}

static bool check_queues(const struct start *start, char *error)
{
	const struct port *port = start->port;
	uint16_t most = port_driver_queues(port->driver, start->info.max_rx_queues);

	if (port->send_queues > start->sender.max_tx_queues)
		return set_error(error,
			"--port %s has %u send queues, and --forward needs %u, one for each "
			"worker: lower --workers, or use --design async",
			port->name, start->sender.max_tx_queues, port->send_queues);
	if (start->nb_rx <= most)
		return true;
	if (most < start->info.max_rx_queues)
		return set_error(error,
			"--port %s: its driver does not work with more than %u receive queue%s: "
			"lower --workers from %u, or use --design async",
			port->name, most, most == 1 ? "" : "s", start->nb_rx);
	if (port->driver->queues_arg != NULL)
		return set_error(error,
			"--port %s has %u receive queues, and %u workers need one each: give it "
			"more (%s,%s=%u), lower --workers, or use --design async",
			port->name, start->info.max_rx_queues, start->nb_rx, port->device,
			port->driver->queues_arg, start->nb_rx);
	return set_error(error,
		"--port %s has %u receive queue%s, one for each worker: lower --workers from %u, "
		"or use --design async",
		port->name, start->info.max_rx_queues, start->info.max_rx_queues == 1 ? "" : "s",
		start->nb_rx);
}

static bool plan_frames(struct port_frame_plan *plan, const struct port *port,
	const struct rte_eth_dev_info *info, uint32_t room, struct port_messages *messages,
	char *error)
{
	uint16_t mtu = RTE_ETHER_MTU;

	rte_eth_dev_get_mtu(port->id, &mtu);
	if (!port_frames_plan(plan, port->name, port->driver, info, mtu,
		    frames_options(port->config)->mtu, room, messages, error))
		return false;
	if (plan->mbuf_room < port->mbuf_room)
		plan->mbuf_room = port->mbuf_room;
	return true;
}

uint32_t port_mbuf_room(const struct port *port, uint32_t room)
{
	struct rte_eth_dev_info info;
	struct port_frame_plan plan;
	struct port_messages messages = {0};
	char error[PORT_ERROR_MAX];

	if (rte_eth_dev_info_get(port->id, &info) != 0 ||
		!plan_frames(&plan, port, &info, room, &messages, error))
		return room;
	return RTE_MAX(plan.mbuf_room, room);
}

bool port_chains(const struct port *port, uint32_t room)
{
	struct rte_eth_dev_info info;
	struct port_frame_plan plan;
	struct port_messages messages = {0};
	char error[PORT_ERROR_MAX];

	if (port->sockets != NULL)
		return false;
	return port->driver->frames == PORT_FRAMES_CHAINED ||
	       (rte_eth_dev_info_get(port->id, &info) == 0 &&
		       plan_frames(&plan, port, &info, room, &messages, error) &&
		       (plan.offloads & RTE_ETH_RX_OFFLOAD_SCATTER) != 0);
}

static uint64_t send_offloads(const struct rte_eth_dev_info *info, bool scatters)
{
	/* FAST_FREE is allowed: the mbufs of a queue have one pool and reference count 1. */
	uint64_t wanted = RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE;

	if (scatters)
		wanted |= RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
	return info->tx_offload_capa & wanted;
}

static bool choose_queues(struct start *start, uint32_t room, char *error)
{
	struct port *port = start->port;

	if (rte_eth_dev_get_mtu(port->id, &start->mtu_before) != 0)
		start->mtu_before = 0;
	if (!plan_frames(&start->frames, port, &start->info, room, &port->messages, error))
		return false;
	if (start->nb_rx > 0 && start->frames.mbuf_room > room)
		return set_error(error,
			"--port %s: its frames need mbufs of %u bytes, but mbufs have %u: lower "
			"--mtu",
			port->name, start->frames.mbuf_room, room);
	if (port->driver->mbuf_most > 0 && room > port->driver->mbuf_most)
		return set_error(error,
			"--port %s: its driver supports mbufs of up to %u bytes, but frames of "
			"another port, or of SPEC, need %u: lower the MTU there, or size=, or "
			"measure that port in a separate run",
			port->name, port->driver->mbuf_most, room);
	start->rss = (struct port_rss){
		.port = port->name,
		.driver = port->driver,
		.use = hash_use(port, start->nb_rx),
		.nb_queues = start->nb_rx,
	};
	if (!port_rss_choose(&start->rss, port->config, &start->info, &port->messages, error))
		return false;
	start->conf.rxmode.mtu = start->frames.mtu;
	start->conf.rxmode.offloads = start->frames.offloads;
	if (start->nb_rx > 0)
		start->conf.rxmode.offloads |= port_clock_choose(&port->clock, port->id, port->name,
			port->driver, port->config, &start->info, &port->messages);
	if (port->sockets != NULL) /* the kernel stamps packets */
		start->conf.rxmode.offloads = 0;
	port_rss_put(&start->rss, &start->conf);
	if (port->driver->queues == PORT_QUEUES_PAIRED) {
		if (start->nb_rx == 0)
			start->nb_rx = 1;
		start->nb_tx = start->nb_rx;
	}
	if (start->nb_tx < port->send_queues && !start->apart)
		start->nb_tx = port->send_queues;
	if (port->send_queues > 0 && !start->apart)
		start->conf.txmode.offloads = send_offloads(&start->info, port->sends_chains);
	if (start->nb_rx == 0)
		start->nb_tx = 1;
	if (start->nb_rx == 0 && port->driver->queues_power_of_two)
		start->nb_rx = 1;
	return true;
}

/* Some drivers without a row need as many send queues as receive queues. */
static int configure(struct start *start)
{
	uint16_t id = start->port->id;
	int result = rte_eth_dev_configure(id, start->nb_rx, start->nb_tx, &start->conf);

	if (result < 0 && start->nb_rx > start->nb_tx) {
		log_catch_begin();
		result = rte_eth_dev_configure(id, start->nb_rx, start->nb_rx, &start->conf);
		if (result == 0)
			start->nb_tx = start->nb_rx;
	}
	return result;
}

static bool set_mtu(struct start *start, char *error)
{
	struct port *port = start->port;
	int result;

	if (!start->frames.set_mtu)
		return true;
	result = rte_eth_dev_set_mtu(port->id, start->frames.mtu);
	if (result != 0 && result != -ENOTSUP)
		return set_error(error, "--mtu: %s does not support %u: %s; lower it", port->name,
			start->frames.mtu, rte_strerror(-result));
	if (result == 0)
		port->mtu_before = start->mtu_before;
	return true;
}

static int set_descriptors(struct start *start, uint32_t wanted)
{
	struct port *port = start->port;
	uint16_t asked = (uint16_t)wanted;
	int result;

	if (port->driver->descriptors > 0)
		asked = port->driver->descriptors;
	port->descriptors = asked;
	start->tx_descriptors = PORT_SEND_DESCRIPTORS;
	result = rte_eth_dev_adjust_nb_rx_tx_desc(
		port->id, &port->descriptors, &start->tx_descriptors);
	/* A driver without limits accepts the numbers unchanged. */
	if (result == -ENOTSUP)
		result = 0;
	if (port_options(port->config)->descriptors > 0)
		wanted = port_options(port->config)->descriptors;
	if (result == 0 && port->descriptors != wanted && start->nb_rx > 0 &&
		port->driver->descriptors == 0)
		port_notice(&port->messages,
			"%s: its receive rings have %u entries instead of %u; supported: %u to %u, "
			"in multiples of %u",
			port->name, port->descriptors, wanted, start->info.rx_desc_lim.nb_min,
			start->info.rx_desc_lim.nb_max, start->info.rx_desc_lim.nb_align);
	return result;
}

static int setup_queues(const struct start *start, struct rte_mempool *pool)
{
	const struct port *port = start->port;
	int result = 0;

	for (uint16_t q = 0; result == 0 && q < start->nb_rx; q++)
		result = rte_eth_rx_queue_setup(
			port->id, q, port->descriptors, SOCKET_ID_ANY, NULL, pool);
	for (uint16_t q = 0; result == 0 && q < start->nb_tx; q++)
		result = rte_eth_tx_queue_setup(
			port->id, q, start->tx_descriptors, SOCKET_ID_ANY, NULL);
	return result;
}

static int start_sender(const struct start *start)
{
	const struct port *port = start->port;
	struct rte_eth_conf conf = {.rxmode.mtu = start->frames.mtu};
	int result;

	conf.txmode.offloads = send_offloads(&start->sender, port->sends_chains);
	result = rte_eth_dev_configure(port->sender, 0, port->send_queues, &conf);
	for (uint16_t q = 0; result == 0 && q < port->send_queues; q++)
		result = rte_eth_tx_queue_setup(
			port->sender, q, PORT_SEND_DESCRIPTORS, SOCKET_ID_ANY, NULL);
	return result == 0 ? rte_eth_dev_start(port->sender) : result;
}

static int start_sockets(struct start *start, struct rte_mempool *pool)
{
	const struct port *port = start->port;
	const uint32_t slot =
		port->headers_only && port->slot > HEADERS_SLOT ? HEADERS_SLOT : port->slot;
	const struct packet_socket_params params = {
		.interface = port->interface_index,
		.in_blocks = port->in_blocks,
		.slots = port->slots * (port->slot / slot),
		.slot = slot,
		.headers_only = port->headers_only,
		/*
		 * A loopback interface returns sent frames. A forwarder must not send them again.
		 */
		.without_outgoing = port->loops || forward_asked(port->config),
	};

	return -socket_queues_start(
		port->sockets, start->nb_rx, &params, pool, port->clock.on, &start->call);
}

static uint32_t largest_frame(const struct start *start)
{
	uint16_t mtu = RTE_ETHER_MTU;

	if (start->frames.largest_frame > 0)
		return start->frames.largest_frame;
	if (start->port->driver->largest_frame > 0)
		return start->port->driver->largest_frame;
	if (start->port->interface_mtu > 0)
		return start->port->interface_mtu + PORT_FRAME_OVERHEAD;
	rte_eth_dev_get_mtu(start->port->id, &mtu);
	return mtu + PORT_FRAME_OVERHEAD;
}

/* The start of the device clears the promiscuous flag. */
static void restore_promiscuous(const struct port *port)
{
	if (port->was_promiscuous)
		rte_eth_promiscuous_enable(port_sender(port));
}

/* The host of a virtual function may refuse promiscuous mode, and some drivers do not report it. */
static bool host_may_refuse(const struct port *port, const struct rte_eth_dev_info *info)
{
	return pci_driver_is_virtual(info->driver_name) ||
	       (port_is_pci(port->device) && pci_device_is_virtual("", port->device));
}

/* The kernel counts such requests, so other programs on the interface are not affected. */
static int hold_promiscuous(const char *interface)
{
	struct packet_mreq wish = {
		.mr_ifindex = (int)if_nametoindex(interface),
		.mr_type = PACKET_MR_PROMISC,
	};
	/* With protocol 0, the socket receives no packets. */
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);

	if (fd >= 0 && setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &wish, sizeof(wish)) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

static void receive_everything(struct port *port, const struct rte_eth_dev_info *info)
{
	if (port->interface[0] != '\0' && !port_is_pci(port->device))
		port->promiscuous = hold_promiscuous(port->interface);
	if (port->promiscuous >= 0 || rte_eth_promiscuous_enable(port->id) == 0) {
		if (host_may_refuse(port, info))
			port_warn(&port->messages,
				"%s is a virtual function: if its host does not allow promiscuous "
				"mode (ip link set PF vf N trust on), packets to other addresses "
				"are not received",
				port->name);
		return;
	}
	rte_eth_allmulticast_enable(port->id);
	port_warn(&port->messages,
		"%s cannot be promiscuous: packets to other addresses are not received%s",
		port->name,
		host_may_refuse(port, info) ? "; its host refuses: ip link set PF vf N trust on"
					    : "");
}

/* Returns false if the MTU cannot be set. If the device refuses, *result is negative. */
static bool bring_up(struct start *start, uint32_t descriptors, struct rte_mempool *pool,
	int *result, char *error)
{
	*result = configure(start);
	if (*result == 0 && !set_mtu(start, error))
		return false;
	if (*result == 0)
		*result = set_descriptors(start, descriptors);
	if (*result == 0)
		*result = setup_queues(start, pool);
	if (*result == 0)
		*result = rte_eth_dev_start(start->port->id);
	if (*result == 0 && start->apart)
		*result = start_sender(start);
	if (*result == 0 && start->port->sockets != NULL)
		*result = start_sockets(start, pool);
	return true;
}

static bool report_rejection(const struct start *start, int result, const char *reason, char *error)
{
	char why[PORT_PRIVILEGE_MAX];
	bool lacks =
		is_privilege_missing(start->port, start->port->driver, start->port->device, why);
	bool xdp = !lacks && start->port->driver->sockets == AF_XDP;

	if (!lacks && start->call != NULL)
		return set_error(error, "--port %s: cannot receive with %u packet socket%s: %s: %s",
			start->port->name, start->nb_rx, start->nb_rx == 1 ? "" : "s", start->call,
			rte_strerror(-result));
	return set_error(error, "--port %s: cannot start it with %u receive queue%s: %s%s%s%s%s",
		start->port->name, start->nb_rx, start->nb_rx == 1 ? "" : "s",
		lacks ? why : rte_strerror(-result),
		!lacks && reason[0] != '\0' ? "; its driver reports: " : "", lacks ? "" : reason,
		xdp ? "; if the kernel driver does not support XDP, use --port " : "",
		xdp ? start->port->interface : "");
}

bool port_start(struct port *port, uint16_t nb_rx, uint32_t descriptors, struct rte_mempool *pool,
	char *error)
{
	struct start start = {.port = port, .nb_rx = nb_rx};
	char reason[PORT_MESSAGE_MAX / 2] = "";
	bool mtu_accepted = true;
	int result;

	if (nb_rx > 0 && port->sockets == NULL && port->has_sender &&
		!make_sockets(port, nb_rx, error))
		return false;
	start.apart = port->sockets != NULL && port->send_queues > 0;
	result = rte_eth_dev_info_get(port->id, &start.info);
	if (port->sockets != NULL)
		start.info.rx_offload_capa = RTE_ETH_RX_OFFLOAD_TIMESTAMP;
	start.sender = start.info;
	if (result == 0 && start.apart)
		result = rte_eth_dev_info_get(port->sender, &start.sender);
	if (result == 0 && (!check_queues(&start, error) ||
				   !choose_queues(&start, rte_pktmbuf_data_room_size(pool), error)))
		return false;
	if (result == 0) {
		log_catch_begin();
		mtu_accepted = bring_up(&start, descriptors, pool, &result, error);
		log_catch_end(reason, sizeof(reason));
	}
	if (!mtu_accepted)
		return false;
	if (result != 0)
		return report_rejection(&start, result, reason, error);
	port->started = true;
	hot_unplug_hear(port->device, &port->leaving);
	restore_promiscuous(port);
	port->nb_queues = nb_rx;
	port->largest_frame = largest_frame(&start);
	port->largest_lost = port->sockets != NULL ? LARGEST_JOINED : 0;
	port_rss_check(&start.rss, port->id, &start.info, &port->messages);
	if (nb_rx > 0)
		receive_everything(port, &start.info);
	port_clock_start(&port->clock, port->name, &port->messages);
	return true;
}

bool port_is_plugged(const struct port *port)
{
	char path[sizeof(port->device) + 32];

	if (port_is_leaving(port) || rte_eth_dev_is_removed(port->id) == 1)
		return false;
	if (!port_is_pci(port->device))
		return true;
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s", port->device);
	return access(path, F_OK) == 0;
}

static void end_promiscuous(struct port *port)
{
	if (port->promiscuous >= 0)
		close(port->promiscuous);
	else if (port->started && !port->was_promiscuous && port->sockets == NULL)
		rte_eth_promiscuous_disable(port->id);
	port->promiscuous = -1;
}

void port_silence(struct port *port)
{
	end_promiscuous(port);
	if (port->sockets != NULL) {
		socket_queues_silence(port->sockets);
		return;
	}
	/*
	 * mlx5 is polled. Here, it would take the kernel interface down, which then loses its
	 * routes.
	 */
	port->silenced = !port->driver->polled && rte_eth_dev_set_link_down(port->id) == 0;
}

uint32_t port_interface_index(const struct port *port)
{
	struct rte_eth_dev_info info;

	if (port->driver->sockets == AF_PACKET)
		return port->interface_index;
	return rte_eth_dev_info_get(port->id, &info) == 0 ? info.if_index : 0;
}

static void port_stop(struct port *port)
{
	hot_unplug_forget(port->device, &port->leaving);
	end_promiscuous(port);
	if (port->silenced)
		rte_eth_dev_set_link_up(port->id);
	if (port->started)
		rte_eth_dev_stop(port->id);
	if (port->started && port->has_sender && port->sockets != NULL && port->send_queues > 0)
		rte_eth_dev_stop(port->sender);
	port->started = false;
	/* Some drivers reject an MTU while started. */
	if (port->mtu_before > 0)
		rte_eth_dev_set_mtu(port->id, port->mtu_before);
}

static void port_close(struct port *port)
{
	socket_queues_destroy(port->sockets);
	if (port->has_sender)
		rte_eth_dev_close(port->sender);
	else if (port->sockets == NULL)
		rte_eth_dev_close(port->id);
	port->sockets = NULL;
}

void ports_close(struct port *ports, uint32_t nb_ports)
{
	bool races = false;

	for (uint32_t p = 0; p < nb_ports; p++)
		port_stop(&ports[p]);
	/* Most drivers need messages of the interrupt thread to close. */
	for (uint32_t p = 0; p < nb_ports; p++)
		if (!ports[p].driver->races_interrupts)
			port_close(&ports[p]);
		else
			races = true;
	if (!races)
		return;
	interrupts_stop();
	for (uint32_t p = 0; p < nb_ports; p++)
		if (ports[p].driver->races_interrupts)
			port_close(&ports[p]);
}
