/* SPDX-License-Identifier: BSD-3-Clause */
#include "rx/port/port_name.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/pci_device.h"
#include "base/text.h"
#include "rx/port/drivers.h"
#include "rx/port/packet_socket.h"
#include "config/config.h"
#include "rx/source.h"

/*
 * A slot of a packet socket begins with a tpacket2_hdr and a sockaddr_ll. The packet begins at byte
 * 80 - 14 (packet_rcv() in af_packet.c of the kernel). DPDK's driver needs an mbuf for all bytes
 * after the tpacket2_hdr.
 */
#define SOCKET_HEADER        32
#define SOCKET_FRAME_DEFAULT 2048
#define MBUF_HEADROOM        128 /* RTE_PKTMBUF_HEADROOM */
#define SOCKET_FRAME_MAX     (UINT16_MAX - MBUF_HEADROOM + SOCKET_HEADER)
#define SOCKET_RING_BYTES    (32u << 20)

/* Returns false for drivers without a row, unless the name begins with net_. */
static bool is_virtual(const char *name)
{
	return strncmp(name, "net_", 4) == 0 || port_driver_of_device(name)->devices[0] != NULL;
}

#define set_error(error, ...) text_error(error, PORT_DEVICE_MAX, __VA_ARGS__)

bool port_is_pci(const char *spec)
{
	struct pci_address address;

	return pci_address_parse(spec, strcspn(spec, ","), &address);
}

bool port_through_kernel(const struct port_name *name)
{
	return !name->pci &&
	       (name->interface[0] != '\0' || port_driver_of_device(name->device)->makes_interface);
}

const char *port_devarg(const char *device, const char *key, int *length)
{
	size_t key_len = strlen(key);

	for (const char *at = strchr(device, ','); at != NULL; at = strchr(at + 1, ',')) {
		if (strncmp(at + 1, key, key_len) == 0 && at[1 + key_len] == '=') {
			const char *value = at + key_len + 2;

			*length = (int)strcspn(value, ",");
			return value;
		}
	}
	return NULL;
}

static uint32_t number_arg(const char *device, const char *key)
{
	int length;
	const char *value = port_devarg(device, key, &length);

	return value == NULL ? 0 : (uint32_t)strtoul(value, NULL, 10);
}

__attribute__((format(printf, 2, 3))) static void add_args(
	struct port_name *name, const char *format, ...)
{
	size_t used = strlen(name->device);
	va_list args;

	va_start(args, format);
	vsnprintf(name->device + used, sizeof(name->device) - used, format, args);
	va_end(args);
}

/* Above the default, a slot must be a block of the kernel, which has whole pages. */
static uint32_t frame_for(uint32_t mtu)
{
	uint32_t page = (uint32_t)sysconf(_SC_PAGESIZE);
	uint32_t frame = mtu + PORT_FRAME_OVERHEAD + PACKET_SOCKET_OFFSET;

	if (frame <= SOCKET_FRAME_DEFAULT)
		return SOCKET_FRAME_DEFAULT;
	frame = (frame + page - 1) / page * page;
	return frame <= SOCKET_FRAME_MAX ? frame : SOCKET_FRAME_MAX / page * page;
}

static uint32_t slots_for(uint32_t slot)
{
	uint32_t slots = 512;

	while (slots * 2 <= SOCKET_RING_BYTES / slot)
		slots *= 2;
	return slots;
}

/*
 * The kernel starts a slot at each block, but DPDK's driver supports no gaps. So a block in the
 * DEVARGS must be a multiple of the slot size.
 */
static bool size_frames(
	struct port_name *name, uint32_t mtu, bool ours, const char *spec, char *error)
{
	uint32_t frame = number_arg(name->device, "framesz");
	uint32_t block = number_arg(name->device, "blocksz");
	uint32_t slots = number_arg(name->device, "framecnt");

	if (frame == 0 && block == 0) {
		frame = frame_for(mtu);
		if (frame > SOCKET_FRAME_DEFAULT)
			add_args(name, ",framesz=%u,blocksz=%u", frame, frame);
	} else {
		frame = frame > 0 ? frame : SOCKET_FRAME_DEFAULT;
		block = block > 0 ? block : (uint32_t)sysconf(_SC_PAGESIZE);
		if (frame <= PACKET_SOCKET_OFFSET || frame > SOCKET_FRAME_MAX || block % frame != 0)
			return set_error(error,
				"--port %s: blocksz %u must be a multiple of framesz %u, which "
				"must be 67 to %u",
				spec, block, frame, SOCKET_FRAME_MAX);
	}
	if (ours && slots == 0)
		add_args(name, ",framecnt=%u", slots_for(frame));
	name->slot = frame;
	name->slots = slots > 0 ? slots : slots_for(frame);
	name->mbuf_room = frame - SOCKET_HEADER + MBUF_HEADROOM;
	return true;
}

