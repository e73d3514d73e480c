/* SPDX-License-Identifier: BSD-3-Clause */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/pci_device.h"
#include "doctor/check.h"
#include "doctor/pcie.h"
#include "rx/port/drivers.h"

#define SYS_PCI "/sys/bus/pci/devices"

#define CLASS_NETWORK  0x02
#define CLASS_ETHERNET 0x0200
#define CLASS_BRIDGE   0x06

/* bits per second if the driver of a card reports no speed */
#define RATE_ASSUMED 100e9

#define FRAME_MIN 64 /* bytes with FCS */
#define FRAME_MAX 1518

bool host_card_driver(
	const struct host *host, const struct host_port *port, char name[HOST_NAME_MAX])
{
	return sys_link(host->root, name, HOST_NAME_MAX, SYS_PCI "/%s/driver", port->address) ==
	       SYS_READ;
}

static bool is_uio(const char *driver)
{
	return strcmp(driver, "igb_uio") == 0 || strcmp(driver, "uio_pci_generic") == 0;
}

static enum sys_read device_class(const struct host *host, const char *address, uint32_t *class)
{
	char line[32], *end;
	enum sys_read result =
		sys_line(host->root, line, sizeof(line), SYS_PCI "/%s/class", address);

	*class = 0;
	if (result != SYS_READ)
		return result;
	*class = (uint32_t)strtoul(line, &end, 16);
	return end != line ? SYS_READ : SYS_GARBAGE;
}

static bool card_exists(const struct host *host, const struct host_port *port)
{
	return sys_exists(host->root, SYS_PCI "/%s", port->address);
}

/* For other PCI devices, such as disks, no further checks run, so that no command unbinds them. */
static bool is_network_card(const struct host *host, const struct host_port *port)
{
	uint32_t class;

	return device_class(host, port->address, &class) == SYS_READ &&
	       class >> 16 == CLASS_NETWORK;
}

static bool card_interface(
	const struct host *host, const struct host_port *port, char name[IFNAMSIZ])
{
	DIR *directory = sys_directory(host->root, SYS_PCI "/%s/net", port->address);
	struct dirent *entry;
	bool found = false;

	if (directory == NULL)
		return false;
	while (!found && (entry = readdir(directory)) != NULL)
		if (port_interface_name_valid(entry->d_name)) {
			snprintf(name, IFNAMSIZ, "%.*s", IFNAMSIZ - 1, entry->d_name);
			found = true;
		}
	closedir(directory);
	return found;
}

static bool is_address(const char *name)
{
	return strlen(name) >= 12 && strlen(name) < HOST_ADDRESS_MAX &&
	       strspn(name, "0123456789abcdef:.") == strlen(name);
}

static void check_no_port(const struct host *host, struct finding *finding)
{
	DIR *directory;
	char first[HOST_ADDRESS_MAX] = "";
	struct dirent *entry;
	uint32_t cards = 0;

	directory = sys_directory(host->root, SYS_PCI);
	finding_warning(finding, "no --port given: drivers and slots were not checked");
	finding_wanted(finding, "the port to measure");
	while (directory != NULL && (entry = readdir(directory)) != NULL) {
		uint32_t class;

		if (!is_address(entry->d_name) ||
			device_class(host, entry->d_name, &class) != SYS_READ ||
			class >> 8 != CLASS_ETHERNET)
			continue;
		finding_more(finding, "%s%s", cards++ == 0 ? "; cards: " : ", ", entry->d_name);
		if (first[0] == '\0' || strcmp(entry->d_name, first) < 0)
			snprintf(first, sizeof(first), "%.*s", HOST_ADDRESS_MAX - 1, entry->d_name);
	}
	if (directory != NULL)
		closedir(directory);
	finding_command(finding, "sketchtap doctor --port %s",
		first[0] != '\0' ? first : "net_af_packet0,iface=eth0");
}

static void check_device(
	const struct host *host, const struct host_port *port, struct finding *finding)
{
	char vendor[16], device[16];
	uint32_t class;
	enum sys_read result;

	if (!card_exists(host, port)) {
		finding_missing(finding, "%s: no such PCI device", port->name);
		finding_wanted(finding, "an existing card");
		finding_command(finding, "dpdk-devbind.py --status-dev net");
		return;
	}
	result = device_class(host, port->address, &class);
	if (finding_unless_read(finding, result, "class of the PCI device"))
		return;
	sys_line(host->root, vendor, sizeof(vendor), SYS_PCI "/%s/vendor", port->address);
	sys_line(host->root, device, sizeof(device), SYS_PCI "/%s/device", port->address);
	if (class >> 16 == CLASS_NETWORK) {
		finding_ok(finding, "%s: vendor %s, device %s", port->name, vendor, device);
		return;
	}
	finding_missing(finding, "%s is not a network card (class %06x)", port->name, class);
	finding_wanted(finding, "a network card");
	finding_command(finding, "dpdk-devbind.py --status-dev net");
}

