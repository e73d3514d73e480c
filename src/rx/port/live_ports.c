/* SPDX-License-Identifier: BSD-3-Clause */
#include "rx/port/live_ports.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "rx/port/clock.h"
#include "rx/port/forwarding.h"
#include "rx/port/frames.h"
#include "rx/port/link_monitor.h"
#include "rx/port/rss.h"
#include "rx/source.h"
#include <limits.h>

/* DEVARGS may name files, such as rx_pcap=FILE of net_pcap. */
static bool is_in_devargs(const char *text, const struct stat *file)
{
	for (const char *rest = strchr(text, ','); rest != NULL; rest = strchr(rest + 1, ',')) {
		const char *value = rest + 1 + strcspn(rest + 1, ",=");
		char path[PATH_MAX];

		if (*value != '=')
			continue;
		snprintf(path, sizeof(path), "%.*s", (int)strcspn(value + 1, ","), value + 1);
		if (option_names_file(path, file))
			return true;
	}
	return false;
}

extern const struct source_traits source_port;

static const struct option_row source_rows[] = {
	{
		.name = "port",
		.letter = 'i',
		.placeholder = "NAME[,DEVARGS]",
		.type = OPTION_LIST,
		.reads = is_in_devargs,
		OPTION_FIELD(port_options, names),
		SOURCE_OPTION(source_port),
		.assumed = true,
		.help = "Receive from a port: PCI address (0000:3b:00.0), kernel interface (eth0) "
			"or virtual device of DPDK (net_tap0,iface=probe0). Repeatable: both "
			"directions of a tap.",
	},
	{0},
};

static const struct option_owner *port_part(uint32_t i)
{
	static const struct option_owner *const parts[] = {
		&port_owner, &forward_owner, &rss_owner, &frames_owner, &clock_owner, NULL};

	return parts[i];
}

static const struct option_owner live_owner = {
	.rows = source_rows,
	.fills = &port_owner,
	.part = port_part,
};

const struct source_traits source_port = {
	.selected.is = SOURCE_OF_PORTS | SOURCE_PACKETS,
	.options = &live_owner,
	.pacer = "the link sets the pace",
	.host = HOST_UNNAMED,
};

static bool is_same(const struct port_name *a, const struct port_name *b)
{
	size_t length = strcspn(a->device, ",");

	return (length == strcspn(b->device, ",") && memcmp(a->device, b->device, length) == 0) ||
	       (a->facts.index != 0 && a->facts.index == b->facts.index);
}

bool live_ports_resolve(struct port_name *names, struct config *config, char *error)
{
	uint32_t mtu =
		frames_options(config)->mtu == PORT_MTU_MAX ? 0 : frames_options(config)->mtu;

	for (uint32_t p = 0; p < port_options(config)->names.n; p++) {
		if (!port_name_resolve(&names[p], port_options(config)->names.texts[p], mtu,
			    port_interface_read, error))
			return false;
		for (uint32_t other = 0; other < p; other++)
			if (is_same(&names[p], &names[other])) {
				snprintf(error, PORT_DEVICE_MAX,
					"--port %.200s: same device as an earlier --port: its "
					"packets would count twice",
					port_options(config)->names.texts[p]);
				return false;
			}
	}
	for (uint32_t p = 0; p < port_options(config)->names.n; p++)
		edit_port_options(config)->names.texts[p] = names[p].device;
	return true;
}

bool live_ports_resolve_beside(
	struct port_name *names, struct config *config, const char *spec, char *error)
{
	struct option_list *list = &edit_port_options(config)->names;
	struct port_name *name = &names[list->n];

	if (!port_name_resolve(name, spec, 0, port_interface_read, error))
		return false;
	for (uint32_t p = 0; p < list->n; p++)
		if (is_same(&names[p], name))
			return true;
	list->texts[list->n++] = name->device;
	return true;
}

uint32_t live_ports_mbuf_room(const struct port_name *names, uint32_t nb_ports)
{
	uint32_t room = 0;

	for (uint32_t p = 0; p < nb_ports; p++)
		if (names[p].mbuf_room > room)
			room = names[p].mbuf_room;
	return room;
}

/* Returns 0 without --mtu. */
static uint32_t longest_frame(const struct config *config)
{
	uint32_t mtu = frames_options(config)->mtu == PORT_MTU_MAX ? PORT_MTU_MAX_UNCHAINED
								   : frames_options(config)->mtu;

	return !port_given(config) || mtu == 0 ? 0 : mtu + PORT_FRAME_OVERHEAD;
}

uint32_t live_ports_frame_mbufs(const struct config *config, uint32_t mbuf_bytes)
{
	uint32_t frame = longest_frame(config);

	return frame == 0 ? 1 : (frame + mbuf_bytes - 1) / mbuf_bytes;
}

uint32_t live_ports_mtu_room(const struct config *config)
{
	uint32_t frame = longest_frame(config);
	uint32_t room = frame + RTE_ETHER_CRC_LEN + RTE_PKTMBUF_HEADROOM;

	return frame == 0 ? 0 : RTE_MIN(room, (uint32_t)UINT16_MAX);
}

void live_ports_say(struct port *port)
{
	for (uint32_t i = 0; i < port->messages.n; i++)
		if (port->messages.messages[i].warning)
			log_warning("%s", port->messages.messages[i].text);
		else
			log_notice("%s", port->messages.messages[i].text);
	port->messages.n = 0;
}

bool live_ports_await(
	const struct port *ports, uint32_t nb_ports, const struct config *config, char *error)
{
	const struct port *down;

	if (port_options(config)->wait_link == 0) {
		for (uint32_t p = 0; p < nb_ports; p++)
			if (!port_link_is_up(&ports[p]))
				log_warning(
					"%s: its link is down: it receives nothing until the link "
					"is up; see --wait-link",
					ports[p].name);
		return true;
	}
	if (port_wait_links(ports, nb_ports, 0, &down) == PORT_WAIT_UP)
		return true;
	log_notice("%s: waiting for its link", down->name);
	if (port_wait_links(ports, nb_ports, port_options(config)->wait_link, &down) !=
		PORT_WAIT_TIMEOUT)
		return true;
	snprintf(error, PORT_ERROR_MAX,
		"--wait-link: the link of %s did not come up: check its cable and its peer, or "
		"wait longer",
		down->name);
	return false;
}
