/* SPDX-License-Identifier: BSD-3-Clause */

#include "commands/command.h"
#include "tune/tune.h"

#include "rx/generate/synthetic.h"
#include "tune/measure/figures.h"

static const struct option_owner *const owners[] = {
	&replay_owner, &synthetic_owner, &tune_owner, &seed_owner, &figures_owner, OF_HOST, NULL};

const struct command command_tune = {
	.name = "tune",
	.usage = "[--pcap FILE | --synthetic SPEC] [options] > FILE",
	.summary = "find the fastest configuration of this host",
	.about =
		"Compares designs, sharings, sketches, widths and numbers of workers on this host. "
		"Prints the\nfastest within --memory and --error as a configuration file, with all "
		"results in comments.",
	.owners = owners,
	.argument = "pcap",
	.stray = CHECKS_STRAY,
	.letters = checks_letters,
	.run = tune_run,
};
