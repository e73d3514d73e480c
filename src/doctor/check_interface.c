/* SPDX-License-Identifier: BSD-3-Clause */

/* Checks of a kernel interface: state, and offloads that change packets. */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "doctor/check.h"
#include "rx/port/drivers.h"

#define SYS_NET "/sys/class/net"

#define FLAG_UP 1 /* IFF_UP */

bool host_interface_exists(const struct host *host, const struct host_port *port)
{
	return port->interface[0] != '\0' && sys_exists(host->root, SYS_NET "/%s", port->interface);
}

static void check_virtual_port(
	const struct host *host, const struct host_port *port, struct finding *finding)
{
	(void)host;
	if (port->unknown) {
		finding_missing(finding, "%s: no such interface or device", port->name);
		finding_wanted(finding, "a PCI address, an interface, or a virtual device of DPDK");
		finding_command(finding, "dpdk-devbind.py --status-dev net; ip -brief link");
		return;
	}
	finding_ok(
		finding, "%s: a virtual device of DPDK; nothing to check on the host", port->name);
}

/* In another network namespace, /sys may show another interface of the same name. */
static bool sys_is_of_another_namespace(const struct host *host, const struct host_port *port)
{
	int64_t index;

	if (!host_interface_exists(host, port))
		return port->settings.index != 0;
	return sys_number(host->root, &index, SYS_NET "/%s/ifindex", port->interface) == SYS_READ &&
	       index != port->settings.index;
}

static void check_interface(
	const struct host *host, const struct host_port *port, struct finding *finding)
{
	char flags_text[32], state[32];
	enum sys_read result;
	unsigned long flags;

	if (sys_is_of_another_namespace(host, port)) {
		finding_warning(finding,
			"%s: /sys shows another network namespace, and therefore "
			"other interfaces",
			port->name);
		finding_wanted(finding, "a /sys of this namespace");
		finding_command(finding, "sudo ip netns exec NAME sketchtap doctor ...");
		return;
	}
	if (!host_interface_exists(host, port)) {
		finding_missing(finding, "%s: no such interface: %s", port->name,
			port->interface[0] != '\0' ? port->interface : "unnamed");
		finding_wanted(finding, "an existing interface%s",
			port->source == HOST_KERNEL ? ", as iface=NAME" : "");
		finding_command(finding, "ip -brief link");
		return;
	}
	result = sys_line(
		host->root, flags_text, sizeof(flags_text), SYS_NET "/%s/flags", port->interface);
	if (finding_unless_read(finding, result, "flags of the interface"))
		return;
	flags = strtoul(flags_text, NULL, 16);
	sys_line(host->root, state, sizeof(state), SYS_NET "/%s/operstate", port->interface);
	if ((flags & FLAG_UP) == 0) {
		finding_warning(finding, "%s: %s is down", port->name, port->interface);
		finding_wanted(finding, "interface up: no packets arrive while it is down");
		finding_command(finding, "sudo ip link set dev %s up", port->interface);
	} else if (strcmp(state, "up") == 0 || strcmp(state, "unknown") == 0) {
		finding_ok(finding, "%s: %s is up%s", port->name, port->interface,
			port->source == HOST_KERNEL ? "; the run makes it promiscuous" : "");
	} else {
		finding_warning(
			finding, "%s: %s has no link (%s)", port->name, port->interface, state);
		finding_wanted(finding, "a connected cable");
		finding_command(finding, "ethtool %s", port->interface);
	}
}

static void check_merging(
	const struct host *host, const struct host_port *port, struct finding *finding)
{
	const struct port_interface *settings = &port->settings;
	const struct {
		bool on;
		const char *name, *option;
	} rows[] = {
		{settings->gro, "gro", " gro off"},
		{settings->lro, "lro", " lro off"},
		{settings->gro_hw, "rx-gro-hw", " rx-gro-hw off"},
		{settings->gro_list, "rx-gro-list", " rx-gro-list off"},
	};
	char names[64] = "", options[96] = "";
	uint32_t joining = 0;

	(void)host;
	if (!settings->features_known) {
		finding_unseen(finding, SYS_ABSENT, "offloads of the interface");
		return;
	}
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].on) {
			joining++;
			strcat(names, names[0] != '\0' ? ", " : "");
			strcat(names, rows[i].name);
			strcat(options, rows[i].option);
		}
	if (names[0] == '\0') {
		finding_ok(finding, "%s: gro and lro are off", port->name);
		return;
	}
	finding_warning(finding, "%s: %s %s packets before they are counted", port->name, names,
		joining == 1 ? "joins" : "join");
	finding_wanted(finding,
		"these offloads off: otherwise packets are merged, and counts are too low");
	finding_command(finding, "sudo ethtool -K %s%s", port->interface, options);
}

