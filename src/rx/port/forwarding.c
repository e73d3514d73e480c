/* SPDX-License-Identifier: BSD-3-Clause */
#include "rx/port/forwarding.h"

#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

#include "rx/port/port_name.h"
#include "rx/source.h"

const char *forward_option_inapplicable(
	const struct config *config, const struct measurement_config *measurement)
{
	(void)measurement;
	return forward_asked(config) ? NULL : "without --forward";
}

OPTION_WORDS_OF(
	mode_word, [FORWARD_OFF] = "off", [FORWARD_PAIRS] = "pairs", [FORWARD_LOOP] = "loop")

static bool check_pairs(const struct config *config, const struct measurement_config *measurement,
	struct option_fault *fault)
{
	uint32_t nb_ports = port_options(config)->names.n;

	if (forward_options(config)->mode != FORWARD_PAIRS || nb_ports % 2 == 0)
		return true;
	return option_fault(fault, "forward", measurement,
		"pairs needs an even number of --port, but %u %s given; loop sends packets back "
		"out of their ingress port",
		nb_ports, nb_ports == 1 ? "is" : "are");
}

static bool is_read(const struct option_list *ports, const struct stat *file)
{
	char path[PATH_MAX];
	int length;

	for (uint32_t p = 0; p < ports->n; p++)
		for (const char *value = port_devarg(ports->texts[p], "rx_pcap", &length);
			value != NULL; value = port_devarg(value, "rx_pcap", &length)) {
			snprintf(path, sizeof(path), "%.*s", length, value);
			if (option_names_file(path, file))
				return true;
		}
	return false;
}

/* If input and output are the same file, net_pcap would overwrite it. */
static bool check_files(const struct config *config, const struct measurement_config *measurement,
	struct option_fault *fault)
{
	const struct option_list *ports = &port_options(config)->names;
	struct stat file;
	char path[PATH_MAX];
	int length;

	for (uint32_t p = 0; p < ports->n; p++)
		for (const char *value = port_devarg(ports->texts[p], "tx_pcap", &length);
			value != NULL; value = port_devarg(value, "tx_pcap", &length)) {
			snprintf(path, sizeof(path), "%.*s", length, value);
			if (stat(path, &file) == 0 && is_read(ports, &file))
				return option_fault(fault, "port", measurement,
					"tx_pcap=%.200s would overwrite the file of rx_pcap=; name "
					"another file",
					path);
		}
	return true;
}

static bool check_forward(const struct config *config, const struct measurement_config *measurement,
	struct option_fault *fault)
{
	return check_pairs(config, measurement, fault) && check_files(config, measurement, fault);
}

static const struct option_row forward_rows[] = {
	{
		.name = "forward",
		.placeholder = "HOW",
		.group = OPTION_GROUP_SOURCE,
		.type = OPTION_CHOICE,
		.not_for = SOURCE_OF_FEEDER | SOURCE_OF_ITSELF,
		.word = mode_word,
		OPTION_FIELD(forward_options, mode),
		.default_text = "off",
		.rare = true,
		.help = "Forward received packets unmodified. pairs: to the other port of the "
			"pair: first and second, third and fourth. loop: back out of the ingress "
			"port. off: do not forward.",
	},
	{0},
};

const struct option_owner forward_owner = {
	.rows = forward_rows,
	.size = sizeof(struct forward_options),
	.check = check_forward,
};
