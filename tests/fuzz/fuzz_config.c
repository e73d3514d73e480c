/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Any bytes as a configuration file: accepted, or refused with one line that names file and line.
 * The command line gives a source, so that every error is in the file.
 */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "commands/commands.h"
#include "config/config.h"
#include "sketch/measurement.h"
#include "report/sinks/writer.h"
#include "rx/source.h"
#include "rx/port/port_name.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int truth, const char *what, const char *said)
{
	if (truth)
		return;
	fprintf(stderr, "%s: <%s>\n", what, said);
	abort();
}

static void check_refusal(enum config_result result, const char *path, const char *said)
{
	char start[64];
	size_t len = (size_t)snprintf(start, sizeof(start), "sketchtap: %s:", path);
	const char *end = strchr(said, '\n');

	require(result == CONFIG_EXIT_2, "not a mistake in the text", said);
	require(end != NULL && end[1] == '\0', "not one line", said);
	require(strncmp(said, start, len) == 0, "no file", said);
	require(said[len] >= '1' && said[len] <= '9', "no line", said);
}

static void check_loaded(const struct config *config, const char *said)
{
	require(*said == '\0', "accepted, but with an error", said);
	require(config->nb_measurements >= 1, "no measurement", "");
	require(config->nb_measurements <= CONFIG_MEASUREMENTS_MAX, "too many measurements", "");
	require(replay_options(config)->pcap.n == 0 && port_options(config)->names.n == 0,
		"the file's source won", "");
	for (uint32_t i = 0; i < config->nb_measurements; i++) {
		const struct measurement_config *measurement = &config->measurements[i];

		require(measurement_options(measurement)->key.name != NULL, "half a measurement",
			"");
		require(measurement_options(measurement)->width == 0 ||
				measurement_options(measurement)->memory == 0,
			"width and memory", "");
	}
	require(!(writer_options(config)->append && writer_options(config)->force),
		"append and force", "");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("config", 0);
	static char name[] = "sketchtap", source[] = "--synthetic=packets=1", file[] = "--config";
	char path[64];
	char *argv[] = {name, source, file, path, NULL};
	struct config config;
	char *said;
	size_t said_size;
	FILE *err = open_memstream(&said, &said_size);
	enum config_result result;

	require(fd >= 0 && err != NULL, "no memory", "");
	require(write(fd, data, size) == (ssize_t)size, "write", "");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	result = config_load(&config, &commands, 4, argv, stdout, err);
	fclose(err);
	if (result == CONFIG_OK) {
		check_loaded(&config, said);
		config_free(&config);
	} else {
		check_refusal(result, path, said);
	}
	free(said);
	close(fd);
	return 0;
}