static void command_bind(const struct host *host, const struct host_port *port,
	const char *interface, struct finding *finding)
{
	const char *load =
		sys_exists(host->root, "/sys/module/vfio_pci") ? "" : "sudo modprobe vfio-pci && ";

	if (interface[0] != '\0')
		finding_command(finding,
			"%ssudo ip link set dev %s down && sudo dpdk-devbind.py --bind=vfio-pci %s",
			load, interface, port->address);
	else
		finding_command(
			finding, "%ssudo dpdk-devbind.py --bind=vfio-pci %s", load, port->address);
}

static void judge_beside_kernel(const struct host *host, const struct host_port *port,
	const char *driver, struct finding *finding)
{
	const char *verbs = port_driver_of_card(driver)->verbs;

	if (verbs == NULL || sys_exists(host->root, "/sys/class/infiniband_verbs")) {
		finding_ok(
			finding, "%s: driver %s; it shares the card with DPDK", port->name, driver);
		return;
	}
	finding_missing(finding, "%s: driver %s, but no verbs devices", port->name, driver);
	finding_wanted(finding, "the verbs modules of the kernel, which DPDK needs for this card");
	finding_command(finding, "sudo modprobe -a ib_uverbs %s", verbs);
}

static void check_driver(
	const struct host *host, const struct host_port *port, struct finding *finding)
{
	char driver[HOST_NAME_MAX] = "", interface[IFNAMSIZ] = "";
	bool bound = host_card_driver(host, port, driver);

	if (bound && port_driver_of_card(driver)->beside_kernel) {
		judge_beside_kernel(host, port, driver, finding);
	} else if (strcmp(driver, "vfio-pci") == 0) {
		finding_ok(finding, "%s: vfio-pci", port->name);
	} else if (is_uio(driver)) {
		finding_warning(finding, "%s: driver %s: the card can write to any memory",
			port->name, driver);
		finding_wanted(finding, "driver vfio-pci: the IOMMU then protects memory");
		command_bind(host, port, "", finding);
	} else {
		card_interface(host, port, interface);
		finding_missing(finding, "%s: %s%s", port->name,
			bound ? "bound to the kernel driver " : "no driver", bound ? driver : "");
		if (interface[0] != '\0')
			finding_more(finding, ", as %s", interface);
		finding_wanted(finding, "vfio-pci%s",
			interface[0] != '\0'
				? "; connections over this interface, such as logins, will break"
				: "");
		command_bind(host, port, interface, finding);
	}
}

/* A device with a kernel driver in the IOMMU group prevents vfio from opening the group. */
static bool group_is_free(
	const struct host *host, const struct host_port *port, char other[HOST_NAME_MAX])
{
	DIR *directory =
		sys_directory(host->root, SYS_PCI "/%s/iommu_group/devices", port->address);
	struct dirent *entry;
	bool free = true;

	if (directory == NULL)
		return true;
	while (free && (entry = readdir(directory)) != NULL) {
		char driver[HOST_NAME_MAX];
		uint32_t class;

		if (!is_address(entry->d_name) || strcmp(entry->d_name, port->address) == 0 ||
			sys_link(host->root, driver, sizeof(driver), SYS_PCI "/%s/driver",
				entry->d_name) != SYS_READ ||
			strncmp(driver, "vfio", 4) == 0 || strcmp(driver, "pci-stub") == 0)
			continue;
		if (device_class(host, entry->d_name, &class) == SYS_READ &&
			class >> 16 == CLASS_BRIDGE)
			continue;
		snprintf(other, HOST_NAME_MAX, "%.12s", entry->d_name);
		free = false;
	}
	closedir(directory);
	return free;
}

static void want_iommu(const struct host *host, struct finding *finding)
{
	char vendor[64];
	bool amd;

	sys_labelled(host->root, "/proc/cpuinfo", "vendor_id", vendor, sizeof(vendor));
	amd = strcmp(vendor, "AuthenticAMD") == 0;
	finding_wanted(finding, "an IOMMU, enabled in the firmware and in the kernel");
	finding_boot(finding, "%siommu=pt", amd ? "" : "intel_iommu=on ");
}

