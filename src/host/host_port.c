/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/host_port.h"

#include <stdio.h>
#include <string.h>

#include "base/pci_address.h"

/* A PCI address, as sysfs writes it. */
static bool read_address(const char *name, char text[HOST_ADDRESS_MAX])
{
	struct pci_address address;

	if (!pci_address_parse(name, strlen(name), &address) || address.domain > UINT16_MAX)
		return false;
	snprintf(text, HOST_ADDRESS_MAX, PCI_ADDRESS_FORMAT, PCI_ADDRESS_ARGS(address));
	return true;
}

/* The value of iface= (net_pcap says rx_iface=) among the arguments of a device. */
static void read_interface(const char *arguments, char interface[INTERFACE_NAME_MAX])
{
	static const char name[] = "iface=";
	const char *at = strstr(arguments, name);
	char value[INTERFACE_NAME_MAX + 1];

	if (at == NULL)
		return;
	at += sizeof(name) - 1;
	snprintf(value, sizeof(value), "%.*s", (int)strcspn(at, ","), at);
	if (interface_name_valid(value))
		snprintf(interface, INTERFACE_NAME_MAX, "%.*s", INTERFACE_NAME_MAX - 1, value);
}

/* How names of devices begin, and whose they are; an interface's name may follow. */
struct device_name {
	const char *begins, *driver;
};

static const struct device_name device_names[] = {
	{"net_af_packet", "net_af_packet"},
	{"eth_af_packet", "net_af_packet"},
	{"net_af_xdp", "net_af_xdp"},
	{"net_pcap", "net_pcap"},
	{"eth_pcap", "net_pcap"},
	{"net_tap", "net_tap"},
};

static void read_driver(const char *name, char driver[HOST_NAME_MAX])
{
	for (size_t i = 0; i < sizeof(device_names) / sizeof(device_names[0]); i++)
		if (strncmp(name, device_names[i].begins, strlen(device_names[i].begins)) == 0)
			snprintf(driver, HOST_NAME_MAX, "%s", device_names[i].driver);
}

static bool reads_kernel(const char *driver)
{
	return strcmp(driver, "net_af_packet") == 0 || strcmp(driver, "net_af_xdp") == 0 ||
	       strcmp(driver, "net_pcap") == 0;
}

void host_port_read(struct host_port *port, const char *root, const char *spec)
{
	const char *arguments = strchr(spec, ',');

	*port = (struct host_port){.source = HOST_VIRTUAL};
	snprintf(port->name, sizeof(port->name), "%.*s", (int)strcspn(spec, ","), spec);
	host_make_printable(port->name);
	if (read_address(port->name, port->address)) {
		port->source = HOST_CARD;
		return;
	}
	read_driver(port->name, port->driver);
	if (interface_name_valid(port->name) &&
		host_exists(root, "/sys/class/net/%s", port->name)) {
		snprintf(port->interface, sizeof(port->interface), "%.*s", INTERFACE_NAME_MAX - 1,
			port->name);
		snprintf(port->driver, sizeof(port->driver), "net_af_packet");
		port->source = HOST_KERNEL;
		return;
	}
	if (!reads_kernel(port->driver))
		return;
	read_interface(arguments != NULL ? arguments : "", port->interface);
	/* net_pcap without an interface reads a file. */
	if (strcmp(port->driver, "net_pcap") != 0 || port->interface[0] != '\0')
		port->source = HOST_KERNEL;
}