/* Frames without an Ethernet header would be misread. */
static bool check_kind(const struct port_name *name, const char *spec, char *error)
{
	return !name->facts.bare ||
	       set_error(error,
		       "--port %s: not an Ethernet interface; use the interface below it, or "
		       "tcpdump -Ui %s -w - | sketchtap --pcap -",
		       spec, name->interface);
}

static void note_joining(struct port_name *name)
{
	if (name->facts.merges && name->facts.bus[0] != '\0')
		snprintf(name->warning, sizeof(name->warning),
			"%s: the kernel joins packets of a flow before they are counted: ethtool "
			"-K %s gro off lro off",
			name->interface, name->interface);
}

static bool resolve_pci(
	struct port_name *name, const struct pci_address *address, const char *devargs)
{
	name->pci = name->known = true;
	snprintf(name->device, sizeof(name->device), PCI_ADDRESS_FORMAT "%s",
		PCI_ADDRESS_ARGS(*address), devargs);
	return true;
}

static bool resolve_interface(
	struct port_name *name, const char *devargs, uint32_t mtu, const char *spec, char *error)
{
	struct pci_address address;

	if (port_driver_of_card(name->facts.driver)->card_by_interface &&
		pci_address_parse(name->facts.bus, strlen(name->facts.bus), &address)) {
		resolve_pci(name, &address, devargs);
		snprintf(name->notice, sizeof(name->notice),
			"%s is the card at " PCI_ADDRESS_FORMAT, name->interface,
			PCI_ADDRESS_ARGS(address));
		return true;
	}
	name->known = true;
	if (!check_kind(name, spec, error))
		return false;
	snprintf(name->device, sizeof(name->device), "%s_%s,iface=%s%s", PORT_DRIVER_OF_INTERFACE,
		name->interface, name->interface, devargs);
	if (!size_frames(name, mtu > name->facts.mtu ? mtu : name->facts.mtu, true, spec, error))
		return false;
	note_joining(name);
	snprintf(name->notice, sizeof(name->notice),
		"%s is received through packet sockets, which change nothing on this host; "
		"--kernel %s takes less CPU time, net_af_xdp0,iface=%s takes the packets from the "
		"kernel at a higher rate, and a card is fastest by its PCI address",
		name->interface, name->interface, name->interface);
	return true;
}

static bool resolve_over_interface(struct port_name *name, const char *spec, uint32_t mtu,
	port_interface_fn lookup, char *error)
{
	int length;
	const char *iface = port_devarg(name->device, "iface", &length);
	const struct port_driver *driver = port_driver_of_device(name->device);

	if (iface == NULL || !driver->on_interface || driver->makes_interface)
		return true;
	snprintf(name->interface, sizeof(name->interface), "%.*s", length, iface);
	if (length >= IFNAMSIZ || !lookup(name->interface, &name->facts))
		return set_error(error,
			"--port %s: no interface %.*s in this network namespace; see ip link", spec,
			length, iface);
	if (!check_kind(name, spec, error))
		return false;
	if (driver->sockets == AF_PACKET) {
		if (!size_frames(name, mtu > name->facts.mtu ? mtu : name->facts.mtu, false, spec,
			    error))
			return false;
		note_joining(name);
	}
	return true;
}

bool port_name_resolve(struct port_name *name, const char *spec, uint32_t mtu,
	port_interface_fn lookup, char *error)
{
	bool is_pci_spec = strncmp(spec, "pci:", 4) == 0,
	     is_virtual_spec = strncmp(spec, "vdev:", 5) == 0;
	const char *text = is_pci_spec ? spec + 4 : is_virtual_spec ? spec + 5 : spec;
	size_t length = strcspn(text, ",");
	char plain[PORT_NAME_MAX];
	struct pci_address address;

	*name = (struct port_name){0};
	if (length == 0 || length >= sizeof(plain))
		return set_error(error, "--port %.200s: not a device name", spec);
	if (strlen(text) + 128 > sizeof(name->device)) /* room for added DEVARGS */
		return set_error(error, "--port %.*s: its DEVARGS are too long", (int)length, text);
	snprintf(plain, sizeof(plain), "%.*s", (int)length, text);
	snprintf(name->called, sizeof(name->called), "%s", plain);
	if (pci_address_parse(text, length, &address))
		return resolve_pci(name, &address, text + length);
	if (is_pci_spec)
		return set_error(
			error, "--port %s: not a PCI address; example: 0000:3b:00.0", spec);
	snprintf(name->device, sizeof(name->device), "%s", text);
	name->known = is_virtual(plain);
	if (!is_virtual_spec && lookup(plain, &name->facts)) {
		if (name->known)
			return set_error(error,
				"--port %s: both a kernel interface and a virtual device: use "
				"net_af_packet0,iface=%s for the interface, or vdev:%s for the "
				"device",
				spec, plain, text);
		snprintf(name->interface, sizeof(name->interface), "%.*s", IFNAMSIZ - 1, plain);
		return resolve_interface(name, text + length, mtu, spec, error);
	}
	return resolve_over_interface(name, spec, mtu, lookup, error);
}