static void check_iommu(
	const struct host *host, const struct host_port *port, struct finding *finding)
{
	char group[HOST_NAME_MAX], driver[HOST_NAME_MAX] = "", other[HOST_NAME_MAX], mode[8];
	enum sys_read result = sys_link(
		host->root, group, sizeof(group), SYS_PCI "/%s/iommu_group", port->address);

	host_card_driver(host, port, driver);
	if (port_driver_of_card(driver)->beside_kernel) {
		finding_ok(finding, "%s: no IOMMU needed with driver %s", port->name, driver);
	} else if (result == SYS_READ && group_is_free(host, port, other)) {
		finding_ok(finding, "%s: group %s", port->name, group);
	} else if (result == SYS_READ) {
		finding_missing(finding, "%s: group %s also contains %s, which has a kernel driver",
			port->name, group, other);
		finding_wanted(finding,
			"vfio-pci for the whole IOMMU group, or a slot with its own group");
		finding_command(finding, "sudo dpdk-devbind.py --bind=vfio-pci %s", other);
	} else if (is_uio(driver)) {
		finding_warning(finding, "%s: none", port->name);
		want_iommu(host, finding);
	} else if (sys_line(host->root, mode, sizeof(mode),
			   "/sys/module/vfio/parameters/enable_unsafe_noiommu_mode") == SYS_READ &&
		   mode[0] == 'Y') {
		finding_warning(finding,
			"%s: no IOMMU, and vfio works without one: the card can write to any memory",
			port->name);
		want_iommu(host, finding);
	} else {
		finding_missing(finding, "%s: none", port->name);
		want_iommu(host, finding);
	}
}

static void check_vfio(
	const struct host *host, const struct host_port *port, struct finding *finding)
{
	char file[PCI_FILE_MAX];

	if (!pci_device_file(host->root, port->address, file))
		return;
	if (!sys_exists(host->root, "%s", file)) {
		finding_missing(finding, "%s: %s does not exist", port->name, file);
		finding_wanted(finding, "the device file of the IOMMU group; vfio-pci creates it");
		finding_command(finding, "sudo dpdk-devbind.py --bind=vfio-pci %s", port->address);
		return;
	}
	if (!sys_allows(host->root, R_OK | W_OK, "%s", file) ||
		!sys_allows(host->root, R_OK | W_OK, "/dev/vfio/vfio")) {
		finding_missing(finding, "%s: this user has no access to %s and /dev/vfio/vfio",
			port->name, file);
		finding_wanted(finding, "access for this user; a udev rule makes it permanent");
		finding_command(
			finding, "sudo chown $(id -u) %s && sudo chmod 666 /dev/vfio/vfio", file);
		return;
	}
	finding_ok(finding, "%s: %s is accessible", port->name, file);
}

static double port_rate(const struct host *host, const struct host_port *port, bool *assumed)
{
	char interface[IFNAMSIZ];
	int64_t megabits;

	*assumed = false;
	if (card_interface(host, port, interface) &&
		sys_number(host->root, &megabits, SYS_PCI "/%s/net/%s/speed", port->address,
			interface) == SYS_READ &&
		megabits > 0 && megabits <= 10000000)
		return (double)megabits * 1e6;
	*assumed = true;
	return RATE_ASSUMED;
}

struct pcie_link {
	double gts;
	int64_t lanes;
};

static enum sys_read read_link(const struct host *host, const struct host_port *port,
	const char *which, struct pcie_link *link)
{
	char line[64], *end;
	enum sys_read result = sys_line(
		host->root, line, sizeof(line), SYS_PCI "/%s/%s_link_speed", port->address, which);

	*link = (struct pcie_link){0};
	if (result != SYS_READ)
		return result;
	link->gts = strtod(line, &end);
	result = sys_number(
		host->root, &link->lanes, SYS_PCI "/%s/%s_link_width", port->address, which);
	if (result == SYS_READ && (end == line || pcie_generation(link->gts) == 0 ||
					  link->lanes < 1 || link->lanes > 32))
		result = SYS_GARBAGE;
	return result;
}

/* Bytes, from the PCI Express device control register. */
struct pcie_sizes {
	enum sys_read result;
	uint32_t payload, read_request;
};

