/* SPDX-License-Identifier: BSD-3-Clause */

#include "commands/command.h"
#include "parallel/run/plan_capacity.h"

static const struct option_owner *const owners[] = {OF_RUN, &listen_owner, &datagrams_owner,
	&collectors_owner, &collect_owner, &collected_writer_owner, &topology_owner, NULL};

static int plan(struct config *config)
{
	static struct machine machine;
	static struct plan made;
	int status = prepare_profile(config);

	if (status == 0)
		status = prepare_plan(config, &machine, &made);
	if (status == 0)
		plan_print(&made, stdout);
	if (status == 0 && profile_options(config)->file != NULL)
		plan_print_capacity(
			&made, config, &prepared.profile, profile_options(config)->file, stdout);
	return status;
}

const struct command command_plan = {
	.name = "plan",
	.usage = "[options]",
	.summary = "show cores, queues and memory of a run; start nothing",
	.about =
		"Prints the lcores of a run with their tasks, NUMA nodes, queues and memory. Starts "
		"nothing.",
	.owners = owners,
	.argument = "pcap",
	.stray = CHECKS_STRAY,
	.letters = checks_letters,
	.check = checks_source,
	.run = plan,
};
