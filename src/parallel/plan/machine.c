/* SPDX-License-Identifier: BSD-3-Clause */
#include "parallel/plan/machine.h"

#include <stdio.h>
#include <string.h>

#include "base/pci_device.h"
#include "parallel/plan/cpu_set.h"
#include "rx/port/drivers.h"
#include "rx/port/live_ports.h"
#include "rx/port/port_name.h"
#include "rx/source.h"

static struct plan_queues queues_of(const char *root, const char *device)
{
	char address[PCI_ADDRESS_MAX], driver[PCI_DRIVER_MAX];
	const struct port_driver *card;

	snprintf(address, sizeof(address), "%.*s", (int)strcspn(device, ","), device);
	if (!port_is_pci(device) || !pci_device_driver(root, address, driver))
		return (struct plan_queues){0};
	card = port_driver_of_card(driver);
	return (struct plan_queues){
		.max = card->queues_max, .power_of_two = card->queues_power_of_two};
}

static int node_of(const struct topology *topology, const char *root, const char *device,
	const char *interface)
{
	struct pci_address address;
	char folder[128];
	int node;

	if (pci_address_parse(device, strcspn(device, ","), &address))
		snprintf(folder, sizeof(folder), "/sys/bus/pci/devices/" PCI_ADDRESS_FORMAT,
			PCI_ADDRESS_ARGS(address));
	else
		snprintf(folder, sizeof(folder), "/sys/class/net/%.*s/device",
			(int)strcspn(interface, ","), interface);
	node = topology_device_node(root, folder);
	return node >= 0 && topology->nodes[node].known ? node : PLAN_NODE_ANY;
}

static void add_port(struct machine *machine, const char *root, const char *called,
	const char *device, const char *interface)
{
	uint32_t p = machine->ports.nb_ports++;

	machine->ports.ports[p].name = called;
	machine->ports.ports[p].node = node_of(&machine->topology, root, device, interface);
	machine->ports.ports[p].queues = queues_of(root, device);
	machine->ports.ports[p].descriptors = port_driver_of_device(device)->descriptors;
	machine->ports.ports[p].kernel = false;
}

/* The arguments of --port are then PCI addresses or interfaces of the copied machine. */
static bool read_copy(struct machine *machine, const struct config *config, char *error)
{
	const char *root = topology_options(config)->directory;

	if (!topology_exists(root)) {
		snprintf(error, MACHINE_ERROR_MAX,
			"--topology %.256s: no file sys/devices/system/cpu/online; docs/PLAN.md "
			"explains how to copy the files of a machine",
			root);
		return false;
	}
	topology_read(&machine->topology, root);
	for (uint32_t p = 0; p < port_options(config)->names.n; p++)
		add_port(machine, root, port_options(config)->names.texts[p],
			port_options(config)->names.texts[p], port_options(config)->names.texts[p]);
	return true;
}

static void read_this(
	struct machine *machine, const struct config *config, const struct port_name *names)
{
	topology_read(&machine->topology, "");
	for (uint32_t p = 0; p < port_options(config)->names.n; p++) {
		add_port(machine, "", names[p].called, names[p].device, names[p].interface);
		machine->ports.ports[p].kernel = port_through_kernel(&names[p]);
	}
	/* `sketchtap doctor` runs without a source. Assume one port with unknown properties. */
	if (machine->ports.nb_ports == 0 && source_option(config) == NULL)
		add_port(machine, "", "any", "", "");
	machine->ports.mbuf_room = live_ports_mbuf_room(names, port_options(config)->names.n);
}

bool machine_read(struct machine *machine, const struct config *config,
	const struct port_name *names, char *error)
{
	uint32_t missing;

	machine->ports = (struct plan_ports){0};
	machine->ports.frame_mbufs = live_ports_frame_mbufs(config, PLAN_PORT_MBUF_BYTES);
	if (topology_options(config)->directory == NULL)
		read_this(machine, config, names);
	else if (!read_copy(machine, config, error))
		return false;
	if (machine_options(config)->lcores != NULL &&
		topology_restrict(&machine->topology, machine_options(config)->lcores, &missing) !=
			0) {
		snprintf(error, MACHINE_ERROR_MAX, "--lcores %s: %s CPU %u",
			machine_options(config)->lcores,
			topology_options(config)->directory != NULL
				? "the machine of --topology does not have"
				: "this process is not allowed to use",
			missing);
		return false;
	}
	return true;
}

/* Accepts neither steps ("0-8:2") nor white space, unlike cpu_set_parse(). */
static bool is_lcore_list(const char *text)
{
	struct cpu_set cpus;

	return *text != '\0' && text[strspn(text, "0123456789,-")] == '\0' &&
	       cpu_set_parse(&cpus, text);
}

static bool read_lcores(const struct option_text *a)
{
	if (!is_lcore_list(a->text))
		return option_set_error(
			a, "not a list of CPUs 0 to %d; example: 0-3,6", CPU_SET_MAX - 1);
	*(const char **)a->field = a->text;
	return true;
}

static const struct option_row machine_rows[] = {
	{
		.name = "lcores",
		.placeholder = "LIST",
		.group = OPTION_GROUP_HOST,
		.type = OPTION_OWN,
		.read = read_lcores,
		OPTION_FIELD(machine_options, lcores),
		.default_note = "all CPUs of the process",
		.help = "Run on these CPUs, such as 0-3,6.",
	},
	{0},
};

const struct option_owner machine_owner = {
	.rows = machine_rows,
	.size = sizeof(struct machine_options),
};

static const struct option_row topology_rows[] = {
	{
		.name = "topology",
		.placeholder = "DIR",
		.group = OPTION_GROUP_HOST,
		.type = OPTION_STRING,
		OPTION_FIELD(topology_options, directory),
		.default_note = "this machine",
		.help = "Plan for another machine. DIR is a copy of files of its /sys and /proc, "
			"which docs/PLAN.md lists.",
	},
	{0},
};

const struct option_owner topology_owner = {
	.rows = topology_rows,
	.size = sizeof(struct topology_options),
};
