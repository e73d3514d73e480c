/* SPDX-License-Identifier: BSD-3-Clause */

#include <string.h>

#include "doctor/check.h"
#include "rx/port/drivers.h"
#include "rx/port/port_name.h"

static bool is_asked(const struct host *host, const struct host_port *port)
{
	(void)port;
	return host->needs->forwards;
}

static bool is_asked_of_interface(const struct host *host, const struct host_port *port)
{
	return is_asked(host, port) && port->interface[0] != '\0' && port->settings.features_known;
}

static void check_sending(
	const struct host *host, const struct host_port *port, struct finding *finding)
{
	(void)host;
	if (port->sends) {
		finding_ok(finding, "%s: can transmit", port->name);
		return;
	}
	finding_missing(finding, "%s: cannot transmit", port->name);
	finding_wanted(finding, "%s=... in its DEVARGS: without it, sent packets are discarded",
		port_driver_find(port->driver)->sends_to[0]);
}

/* Without a card, it is unknown whether local senders compute checksums. */
static void check_checksums(
	const struct host *host, const struct host_port *port, struct finding *finding)
{
	(void)host;
	if (port->settings.bus[0] != '\0') {
		finding_ok(finding, "%s: packets come from a card and have checksums", port->name);
		return;
	}
	finding_warning(finding,
		"%s: not a card: local senders may omit checksums and merge packets", port->name);
	finding_wanted(finding, "offloads off at the sender: packets are forwarded as they arrive");
	finding_command(finding, "sudo ethtool -K INTERFACE tx off tso off gso off");
}

static void check_joined(
	const struct host *host, const struct host_port *port, struct finding *finding)
{
	char options[PORT_JOINING_MAX];

	(void)host;
	port_interface_joining(&port->settings, options);
	if (options[0] == '\0') {
		finding_ok(finding, "%s: packets are not merged", port->name);
		return;
	}
	finding_warning(finding, "%s: packets are merged before they are sent", port->name);
	finding_wanted(
		finding, "merging off: merged packets are sent merged, or dropped if too long");
	finding_command(finding, "sudo ethtool -K %s%s", port->interface, options);
}

const struct check forward_checks[] = {
	{"sending", HOST_LIVE, .look_at = check_sending, .where = is_asked},
	{"joined", HOST_KERNEL, .look_at = check_joined, .where = is_asked_of_interface},
	{"checksums", HOST_KERNEL, .look_at = check_checksums, .where = is_asked_of_interface},
	{0},
};