bool port_can_send(const struct port_driver *driver, const char *device)
{
	int length;

	if (driver->sends_to[0] == NULL)
		return true;
	for (const char *const *key = driver->sends_to; *key != NULL; key++)
		if (port_devarg(device, *key, &length) != NULL)
			return true;
	return false;
}

struct port_name_part {
	const char *text;
	size_t len;
};

static struct port_name_part port_name_part(const char *port)
{
	if (strncmp(port, "pci:", 4) == 0)
		port += 4;
	else if (strncmp(port, "vdev:", 5) == 0)
		port += 5;
	return (struct port_name_part){port, strcspn(port, ",")};
}

static struct port_name_part port_interface_part(const char *port)
{
	int length = 0;
	const char *interface = port_devarg(port, "iface", &length);

	return (struct port_name_part){interface, (size_t)length};
}

static bool same_part(struct port_name_part a, struct port_name_part b)
{
	return a.len > 0 && a.len == b.len && memcmp(a.text, b.text, a.len) == 0;
}

static bool same_pci(struct port_name_part a, struct port_name_part b)
{
	struct pci_address x, y;

	return pci_address_parse(a.text, a.len, &x) && pci_address_parse(b.text, b.len, &y) &&
	       x.domain == y.domain && x.bus == y.bus && x.device == y.device &&
	       x.function == y.function;
}

/* Other texts may also name the same device. */
static bool same_port(const char *a, const char *b)
{
	struct port_name_part name_a = port_name_part(a), name_b = port_name_part(b);
	struct port_name_part interface_a = port_interface_part(a),
			      interface_b = port_interface_part(b);

	return same_part(name_a, name_b) || same_pci(name_a, name_b) ||
	       same_part(interface_a, interface_b) || same_part(name_a, interface_b) ||
	       same_part(interface_a, name_b);
}

bool port_check_names(const struct config *config, const struct measurement_config *measurement,
	struct option_fault *fault)
{
	const struct option_list *ports = &port_options(config)->names;

	for (uint32_t i = 0; i < ports->n; i++) {
		struct port_name_part name = port_name_part(ports->texts[i]);
		struct pci_address address;
		int shown = (int)(name.len < 100 ? name.len : 100);

		if (name.len == 0)
			return option_fault(fault, "port", measurement,
				"'%.200s': no name; write NAME[,DEVARGS]", ports->texts[i]);
		if (strncmp(ports->texts[i], "pci:", 4) == 0 &&
			!pci_address_parse(name.text, name.len, &address))
			return option_fault(fault, "port", measurement,
				"'%.*s': not a PCI address; example: 0000:3b:00.0", shown,
				name.text);
		for (uint32_t j = 0; j < i; j++)
			if (same_port(ports->texts[i], ports->texts[j]))
				return option_fault(fault, "port", measurement,
					"'%.*s' is given twice, also as '%.100s': its packets "
					"would "
					"count twice",
					shown, name.text, ports->texts[j]);
	}
	return true;
}

static const struct option_row port_rows[] = {
	{
		.name = "wait-link",
		.placeholder = "TIME",
		.group = OPTION_GROUP_SOURCE,
		.type = OPTION_TIME,
		.rare = true,
		.not_for = SOURCE_OF_FEEDER | SOURCE_OF_ITSELF,
		OPTION_FIELD(port_options, wait_link),
		.zero = true,
		.min = 1,
		.max = OPTION_CENTURY,
		.default_note = "start at once",
		.help = "Wait up to TIME until the links of all ports are up. 0: do not wait.",
	},
	{
		.name = "descriptors",
		.placeholder = "N",
		.group = OPTION_GROUP_HOST,
		.type = OPTION_COUNT,
		.rare = true,
		.not_for = SOURCE_KEYS,
		.instead = "ring-size",
		OPTION_FIELD(port_options, descriptors),
		.min = 64,
		.max = 32768,
		.power_of_two = true,
		.default_note = "that of the driver",
		.config_only = true,
		.help = "Set the entries of each receive ring, a power of two.",
	},
	{0},
};

const struct option_owner port_owner = {
	.rows = port_rows,
	.size = sizeof(struct port_options),
	.check = port_check_names,
};
