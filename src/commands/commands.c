/* SPDX-License-Identifier: BSD-3-Clause */

#include "commands/commands.h"
#include "base/log.h"
#include "cli/ctl.h"
#include "cli/follow.h"
#include "cli/plot.h"
#include "cli/top.h"
#include "commands/command.h"
#include "commands/command_names.h" /* made by meson.build: COMMANDS */

#define COMMAND(name) extern const struct command command_##name;
COMMANDS
#undef COMMAND

#define COMMAND(name) &command_##name,

static const struct program_term terms[] = {
	{"sketch", "table of fixed size that counts many keys with a bounded error"},
	{"key", "packet fields that are counted together; by default the 5-tuple"},
	{"heavy hitter", "key with a large share of the packets or bytes"},
	{"interval", "reporting period; each row belongs to one interval (column epoch)"},
	{"ledger", "every packet of an interval by term: measured, left out, or lost for a reason"},
	{"bounds", "lowest and highest possible value of a figure, at a given confidence"},
	{"lcore", "thread of DPDK that polls, usually on a CPU of its own"},
	{"candidate", "key that was heavy recently, and is stored next to the sketch"},
	{NULL, NULL},
};

static const struct program_other others[] = {
	{"ctl", "[--name NAME] COMMAND", "query a running instance, or change its measurements",
		ctl},
	{"follow", "[NAME] [--json]", "print each interval of a running instance when it ends",
		follow},
	{"top", "[NAME | FILE.csv...]", "show a running instance, or its files, on the terminal",
		top},
	{"plot", "FILE.csv... PICTURE.svg [--stats FILE.csv]... [--measurement NAME]",
		"draw a chart from output files", plot},
	{0},
};

const struct program commands = {
	.name = "sketchtap",
	.commands = (const struct command *const[]){COMMANDS NULL},
	.hint = "measure a capture with --pcap FILE",
	.terms = terms,
	.others = others,
};

int commands_run(struct config *config, const struct notify *service_manager)
{
	int status;

	prepared.notify = service_manager;
	if (!seed_pick(config)) {
		log_error("no random seed from the system; give --seed N");
		return EXIT_MACHINE;
	}
	status = prepare_check_filter(config);
	if (status == 0)
		status = prepare_port_names(config);
	if (status == 0)
		status = config->command->run(config);
	prepare_undo();
	return status;
}
