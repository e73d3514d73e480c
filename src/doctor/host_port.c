/* SPDX-License-Identifier: BSD-3-Clause */
#include "doctor/check.h"

#include <stdio.h>
#include <string.h>

#include "base/pci_device.h"
#include "base/printable.h"
#include "rx/port/drivers.h"
#include "rx/port/port_name.h"

static bool read_address(const char *name, char text[HOST_ADDRESS_MAX])
{
	struct pci_address address;

	if (!pci_address_parse(name, strlen(name), &address) || address.domain > UINT16_MAX)
		return false;
	snprintf(text, HOST_ADDRESS_MAX, PCI_ADDRESS_FORMAT, PCI_ADDRESS_ARGS(address));
	return true;
}

/* iface=NAME, or rx_iface=NAME of net_pcap. */
static void read_interface(const char *arguments, char interface[IFNAMSIZ])
{
	static const char name[] = "iface=";
	const char *at = strstr(arguments, name);
	char value[IFNAMSIZ + 1];

	if (at == NULL)
		return;
	at += sizeof(name) - 1;
	snprintf(value, sizeof(value), "%.*s", (int)strcspn(at, ","), at);
	if (port_interface_name_valid(value))
		snprintf(interface, IFNAMSIZ, "%.*s", IFNAMSIZ - 1, value);
}

void host_port_read(struct host_port *port, const char *root, const char *spec)
{
	const char *arguments = strchr(spec, ',');
	const struct port_driver *driver;

	*port = (struct host_port){.source = HOST_VIRTUAL};
	snprintf(port->name, sizeof(port->name), "%.*s", (int)strcspn(spec, ","), spec);
	make_ascii(port->name);
	port->sends = port_can_send(port_driver_of_device(port->name), spec);
	if (read_address(port->name, port->address)) {
		port->source = HOST_CARD;
		return;
	}
	driver = port_driver_of_device(port->name);
	if (port_interface_name_valid(port->name) &&
		sys_exists(root, "/sys/class/net/%s", port->name)) {
		snprintf(
			port->interface, sizeof(port->interface), "%.*s", IFNAMSIZ - 1, port->name);
		snprintf(port->driver, sizeof(port->driver), "%s", PORT_DRIVER_OF_INTERFACE);
		port->source = HOST_KERNEL;
		return;
	}
	snprintf(port->driver, sizeof(port->driver), "%s", driver->name);
	if (!driver->reads_files && (!driver->on_interface || driver->makes_interface))
		return;
	read_interface(arguments != NULL ? arguments : "", port->interface);
	if (!driver->reads_files || port->interface[0] != '\0')
		port->source = HOST_KERNEL;
}
