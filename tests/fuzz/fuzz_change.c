/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Any lines as configuration changes of a run, one after another, as they come from the control
 * socket. Each is refused with one line, or results in a configuration whose measurements are all
 * complete. Adding and then removing a measurement restores the previous configuration.
 */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "commands/commands.h"
#include "config/config_change.h"
#include "sketch/measurement.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define WORDS_MAX   1023 /* DPDK reads at most this many bytes */
#define CHANGES_MAX 16

static struct config first;

static void require(bool holds, const char *what, const char *said)
{
	if (holds)
		return;
	fprintf(stderr, "%s: <%s>\n", what, said);
	abort();
}

static void begin(void)
{
	static const char text[] = "top = 7\n[measurement a]\nkey = src\n[measurement b]\n";
	static char program[] = "sketchtap", source[] = "--synthetic=packets=1",
		    option[] = "--config", path[64];
	static char *const arguments[] = {program, source, option, path, NULL};
	int fd = memfd_create("config", MFD_CLOEXEC);

	require(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text), "file", "");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	require(config_load(&first, &commands, 4, arguments, stdout, stderr) == CONFIG_OK,
		"not taken", text);
	close(fd);
}

static void check(const struct config *config, const char *words)
{
	require(config->nb_measurements >= 1 && config->nb_measurements <= CONFIG_MEASUREMENTS_MAX,
		"number of measurements", words);
	for (uint32_t m = 0; m < config->nb_measurements; m++) {
		const struct measurement_config *measurement = &config->measurements[m];

		require(measurement_options(measurement)->key.name != NULL, "half a measurement",
			words);
		require(measurement_options(measurement)->width == 0 ||
				measurement_options(measurement)->memory == 0,
			"width and memory", words);
		for (uint32_t other = 0; other < m; other++)
			require(strcmp(measurement->name, config->measurements[other].name) != 0,
				"two of a name", words);
	}
	require(config_measures_same(config, config), "not the same as itself", words);
}

/* Removes the added measurement; the result must equal the configuration before. */
static void take_back(const struct config *before, const struct config *after, const char *words)
{
	const char *name = after->measurements[after->nb_measurements - 1].name;
	char error[CONFIG_ERROR_MAX], remove[128];
	struct config back;

	if (after->nb_measurements <= before->nb_measurements)
		return;
	snprintf(remove, sizeof(remove), "remove %s", name);
	/* Refused if another measurement drills down from it. */
	if (config_change(&back, after, remove, error) != CONFIG_OK)
		return;
	require(config_measures_same(before, &back), "not as before", words);
	config_free(&back);
}

static void change(struct config *running, const char *words)
{
	char error[CONFIG_ERROR_MAX] = "";
	struct config next;
	enum config_result result = config_change(&next, running, words, error);

	if (result != CONFIG_OK) {
		require(result == CONFIG_EXIT_2 && error[0] != '\0' && strchr(error, '\n') == NULL,
			"not one line", error);
		return;
	}
	require(error[0] == '\0', "accepted, but with an error", error);
	check(&next, words);
	take_back(running, &next, words);
	if (running->file != first.file)
		config_free(running);
	*running = next;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct config running;
	uint32_t changes = 0;

	if (first.nb_measurements == 0)
		begin();
	running = first;
	for (size_t at = 0; at < size && changes < CHANGES_MAX; changes++) {
		const uint8_t *end = memchr(data + at, '\n', size - at);
		size_t len = end != NULL ? (size_t)(end - data) - at : size - at;
		char words[WORDS_MAX + 1];
		size_t room = len < WORDS_MAX ? len : WORDS_MAX;

		memcpy(words, data + at, room);
		words[room] = '\0';
		change(&running, words);
		at += len + 1;
	}
	if (running.file != first.file)
		config_free(&running);
	return 0;
}