static struct pcie_sizes read_sizes(const struct host *host, const struct host_port *port)
{
	struct pcie_sizes sizes = {.result = SYS_ABSENT};
	uint8_t config[256];
	int length =
		sys_bytes(host->root, config, sizeof(config), SYS_PCI "/%s/config", port->address);
	uint32_t at;

	if (length < 0)
		return sizes;
	sizes.result = SYS_DENIED;
	if (length < (int)sizeof(config))
		return sizes;
	sizes.result = SYS_ABSENT;
	if ((config[6] & 0x10) == 0)
		return sizes;
	at = config[0x34] & ~3u;
	/* The limit of 48 capabilities also ends a cyclic list. */
	for (int i = 0; i < 48 && at >= 64 && at + 10 <= sizeof(config); i++) {
		if (config[at] == 0x10) { /* PCI Express; device control register at 8 */
			uint32_t control = config[at + 8] | (uint32_t)config[at + 9] << 8;

			if ((control >> 5 & 7) > 5 || (control >> 12 & 7) > 5) {
				sizes.result = SYS_GARBAGE;
				return sizes;
			}
			sizes.payload = 128u << (control >> 5 & 7);
			sizes.read_request = 128u << (control >> 12 & 7);
			sizes.result = SYS_READ;
			return sizes;
		}
		at = config[at + 1] & ~3u;
	}
	return sizes;
}

static uint32_t smallest_full_frame(double bandwidth, double rate, uint32_t payload)
{
	uint32_t smallest = 0;

	for (uint32_t frame = FRAME_MAX; frame >= FRAME_MIN; frame--) {
		if (pcie_packet_rate(bandwidth, frame, payload) < ethernet_packet_rate(rate, frame))
			break;
		smallest = frame;
	}
	return smallest;
}

static void check_pcie_link(
	const struct host *host, const struct host_port *port, struct finding *finding)
{
	struct pcie_link now, most;
	enum sys_read result = read_link(host, port, "current", &now);
	uint32_t payload = read_sizes(host, port).payload, smallest;
	double bandwidth, rate;
	bool assumed;

	if (finding_unless_read(finding, result, "current_link_speed and _width of the card"))
		return;
	rate = port_rate(host, port, &assumed);
	bandwidth = pcie_bandwidth(now.gts, (uint32_t)now.lanes);
	smallest = smallest_full_frame(bandwidth, rate, payload > 0 ? payload : 256);
	finding_ok(finding, "%s: gen %u x %d: %.0f Gbit/s usable, %.0f Mpps of 64 bytes",
		port->name, pcie_generation(now.gts), (int)now.lanes, bandwidth / 1e9,
		pcie_packet_rate(bandwidth, FRAME_MIN, payload > 0 ? payload : 256) / 1e6);
	if (smallest != FRAME_MIN) {
		finding->status = FINDING_WARNING;
		if (smallest > 0)
			finding_more(
				finding, "; full rate for frames of %u bytes or more", smallest);
		finding_wanted(finding,
			"the line rate of %.0f Gbit/s%s at 64 bytes, %.1f Mpps; docs/TUNING.md "
			"has the formula",
			rate / 1e9, assumed ? " (assumed: the driver does not report it)" : "",
			ethernet_packet_rate(rate, FRAME_MIN) / 1e6);
		finding_command(
			finding, "sudo lspci -s %s -vv | grep -e LnkCap -e LnkSta", port->address);
	}
	if (read_link(host, port, "max", &most) == SYS_READ &&
		(most.gts > now.gts * 1.01 || most.lanes > now.lanes)) {
		finding->status = FINDING_WARNING;
		finding_more(finding, "; the card supports gen %u x %d", pcie_generation(most.gts),
			(int)most.lanes);
		if (finding->wanted[0] == '\0')
			finding_wanted(finding, "a slot of that generation and width");
		finding_command(
			finding, "sudo lspci -s %s -vv | grep -e LnkCap -e LnkSta", port->address);
	}
}

static void check_pcie_payload(
	const struct host *host, const struct host_port *port, struct finding *finding)
{
	struct pcie_sizes sizes = read_sizes(host, port);

	if (finding_unless_read(
		    finding, sizes.result, "PCI Express capability in the card's config"))
		return;
	finding_ok(finding, "%s: payload %u, read request %u bytes", port->name, sizes.payload,
		sizes.read_request);
	if (sizes.payload < 256) {
		finding->status = FINDING_WARNING;
		finding_wanted(
			finding, "a payload of 256 bytes: with less, long frames need more writes");
		finding_boot(finding, "pci=pcie_bus_perf");
	} else if (sizes.read_request < 512) {
		finding->status = FINDING_WARNING;
		finding_wanted(finding,
			"read requests of 512 bytes or more: fewer reads then fetch the descriptors");
		finding_command(finding, "sudo setpci -s %s CAP_EXP+8.w=2000:7000", port->address);
	}
}

