/* SPDX-License-Identifier: BSD-3-Clause */

#include "commands/command.h"
#include "doctor/doctor.h"

static const struct option_owner *const owners[] = {OF_RUN, &listen_owner, &datagrams_owner,
	&collectors_owner, &collect_owner, &collected_writer_owner, NULL};

static int check_host(struct config *config)
{
	static struct machine machine;
	static struct plan plan;
	int status = prepare_plan(config, &machine, &plan);

	return status == 0 ? doctor(config, &machine.topology, &plan, prepared.port_names, stdout)
			   : status;
}

static bool check_doctor(const struct config *config, struct option_fault *fault)
{
	if (writer_options(config)->format == FORMAT_JSON)
		return option_fault(
			fault, "format", NULL, "json: not supported by doctor; give csv or table");
	return checks_pace(config, fault) && checks_collector(config, fault);
}

const struct command command_doctor = {
	.name = "doctor",
	.usage = "[options]",
	.summary = "check whether this host can run a configuration",
	.about =
		"Checks whether this host can run with these options. Each line is ok, warning or "
		"missing, with\nthe value found and a command that fixes it. Changes nothing. Exits "
		"with 0 if nothing is missing.",
	.owners = owners,
	.argument = "pcap",
	.stray = CHECKS_STRAY,
	.letters = checks_letters,
	.check = check_doctor,
	.run = check_host,
};
