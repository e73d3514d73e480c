/* SPDX-License-Identifier: BSD-3-Clause */
#include "rx/port/name.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/pci_address.h"
#include "rx/port/drivers.h"

/*
 * A packet socket's frame begins with a tpacket2_hdr and a sockaddr_ll; the packet lies behind them
 * so that its network header is aligned: 80 - 14 bytes in for Ethernet (packet_rcv in the kernel's
 * af_packet.c). The driver wants an mbuf that holds all behind the tpacket2_hdr.
 */
#define SOCKET_MAC_OFFSET    66
#define SOCKET_HEADER        32
#define SOCKET_FRAME_DEFAULT 2048 /* the driver's */
#define MBUF_HEADROOM        128  /* DPDK's */
#define SOCKET_FRAME_MAX     (UINT16_MAX - MBUF_HEADROOM + SOCKET_HEADER)
/* Memory of a queue's ring where we choose it: holds what comes while a core is busy elsewhere. */
#define SOCKET_RING_BYTES    (32u << 20)

/* Drivers without a row have names that begin so, too. */
static bool is_virtual(const char *name)
{
	return strncmp(name, "net_", 4) == 0 || port_driver_of_device(name)->devices[0] != NULL;
}

__attribute__((format(printf, 2, 3))) static bool refuse(char *error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(error, PORT_DEVICE_MAX, format, args);
	va_end(args);
	return false;
}

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

int port_node(const char *spec)
{
	struct pci_address address;
	char path[128];
	FILE *file;
	int node = -1;

	if (!pci_address_parse(spec, strcspn(spec, ","), &address))
		return -1;
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/" PCI_ADDRESS_FORMAT "/numa_node",
		PCI_ADDRESS_ARGS(address));
	file = fopen(path, "re");
	if (file == NULL)
		return -1;
	if (fscanf(file, "%d", &node) != 1)
		node = -1;
	fclose(file);
	return node;
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

/* The frame for `mtu`: pages, because more than one page only fits a block that is one frame. */
static uint32_t frame_for(uint32_t mtu)
{
	uint32_t page = (uint32_t)sysconf(_SC_PAGESIZE);
	uint32_t frame = mtu + PORT_FRAME_OVERHEAD + SOCKET_MAC_OFFSET;

	if (frame <= SOCKET_FRAME_DEFAULT)
		return SOCKET_FRAME_DEFAULT;
	frame = (frame + page - 1) / page * page;
	return frame <= SOCKET_FRAME_MAX ? frame : SOCKET_FRAME_MAX / page * page;
}

/*
 * Gives the packet socket frames for `mtu`, unless its DEVARGS say their size. The driver looks for
 * frames one behind the other, the kernel begins every block with one: a block has to be whole
 * frames. False where the DEVARGS are not so.
 */
static bool size_frames(
	struct port_name *name, uint32_t mtu, bool ours, const char *spec, char *error)
{
	uint32_t frame = number_arg(name->device, "framesz");
	uint32_t block = number_arg(name->device, "blocksz");
	int length;

	if (frame == 0 && block == 0) {
		frame = frame_for(mtu);
		if (frame > SOCKET_FRAME_DEFAULT)
			add_args(name, ",framesz=%u,blocksz=%u", frame, frame);
	} else {
		frame = frame > 0 ? frame : SOCKET_FRAME_DEFAULT;
		block = block > 0 ? block : (uint32_t)sysconf(_SC_PAGESIZE);
		if (frame <= SOCKET_MAC_OFFSET || frame > SOCKET_FRAME_MAX || block % frame != 0)
			return refuse(error,
				"--port %s: blocksz %u must be a multiple of framesz %u, and that "
				"at most %u: the driver loses its place otherwise",
				spec, block, frame, SOCKET_FRAME_MAX);
	}
	if (ours && port_devarg(name->device, "framecnt", &length) == NULL) {
		uint32_t frames = 512;

		while (frames * 2 <= SOCKET_RING_BYTES / frame)
			frames *= 2;
		add_args(name, ",framecnt=%u", frames);
	}
	name->cut_at = frame - SOCKET_MAC_OFFSET;
	name->mbuf_room = frame - SOCKET_HEADER + MBUF_HEADROOM;
	return true;
}

