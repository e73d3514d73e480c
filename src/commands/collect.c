/* SPDX-License-Identifier: BSD-3-Clause */

#include "commands/command.h"

static const struct option_owner *const owners[] = {&listen_owner, &collect_owner, &datagrams_owner,
	&collectors_owner, &feeder_owner, &measurement_owner, &shed_policy_owner, &steps_owner,
	&profile_owner, &filter_owner, &plan_owner, &seed_owner, &epoch_owner,
	&collected_writer_owner, &writer_owner, &sink_owner, &ledger_owner, &control_owner,
	&progress_owner, &metrics_owner, OF_MACHINE, NULL};

static const char *const collect_examples[] = {
	"sketchtap collect --listen :2055 --listen :6343 --exporters exporters.csv",
	"sketchtap collect --pcap exports.pcap --key src-dst --export paths=paths.csv",
	NULL,
};

static bool check_collector_rows(const struct config *config, struct option_fault *fault)
{
	if (source_option(config) == NULL)
		return option_fault(fault, NULL, NULL,
			"nothing to collect: give --listen ADDRESS:PORT, --pcap FILE or --collectors "
			"ADDRESS:PORT");
	return checks_pace(config, fault);
}

const struct command command_collect = {
	.name = "collect",
	.usage = "(--listen ADDRESS:PORT | --pcap FILE | --collectors ADDRESS:PORT) [options]",
	.summary = "measure a network from NetFlow, IPFIX and sFlow",
	.about =
		"Receives flow exports of routers, switches and hypervisors, and measures the network "
		"from them.\nCounts a packet once if several exporters report it. Figures have error "
		"bounds.",
	.owners = owners,
	.argument = "pcap",
	.stray = "give captures of datagrams with --pcap FILE",
	.examples = collect_examples,
	.check = check_collector_rows,
	.at_terminal = checks_at_terminal,
	.run = measure_traffic,
};