static void check_vlan_strip(
	const struct host *host, const struct host_port *port, struct finding *finding)
{
	(void)host;
	if (!port->settings.features_known) {
		finding_unseen(finding, SYS_ABSENT, "offloads of the interface");
	} else if (!port->settings.vlan_strip) {
		finding_ok(finding, "%s: VLAN tags stay in packets", port->name);
	} else if (port_driver_find(port->driver)->sockets == AF_PACKET) {
		finding_ok(finding, "%s: VLAN tags are removed, and restored by af_packet",
			port->name);
	} else {
		finding_warning(finding, "%s: VLAN tags are removed from packets", port->name);
		finding_wanted(
			finding, "tags in packets: otherwise four bytes per tag are not counted");
		finding_command(finding, "sudo ethtool -K %s rxvlan off", port->interface);
	}
}

static void check_rx_ring(
	const struct host *host, const struct host_port *port, struct finding *finding)
{
	const struct port_interface *settings = &port->settings;

	(void)host;
	if (!settings->ring_known) {
		finding_ok(finding, "%s: the interface has no ring", port->name);
	} else if (settings->ring >= settings->ring_max) {
		finding_ok(finding, "%s: %u descriptors", port->name, settings->ring);
	} else {
		finding_warning(finding, "%s: %u descriptors of %u", port->name, settings->ring,
			settings->ring_max);
		finding_wanted(
			finding, "all descriptors: they buffer packets while the kernel is busy");
		finding_command(
			finding, "sudo ethtool -G %s rx %u", port->interface, settings->ring_max);
	}
}

/* Each line of the file is for a CPU. Its second number counts packets dropped from the backlog. */
static void check_backlog(const struct host *host, struct finding *finding)
{
	FILE *stream = sys_open(host->root, "/proc/net/softnet_stat");
	unsigned long long all = 0;
	unsigned int dropped;
	char line[512];
	bool any = false;

	if (stream == NULL) {
		finding_unseen(finding, SYS_ABSENT, "/proc/net/softnet_stat");
		return;
	}
	while (fgets(line, sizeof(line), stream) != NULL)
		if (sscanf(line, "%*x %x", &dropped) == 1) {
			any = true;
			all += dropped;
		}
	fclose(stream);
	if (!any) {
		finding_unseen(finding, SYS_GARBAGE, "/proc/net/softnet_stat");
	} else if (all == 0) {
		finding_ok(finding, "no packets dropped by the kernel backlog since boot");
	} else {
		finding_warning(
			finding, "%llu packets dropped by the kernel backlog since boot", all);
		finding_wanted(finding, "no drops: sketchtap cannot count these losses");
		finding_command(finding, "sudo sysctl -w net.core.netdev_max_backlog=100000");
	}
}

const struct check interface_checks[] = {
	{"interface", HOST_KERNEL | HOST_PROGRAM, .look_at = check_interface},
	{"merging", HOST_KERNEL, .look_at = check_merging, .where = host_interface_exists},
	{"vlan-strip", HOST_KERNEL, .look_at = check_vlan_strip, .where = host_interface_exists},
	{"rx-ring", HOST_KERNEL, .look_at = check_rx_ring, .where = host_interface_exists},
	{"frame-size", HOST_KERNEL, .where = host_interface_exists,
		.value = {.file = SYS_NET "/{interface}/mtu",
			.name = "mtu of the interface",
			.verdicts = {{NULL, FINDING_OK, "{port}: MTU {value}"}}}},
	{"backlog", HOST_KERNEL, .look = check_backlog},
	{"virtual-port", HOST_VIRTUAL, .look_at = check_virtual_port},
	{0},
};