/* Returns -1 if this host does not show the physical function. */
static int function_number(const struct host *host, const struct host_port *port)
{
	char name[HOST_NAME_MAX];

	for (int n = 0; sys_link(host->root, name, sizeof(name), SYS_PCI "/%s/physfn/virtfn%d",
				port->address, n) == SYS_READ;
		n++)
		if (strcmp(name, port->address) == 0)
			return n;
	return -1;
}

static bool is_virtual_function(const struct host *host, const struct host_port *port)
{
	return is_network_card(host, port) && pci_device_is_virtual(host->root, port->address);
}

/* Always warns: the driver of the physical function decides about promiscuous mode. */
static void check_virtual_function(
	const struct host *host, const struct host_port *port, struct finding *finding)
{
	char interface[IFNAMSIZ];
	struct host_port physical = {0};
	int number = function_number(host, port);

	finding_warning(finding,
		"%s: a virtual function: its host may restrict it to "
		"packets for its own address",
		port->name);
	finding_wanted(finding, "'trust on', set on the host of this function: promiscuous mode "
				"needs it, and some drivers do not report a refusal");
	if (sys_link(host->root, physical.address, sizeof(physical.address), SYS_PCI "/%s/physfn",
		    port->address) == SYS_READ &&
		number >= 0 && card_interface(host, &physical, interface))
		finding_command(
			finding, "sudo ip link set dev %s vf %d trust on", interface, number);
}

static void check_card_node(
	const struct host *host, const struct host_port *port, struct finding *finding)
{
	struct cpu_set remote = {0};
	char cpus[160];
	int64_t node;
	enum sys_read result =
		sys_number(host->root, &node, SYS_PCI "/%s/numa_node", port->address);

	if (finding_unless_read(finding, result, "numa_node of the card"))
		return;
	if (host_nb_nodes(host) < 2) {
		finding_ok(finding, "%s: this host has one NUMA node", port->name);
		return;
	}
	if (node < 0 || node >= HOST_NODES_MAX) {
		finding_warning(finding, "%s: node not reported by the firmware", port->name);
		finding_wanted(finding,
			"lcores on the node of the card: set --lcores to CPUs of the slot's socket");
		finding_command(finding, "lstopo-no-graphics");
		return;
	}
	for (uint32_t i = 0; i < host->topology->nb_cpus; i++) {
		const struct topology_cpu *cpu = &host->topology->cpus[i];

		if (cpu_set_has(&host->needs->polling, cpu->id) && cpu->node != (int)node)
			cpu_set_add(&remote, cpu->id);
	}
	if (cpu_set_count(&remote) == 0) {
		finding_ok(finding, "%s: node %d, that of all polling CPUs", port->name, (int)node);
		return;
	}
	if (host->nb_ports > 1) {
		finding_ok(finding, "%s: node %d", port->name, (int)node);
		return;
	}
	finding_warning(finding, "%s: node %d, but CPUs %s are on other nodes", port->name,
		(int)node, host_cpus_text(&remote, cpus, sizeof(cpus)));
	finding_wanted(finding,
		"polling CPUs on node %d: otherwise packets cross sockets; lower "
		"--workers or move the card",
		(int)node);
	finding_command(finding, "cat %s/%s/local_cpulist", SYS_PCI, port->address);
}

const struct check card_checks[] = {
	{"port", HOST_UNNAMED, .look = check_no_port},
	{"device", HOST_CARD, .look_at = check_device},
	{"driver", HOST_CARD, .look_at = check_driver, .where = is_network_card},
	{"iommu", HOST_CARD, .look_at = check_iommu, .where = is_network_card},
	{"vfio", HOST_CARD, .look_at = check_vfio},
	{"pcie-link", HOST_CARD, .look_at = check_pcie_link, .where = is_network_card},
	{"pcie-payload", HOST_CARD, .look_at = check_pcie_payload, .where = is_network_card},
	{"virtual-function", HOST_CARD, .look_at = check_virtual_function,
		.where = is_virtual_function},
	{"numa-node", HOST_CARD, .look_at = check_card_node, .where = is_network_card},
	{0},
};