/* What a packet socket does to packets that the user should know. */
static void warn_of_socket(struct port_name *name)
{
	if (name->facts.mtu + PORT_FRAME_OVERHEAD > name->cut_at)
		snprintf(name->warning, sizeof(name->warning),
			"%s: frames longer than %u bytes are cut and count as %u: its MTU is %u, a "
			"frame of the packet socket holds no more",
			name->interface, name->cut_at, name->cut_at, name->facts.mtu);
	else if (name->facts.merges && name->facts.bus[0] != '\0')
		snprintf(name->warning, sizeof(name->warning),
			"%s: the kernel joins packets of a flow before they are counted, and what "
			"is longer than %u bytes then is cut: ethtool -K %s gro off lro off",
			name->interface, name->cut_at, name->interface);
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
	snprintf(name->device, sizeof(name->device), "%s_%s,iface=%s%s", PORT_DRIVER_OF_INTERFACE,
		name->interface, name->interface, devargs);
	if (!size_frames(name, mtu > name->facts.mtu ? mtu : name->facts.mtu, true, spec, error))
		return false;
	warn_of_socket(name);
	snprintf(name->notice, sizeof(name->notice),
		"%s is received through a packet socket of the kernel (net_af_packet), up to about "
		"a million packets a second; net_af_xdp0,iface=%s is faster, and a card is fastest "
		"by its PCI address",
		name->interface, name->interface);
	return true;
}

/* A virtual device over an interface of the kernel that must be there. */
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
		return refuse(error,
			"--port %s: there is no interface %.*s in this network namespace; ip link "
			"lists them",
			spec, length, iface);
	if (driver->sockets == AF_PACKET) {
		if (!size_frames(name, mtu > name->facts.mtu ? mtu : name->facts.mtu, false, spec,
			    error))
			return false;
		warn_of_socket(name);
	}
	return true;
}

bool port_name_resolve(struct port_name *name, const char *spec, uint32_t mtu,
	port_interface_fn lookup, char *error)
{
	bool says_pci = strncmp(spec, "pci:", 4) == 0,
	     says_virtual = strncmp(spec, "vdev:", 5) == 0;
	const char *text = says_pci ? spec + 4 : says_virtual ? spec + 5 : spec;
	size_t length = strcspn(text, ",");
	char plain[PORT_NAME_MAX];
	struct pci_address address;

	*name = (struct port_name){0};
	if (length == 0 || length >= sizeof(plain))
		return refuse(error, "--port %.200s: no device has such a name", spec);
	if (strlen(text) + 128 > sizeof(name->device)) /* room for what is added */
		return refuse(error, "--port %.*s: its DEVARGS are too long", (int)length, text);
	snprintf(plain, sizeof(plain), "%.*s", (int)length, text);
	snprintf(name->called, sizeof(name->called), "%s", plain);
	if (pci_address_parse(text, length, &address))
		return resolve_pci(name, &address, text + length);
	if (says_pci)
		return refuse(error, "--port %s: is not a PCI address such as 0000:3b:00.0", spec);
	snprintf(name->device, sizeof(name->device), "%s", text);
	name->known = is_virtual(plain);
	if (!says_virtual && lookup(plain, &name->facts)) {
		if (name->known)
			return refuse(error,
				"--port %s: is an interface of the kernel and the name of a "
				"virtual device: give net_af_packet0,iface=%s for the interface, "
				"or vdev:%s for the device",
				spec, plain, text);
		snprintf(name->interface, sizeof(name->interface), "%.*s", IFNAMSIZ - 1, plain);
		return resolve_interface(name, text + length, mtu, spec, error);
	}
	return resolve_over_interface(name, spec, mtu, lookup, error);
}
