/* SPDX-License-Identifier: BSD-3-Clause */

#include "commands/command.h"
#include "commands/commands.h"

const struct option_owner *const commands_owners_of_run[] = {OF_RUN, NULL};

static const char *const run_examples[] = {
	"sketchtap capture.pcap --key src/24",
	"sketchtap --port eth1 --key src,dst_port --stats stats.csv",
	"sketchtap --port 0000:3b:00.0 --interval 10s --output json:/var/log/heavy.json",
	NULL,
};

const struct command command_run = {
	.name = "run",
	.usage = "[options] [FILE...]",
	.summary = "measure the traffic of links or captures",
	.owners = commands_owners_of_run,
	.argument = "pcap",
	.stray = CHECKS_STRAY,
	.letters = checks_letters,
	.examples = run_examples,
	.check = checks_source,
	.at_terminal = checks_at_terminal,
	.run = measure_traffic,
};
