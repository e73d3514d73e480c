/* SPDX-License-Identifier: BSD-3-Clause */
#include "parallel/plan/machine.h"

#include <stdio.h>
#include <string.h>

#include "base/pci_address.h"
#include "base/pci_device.h"
#include "parallel/plan/topology_file.h"
#include "rx/port/drivers.h"
#include "rx/port/live_ports.h"

/* Of a card, whatever the kernel's or DPDK's driver for it is. */
static struct plan_queues queues_of(const struct port_name *name)
{
	char address[PCI_ADDRESS_MAX], driver[PCI_DRIVER_MAX];
	const struct port_driver *card;

	snprintf(address, sizeof(address), "%.*s", (int)strcspn(name->device, ","), name->device);
	if (!name->pci || !pci_device_driver("", address, driver))
		return (struct plan_queues){0};
	card = port_driver_of_card(driver);
	return (struct plan_queues){
		.max = card->queues_max, .power_of_two = card->queues_power_of_two};
}

/* name: NULL where nothing is known of it. */
static void add_port(
	struct plan_ports *ports, const char *spec, int node, const struct port_name *name)
{
	ports->ports[ports->nb_ports].name = spec;
	ports->ports[ports->nb_ports].node = node;
	ports->ports[ports->nb_ports].queues =
		name != NULL ? queues_of(name) : (struct plan_queues){0};
	ports->ports[ports->nb_ports].kernel = name != NULL && port_through_kernel(name);
	ports->nb_ports++;
}

static bool read_description(
	struct machine *machine, const struct config *config, bool *text, char *error)
{
	static _Thread_local struct topology_file file;
	enum topology_result result = topology_load(&file, config->topology, error);

	*text = result == TOPOLOGY_WRONG;
	machine->topology = file.topology;
	for (uint32_t p = 0; p < config->nb_port; p++)
		add_port(&machine->ports, config->port[p],
			topology_port_node(&file, config->port[p]), NULL);
	return result == TOPOLOGY_OK;
}

/* The node of the card behind an interface of the kernel. */
static int interface_node(const char *interface)
{
	char path[128];
	FILE *file;
	int node = PLAN_NODE_ANY;

	snprintf(path, sizeof(path), "/sys/class/net/%s/device/numa_node", interface);
	file = fopen(path, "re");
	if (file == NULL)
		return PLAN_NODE_ANY;
	if (fscanf(file, "%d", &node) != 1)
		node = PLAN_NODE_ANY;
	fclose(file);
	return node;
}

static int node_of(const struct port_name *name)
{
	return name->pci || name->interface[0] == '\0' ? port_node(name->device)
						       : interface_node(name->interface);
}

/* Without a source the doctor is asked in general: for a port that nothing is known of. */
static bool asks_in_general(const struct config *config)
{
	return config->command == COMMAND_DOCTOR && config->nb_port == 0 && config->nb_pcap == 0 &&
	       config->synthetic == NULL;
}

bool machine_read(struct machine *machine, const struct config *config,
	const struct port_name *names, bool *text, char *error)
{
	uint32_t missing;

	machine->ports.nb_ports = machine->ports.mbuf_room = 0;
	machine->ports.rules = (struct plan_rules){0};
	machine->ports.frame_mbufs = live_ports_frame_mbufs(config, PLAN_PORT_MBUF_BYTES);
	*text = false;
	if (config->topology != NULL) {
		if (!read_description(machine, config, text, error))
			return false;
	} else {
		topology_read(&machine->topology, "");
		for (uint32_t p = 0; p < config->nb_port; p++)
			add_port(&machine->ports, names[p].called, node_of(&names[p]), &names[p]);
		if (asks_in_general(config))
			add_port(&machine->ports, "any", PLAN_NODE_ANY, NULL);
		machine->ports.mbuf_room = live_ports_mbuf_room(names, config->nb_port);
	}
	if (config->lcores != NULL &&
		topology_restrict(&machine->topology, config->lcores, &missing) != 0) {
		snprintf(error, MACHINE_ERROR_MAX, "--lcores %s: %s CPU %u", config->lcores,
			config->topology != NULL ? "the described machine has no"
						 : "this process may not run on",
			missing);
		return false;
	}
	return true;
}
