/* SPDX-License-Identifier: BSD-3-Clause */

#include "commands/command.h"
#include "base/log.h"
#include "rx/generate/synthetic.h"
#include "tester/export_source.h"
#include "tester/loopback_test.h"
#include "tester/tester.h"

static const struct option_owner *const owners[] = {&synthetic_owner, &export_source_owner,
	&feeder_owner, &send_owner, &send_port_owner, &loopback_owner, OF_MACHINE, NULL};

static int generate_to_port(const struct config *config, struct source *source)
{
	static struct machine machine;
	static struct plan plan;
	static struct port ports[2];
	bool receives = loopback_options(config)->port != NULL;
	uint32_t nb_ports = port_options(config)->names.n;
	char error[EAL_ERROR_MAX];
	int status = prepare_machine(config, &machine);

	if (status != 0)
		return status;
	if (!plan_make_sender(&plan, config, &machine.topology, &machine.ports, receives, error) ||
		!eal_start(&plan, config, error)) {
		log_error("%s", error);
		return EXIT_MACHINE;
	}
	status = prepare_ports(config, &plan, ports);
	if (status == 0)
		status = receives ? loopback_measure(config, &plan, source, ports, nb_ports)
				  : send_to_port(config, &plan, source, ports);
	eal_stop();
	return status;
}

static int generate(struct config *config)
{
	char error[SOURCE_ERROR_MAX];
	struct source *source;
	int status = prepare_source(config, &source);

	if (status != 0)
		return status == PREPARE_STOPPED ? 0 : status;
	if (!export_source_wrap(config, &source, error)) {
		log_error("%s", error);
		return EXIT_MACHINE;
	}
	status = port_given(config) ? generate_to_port(config, source)
				    : send_to_file(config, source);
	source->close(source);
	return status;
}

const struct command command_generate = {
	.name = "generate",
	.usage = "--synthetic SPEC (--output FILE | --port NAME [--rx-port NAME]) [options]",
	.summary = "write or send synthetic traffic; test a device",
	.about = "Writes synthetic traffic to a capture file, or sends it on a port.\n"
		 "--export-format: generate flow exports of simulated routers instead.\n"
		 "--rx-port: receive the packets again, and measure loss and latency of a device.",
	.owners = owners,
	.run = generate,
};
